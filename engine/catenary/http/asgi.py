"""The few lines of ASGI that applications inside the process need: cassettes, and the servers for tests."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from catenary.http.inprocess import AsgiEvent, AsgiReceive, AsgiSend

BREAK_OFF = "break off"
"""What an application returns to have the connection cut: uvicorn closes the socket on any result but `None`."""


async def read_body(receive: AsgiReceive) -> bytes:
    """Read the body of a request."""
    body = bytearray()
    more = True
    while more:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    return bytes(body)


def headers_of(scope: AsgiEvent) -> dict[str, str]:
    """Give the headers of a request by lower-case name; one that came several times as a list with commas."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


async def send_head(send: AsgiSend, status: int, headers: Mapping[str, str]) -> None:
    """Send the status and the headers of an answer."""
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def send_piece(send: AsgiSend, body: bytes, *, more: bool = True) -> None:
    """Send a piece of the body."""
    await send({"type": "http.response.body", "body": body, "more_body": more})


@asynccontextmanager
async def watch_disconnect(receive: AsgiReceive, on_disconnect: Callable[[], Any]) -> AsyncGenerator[None]:
    """Call a function when the client goes away inside the block, which is then cancelled.

    To be entered after the body was read: from then on the one thing to receive is the disconnect.
    """
    answering = asyncio.current_task()

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        on_disconnect()
        if answering is not None:
            answering.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
