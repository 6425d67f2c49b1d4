"""What a run came to, as the API tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary import jsontext
from catenary_server.api_error import api_error_of
from catenary_server.live import failure_of

if TYPE_CHECKING:
    from catenary.engine import Engine
    from catenary.errors import CatenaryError
    from catenary.jsontext import Json
    from catenary.outcome import Outcome
    from catenary.pauses.answers import Pause
    from catenary_server.live import LiveRun


def outcome_dict(engine: Engine, outcome: Outcome, chain_id: str) -> dict[str, Json]:
    """Give an outcome as JSON: beside all ends the answer, its data as a value and the message it is in."""
    error = outcome.error
    message = outcome.message.writable()
    return {
        "runId": outcome.run_id,
        "chainId": chain_id,
        "status": outcome.status,
        "ok": outcome.ok,
        "error": None if error is None else error_dict(engine, error),
        "data": jsontext.writable(message.value),
        "message": message.to_dict(),
        "ends": [
            {
                "nodeId": end.node_id,
                "relation": str(end.relation),
                "error": engine.masker.text(str(end.error)) if end.error is not None else None,
                "gated": end.gated,
                "message": end.message.writable().to_dict(),
            }
            for end in outcome.ends
        ],
        "pauses": [],
    }


def error_dict(engine: Engine, error: CatenaryError) -> dict[str, Json]:
    """Give an error in the form of all errors, its secrets masked."""
    written = api_error_of(error).to_dict()
    return engine.masker.items(written)


def unfinished_dict(engine: Engine, live: LiveRun) -> dict[str, Json]:
    """Give a run without an outcome in the form of one: it is on, waits, or came to none."""
    failure = failure_of(live)
    pauses = [pause_dict(engine, pause) for pause in engine.pauses.of(live.run_id)]
    return {
        "runId": live.run_id,
        "chainId": live.chain_id,
        "status": status_of(engine, live),
        "ok": False,
        "error": None if failure is None else engine.masker.items(failure.to_dict()),
        "data": None,
        "message": None,
        "ends": [],
        "pauses": pauses,
    }


def live_dict(engine: Engine, live: LiveRun) -> dict[str, Json]:
    """Give a run that a client has started in the form of an outcome."""
    if live.outcome is not None:
        return outcome_dict(engine, live.outcome, live.chain_id)
    return unfinished_dict(engine, live)


def status_of(engine: Engine, live: LiveRun) -> str:
    """Give what a run came to so far."""
    if live.outcome is not None:
        return live.outcome.status
    if live.is_over:
        return "failed" if isinstance(live.error, Exception) else "cancelled"
    return "waiting" if engine.pauses.of(live.run_id) else "running"


def summary_of(engine: Engine, live: LiveRun) -> dict[str, Json]:
    """Give a run that a client has started in the form of a row of the list."""
    error = live.error if live.outcome is None else live.outcome.error
    return {
        "runId": live.run_id,
        "chainId": live.chain_id,
        "status": status_of(engine, live),
        "error": "" if error is None else engine.masker.text(str(error)),
        "startedMs": live.started_ms,
        "endedMs": live.ended_ms,
    }


def http_status(outcome: dict[str, Any]) -> int:
    """Give the status of an answer that is an outcome."""
    return {"completed": 200, "paused": 202, "waiting": 202, "running": 202}.get(outcome["status"], 422)


def pause_dict(engine: Engine, pause: Pause) -> dict[str, Json]:
    """Give a question that waits for its answer as JSON, its secrets masked."""
    return engine.masker.items(jsontext.writable(pause.to_dict()))
