"""`POST /api/v1/chains/{chainId}/run`: run a message through a chain, and give what came of it or what happens."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from catenary.message import BINARY, JSON, TEXT, Message
from catenary_server import schemas
from catenary_server.api._replies import BAD_BODY, CHAIN_ID, CONFLICT, NOT_FOUND, chain_of
from catenary_server.api_error import ApiError, json_response
from catenary_server.event_stream import EVENT_STREAM, EventStream
from catenary_server.live import failure_of, taken
from catenary_server.operation import Body, Operation, Parameter, Reply
from catenary_server.outcomes import http_status, live_dict

if TYPE_CHECKING:
    from catenary_server.call import Call
    from catenary_server.live import LiveRun
    from catenary_server.service import Service

_GONE: Final = 499  # what nginx calls a client that did not wait for its answer; nobody gets it
_ROUNDS: Final = 2
"""For how many rounds of the event loop a run is waited for without looking after the client: most need no more."""
_LONGEST_S: Final = 7 * 24 * 3600
_DURATION: Final = re.compile("[1-9][0-9]{0,4}(ms|s)|[1-9][0-9]{0,3}m|[1-9][0-9]?h")


async def run_chain(call: Call) -> Response:
    """Run a message through a chain."""
    chain = chain_of(call)
    body = await call.json()
    message, options = message_of(body), options_of(body)
    run_id = body.get("runId")
    if run_id:
        await _refuse_recorded(call.service, run_id)
    streams = call.accepts(EVENT_STREAM)
    detaches = call.query.get("disconnect") == "detach" or call.query.get("wait") is False
    live = call.service.runs.new(run_id, chain.id)
    listener = live.note if streams or detaches else None
    call.service.runs.begin(live, chain.run(message, run_id=live.run_id, listener=listener, **options))
    if call.query.get("wait") is False:
        return json_response(live_dict(call.service.engine, live), 202, {"location": _place(call, live)})
    if streams:
        return await _streamed(call, live, detaches=detaches)
    return await _answered(call, live, detaches=detaches)


def message_of(body: dict[str, Any]) -> Message:
    """Give the message of a request. Raises: ApiError: when its data is not of its type."""
    data = body.get("data", "")
    data_type = body.get("dataType") or (TEXT if isinstance(data, str) and "data" in body else JSON)
    wire = {"data": data, "dataType": data_type, "type": body.get("type"), "metadata": body.get("metadata")}
    if data_type == BINARY and not isinstance(data, str):
        text = "body.data of a BINARY message must be a text of hex digits"
        raise ApiError(422, "request.body", text, hint="write bytes as hex digits")
    try:
        return Message.from_dict(wire)
    except ValueError as error:
        raise ApiError(422, "request.body", f"body: {error}", hint="write bytes as hex digits") from None


def options_of(body: dict[str, Any]) -> dict[str, Any]:
    """Give the options of the run."""
    options: dict[str, Any] = {}
    if body.get("start") is not None:
        options["start"] = body["start"]
    timeout = body.get("timeout")
    if isinstance(timeout, str):
        from catenary.durations import duration_s

        timeout = duration_s(timeout)
    if timeout is not None:
        options["timeout"] = float(timeout)
    return options


async def _refuse_recorded(service: Service, run_id: str) -> None:
    history = service.engine.history
    if history is not None and run_id in await asyncio.to_thread(history.store.matching, run_id, 1):
        raise taken(run_id)


async def _streamed(call: Call, live: LiveRun, *, detaches: bool) -> Response:
    """Answer with the events, once there is one; a run that does not begin is an error like any other."""
    follower = live.follow()
    try:
        while not live.is_over and not live.last:
            follower.clear()
            await follower.wait()
    finally:
        live.leave(follower)
    failure = failure_of(live) if not live.last else None
    if failure is not None:
        raise failure
    return EventStream(call.service, live, cancels=not detaches)


async def _answered(call: Call, live: LiveRun, *, detaches: bool) -> Response:
    """Answer with the outcome, or, when a node waits for somebody, with what is asked."""
    if not await _is_there(call, live):
        if not detaches:
            live.cancel()
        return Response(status_code=_GONE)
    failure = failure_of(live) if live.is_over else None
    if failure is not None:
        call.service.runs.delivered(live)
        raise failure
    outcome = live_dict(call.service.engine, live)
    headers = {} if live.is_over else {"location": _place(call, live)}
    if live.is_over and not detaches:
        call.service.runs.delivered(live)
    return json_response(outcome, http_status(outcome), headers)


async def _is_there(call: Call, live: LiveRun) -> bool:
    """Wait for the outcome or for a question. Returns: False when the client went away before."""
    pauses = call.service.engine.pauses
    for _ in range(_ROUNDS):
        if live.is_over:
            return True
        await asyncio.sleep(0)
    follower = live.follow()
    gone = asyncio.ensure_future(_gone(call))
    try:
        while not live.is_over and not (live.waits and pauses.of(live.run_id)):
            follower.clear()
            news = asyncio.ensure_future(follower.wait())
            await asyncio.wait({news, gone}, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
            if gone.done() and not live.is_over:
                return False
    finally:
        gone.cancel()
        live.leave(follower)
    return True


async def _gone(call: Call) -> None:
    while (await call.request.receive())["type"] != "http.disconnect":
        pass


def _place(call: Call, live: LiveRun) -> str:
    from urllib.parse import quote

    return f"{call.request.scope.get('root_path', '')}/api/v1/runs/{quote(live.run_id, safe='')}"


_MESSAGE: Final = schemas.closed(
    {
        "data": {"description": "The payload: any JSON value; a text is the payload as it is."},
        "dataType": {
            "type": "string",
            "enum": [JSON, TEXT, BINARY],
            "description": "TEXT for a text, else JSON; the text of a BINARY payload is hex digits.",
        },
        "type": {"type": "string", "description": "The business type, which `msgTypeSwitch` looks at."},
        "metadata": {"type": "object", "description": "Any values by key; nodes see texts."},
        "start": {
            "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": schemas.TEXT, "minItems": 1}],
            "description": "The node or nodes to start at; the first node of the chain if absent.",
        },
        "timeout": {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": _LONGEST_S},
                {"type": "string", "pattern": f"^({_DURATION.pattern})$"},
            ],
            "description": "After how many seconds the run is cancelled; or a text such as `500ms` or `2m`.",
        },
        "runId": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "description": "The id of the run, which no other has: sent twice, it runs once.",
        },
    }
)

DISCONNECT: Final = Parameter(
    name="disconnect",
    schema={"type": "string", "enum": ["cancel", "detach"]},
    text="What becomes of the run when the client goes away: `cancel` stops it, which is what happens when nothing is"
    " said; `detach` lets it go on, and its outcome and events can be fetched for ten minutes after its end.",
)

OPERATIONS: Final = (
    Operation(
        method="POST",
        path="/api/v1/chains/{chainId}/run",
        name="runChain",
        tag="Running",
        summary="Run a message through a chain",
        text="The answer is the outcome of the run. With `Accept: text/event-stream` it is a stream of its events, as"
        " they happen: `id` is the number of the event, `event` its name, `data` the event as JSON. The last one is"
        " `run.complete`, `run.error`, `run.cancel` or `run.pause`, and has the `outcome`. A comment comes when"
        " nothing has happened for a while.\n\nWhen a node waits for an answer, the run goes on without the client:"
        " the answer is 202, with what is asked in `pauses`, and the place of the run in `Location`.",
        parameters=(
            CHAIN_ID,
            DISCONNECT,
            Parameter(
                name="wait",
                schema=schemas.FLAG,
                text="`false` does not wait: the answer is 202 at once, with the id of the run, which goes on.",
            ),
        ),
        body=Body(
            text="The message, and how it is run; without a body it is an empty message.",
            schema=_MESSAGE,
            example={"data": {"temperature": 41}},
            may_be_absent=True,
        ),
        handler=run_chain,
        replies={
            200: Reply(text="The run completed.", schema="Outcome", others={EVENT_STREAM: schemas.EVENT}),
            202: Reply(
                text="The run waits for an answer, was put off, or was not waited for.",
                schema="Outcome",
                headers={"Location": "Where the run is found."},
            ),
            404: NOT_FOUND,
            409: CONFLICT,
            **BAD_BODY,
            422: Reply(
                text="The run failed or was cancelled; or its message is none, and it did not begin.",
                schema={"anyOf": [schemas.ref("Outcome"), schemas.ref("Error")]},
            ),
        },
    ),
)
