"""Pools of connections: one, or one for each crowd of calls where there may be as many as there like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import httpx

from catenary.errors import ConfigError
from catenary.http.network import AsyncioBackend

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable

    from catenary.http.options import HttpOptions

_KEEP_OPEN_S: Final = 15.0
_MOST_KEPT_OPEN: Final = 100
_CROWD: Final = 16
"""How many calls share a pool: it looks at all its connections whenever a call begins or ends."""


def transport_for(options: HttpOptions, context: ssl.SSLContext, proxy: str) -> httpx.AsyncBaseTransport:
    """Make what keeps the connections to servers, through a proxy if one is given.

    Raises:
        ConfigError: When the proxy cannot be used.
    """
    most = options.max_connections
    if most is not None:
        return _open(context, proxy, most, min(most, _MOST_KEPT_OPEN))
    first = _open(context, proxy, None, _CROWD)
    return Crowds(first, lambda kept: _open(context, proxy, None, kept))


def _open(context: ssl.SSLContext, proxy: str, most: int | None, kept: int) -> httpx.AsyncBaseTransport:
    limits = httpx.Limits(max_connections=most, max_keepalive_connections=kept, keepalive_expiry=_KEEP_OPEN_S)
    try:
        # A proxy that is spoken to by TLS is trusted as the servers are.
        tls = context if proxy.startswith("https:") else None
        through = httpx.Proxy(proxy, ssl_context=tls) if proxy else None
        transport = httpx.AsyncHTTPTransport(verify=context, limits=limits, trust_env=False, proxy=through)
    except ImportError as error:
        raise ConfigError(
            "a socks5 proxy needs the package socksio, which is not installed",
            field="proxy",
            hint="install it with: pip install 'httpx[socks]'",
        ) from error
    except (ValueError, httpx.InvalidURL) as error:
        raise ConfigError("the address of the proxy cannot be used", field="proxy") from error
    pool = cast("Any", transport)._pool
    pool._network_backend = AsyncioBackend()
    if proxy:
        _watch_connections(pool)
    return transport


class Crowds(httpx.AsyncBaseTransport):
    """Any number of calls at once: those that are too many for one pool have another.

    Args:
        first: The pool that is always there.
        make: Makes another one that keeps so many idle connections.
    """

    def __init__(self, first: httpx.AsyncBaseTransport, make: Callable[[int], httpx.AsyncBaseTransport]) -> None:
        self._pools = [first]
        self._calls = [0]
        self._make = make

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request by the first pool that has room."""
        number = self._room()
        self._calls[number] += 1
        try:
            response = await self._pools[number].handle_async_request(request)
        except BaseException:
            self._calls[number] -= 1
            raise
        response.stream = _Counted(cast("httpx.AsyncByteStream", response.stream), self._calls, number)
        return response

    def _room(self) -> int:
        for number, calls in enumerate(self._calls):
            if calls < _CROWD:
                return number
        kept = _CROWD if len(self._pools) * _CROWD < _MOST_KEPT_OPEN else 0
        self._pools.append(self._make(kept))
        self._calls.append(0)
        return len(self._pools) - 1

    async def aclose(self) -> None:
        """Close all connections."""
        for pool in self._pools:
            await pool.aclose()


class _Counted(httpx.AsyncByteStream):
    """The body of an answer, whose end makes room for another call."""

    def __init__(self, body: httpx.AsyncByteStream, calls: list[int], number: int) -> None:
        self._body = body
        self._calls = calls
        self._number = number
        self._is_open = True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body.__aiter__()

    async def aclose(self) -> None:
        if self._is_open:
            self._is_open = False
            self._calls[self._number] -= 1
        await self._body.aclose()


class _Proxied:
    """A connection of httpcore through a proxy, which gives up its place in the pool when it could not be made.

    httpcore keeps a tunnel whose TLS handshake failed, and whatever is cancelled on its way through a SOCKS proxy,
    as a connection in use, for ever.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._is_made = False
        self._is_lost = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def handle_async_request(self, request: Any) -> Any:
        """Send one request, the first one after connecting."""
        try:
            response = await self._connection.handle_async_request(request)
        except BaseException:
            self._is_lost = not self._is_made
            raise
        self._is_made = True
        return response

    def has_expired(self) -> bool:
        """Tell the pool to close it and let go of it."""
        return self._is_lost or self._connection.has_expired()


def _watch_connections(pool: Any) -> None:
    make = pool.create_connection

    def made(origin: object) -> _Proxied:
        return _Proxied(make(origin))

    pool.create_connection = made
