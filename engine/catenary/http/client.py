"""Clients: one pool of connections a node and event loop, made and closed by the engine's `HttpClients`."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from catenary.errors import ConfigError, ConnectFailed, EngineError, Refused, TooSlow
from catenary.http.guard import Guard
from catenary.http.inprocess import register_mock, unregister_mock
from catenary.http.options import HttpOptions
from catenary.http.response import HttpResponse

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Callable, Iterable
    from pathlib import Path

    import httpx

    from catenary.http.cassette import Player, Recorder

_CLOSE_TIMEOUT_S = 15.0
_numbers: Final = itertools.count(1)  # of cassettes that are played in this process
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class HttpClients:
    """Makes the HTTP clients of one engine and closes those that are left. Safe to use from many threads.

    Args:
        allowed_hosts: When given, only these hosts are called; see `Guard`.
        allow_link_local: True allows link-local addresses and metadata services; see `Guard`.
    """

    def __init__(self, *, allowed_hosts: Iterable[str] = (), allow_link_local: bool = False) -> None:
        self.guard = Guard(allowed_hosts=allowed_hosts, allow_link_local=allow_link_local)
        self._clients: set[HttpClient] = set()
        self._contexts: dict[tuple[bool, str], ssl.SSLContext] = {}
        self._is_closed = False
        self.recorder: Recorder | None = None
        self._played = ""

    def record(self, file: Path, hide: Callable[[str], str] = str) -> Recorder:
        """Record the calls of clients that are `is_taped`; `save` of what is given back writes the file.

        Args:
            file: The cassette.
            hide: Masks the secrets in a text.
        """
        from catenary.http.cassette import Recorder

        self.recorder = Recorder(file, hide)
        return self.recorder

    def play(self, file: Path) -> Player:
        """Have calls of clients that are `is_taped` answered by a cassette, wherever they go.

        Raises:
            ConfigError: When the file is no cassette.
        """
        from catenary.http.cassette import Player

        player = Player.load(file)
        self._played = f"cassette-{next(_numbers)}"
        register_mock(self._played, player)
        return player

    @property
    def is_played(self) -> bool:
        """Whether a cassette answers."""
        return bool(self._played)

    def routed(self, url: str) -> str:
        """Give the address that a call really goes to when a cassette answers."""
        return f"mock://{self._played}{urlsplit(url).path}" if self._played else url

    def client(self, options: HttpOptions | None = None) -> HttpClient:
        """Make a client with a pool of its own. Nothing is connected, so it costs little.

        Args:
            options: How it behaves; the defaults of `HttpOptions` if absent.

        Raises:
            EngineError: When the clients are closed.
            ConfigError: When `ca_file` cannot be read.
        """
        if self._is_closed:
            raise EngineError("the HTTP clients are closed, because the engine is")
        client = HttpClient(self, options or HttpOptions())
        if client.options.ca_file:
            self.context_for(client.options)  # a file that cannot be read is told at once, not at the first call
        self._clients.add(client)
        return client

    async def close(self) -> None:
        """Close all clients that are left; may be awaited again."""
        self._is_closed = True
        unregister_mock(self._played)
        for client in list(self._clients):
            await client.close()

    def close_sync(self) -> None:
        """Close all clients that are left, where no event loop runs.

        Raises:
            EngineError: When called on an event loop that has connections open.
        """
        self._is_closed = True
        for client in list(self._clients):
            client.close_sync()

    async def release(self) -> None:
        """Close the connections that belong to the running event loop; the clients stay usable."""
        for client in list(self._clients):
            await client.release()

    def forget(self, client: HttpClient) -> None:
        """Take note that a client is closed."""
        self._clients.discard(client)

    def context_for(self, options: HttpOptions) -> ssl.SSLContext:
        """Give the TLS settings for a client; shared, for reading the certificates takes 10-30 ms.

        Raises:
            ConfigError: When `ca_file` cannot be read.
        """
        key = (options.verify, options.ca_file)
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = _new_context(*key)
        return context


class HttpClient:
    """Sends requests over connections that are kept open and used again. Safe to use from many tasks and threads.

    Connections belong to the event loop they were opened on. Each loop gets a pool of its own, which is closed with
    the client, or when the loop ends.
    """

    def __init__(self, owner: HttpClients, options: HttpOptions) -> None:
        self.options = options
        self._owner = owner
        self._pools: dict[asyncio.AbstractEventLoop, AsyncGenerator[httpx.AsyncClient]] = {}
        self._opened: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        content: str | bytes | None = None,
    ) -> HttpResponse:
        """Send a request and read the answer whole; whatever its status, it is returned.

        Args:
            method: `GET`, `POST` ...
            url: An `http://`, `https://` or `mock://` address.
            headers: Names and values; a name may come more than once in a list of pairs. `Content-Length` and
                `Transfer-Encoding` are left out: the client works them out itself.
            content: The body; text is sent as UTF-8. `None` sends none.

        Raises:
            ConnectFailed: No connection, or it broke.
            TooSlow: A time of `HttpOptions` is over.
            Refused: The address, the host, a header or the size of the answer is not allowed.
        """
        async with self.stream(method, url, headers=headers, content=content) as answer:
            await answer.read()
            return answer

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        content: str | bytes | None = None,
    ) -> AsyncGenerator[HttpResponse]:
        """Send a request and give the answer as soon as its head is there; leaving the block ends the call.

        Takes and raises the same as `request`.
        """
        from catenary.http.failures import checked_url, place_of, translated

        address = checked_url(self._owner.routed(url) if self.options.is_taped else url)
        checked = _checked_headers(headers)
        body = content.encode("utf-8", "replace") if isinstance(content, str) else content
        pool = await self._pool()
        limit = asyncio.timeout(self.options.total_timeout_s)
        recorder = self._owner.recorder if self.options.is_taped else None
        take = None if recorder is None else recorder.begin(address.path, checked, body)
        try:
            async with limit:
                request = pool.build_request(method.upper(), address, headers=checked, content=body)
                with translated(address, self.options):
                    response = await pool.send(request, stream=True)
                answer = HttpResponse(response, self.options, limit)
                if take is not None:
                    take.answered(answer)
                try:
                    yield answer
                finally:
                    await answer.close()
        except ConnectFailed:
            if take is not None:
                take.exchange.is_broken = True
            raise
        except TimeoutError as error:
            if not limit.expired():
                raise
            seconds = self.options.total_timeout_s
            raise TooSlow(f"the call to {place_of(address)} took longer than {seconds:g} s", retryable=True) from error

    async def close(self) -> None:
        """Close all connections, also those of other event loops; may be awaited again."""
        for loop in self._start_closing():
            if loop is asyncio.get_running_loop():
                await self._close_pool(loop)
            elif loop.is_running():
                waiting = asyncio.run_coroutine_threadsafe(self._close_pool(loop), loop)
                await asyncio.wait([asyncio.wrap_future(waiting)], timeout=_CLOSE_TIMEOUT_S)
            else:
                await asyncio.to_thread(loop.run_until_complete, self._close_pool(loop))

    def close_sync(self) -> None:
        """Close all connections, where no event loop runs.

        Raises:
            EngineError: When called on an event loop that has connections open.
        """
        here = _running_loop()
        if here in self._opened:
            raise EngineError("connections of the running event loop are open: use `await close()` here")
        for loop in self._start_closing():
            if loop.is_running():
                waiting = asyncio.run_coroutine_threadsafe(self._close_pool(loop), loop)
                waiting.result(_CLOSE_TIMEOUT_S)
            elif here is None:
                loop.run_until_complete(self._close_pool(loop))

    async def release(self) -> None:
        """Close the connections that belong to the running event loop; the client stays usable."""
        await self._close_pool(asyncio.get_running_loop())

    def _start_closing(self) -> list[asyncio.AbstractEventLoop]:
        """Refuse further calls and give the loops that have connections; closed loops took theirs with them."""
        self._is_closed = True
        self._owner.forget(self)
        with self._lock:
            return [loop for loop in self._pools if not loop.is_closed()]

    async def _pool(self) -> httpx.AsyncClient:
        if self._is_closed:
            raise EngineError("the HTTP client is closed")
        loop = asyncio.get_running_loop()
        opened = self._opened.get(loop)
        if opened is None:
            pool = self._hold_pool(loop)
            with self._lock:
                self._pools[loop] = pool
            opened = await pool.__anext__()
        return opened

    async def _hold_pool(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[httpx.AsyncClient]:
        """Keep the connections of a loop open.

        A generator, because a loop closes the generators that were begun on it before it ends (`shutdown_asyncgens`):
        so connections never outlive their loop, without anybody having to think of it.
        """
        from catenary.http.transport import open_client

        client = open_client(self.options, self._owner.guard, self._owner.context_for(self.options))
        self._opened[loop] = client
        try:
            yield client
        finally:
            with self._lock:
                self._opened.pop(loop, None)
                self._pools.pop(loop, None)
            await client.aclose()

    async def _close_pool(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            pool = self._pools.pop(loop, None)  # taken out first: a generator cannot be closed twice at once
        if pool is not None:
            await pool.aclose()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _new_context(verify: bool, ca_file: str) -> ssl.SSLContext:
    if not verify or not ca_file:
        import httpx

        return httpx.create_ssl_context(verify=verify)
    import ssl

    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise ConfigError(
            f"the certificates in {ca_file!r} cannot be read: {error.strerror or error}",
            field="caFile",
            hint="it must be a file in PEM format",
        ) from error


def _checked_headers(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Give the headers as bytes, values as UTF-8, without those that frame the body.

    Raises:
        Refused: When a name or value could be read as more than one header.
    """
    pairs = cast("Mapping[str, str]", headers).items() if isinstance(headers, Mapping) else headers
    checked = [_checked_header(name.strip(), value.strip()) for name, value in pairs]
    return [header for header in checked if header[0].lower() not in _FRAMING]


def _checked_header(name: str, value: str) -> tuple[bytes, bytes]:
    if not name or not name.isascii() or any(not (c.isalnum() or c in "!#$%&'*+-.^_`|~") for c in name):
        raise Refused(f"{name!r} is no name of a header")
    if any(character in "\r\n\0" for character in value):
        raise Refused(f"the value of header {name!r} has a line break in it")
    return name.encode(), value.encode("utf-8", "replace")
