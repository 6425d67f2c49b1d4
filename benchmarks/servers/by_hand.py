"""The two functions of the chain, hand-written in Python on Starlette and uvicorn: `python by_hand.py PORT`."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def is_warm(message: dict[str, Any]) -> bool:
    """Do what the filter of the chain does."""
    return bool(message["temperature"] > 20)


def with_alarm(message: dict[str, Any], metadata: dict[str, str]) -> dict[str, Any]:
    """Do what the transform of the chain does."""
    metadata["seen"] = "1"
    return {**message, "alarm": message["temperature"] > 30}


async def take(request: Any) -> Response:
    """Answer one request."""
    message = await request.json()
    metadata = {"_triggerSource": "endpoint"}
    if not is_warm(message):
        return Response()
    return JSONResponse(with_alarm(message, metadata))


if __name__ == "__main__":
    uvicorn.run(
        Starlette(routes=[Route("/in", take, methods=["POST"])]),
        port=int(sys.argv[1]),
        http="httptools",
        loop="asyncio",
        access_log=False,
        log_level="warning",
    )
