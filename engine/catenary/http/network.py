"""Connections of the HTTP library, over the transports of asyncio itself.

Those that the library brings wait for each piece in a scope of its own and stop reading in between, which costs two
system calls and about a third of the time that a small piece takes.
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Any, Final

import httpcore

from catenary.http.dialing import dial

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Generator, Iterable

_READ_AHEAD_BYTES: Final = 256 * 1024
_HEAD_END: Final = b"\r\n\r\n"


class AsyncioBackend(httpcore.AsyncNetworkBackend):
    """Opens connections on the running event loop."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a host. Raises: httpcore.ConnectError, httpcore.ConnectTimeout."""
        local = (local_address, 0) if local_address else None
        with _connecting():
            async with asyncio.timeout(timeout):
                stream = await dial(Stream, host, port, local_address=local)
        stream.set_options(socket_options or ())
        return stream

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a socket of this machine. Raises: httpcore.ConnectError, httpcore.ConnectTimeout."""
        with _connecting():
            async with asyncio.timeout(timeout):
                _, stream = await asyncio.get_running_loop().create_unix_connection(Stream, path)
        stream.set_options(socket_options or ())
        return stream

    async def sleep(self, seconds: float) -> None:
        """Wait so long."""
        await asyncio.sleep(seconds)


class Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """One connection. One task reads at a time, and one writes."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._is_over = False
        self._failure: Exception | None = None
        self._reading = Waiting()
        self._writing = Waiting()
        self._is_full = False
        self._tail: bytes | None = None  # of the head of an answer, as long as its end has not come
        self._is_at_body = False

    # What the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the way things are sent."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep a piece until it is asked for."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _READ_AHEAD_BYTES:
            self._transport.pause_reading()
        self._reading.wake()

    def eof_received(self) -> bool:
        """Take note that nothing more comes."""
        self._is_over = True
        self._reading.wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Have those who wait see the end."""
        self._is_over = True
        self._failure = exc
        self._reading.close()
        self._writing.close()

    def pause_writing(self) -> None:
        """Have whoever writes wait."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Have whoever waits go on."""
        self._is_full = False
        self._writing.wake()

    # What the library asks for

    @property
    def is_at_body(self) -> bool:
        """Whether the head of an answer has been given, and nothing of its body."""
        return self._is_at_body

    def put_back(self, piece: bytes) -> None:
        """Have something read before everything else."""
        self._pieces.appendleft(piece)
        self._size += len(piece)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Give what has come, at least one byte; none at the end. Raises: httpcore.ReadError, httpcore.ReadTimeout."""
        while not self._pieces:
            if self._is_over:
                if self._failure is not None:
                    raise httpcore.ReadError(str(self._failure)) from self._failure
                return b""
            if not await self._reading.wait(timeout):
                raise httpcore.ReadTimeout
        return self._taken(max_bytes)

    def _taken(self, most: int) -> bytes:
        was_full = self._size > _READ_AHEAD_BYTES
        piece = self._pieces.popleft() if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._is_at_body = False
        if self._tail is not None:
            most = min(self._end_of_head(piece), most)
        if len(piece) > most:
            self._pieces.append(piece[most:])
            piece = piece[:most]
        self._size -= len(piece)
        if was_full and self._size <= _READ_AHEAD_BYTES and not self._is_over:
            self._transport.resume_reading()
        return piece

    def _end_of_head(self, piece: bytes) -> int:
        """Give where in a piece a head ends, so that its body can be read by somebody else."""
        tail = self._tail or b""
        seen = tail + piece
        end = seen.find(_HEAD_END)
        self._is_at_body = end >= 0
        self._tail = None if self._is_at_body else seen[1 - len(_HEAD_END) :]
        return end + len(_HEAD_END) - len(tail) if self._is_at_body else len(piece)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes; come back when there is room for more. Raises: httpcore.WriteError, httpcore.WriteTimeout."""
        if not buffer:
            return
        if self._transport.is_closing():
            raise httpcore.WriteError(str(self._failure or "the connection is closed")) from self._failure
        self._tail = b""
        self._transport.write(buffer)
        while self._is_full and not self._transport.is_closing():
            if not await self._writing.wait(timeout):
                raise httpcore.WriteTimeout
        if self._failure is not None:
            raise httpcore.WriteError(str(self._failure)) from self._failure

    async def aclose(self) -> None:
        """Close the connection at once."""
        self._transport.abort()
        await asyncio.sleep(0)  # it is closed by the next round of the loop

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Go on by TLS. Raises: httpcore.ConnectError, httpcore.ConnectTimeout; the connection is closed by then."""
        loop = asyncio.get_running_loop()
        try:
            with _connecting():
                async with asyncio.timeout(timeout):
                    self._transport = await loop.start_tls(
                        self._transport, self, ssl_context, server_hostname=server_hostname
                    )
        except BaseException:
            await self.aclose()
            raise
        return self

    def get_extra_info(self, info: str) -> Any:
        """Give what the library wants to know of the connection; `None` for what is not known."""
        names = {"client_addr": "sockname", "server_addr": "peername", "ssl_object": "ssl_object", "socket": "socket"}
        if info == "is_readable":
            return bool(self._pieces) or self._is_over or _is_readable(self._transport.get_extra_info("socket"))
        return self._transport.get_extra_info(names[info]) if info in names else None

    def set_options(self, options: Iterable[Any]) -> None:
        """Set options of the socket."""
        for option in options:
            self._transport.get_extra_info("socket").setsockopt(*option)


class Waiting:
    """A task that waits for something, with a time limit.

    One timer serves many waits: each moves the end, and the timer, when it is over, waits for the rest.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[bool] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._end = 0.0

    async def wait(self, seconds: float | None) -> bool:
        """Wait until `wake` is called; False when that was too long."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        if seconds is not None:
            self._end = loop.time() + seconds
            if self._timer is not None and self._timer.when() > self._end:
                self._timer.cancel()
                self._timer = None
            if self._timer is None:
                self._timer = loop.call_at(self._end, self._look, loop)
        else:
            self._end = inf
        try:
            return await self._waiter
        finally:
            self._waiter = None

    def wake(self) -> None:
        """Have whoever waits go on."""
        self._decide(True)

    def close(self) -> None:
        """Have whoever waits go on, for nothing else will come."""
        self._decide(True)
        if self._timer is not None:
            self._timer.cancel()

    def _decide(self, value: bool) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(value)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if self._waiter is None or self._end == inf:
            return
        if loop.time() >= self._end:
            self._decide(False)
        else:
            self._timer = loop.call_at(self._end, self._look, loop)


@contextmanager
def _connecting() -> Generator[None]:
    try:
        yield
    except TimeoutError as error:
        raise httpcore.ConnectTimeout(str(error)) from error
    except OSError as error:  # those of TLS are of this kind, too
        raise httpcore.ConnectError(str(error)) from error


def _is_readable(wire: socket.socket | None) -> bool:
    """Tell whether something has come that the event loop has not seen yet."""
    if wire is None or wire.fileno() < 0 or not hasattr(select, "poll"):  # Windows has none
        return wire is None or wire.fileno() < 0
    ready = select.poll()
    ready.register(wire.fileno(), select.POLLIN)
    return bool(ready.poll(0))
