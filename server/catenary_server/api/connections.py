"""`/api/v1/shared` and `/api/v1/endpoints`: what the chains are connected to, and where messages come in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from catenary_server import schemas
from catenary_server.api_error import json_response
from catenary_server.operation import Operation, Reply
from catenary_server.readiness import endpoint_rows, shared_rows

if TYPE_CHECKING:
    from starlette.responses import Response

    from catenary_server.call import Call


async def list_shared(call: Call) -> Response:
    """Give the shared resources; this connects nothing."""
    return json_response({"shared": _masked(call, shared_rows(call.service.engine))})


async def list_endpoints(call: Call) -> Response:
    """Give the endpoints of all chains."""
    return json_response({"endpoints": _masked(call, endpoint_rows(call.service.engine))})


def _masked(call: Call, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call.service.engine.masker.items(row) for row in rows]


OPERATIONS: Final = (
    Operation(
        method="GET",
        path="/api/v1/shared",
        name="listShared",
        tag="Connections",
        summary="List the shared resources, and how they are",
        text="`state` is `none` before the first use, then `connected`, `reconnecting` or `disconnected`.",
        handler=list_shared,
        replies={
            200: Reply(
                text="The shared resources.",
                schema=schemas.whole({"shared": schemas.listed(schemas.ref("Connection"))}),
            )
        },
    ),
    Operation(
        method="GET",
        path="/api/v1/endpoints",
        name="listEndpoints",
        tag="Connections",
        summary="List the endpoints, and how they are",
        handler=list_endpoints,
        replies={
            200: Reply(
                text="The endpoints.",
                schema=schemas.whole({"endpoints": schemas.listed(schemas.ref("Endpoint"))}),
            )
        },
    ),
)
