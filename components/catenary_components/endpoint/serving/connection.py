"""One HTTP/1.1 connection: reads requests, keeps time, and has them answered one after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final, cast

import httptools

from catenary_components.endpoint.serving.cycle import HttpCycle, refusal
from catenary_components.endpoint.serving.reading import RequestRefused, pair, parser_for, scope_of

if TYPE_CHECKING:
    from catenary_components.endpoint.serving.server import HttpServer

IDLE: Final = 0
"""No request is being read."""
HEAD: Final = 1
BODY: Final = 2
DISCARD: Final = 3
"""Nothing more is read; what still comes is thrown away, so that the client gets to read its answer."""

_BODY_BUFFER_BYTES: Final = 256 * 1024
_MAX_PIPELINED: Final = 1000
_HEADER_BYTES: Final = 32
"""What a header counts besides its text: many empty ones take memory, too."""
_VERSIONS: Final = ("1.1", "1.0")
_NOTED: Final = frozenset({b"host", b"expect", b"upgrade"})


class HttpConnection(asyncio.Protocol):
    """One connection of an `HttpServer`.

    Attributes:
        phase: `IDLE`, `HEAD`, `BODY` or `DISCARD`: where in a request the reading is.
        since: The server's tick at which that began.
        blocked_since: The tick since which the client has taken too little of what was sent; -1 when it keeps up.
        cycle: The request that is being answered.
        is_paused: True while nothing is read, because nobody asks for it.
        closing_since: The tick since which it is closed, and the client takes too little; -1 while it is open.
    """

    __slots__ = (
        "_body_bytes",
        "_drained",
        "_expects",
        "_hands_over",
        "_head_bytes",
        "_headers",
        "_hosts",
        "_is_last",
        "_loose_bytes",
        "_parser",
        "_queue",
        "_reading",
        "_requests",
        "_unsent",
        "_upgrade",
        "_url",
        "blocked_since",
        "client",
        "closing_since",
        "cycle",
        "is_paused",
        "local",
        "loop",
        "phase",
        "scheme",
        "server",
        "since",
        "transport",
    )

    transport: asyncio.Transport

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self.loop = server.loop
        self.phase = IDLE
        self.since = server.ticks
        self.blocked_since = -1
        self.closing_since = -1
        self.cycle: HttpCycle | None = None
        self.scheme = "http"
        self.client: tuple[str, int] | None = None
        self.local: tuple[str, int | None] | None = None
        self._parser: Any = parser_for(self)
        self._queue: deque[HttpCycle] | None = None
        self._reading: HttpCycle | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._url = b""
        self._requests = 0
        self._unsent = 0
        self._head_bytes = 0
        self._loose_bytes = 0
        self._body_bytes = 0
        self._hosts = 0
        self._expects = False
        self._upgrade = b""
        self._hands_over = False
        self.is_paused = False
        self._is_last = False
        self._drained: asyncio.Future[None] | None = None

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take up a new connection, or refuse it when there are too many."""
        self.transport = cast("asyncio.Transport", transport)
        connections = self.server.connections
        connections.add(self)
        self.client = pair(transport.get_extra_info("peername"))
        self.local = pair(transport.get_extra_info("sockname"))
        if transport.get_extra_info("sslcontext"):
            self.scheme = "https"
        if len(connections) > self.server.limits.connections:
            self.refuse(503, "too many connections")

    def data_received(self, data: bytes) -> None:
        """Read a piece of a request, or of several."""
        if self.phase == DISCARD:
            return
        requests = self._requests
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:
            self._hand_over(data[error.args[0] :])
            return
        except httptools.HttpParserError as error:
            cause = error.__context__
            if isinstance(cause, RequestRefused):
                self.refuse(cause.status, str(cause))
            else:
                self.refuse(400, "this is no valid HTTP request")
            return
        if self.phase and self._requests == requests:
            self._count(len(data))

    def eof_received(self) -> None:
        """Close: a client that sends no more is taken for gone."""

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the name is the protocol's
        """Tell whoever answers that nobody listens any more."""
        self.server.connections.discard(self)
        for cycle in (self.cycle, *tuple(self._queue or ())):
            if cycle is not None:
                self._leave(cycle)
        self.resume_writing()
        self._parser = None

    def pause_writing(self) -> None:
        """Have those who send wait: the client does not keep up."""
        self.blocked_since = self.server.ticks

    def resume_writing(self) -> None:
        """Let those go on who wait to send."""
        self.blocked_since = -1
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    async def drained(self) -> None:
        """Wait until the client has taken most of what was sent to it, or is gone."""
        while self.blocked_since >= 0:
            if self._drained is None or self._drained.done():
                self._drained = self.loop.create_future()
            await asyncio.shield(self._drained)

    # Called by the parser

    def on_message_begin(self) -> None:
        """Begin with a request."""
        self.phase = HEAD
        self.since = self.server.ticks
        self._requests += 1
        self._headers = []
        self._url = self._upgrade = b""
        self._head_bytes = self._loose_bytes = self._body_bytes = self._hosts = 0
        self._expects = self._hands_over = False

    def on_url(self, url: bytes) -> None:
        """Read a part of the address."""
        self._url += url
        if len(self._url) > self.server.limits.head_bytes:
            raise RequestRefused(414, "the address is too long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read a header; what comes behind the body counts for nothing."""
        self._head_bytes += len(name) + len(value) + _HEADER_BYTES
        if self._head_bytes > self.server.limits.head_bytes:
            raise RequestRefused(431, "the headers are too long")
        if self.phase != HEAD:
            return
        name = name.lower()
        self._headers.append((name, value))
        if name in _NOTED:
            self._note(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request on; its body may still come."""
        parser = self._parser
        method = parser.get_method().decode("ascii")
        version = parser.get_http_version()
        if version not in _VERSIONS:
            raise RequestRefused(505, "this is neither HTTP/1.1 nor HTTP/1.0")
        if self._hosts > 1 or (self._hosts == 0 and version == "1.1"):
            raise RequestRefused(400, "a request needs one Host header")
        if parser.should_upgrade():
            self._hands_over = True  # the parser stops behind the head
            if method == "CONNECT":
                raise RequestRefused(405, "this is no proxy")
            return
        scope = scope_of(self, method, version, self._url, self._headers)
        keeps = not self._is_last and self.server.limits.keep_alive and parser.should_keep_alive()
        self._take(HttpCycle(self, scope, keep_alive=keeps, expects_continue=self._expects))

    def on_body(self, body: bytes) -> None:
        """Keep a piece of a body; the client waits when there is much that nobody has asked for."""
        self._loose_bytes -= len(body)
        self._body_bytes += len(body)
        cycle = self._reading
        if cycle is not None and cycle.add_body(body) > _BODY_BUFFER_BYTES:
            self._pause()

    def on_message_complete(self) -> None:
        """End a request."""
        if self._hands_over:
            return
        self.phase = IDLE
        self.since = self.server.ticks
        cycle = self._reading
        if cycle is not None:
            self._reading = None
            cycle.complete_body()

    # Called by those who answer

    def resume_reading(self) -> None:
        """Read on after a pause; the time of the request begins anew."""
        if self.is_paused and not self._queue:
            self.is_paused = False
            self.since = self.server.ticks
            if not self.transport.is_closing():
                self.transport.resume_reading()

    def finished(self, cycle: HttpCycle) -> None:
        """Go on after an answer: with the next request, or not at all."""
        self.cycle = None
        if self.transport.is_closing():
            return
        if not cycle.keep_alive:
            self._finish_with(is_read=cycle.is_complete and self.phase != DISCARD)
            return
        if self.phase == IDLE:
            self.since = self.server.ticks
        if self._queue:
            self._start(self._queue.popleft())
        elif self._is_last and self.phase == IDLE:
            self.close()
        self.resume_reading()

    # Called by the server

    def note_progress(self) -> None:
        """Count anew how long the client takes nothing, when it has taken something."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if self._unsent < before:
            self.blocked_since = self.server.ticks if self.blocked_since >= 0 else -1
            self.closing_since = self.server.ticks if self.closing_since >= 0 else -1

    def read_limit_s(self, limits: float, body_bytes_s: int) -> float:
        """Give how long the request that is being read may take."""
        return limits + (self._body_bytes / body_bytes_s if self.phase == BODY else 0.0)

    def shutdown(self) -> None:
        """Take no further request: answers that are under way are finished, and tell the client."""
        self._is_last = True
        if self.cycle is None and self.phase == IDLE:
            self.close()
        elif self.cycle is not None and self.phase != HEAD:
            self._last_cycle().keep_alive = False

    def refuse(self, status: int, text: str) -> None:
        """Answer what is no request that could be handed on, and close."""
        self.phase = DISCARD
        self.since = self.server.ticks
        self._is_last = True
        reading, self._reading = self._reading, None
        if reading is not None:
            self._leave(reading)
        if self.cycle is not None:  # earlier requests are answered first
            self._last_cycle().keep_alive = False
        elif reading is not None and reading.has_begun:
            self.close()
        else:
            self.transport.write(refusal(status, text, self.server.date_line))
            self._say_goodbye()

    def close(self) -> None:
        """Close when all that was sent is through."""
        if self.closing_since < 0:
            self.closing_since = self.server.ticks
            self.transport.close()

    # Private

    def _leave(self, cycle: HttpCycle) -> None:
        """Give up on a request; the application may take a while to notice."""
        cycle.leave()
        if cycle is self.cycle:
            self.cycle = None
            if cycle.task is not None and not cycle.task.done():
                self.server.keep(cycle.task)
        elif self._queue:
            self._queue.remove(cycle)

    def _last_cycle(self) -> HttpCycle:
        return self._queue[-1] if self._queue else cast("HttpCycle", self.cycle)

    def _note(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            self._hosts += 1
        elif name == b"expect":
            self._expects = value.lower() == b"100-continue"
        else:
            self._upgrade = value.lower()

    def _count(self, count: int) -> None:
        """Refuse a request that sends ever more without its head or its body getting on."""
        self._loose_bytes += count
        if self._loose_bytes > 2 * self.server.limits.head_bytes + 16 * self._body_bytes:
            self.refuse(431, "the headers are too long")

    def _take(self, cycle: HttpCycle) -> None:
        self.phase = BODY
        self._reading = cycle
        if self.cycle is None:
            self._start(cycle)
            return
        if self._queue is None:
            self._queue = deque()
        self._queue.append(cycle)
        if len(self._queue) > _MAX_PIPELINED:
            raise RequestRefused(429, "too many requests at once")
        self._pause()

    def _start(self, cycle: HttpCycle) -> None:
        self.cycle = cycle
        cycle.task = self.loop.create_task(cycle.run(self.server.app))

    def _pause(self) -> None:
        if not self.is_paused and not self.transport.is_closing():
            self.is_paused = True
            self.transport.pause_reading()

    def _finish_with(self, *, is_read: bool) -> None:
        """Close; a client that is still sending gets a while to notice, for closing would destroy its answer."""
        self._reading = None
        if is_read:
            self.close()
            return
        self.phase = DISCARD
        self.since = self.server.ticks
        self._queue = None
        self._say_goodbye()
        self.resume_reading()

    def _say_goodbye(self) -> None:
        """Let the client see that nothing more comes, while what it still sends is thrown away."""
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _hand_over(self, rest: bytes) -> None:
        """Go on as a WebSocket; what asks for another protocol is answered in the one it was asked in."""
        if self.cycle is not None:
            self.refuse(400, "an upgrade has to wait for the answers before it")
            return
        is_websocket = self._upgrade == b"websocket"
        dropped = () if is_websocket else (b"upgrade", b"http2-settings")
        lines = [self._parser.get_method() + b" " + self._url + b" HTTP/1.1"]
        lines += [name + b": " + value for name, value in self._headers if name not in dropped]
        data = b"\r\n".join(lines) + b"\r\n\r\n" + rest
        if not is_websocket:
            self._parser = parser_for(self)
            self.data_received(data)
            return
        self.server.connections.discard(self)
        protocol = cast("Any", self.server.websocket_protocol())
        protocol.connection_made(self.transport)
        self.transport.set_protocol(protocol)
        protocol.data_received(data)
