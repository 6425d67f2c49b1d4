"""One request and its answer, as an ASGI application sees them."""

from __future__ import annotations

import http
import logging
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from catenary_components.endpoint.leaving import is_of_leaving

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from catenary.http.inprocess import AsgiApp, AsgiEvent
    from catenary_components.endpoint.serving.connection import HttpConnection

_HEADER_LINE: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [^\x00-\x08\x0a-\x1f\x7f]*")
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSE: Final = b"connection: close\r\n"
_CHUNKED: Final = b"transfer-encoding: chunked\r\n"
_DISCONNECT: Final[AsgiEvent] = {"type": "http.disconnect"}

_logger = logging.getLogger(__name__)


class HttpCycle:
    """One request and its answer: what an ASGI application gets as `receive` and `send`.

    Attributes:
        keep_alive: Whether another request may follow on the connection.
        is_complete: True when the whole request is there.
        has_begun: True when a part of the answer has been sent.
        is_gone: True when the client is gone.
        on_gone: Called when the client goes away.
        task: What runs the application.
    """

    # Most requests leave most of these as they are, and there is one object for each.
    is_complete = False
    is_gone = False
    on_gone: Callable[[], None] | None = None
    has_begun = False
    task: asyncio.Task[None] | None = None
    _body = b""
    _is_delivered = False
    _waiter: asyncio.Future[None] | None = None
    _status = 0
    _fields: Sequence[tuple[bytes, bytes]] = ()
    _is_over = False
    _is_chunked = False
    _sends_body = True
    _left: int | None = None

    def __init__(
        self, connection: HttpConnection, scope: dict[str, Any], *, keep_alive: bool, expects_continue: bool
    ) -> None:
        self._connection = connection
        self._scope = scope
        self.keep_alive = keep_alive
        self._expects_continue = expects_continue

    # Called by the connection

    def add_body(self, body: bytes) -> int:
        """Keep a piece of the body. Returns: how many bytes nobody has asked for yet."""
        if self._is_over:
            return 0
        self._body = self._body + body if self._body else body
        self._wake()
        return len(self._body)

    def complete_body(self) -> None:
        """Note that the body is whole."""
        self.is_complete = True
        self._wake()

    def leave(self) -> None:
        """Note that the client is gone."""
        self.is_gone = True
        self._wake()
        if self.on_gone is not None:
            self.on_gone()

    async def run(self, app: AsgiApp) -> None:
        """Have the application answer; what it raises is a fault, which is logged.

        What it raises because the client is gone is none.
        """
        try:
            await app(self._scope, self.receive, self.send)
        except Exception as error:
            if not (self.is_gone and is_of_leaving(error)):
                _logger.exception("a request cannot be answered", extra={"path": self._scope["path"]})
        except BaseException:
            self._connection.transport.abort()
            raise
        if not self._is_over and not self.is_gone:
            await self._fail()

    # The application's side

    async def receive(self) -> AsgiEvent:
        """Give the next piece of the body; after the last one, wait until the client is gone."""
        if self._expects_continue and not self.has_begun:
            self._expects_continue = False
            self._connection.transport.write(_CONTINUE)
        while not self._body and (not self.is_complete or self._is_delivered):
            if self.is_gone or self._is_over:
                return _DISCONNECT
            self._connection.resume_reading()
            self._waiter = self._connection.loop.create_future()
            await self._waiter
        if self.is_gone:
            return _DISCONNECT
        body, self._body = self._body, b""
        self._is_delivered = self.is_complete
        return {"type": "http.request", "body": body, "more_body": not self.is_complete}

    async def send(self, message: AsgiEvent) -> None:
        """Send the head or a piece of the body; waits while the client does not keep up."""
        if self.is_gone or self._connection.transport.is_closing():
            self.is_gone = True  # the event loop is about to say so
            return
        kind = message["type"]
        if kind == "http.response.start" and not self._status:
            self._note_head(message["status"], message.get("headers", ()))
            return
        if kind != "http.response.body" or not self._status or self._is_over:
            raise RuntimeError(f"{kind!r} does not belong here")
        body: bytes = message.get("body", b"")
        is_last = not message.get("more_body", False)
        data = self._piece(body, is_last=is_last)
        if not self.has_begun:
            data = self._head() + data
        if data:
            self._connection.transport.write(data)
        if is_last:
            self._end()
        elif self._connection.blocked_since >= 0:
            await self._connection.drained()

    # Private

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _note_head(self, status: int, fields: Sequence[tuple[bytes, bytes]]) -> None:
        """Keep the head until the body comes; that of an answer in pieces is sent at once."""
        self._status = status
        self._fields = fields
        self._sends_body = self._scope["method"] != "HEAD" and status >= 200 and status not in (204, 304)
        for name, value in fields:
            lower = name.lower()
            if lower == b"content-length":
                self._left = int(value)
            elif lower == b"connection" and b"close" in value.lower():
                self.keep_alive = False
        if self._left is None and self._sends_body:
            self._is_chunked = self._scope["http_version"] == "1.1"
            self.keep_alive = self.keep_alive and self._is_chunked
            self._connection.transport.write(self._head())

    def _head(self) -> bytes:
        server = self._connection.server
        if not self.is_complete:
            self.keep_alive = False
        lines = [_status_line(self._status), server.date_line]
        lines += [_line(name, value) for name, value in self._fields if name.lower() != b"connection"]
        if self._is_chunked:
            lines.append(_CHUNKED)
        if not self.keep_alive:
            lines.append(_CLOSE)
        elif self._scope["http_version"] == "1.0":
            lines.append(b"connection: keep-alive\r\n")
        lines.append(b"\r\n")
        self.has_begun = True
        return b"".join(lines)

    def _piece(self, body: bytes, *, is_last: bool) -> bytes:
        if not self._sends_body:
            return b""
        if self._is_chunked:
            piece = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return piece + b"0\r\n\r\n" if is_last else piece
        if self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (is_last and self._left):
                raise RuntimeError("the body is not as long as its Content-Length says")
        return body

    def _end(self) -> None:
        self._is_over = True
        self._wake()
        if not self._is_chunked and self._left is None and self._sends_body:
            self.keep_alive = False
        self._connection.finished(self)

    async def _fail(self) -> None:
        """Answer 500, or cut an answer that has begun, so that nobody takes it for whole."""
        if self.has_begun:
            self.keep_alive = False
            self._connection.transport.abort()
            return
        text = b"Internal Server Error"
        self._status = 0
        self._left = None
        self._is_chunked = False
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(text))]
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body", "body": text})


def refusal(status: int, text: str, date_line: bytes) -> bytes:
    """Give a whole answer to a request that could not be read."""
    body = text.encode()
    head = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n" % len(body)
    return _status_line(status) + date_line + head + _CLOSE + b"\r\n" + body


@cache
def _status_line(status: int) -> bytes:
    try:
        reason = http.HTTPStatus(status).phrase
    except ValueError:
        reason = ""
    return f"HTTP/1.1 {status} {reason}\r\n".encode("ascii")


@lru_cache(maxsize=2048)
def _line(name: bytes, value: bytes) -> bytes:
    """Write one header. Raises: RuntimeError: when it would not stay one."""
    line = name + b": " + value
    if _HEADER_LINE.fullmatch(line) is None:
        raise RuntimeError(f"{name!r}: {value!r} is no HTTP header")
    return line + b"\r\n"
