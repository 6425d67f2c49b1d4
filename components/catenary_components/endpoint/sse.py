"""Answers in pieces, as an event stream (`text/event-stream`)."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.endpoints import Answer
    from catenary.http.inprocess import AsgiSend

_HEAD: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # a proxy such as nginx must pass each piece on at once
)


class EventStream:
    """Sends what a chain emits by `Stream` piece by piece; the answer comes last.

    A piece is an event without a name. The last event is named `answer`, or `failure` with the text of the error, so
    that a browser knows when to close; comments in between show that the connection is alive.

    Args:
        send: That of the ASGI application.
        heartbeat_s: Seconds without an event after which a comment is sent; 0 for none.
        headers: More headers of the answer.
        is_asked: True when the client takes nothing but an event stream.
    """

    __slots__ = ("_beating", "_has_begun", "_headers", "_heartbeat_s", "_is_asked", "_is_quiet", "_send")

    def __init__(
        self, send: AsgiSend, heartbeat_s: float, headers: Sequence[tuple[bytes, bytes]], *, is_asked: bool
    ) -> None:
        self._send = send
        self._heartbeat_s = heartbeat_s
        self._headers = headers
        self._is_asked = is_asked
        self._has_begun = False
        self._is_quiet = True
        self._beating: asyncio.Task[None] | None = None
        if is_asked:
            self._beat()

    async def piece(self, answer: Answer) -> None:
        """Send one piece; waits while the client does not keep up."""
        if answer.body is None:
            return
        self._beat()
        await self._write(_event("", answer.body))

    def is_wanted(self, answer: Answer) -> bool:
        """Tell whether the answer belongs into an event stream: one has begun, or the client asked for one."""
        return self._has_begun or (self._is_asked and (answer.status or 200) < 300)

    async def end(self, answer: Answer) -> None:
        """Send the answer and close."""
        failed = answer.error is not None or (answer.status or 200) >= 400
        body = answer.body if answer.body is not None else answer.reason if failed else ""
        await self._write(_event("failure" if failed else "answer", body))
        await self._send({"type": "http.response.body", "body": b""})

    def quiet(self) -> None:
        """Send no more comments."""
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None

    # Private

    async def _write(self, data: bytes) -> None:
        self._is_quiet = False
        if not self._has_begun:
            self._has_begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": [*_HEAD, *self._headers]})
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    def _beat(self) -> None:
        if self._beating is None and self._heartbeat_s > 0:
            self._beating = asyncio.get_running_loop().create_task(self._keep_beating())

    async def _keep_beating(self) -> None:
        while True:
            self._is_quiet = True
            await asyncio.sleep(self._heartbeat_s)
            if self._is_quiet:
                await self._write(b":\n\n")


@lru_cache(maxsize=64)
def takes_events(accept: bytes) -> Literal["no", "can", "asks"]:
    """Tell what an `Accept` header says of event streams: not taken, taken among others, or asked for by name."""
    taken: Literal["no", "can", "asks"] = "no"
    for part in accept.decode("latin-1").lower().split(","):
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        if any(parameter.replace(" ", "").rstrip("0.") == "q=" for parameter in parameters):
            if kind == "text/event-stream":
                return "no"
            continue
        if kind == "text/event-stream":
            taken = "asks"
        elif kind in {"*/*", "text/*"} and taken == "no":
            taken = "can"
    return taken


def _event(name: str, body: bytes | str) -> bytes:
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    head = f"event: {name}\n" if name else ""
    return (head + "".join(f"data: {line}\n" for line in lines) + "\n").encode("utf-8", "replace")
