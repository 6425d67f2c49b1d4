"""One WebSocket of an `HttpServer`: frames in and out, back-pressure, pings, and closing that always ends."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

from websockets.datastructures import Headers
from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol

from catenary_components._pushing import while_taken
from catenary_components.endpoint.leaving import is_of_leaving
from catenary_components.endpoint.serving.limits import SETTINGS
from catenary_components.endpoint.serving.reading import pair

if TYPE_CHECKING:
    from catenary.http.inprocess import AsgiEvent
    from catenary_components.endpoint.serving.server import HttpServer

logger = logging.getLogger(__name__)

_CLOSE_S: Final = 5.0
_AHEAD: Final = 32
_AHEAD_BYTES: Final = 256 * 1024


class WebSocketConnection(asyncio.Protocol):
    """One connection that has become a WebSocket. It answers to the application as ASGI wants it.

    With `websocket.accept` an application may send `settings`: `message_bytes`, the longest message; `write_s`, how
    long a client may take nothing of what is sent; and `ping_s`, how often a ping is sent. A client that answers none
    for as long is cut off, but not while nothing is read from it, because the application does not keep up.

    Attributes:
        on_alive: Is called whenever the client shows that it is there, by a frame of any kind.
        on_gone: Is called when the connection is lost, which may be before all is received that came on it.
    """

    transport: asyncio.Transport

    def __init__(self, server: HttpServer, message_bytes: int) -> None:
        self.on_alive: Any = None
        self.on_gone: Any = None
        self._server = server
        self._loop = server.loop
        self._wire = ServerProtocol(max_size=message_bytes)
        self._response: Response | None = None
        self._refusal: tuple[int, list[tuple[str, str]], bytes] | None = None
        self._events: deque[AsgiEvent] = deque()
        self._event_bytes = 0
        self._is_full = False
        self._is_flooded = False
        self._is_paused = False
        self._is_over = False
        self._waiting: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._is_blocked = False
        self._message = bytearray()
        self._is_text = False
        self._timer: asyncio.TimerHandle | None = None
        self._write_s = 0.0
        self._ping_s = 0.0
        self._ping_due = 0.0
        self._ping: asyncio.TimerHandle | None = None
        self._is_silent = False
        self._task: asyncio.Task[None] | None = None

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over a connection."""
        self.transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Read frames."""
        self._is_silent = False
        if self._wire.reader.eof:
            return
        self._wire.receive_data(data)
        for event in self._wire.events_received():
            if isinstance(event, Request):
                self._begin(event)
            else:
                self._take(cast("Frame", event))
        if self._wire.parser_exc is not None and self._wire.close_sent is not None:
            self._end(self._wire.close_sent.code, self._wire.close_sent.reason)
        self._flush()
        if self.on_alive is not None:
            self.on_alive()

    def eof_received(self) -> None:
        """Close: a client that sends no more is taken for gone."""

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the name is the protocol's
        """Tell the application that nobody is there any more."""
        self._server.connections.discard(self)
        for timer in (self._timer, self._ping):
            if timer is not None:
                timer.cancel()
        self._end(1006)
        self.resume_writing()
        if self.on_gone is not None:
            self.on_gone()
        if self._task is not None and not self._task.done():
            self._server.keep(self._task)

    def pause_writing(self) -> None:
        """Have those who send wait: the client does not keep up."""
        self._is_blocked = True

    def resume_writing(self) -> None:
        """Let those go on who wait to send."""
        self._is_blocked = self._is_flooded = False
        self._steer()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # Called by the server

    def shutdown(self) -> None:
        """Say goodbye: the server is being closed."""
        if self._wire.state is State.CONNECTING:
            self.transport.close()
        else:
            self._close(CloseCode.GOING_AWAY, "the server is being closed")

    # Called by the application

    async def receive(self) -> AsgiEvent:
        """Give the next event, as ASGI wants it."""
        while not self._events:
            if self._is_over:
                return {"type": "websocket.disconnect", "code": 1006}
            self._waiting = self._loop.create_future()
            await self._waiting
        event = self._events.popleft()
        self._event_bytes -= _size_of(event)
        if self._is_full and not self._events:
            self._is_full = False
            self._steer()
        return event

    async def send(self, event: AsgiEvent) -> None:
        """Do what an event says, as ASGI wants it; waits while the client does not keep up.

        Raises:
            ConnectionResetError: When a message can no longer be sent.
            TimeoutError: When the client takes nothing of those before it.
        """
        kind = event["type"]
        if kind == "websocket.send":
            if self._is_blocked:
                async with while_taken(self.transport, self._write_s):
                    await self._unblocked()
            self._send(event)
        elif kind == "websocket.accept":
            self._accept(event)
        elif kind == "websocket.close":
            if self._wire.state is State.CONNECTING:
                self._refuse(403, [], b"")
            else:
                self._close(event.get("code", 1000), event.get("reason") or "")
        elif kind == "websocket.http.response.start":
            fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.get("headers", ())]
            self._refusal = (event["status"], fields, b"")
        elif kind == "websocket.http.response.body" and self._refusal is not None:
            status, fields, body = self._refusal
            self._refusal = (status, fields, body + event.get("body", b""))
            if not event.get("more_body"):
                self._refuse(*self._refusal)
        else:
            raise RuntimeError(f"{kind!r} is not what is to be sent here")

    async def _unblocked(self) -> None:
        while self._is_blocked:
            if self._drained is None or self._drained.done():
                self._drained = self._loop.create_future()
            await asyncio.shield(self._drained)

    # Private: the handshake

    def _begin(self, request: Request) -> None:
        response = self._wire.accept(request)
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            self._wire.send_response(response)
            return
        self._response = response
        raw_path, _, query = request.path.partition("?")
        offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
        extra = self.transport.get_extra_info
        scope: dict[str, Any] = {
            "type": "websocket",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "scheme": "wss" if extra("sslcontext") else "ws",
            "server": pair(extra("sockname")),
            "client": pair(extra("peername")),
            "root_path": "",
            "path": unquote(raw_path),
            "raw_path": raw_path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in request.headers.raw_items()],
            "subprotocols": [token.strip() for token in offered.split(",") if token.strip()],
            "state": {},
            "extensions": {"websocket.http.response": {}, SETTINGS: {}},
        }
        self._add({"type": "websocket.connect"})
        self._task = self._loop.create_task(self._run(scope))
        self._task.add_done_callback(self._finish)

    def _accept(self, event: AsgiEvent) -> None:
        response = self._response
        if response is None or self._wire.state is not State.CONNECTING or self.transport.is_closing():
            raise ConnectionResetError("the client is gone")
        settings: dict[str, Any] = event.get("settings") or {}
        if "message_bytes" in settings:
            self._wire.max_message_size = settings["message_bytes"] or None
        del response.headers["Date"]
        for name, value in event.get("headers", ()):
            response.headers[name.decode("latin-1")] = value.decode("latin-1")
        if event.get("subprotocol"):
            response.headers["Sec-WebSocket-Protocol"] = event["subprotocol"]
        self._wire.send_response(response)
        self._flush()
        self._write_s = float(settings.get("write_s", 0))
        self._ping_s = float(settings.get("ping_s", 0))
        if self._ping_s:
            self._ask_again()

    def _refuse(self, status: int, fields: list[tuple[str, str]], body: bytes) -> None:
        """Answer the handshake by something else than a WebSocket."""
        self._end(1006)
        if self._wire.state is not State.CONNECTING or self._wire.eof_sent:
            return
        headers = Headers([*fields, ("Connection", "close"), ("Content-Length", str(len(body)))])
        self._wire.send_response(Response(status, HTTPStatus(status).phrase, headers, body))
        self._flush()

    async def _run(self, scope: AsgiEvent) -> None:
        await self._server.app(scope, self.receive, self.send)

    def _finish(self, task: asyncio.Task[None]) -> None:
        """Close, however the application came to its end; what goes wrong in here is told by the event loop."""
        if task.cancelled():
            self.transport.abort()
            return
        error = task.exception()
        is_gone = self.transport.is_closing()
        if error is not None and not ((is_gone or self._is_over) and is_of_leaving(error)):
            logger.error("a WebSocket could not be answered", exc_info=error)
        if not is_gone:
            self._refuse(500, [], b"")
            self._close(CloseCode.NORMAL_CLOSURE if error is None else CloseCode.INTERNAL_ERROR)

    # Private: frames

    def _take(self, frame: Frame) -> None:
        opcode = frame.opcode
        if opcode is Opcode.CLOSE:
            rcvd = self._wire.close_rcvd
            self._end(rcvd.code if rcvd else 1005, rcvd.reason if rcvd else "")
        elif opcode is Opcode.PING and self._is_blocked:  # there must not be any number of answers to it
            self._is_flooded = True
            self._steer()
        if opcode is Opcode.PING or opcode is Opcode.PONG or opcode is Opcode.CLOSE or self._is_over:
            return
        if opcode is not Opcode.CONT:
            self._is_text = opcode is Opcode.TEXT
        if frame.fin and not self._message:
            self._complete(frame.data)
            return
        self._message += frame.data  # no list: of empty pieces there may be any number
        if frame.fin:
            data, self._message = self._message, bytearray()
            self._complete(data)

    def _complete(self, data: bytes | bytearray | memoryview) -> None:
        if not self._is_text:
            self._add({"type": "websocket.receive", "bytes": bytes(data)})
            return
        try:
            text = str(data, "utf-8")
        except UnicodeDecodeError:
            self._wire.fail(CloseCode.INVALID_DATA, "a text must be UTF-8")
            self._end(CloseCode.INVALID_DATA)
        else:
            self._add({"type": "websocket.receive", "text": text})

    def _add(self, event: AsgiEvent) -> None:
        """Keep an event until the application asks for it; the client waits when there are many."""
        self._events.append(event)
        self._event_bytes += _size_of(event)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        if len(self._events) >= _AHEAD or self._event_bytes >= _AHEAD_BYTES:
            self._is_full = True
            self._steer()

    def _steer(self) -> None:
        """Read, unless the application does not keep up, or the client with the answers to its pings.

        The answer to a close frame has to be read, whatever comes before it.
        """
        is_closing = self._timer is not None
        if self.transport.is_closing():
            return
        if is_closing and self._is_flooded:
            self.transport.abort()
        elif self._is_paused is not (is_paused := not is_closing and (self._is_full or self._is_flooded)):
            self._is_paused = is_paused
            (self.transport.pause_reading if is_paused else self.transport.resume_reading)()

    def _send(self, event: AsgiEvent) -> None:
        data, text = event.get("bytes"), event.get("text")
        if self.transport.is_closing():
            raise ConnectionResetError("the client is gone")
        try:
            if data is not None:
                self._wire.send_binary(data)
            else:
                self._wire.send_text((text or "").encode("utf-8", "replace"))
        except InvalidState:
            raise ConnectionResetError("the client is gone") from None
        self._flush()

    def _send_ping(self) -> None:
        """Ask whether the client is there, unless the last such question was not answered."""
        is_late = self._loop.time() - self._ping_due > self._ping_s / 2  # nobody can answer an event loop that stands
        if self._is_silent and is_late:
            self._ask_again()
            return
        if self._is_silent and not self._is_paused:
            self._wire.fail(CloseCode.INTERNAL_ERROR, "no answer to a ping")
            self._end(1006)
            self._flush()
            self.transport.abort()
            return
        if self._wire.state is State.OPEN:
            self._is_silent = True
            self._wire.send_ping(b"")
            self._flush()
            self._ask_again()

    def _ask_again(self) -> None:
        self._ping_due = self._loop.time() + self._ping_s
        self._ping = self._loop.call_at(self._ping_due, self._send_ping)

    # Private: closing

    def _close(self, code: int, reason: str = "") -> None:
        """Begin the closing handshake; it is ended by force when the client does not go along."""
        if self._wire.state is State.OPEN:
            self._wire.send_close(code, reason)
            self._end(code, reason)
            self._flush()
        self._end_soon()

    def _end(self, code: int, reason: str = "") -> None:
        """Tell the application that nothing more comes; what came before is still given to it."""
        if not self._is_over:
            self._is_over = True
            self._add({"type": "websocket.disconnect", "code": code, "reason": reason})

    def _end_soon(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_CLOSE_S, self.transport.abort)
        self._steer()

    def _flush(self) -> None:
        """Send what there is to send; an empty piece is the end."""
        for piece in self._wire.data_to_send():
            if piece:
                self.transport.write(piece)
            else:
                self._end_writing()

    def _end_writing(self) -> None:
        """Send no more. A client that is still sending gets to read why, for closing would destroy that."""
        is_agreed = self._wire.close_rcvd is not None
        self._end_soon()
        if not is_agreed and self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()


def _size_of(event: AsgiEvent) -> int:
    return len(event.get("text") or event.get("bytes") or b"")
