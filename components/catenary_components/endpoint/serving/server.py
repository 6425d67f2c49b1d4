"""An HTTP/1.1 server inside a running event loop: no signals, no threads, no logging of its own."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import time
from dataclasses import dataclass
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final

from catenary import EngineError, ResourceError
from catenary_components.endpoint.serving.limits import Limits

if TYPE_CHECKING:
    from catenary.http.inprocess import AsgiApp

_BACKLOG: Final = 2048
_LINGER_S: Final = 5.0
_LOOK_S: Final = 0.02
_TCP_OPTIONS: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
"""Where the system has them: seconds of silence, seconds between questions, how many; milliseconds to deliver."""


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificate of a server and its key, as files in PEM format; the key may be in the certificate's file."""

    cert_file: str
    key_file: str = ""

    def context(self) -> ssl.SSLContext:
        """Read the files. Raises: ResourceError: when they cannot be read, or do not belong together."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.cert_file, self.key_file or None)
        except (OSError, ssl.SSLError) as error:
            raise ResourceError(
                f"the certificate {self.cert_file!r} with the key {self.key_file!r} cannot be used: {error}",
                hint="give PEM files that belong together and can be read",
            ) from error
        context.set_alpn_protocols(["http/1.1"])
        return context


class HttpServer:
    """Serves an ASGI application on one address. Lives in the event loop in which it is opened.

    Args:
        app: The application; it gets `http` and `websocket` scopes, and none for `lifespan`.
        limits: What clients may do; may be replaced at any time.
        websocket_bytes: The largest WebSocket message.

    Attributes:
        ticks: Counts how often was looked at who takes too long.
        connections: What is connected, WebSockets included.
    """

    def __init__(self, app: AsgiApp, *, limits: Limits | None = None, websocket_bytes: int = 16 * 1024 * 1024) -> None:
        _need_packages()
        self.app = app
        self.limits = limits or Limits()
        self.ticks = 0
        self.connections: set[Any] = set()
        self.date_line = b""
        self.loop: asyncio.AbstractEventLoop = None  # type: ignore[assignment] # there is one once it is open
        self._tasks: set[asyncio.Task[None]] = set()
        self._websocket_bytes = websocket_bytes
        self._sockets: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._tick_s = 0.5

    @property
    def is_open(self) -> bool:
        """True while connections are taken."""
        return self._sockets is not None

    async def open(self, host: str, port: int, tls: Tls | None = None) -> int:
        """Take connections.

        Args:
            host: An address of this machine, or a name of one.
            port: 0 for any that is free.
            tls: For https; http if absent.

        Returns:
            The port.

        Raises:
            ResourceError: When the address is taken or is none of this machine, or the certificate cannot be used.
        """
        from catenary_components.endpoint.serving.connection import HttpConnection

        self.loop = asyncio.get_running_loop()
        context = tls.context() if tls else None
        timeouts: dict[str, Any] = {}
        if context is not None:
            timeouts = {"ssl_handshake_timeout": self.limits.read_timeout_s or 60.0, "ssl_shutdown_timeout": _LINGER_S}
        try:
            self._sockets = await self.loop.create_server(
                lambda: HttpConnection(self), host, port, ssl=context, backlog=_BACKLOG, **timeouts
            )
        except OSError as error:
            raise _cannot_listen(host, port, error) from error
        for listening in self._sockets.sockets:
            _find_dead_peers(listening)
        self._tick()
        return int(self._sockets.sockets[0].getsockname()[1])

    async def close(self, grace_s: float = 10.0) -> None:
        """Take no more connections, finish what is being answered, and close. May be awaited again.

        Args:
            grace_s: Seconds after which whatever is still open is cut off.
        """
        sockets, self._sockets = self._sockets, None
        if sockets is None:
            return
        sockets.close()
        for connection in list(self.connections):
            connection.shutdown()
        deadline = self.loop.time() + grace_s
        try:
            # A WebSocket takes itself out of the set and tells nobody, so somebody has to look.
            while self.connections and self.loop.time() < deadline:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
        finally:
            for connection in list(self.connections):
                connection.transport.abort()
            if self._timer is not None:
                self._timer.cancel()

    def websocket_protocol(self) -> asyncio.Protocol:
        """Make what takes over a connection that becomes a WebSocket."""
        from catenary_components.endpoint.serving.websocket import WebSocketConnection

        return WebSocketConnection(self, self._websocket_bytes)

    def keep(self, task: asyncio.Task[None]) -> None:
        """Hold a task whose client is gone until it is done: nobody else does."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Private

    def _tick(self) -> None:
        """Look who takes too long, and what time it is."""
        self._tick_s = self.limits.tick_s
        self._timer = self.loop.call_later(self._tick_s, self._tick)
        self.ticks += 1
        self.date_line = b"date: " + formatdate(time.time(), usegmt=True).encode() + b"\r\n"
        for connection in list(self.connections):
            self._look_at(connection)

    def _look_at(self, connection: Any) -> None:
        from catenary_components.endpoint.serving.connection import DISCARD, IDLE, HttpConnection

        if not isinstance(connection, HttpConnection):
            return  # a WebSocket keeps its own time
        limits = self.limits
        if connection.blocked_since >= 0 or connection.closing_since >= 0:
            connection.note_progress()
        if self._is_over(connection.closing_since, limits.write_timeout_s) or self._is_over(
            connection.blocked_since, limits.write_timeout_s
        ):
            connection.transport.abort()
        elif connection.phase == DISCARD:
            if connection.cycle is None and self._is_over(connection.since, _LINGER_S):
                connection.close()
        elif connection.phase == IDLE:
            if connection.cycle is None and self._is_over(connection.since, limits.idle_timeout_s):
                connection.close()
        elif not connection.is_paused and limits.read_timeout_s:
            allowed_s = connection.read_limit_s(limits.read_timeout_s, limits.body_bytes_s)
            if self._is_over(connection.since, allowed_s):
                connection.refuse(408, "the request took too long")

    def _is_over(self, since: int, allowed_s: float) -> bool:
        return since >= 0 and allowed_s > 0 and (self.ticks - since - 1) * self._tick_s >= allowed_s


def _find_dead_peers(listening: Any) -> None:
    """Have the system look whether clients that say nothing are still there; connections inherit it."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP_OPTIONS.items():
        if hasattr(socket, name):
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _need_packages() -> None:
    try:
        import httptools
        import websockets
    except ImportError as error:
        raise EngineError(
            f"serving HTTP needs the package {error.name}, which is not installed",
            hint="install it with: pip install 'catenary[server]'",
        ) from error
    del httptools, websockets


def _cannot_listen(host: str, port: int, error: OSError) -> ResourceError:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return ResourceError(
            f"{address} is in use by another program", retryable=True, hint="stop it, or choose another port"
        )
    if error.errno == errno.EACCES:
        hint = "ports below 1024 need a permission of the system; choose a higher one"
        return ResourceError(f"{address} cannot be listened on: permission denied", hint=hint)
    text = f"{address} cannot be listened on: {error.strerror or error}"
    return ResourceError(text, retryable=True, hint="use an address of this machine, such as 127.0.0.1")
