"""`/api/v1/runs`: what has run, and what is on."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from catenary_server import schemas
from catenary_server.api._replies import CHAIN, NOT_FOUND, RUN_ID, unknown_run
from catenary_server.api_error import ApiError, json_response
from catenary_server.operation import Operation, Parameter, Reply
from catenary_server.outcomes import live_dict, pause_dict, status_of, summary_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from catenary.recording import RunRecord
    from catenary_server.call import Call
    from catenary_server.service import Service

_PAGE: Final = 50
_MOST: Final = 1000
_WAITING: Final = "waiting"


async def list_runs(call: Call) -> Response:
    """Give a page of runs, the newest first."""
    limit, (before_ms, skip) = call.query.get("limit", _PAGE), _cursor(call)
    found = await _summaries(call, before_ms, limit + 1 + skip)
    at_cursor = [one for one in found if one["startedMs"] == before_ms][:skip]
    rest = found[len(at_cursor) :]
    page, more = rest[:limit], rest[limit:]
    return json_response(
        {
            "runs": page,
            "next": _next(page, before_ms, skip) if more else None,
            "recorded": call.service.engine.history is not None,
        }
    )


async def _summaries(call: Call, before_ms: int | None, limit: int) -> list[dict[str, Any]]:
    chain, status = call.query.get("chain", ""), call.query.get("status", "")
    since, before = _moment(call, "since"), _moment(call, "before")
    if before_ms is None and before is not None:
        before_ms = int(before.timestamp() * 1000)
    history = call.service.engine.history
    if history is not None and status != _WAITING:
        from catenary.store.runs import Query

        since_ms = None if since is None else int(since.timestamp() * 1000)
        query = Query(chain, status, since_ms, before_ms, limit)
        await asyncio.to_thread(history.flush)  # so that what has just ended is listed
        return [_as_it_is(call, one.to_dict()) for one in await asyncio.to_thread(history.store.runs, query)]
    wanted = [
        summary
        for summary in (summary_of(call.service.engine, live) for live in call.service.runs)
        if (not chain or summary["chainId"] == chain)
        and (not status or summary["status"] == status)
        and (since is None or summary["startedMs"] >= since.timestamp() * 1000)
        and (before_ms is None or summary["startedMs"] <= before_ms)
    ]
    return sorted(wanted, key=lambda summary: -summary["startedMs"])[:limit]


def _as_it_is(call: Call, summary: dict[str, Any]) -> dict[str, Any]:
    """Say of a run that is on whether it waits: the history does not know."""
    live = call.service.runs.get(summary["runId"])
    if live is not None and not live.is_over:
        return {**summary, "status": status_of(call.service.engine, live)}
    return summary


def _moment(call: Call, name: str) -> datetime | None:
    text = call.query.get(name)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except ValueError:
        hint = "write a moment such as 2026-01-31T14:00:00Z; one without a zone is UTC"
        raise ApiError(400, "request.parameter", f"{name} is no moment: {text!r:.60}", hint=hint) from None


def _cursor(call: Call) -> tuple[int | None, int]:
    """Give the moment at which a page begins, and how many runs of that very moment were on pages before."""
    text = call.query.get("cursor")
    if text is None:
        return None, 0
    moment, _, skip = text.partition("-")
    if not (moment.isdecimal() and skip.isdecimal() and len(moment) < 16 and len(skip) < 7):
        raise ApiError(400, "request.parameter", f"cursor is none: {text!r:.60}", hint="take it from `next` of a page")
    return int(moment), int(skip)


def _next(page: list[dict[str, Any]], before_ms: int | None, skip: int) -> str:
    last = page[-1]["startedMs"]
    same = sum(one["startedMs"] == last for one in page)
    return f"{last}-{same + (skip if last == before_ms else 0)}"


async def get_run(call: Call) -> Response:
    """Give a run: as it is recorded, and as it is."""
    run_id, service = call.parts["runId"], call.service
    live = service.runs.get(run_id)
    while True:
        was_on = live is not None and not live.is_over
        record = await _record(service, run_id)
        if live is None and record is None:
            raise unknown_run(service, run_id)
        pauses = await service.pauses_of(run_id)
        if not was_on or live is None or not live.is_over:
            break  # else it ended meanwhile, and its record is one of before
    found: dict[str, Any] = {"outcome": None, "record": None, "pauses": [pause_dict(service.engine, p) for p in pauses]}
    if record is not None:
        found.update(_of_record(record), record=record.to_dict())
    if live is not None:
        found.update(summary_of(service.engine, live))
        found["outcome"] = live_dict(service.engine, live)
    elif pauses:
        found["status"] = "waiting"
    return json_response(found)


def _of_record(record: RunRecord) -> dict[str, Any]:
    return {
        "runId": record.run_id,
        "chainId": record.chain_id,
        "status": record.status,
        "error": record.error,
        "startedMs": record.started_ms,
        "endedMs": record.ended_ms,
    }


async def _record(service: Service, run_id: str) -> RunRecord | None:
    history = service.engine.history
    if history is None:
        return None
    await asyncio.to_thread(history.flush)
    return await asyncio.to_thread(history.store.get, run_id)


_STATUS: Final = Parameter(
    name="status", schema={"type": "string", "enum": list(schemas.STATUSES)}, text="Only runs that came to this."
)
_MOMENT: Final[dict[str, Any]] = {"type": "string", "format": "date-time", "example": "2026-01-31T14:00:00Z"}

OPERATIONS: Final = (
    Operation(
        method="GET",
        path="/api/v1/runs",
        name="listRuns",
        tag="Runs",
        summary="List runs, the newest first",
        text="All that are recorded, when the server records (`--record`, `recorded` says so). Else those that clients"
        " have started and that are on, and for ten minutes those whose outcome nobody has got yet.",
        parameters=(
            CHAIN,
            _STATUS,
            Parameter(name="since", schema=_MOMENT, text="When they began at the earliest, as in ISO 8601."),
            Parameter(name="before", schema=_MOMENT, text="When they began at the latest, as in ISO 8601."),
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": _MOST, "default": _PAGE},
                text="How many at most.",
            ),
            Parameter(
                name="cursor",
                schema={"type": "string", "pattern": "^[0-9]{1,15}-[0-9]{1,6}$"},
                text="Where to go on: `next` of the page before.",
            ),
        ),
        handler=list_runs,
        replies={
            200: Reply(
                text="A page of runs; `next` is null on the last one.",
                schema=schemas.whole(
                    {
                        "runs": schemas.listed(schemas.ref("RunSummary")),
                        "next": schemas.nullable(schemas.TEXT),
                        "recorded": schemas.FLAG,
                    }
                ),
            )
        },
    ),
    Operation(
        method="GET",
        path="/api/v1/runs/{runId}",
        name="getRun",
        tag="Runs",
        summary="Look at one run",
        text="`record` has all visits, when the run is recorded; `outcome` is there for runs that clients of this"
        " server have started; `pauses` is what it waits for.",
        parameters=(RUN_ID,),
        handler=get_run,
        replies={200: Reply(text="The run.", schema="Run"), 404: NOT_FOUND},
    ),
)
