"""`/healthz`, `/readyz`, `/metrics` and `/openapi.json`: what operators and their tools ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from catenary_server import schemas
from catenary_server.api_error import json_response
from catenary_server.operation import Operation, Reply
from catenary_server.readiness import readiness

if TYPE_CHECKING:
    from catenary_server.call import Call

_METRICS_TYPE: Final = "text/plain"


async def healthz(call: Call) -> Response:
    """Say that the process is there."""
    return json_response({"status": "ok", "state": call.service.state})


async def readyz(call: Call) -> Response:
    """Say whether messages are welcome; who has no key is told no more than that."""
    found = await readiness(call.service)
    if not call.service.settings.keys.admits(call.request.headers):
        found = {"status": found["status"], "ready": found["ready"]}
    return json_response(call.service.engine.masker.items(found), 200 if found["ready"] else 503)


async def metrics(call: Call) -> Response:
    """Give what is counted."""
    from catenary_server.metrics import exposition

    body, media = exposition(call.service, call.request.headers.get("accept", ""))
    return Response(body, 200, {"content-type": media, "cache-control": "no-store"})


async def openapi(call: Call) -> Response:
    """Give the document of all operations, and of the routes of endpoints."""
    from catenary_server.openapi import document

    return json_response(document(call.service, root=call.request.scope.get("root_path", "")))


_READY: Final = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["starting", "ready", "not ready", "draining"]},
        "ready": schemas.FLAG,
        "problems": schemas.listed(schemas.TEXT),
        "chains": schemas.WHOLE,
        "broken": schemas.WHOLE,
        "shared": schemas.listed(schemas.ref("Connection")),
        "endpoints": schemas.listed(schemas.ref("Endpoint")),
    },
    "required": ["status", "ready"],
}

OPERATIONS: Final = (
    Operation(
        method="GET",
        path="/healthz",
        name="healthz",
        tag="Operating",
        summary="Is the process there?",
        handler=healthz,
        replies={
            200: Reply(text="It is.", schema=schemas.whole({"status": schemas.TEXT, "state": schemas.TEXT})),
        },
        is_open=True,
        answers_draining=True,
    ),
    Operation(
        method="GET",
        path="/readyz",
        name="readyz",
        tag="Operating",
        summary="Are messages welcome?",
        text="Not while the server starts or stops, and not while a shared resource or an endpoint that was connected"
        " before, or should be, is not, or while the cache in Redis does not"
        " answer. Who has a key, where keys are needed, gets the details.",
        handler=readyz,
        replies={200: Reply(text="They are.", schema=_READY), 503: Reply(text="They are not.", schema=_READY)},
        is_open=True,
        answers_draining=True,
    ),
    Operation(
        method="GET",
        path="/metrics",
        name="metrics",
        tag="Operating",
        summary="Get the metrics, for Prometheus",
        text="The text format of Prometheus, or OpenMetrics when it is asked for.",
        handler=metrics,
        replies={200: Reply(text="The metrics.", schema=schemas.TEXT, media=_METRICS_TYPE)},
        answers_draining=True,
    ),
    Operation(
        method="GET",
        path="/openapi.json",
        name="openapi",
        tag="Operating",
        summary="Get this document",
        text="With the routes of http endpoints that the server has.",
        handler=openapi,
        replies={200: Reply(text="The document.", schema=schemas.OBJECT)},
    ),
)
