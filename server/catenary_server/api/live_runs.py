"""Following runs, cancelling them, and answering those that wait: `/api/v1/runs/{runId}/...` and `/api/v1/pauses`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from catenary_server import schemas
from catenary_server.api._replies import BAD_BODY, CHAIN, CONFLICT, NOT_FOUND, RUN_ID, unknown_run
from catenary_server.api_error import ApiError, api_error_of, json_response
from catenary_server.event_stream import EVENT_STREAM, EventStream
from catenary_server.operation import Body, Operation, Parameter, Reply
from catenary_server.outcomes import pause_dict, summary_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from catenary.pauses.answers import AnswerParts
    from catenary_server.call import Call


async def follow_run(call: Call) -> Response:
    """Give the events of a run from where the client left off."""
    run_id, service = call.parts["runId"], call.service
    live = service.runs.get(run_id)
    if live is None:
        raise unknown_run(service, run_id)
    after = call.request.headers.get("last-event-id", "0").strip() or "0"
    if not after.isdecimal() or len(after) > 12:
        raise ApiError(400, "request.parameter", "Last-Event-ID is no number", hint="send the id of the last event")
    if live.is_over and not live.last and live.terminal is None:
        hint = "events are kept of runs that were started with disconnect=detach, wait=false, or as a stream"
        raise ApiError(409, "run.no-events", f"nobody has listened to the run {run_id!r}", hint=hint)
    if int(after) < live.dropped and "last-event-id" in call.request.headers:
        text = f"the events up to number {live.dropped} are not kept any more"
        raise ApiError(410, "run.events-gone", text, hint="follow it without Last-Event-ID, from the oldest one kept")
    cancels = call.query.get("disconnect") == "cancel"
    return EventStream(service, live, after=int(after), cancels=cancels)


async def cancel_run(call: Call) -> Response:
    """Cancel a run."""
    live = call.service.runs.get(call.parts["runId"])
    if live is None:
        raise unknown_run(call.service, call.parts["runId"])
    if live.is_over:
        raise ApiError(409, "run.over", f"the run {live.run_id} is over")
    live.cancel()
    return json_response(summary_of(call.service.engine, live), 202)


async def list_pauses(call: Call) -> Response:
    """Give what waits for an answer."""
    pauses = await call.service.pauses_of()
    chain = call.query.get("chain")
    shown = [pause_dict(call.service.engine, pause) for pause in pauses if chain in {None, pause.chain_id}]
    return json_response({"pauses": shown})


async def answer_run(call: Call) -> Response:
    """Answer a node that waits."""
    from catenary.errors import CatenaryError, PauseError
    from catenary.pauses.resuming import place_answer

    run_id, service = call.parts["runId"], call.service
    body = await call.json()
    parts: AnswerParts = {name: body[name] for name in body if name != "nodeId" and body[name] is not None}  # type: ignore[assignment]
    if "data" in body:
        parts["data"] = body["data"]
    try:
        resumption = await asyncio.to_thread(place_answer, service.engine, run_id, body["nodeId"], parts)
    except PauseError as error:
        if type(error) is PauseError and not await service.pauses_of(run_id) and service.runs.get(run_id) is None:
            raise ApiError(404, "run.not-found", f"nothing waits in a run {run_id!r}", hint=error.hint) from None
        raise api_error_of(error) from None
    except CatenaryError as error:
        raise api_error_of(error) from None
    if resumption is None:
        return json_response({"runId": run_id, "resumedAs": None}, 202)
    live = service.runs.new(resumption.run_id, resumption.chain_id, resumes=run_id)
    service.runs.begin(live, resumption.run(listener=live.note))
    return json_response({"runId": run_id, "resumedAs": live.run_id}, 202)


_ANSWER: Final = schemas.closed(
    {
        "nodeId": {"type": "string", "minLength": 1, "description": "The node that waits."},
        "visit": {
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": 2**31}, {"type": "null"}],
            "description": "Which visit of the node; needed only when several of them wait.",
        },
        "data": {"description": "The data of the answer: any JSON value."},
        "relation": {"type": "string", "description": "The way on; the first one that the node allows if absent."},
        "metadata": {"type": "object", "description": "Entries for the metadata of the message."},
        "answerer": {"type": "string", "description": "Who answers, taken at its word."},
        "roles": {"type": "array", "items": schemas.TEXT, "description": "What the answerer is besides."},
        "note": {"type": "string", "description": "A remark, which later nodes see as `metadata._answerNote`."},
    },
    needs=("nodeId",),
)

OPERATIONS: Final = (
    Operation(
        method="GET",
        path="/api/v1/runs/{runId}/events",
        name="followRun",
        tag="Runs",
        summary="Follow a run that a client has started",
        text="The events as when the run is started with `Accept: text/event-stream`, from the first one that is kept"
        " (of the newest 10,000), or behind `Last-Event-ID`. Going away leaves the run alone, unless told otherwise.",
        parameters=(
            RUN_ID,
            Parameter(
                name="Last-Event-ID",
                place="header",
                schema={"type": "integer", "minimum": 0, "maximum": 10**11},
                text="The number of the last event that the client has.",
            ),
            Parameter(
                name="disconnect",
                schema={"type": "string", "enum": ["cancel", "detach"]},
                text="What becomes of the run when the client goes away; `detach` when nothing is said.",
            ),
        ),
        handler=follow_run,
        replies={
            200: Reply(text="The events.", schema=schemas.EVENT, media=EVENT_STREAM),
            404: NOT_FOUND,
            409: CONFLICT,
            410: Reply(text="The events behind this number are not kept any more.", schema="Error"),
        },
    ),
    Operation(
        method="POST",
        path="/api/v1/runs/{runId}/cancel",
        name="cancelRun",
        tag="Runs",
        summary="Cancel a run that a client has started",
        parameters=(RUN_ID,),
        handler=cancel_run,
        replies={
            202: Reply(text="It is being cancelled.", schema="RunSummary"),
            404: NOT_FOUND,
            409: CONFLICT,
        },
    ),
    Operation(
        method="POST",
        path="/api/v1/runs/{runId}/answers",
        name="answerRun",
        tag="Runs",
        summary="Answer a node that waits",
        text="An answer counts once. The run goes on where it is; when its process is gone, it is taken up by this"
        " server as a new run, whose id is `resumedAs`. What fits is in `pauses` of the run.",
        parameters=(RUN_ID,),
        body=Body(text="The answer.", schema=_ANSWER, example={"nodeId": "approve", "answerer": "ann"}),
        handler=answer_run,
        replies={
            202: Reply(
                text="The answer was taken, and the run goes on.",
                schema=schemas.whole({"runId": schemas.TEXT, "resumedAs": schemas.nullable(schemas.TEXT)}),
            ),
            403: Reply(text="This person may not answer.", schema="Error"),
            404: NOT_FOUND,
            409: Reply(text="Nothing waits there any more, or several visits do.", schema="Error"),
            **BAD_BODY,
            422: Reply(text="The answer does not fit the question, which stays open.", schema="Error"),
        },
    ),
    Operation(
        method="GET",
        path="/api/v1/pauses",
        name="listPauses",
        tag="Runs",
        summary="List what waits for an answer",
        parameters=(CHAIN,),
        handler=list_pauses,
        replies={
            200: Reply(
                text="The open questions, in the order in which they came.",
                schema=schemas.whole({"pauses": schemas.listed(schemas.ref("Pause"))}),
            )
        },
    ),
)
