"""How requests leave: through the guard, then to the network, a proxy or an application of this process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies_environment, proxy_bypass

import httpx

from catenary.errors import ConfigError
from catenary.http.inprocess import mock_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from catenary.http.guard import Guard
    from catenary.http.inprocess import AsgiApp, AsgiEvent
    from catenary.http.options import HttpOptions

_KEEP_OPEN_S = 15.0
_MOST_KEPT_OPEN = 100


def open_client(options: HttpOptions, guard: Guard, context: ssl.SSLContext) -> httpx.AsyncClient:
    """Make the client of one event loop.

    Raises:
        ConfigError: When the proxy cannot be used.
    """
    wait_for_connection_s = options.total_timeout_s or options.read_timeout_s
    return httpx.AsyncClient(
        transport=GuardedTransport(options, guard, context),
        timeout=httpx.Timeout(options.read_timeout_s, connect=options.connect_timeout_s, pool=wait_for_connection_s),
        follow_redirects=options.follow_redirects,
        max_redirects=options.max_redirects,
        headers={"User-Agent": "catenary"},
        trust_env=False,
    )


class GuardedTransport(httpx.AsyncBaseTransport):
    """Asks the guard about each request, redirects included, and about the address each connection really got."""

    def __init__(self, options: HttpOptions, guard: Guard, context: ssl.SSLContext) -> None:
        self._options = options
        self._guard = guard
        self._context = context
        self._system_proxies = getproxies_environment() if options.use_system_proxy else {}
        self._transports: dict[str, httpx.AsyncBaseTransport] = {}  # by address of the proxy, "" without one
        if options.proxy:
            self._transport_for(options.proxy)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request. What goes wrong is raised as httpx raises it, but for `Refused` of the guard."""
        url = request.url
        if url.scheme == "mock":
            return await AsgiTransport(mock_of(url.host)).handle_async_request(request)
        port = url.port or (443 if url.scheme == "https" else 80)
        self._guard.check_host(url.host, port)
        proxy = self._proxy_for(url)
        if not proxy:
            request.extensions = {**request.extensions, "trace": self._check_connection(url.host, port)}
        return await self._transport_for(proxy).handle_async_request(request)

    def _check_connection(self, host: str, port: int) -> Any:
        """Give the function that looks at a new connection before anything is sent on it.

        A name is looked up once, by the connection itself: looking it up before would leave a gap in which the
        answer changes.
        """

        async def trace(event: str, info: dict[str, Any]) -> None:
            if event != "connection.connect_tcp.complete":
                return
            stream = info["return_value"]
            peer = stream.get_extra_info("server_addr")
            try:
                self._guard.check_address(str(peer[0]) if peer else "", host=host, port=port)
            except BaseException:
                await stream.aclose()
                raise

        return trace

    def _proxy_for(self, url: httpx.URL) -> str:
        if self._options.proxy or not self._system_proxies:
            return self._options.proxy
        if proxy_bypass(url.host):
            return ""
        names = (url.scheme, "http", "https", "all")
        return next((self._system_proxies[name] for name in names if name in self._system_proxies), "")

    def _transport_for(self, proxy: str) -> httpx.AsyncBaseTransport:
        transport = self._transports.get(proxy)
        if transport is None:
            transport = self._transports[proxy] = self._new_transport(proxy)
        return transport

    def _new_transport(self, proxy: str) -> httpx.AsyncBaseTransport:
        most = self._options.max_connections
        limits = httpx.Limits(
            max_connections=most,
            max_keepalive_connections=min(most or _MOST_KEPT_OPEN, _MOST_KEPT_OPEN),
            keepalive_expiry=_KEEP_OPEN_S,
        )
        try:
            return httpx.AsyncHTTPTransport(verify=self._context, limits=limits, trust_env=False, proxy=proxy or None)
        except ImportError as error:
            raise ConfigError(
                "a socks5 proxy needs the package socksio, which is not installed",
                field="proxy",
                hint="install it with: pip install 'httpx[socks]'",
            ) from error
        except (ValueError, httpx.InvalidURL) as error:
            raise ConfigError("the address of the proxy cannot be used", field="proxy") from error

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()


class AsgiTransport(httpx.AsyncBaseTransport):
    """Calls an ASGI application in a task of its own, so that its answer can be read while it is being written.

    An application that stops in the middle, or returns something, counts as a broken connection; closing the answer
    early is a disconnect for the application.
    """

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Call the application and come back when it has begun to answer."""
        exchange = _Exchange(request, await request.aread())
        exchange.start(self._app)
        try:
            head = await exchange.next_event()
        except BaseException:
            await exchange.aclose()
            raise
        headers = [(bytes(name), bytes(value)) for name, value in head.get("headers", ())]
        return httpx.Response(head["status"], headers=headers, stream=exchange)


class _Exchange(httpx.AsyncByteStream):
    """One request and the answer to it."""

    def __init__(self, request: httpx.Request, body: bytes) -> None:
        self._request = request
        self._received: list[AsgiEvent] = [{"type": "http.request", "body": body, "more_body": False}]
        self._sent: asyncio.Queue[AsgiEvent | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(16)  # pieces the application may be ahead of the reader
        self._closed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._timeout_s: float | None = request.extensions.get("timeout", {}).get("read")

    def start(self, app: AsgiApp) -> None:
        self._task = asyncio.create_task(self._call(app))

    async def _call(self, app: AsgiApp) -> None:
        try:
            await app(self._scope(), self._receive, self._send)
        finally:
            self._sent.put_nowait(None)

    async def _send(self, event: AsgiEvent) -> None:
        await self._room.acquire()
        self._sent.put_nowait(event)

    def _scope(self) -> AsgiEvent:
        url = self._request.url
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self._request.method,
            "scheme": "http",
            "path": url.path,
            "raw_path": url.raw_path.partition(b"?")[0],
            "query_string": url.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in self._request.headers.raw],
            "server": (url.host, 80),
            "client": ("127.0.0.1", 0),
        }

    async def _receive(self) -> AsgiEvent:
        if self._received:
            return self._received.pop()
        await self._closed.wait()
        return {"type": "http.disconnect"}

    async def next_event(self) -> AsgiEvent:
        try:
            async with asyncio.timeout(self._timeout_s):
                event = await self._sent.get()
                self._room.release()
        except TimeoutError as error:
            raise httpx.ReadTimeout("no answer in time", request=self._request) from error
        if event is None:
            raise httpx.RemoteProtocolError("the application did not finish its answer", request=self._request)
        return event

    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            event = await self.next_event()
            more = event.get("more_body", False)
            if event.get("body"):
                yield event["body"]

    async def aclose(self) -> None:
        """Tell the application that the client is gone, give it a moment to notice, and stop it."""
        self._closed.set()
        task, self._task = self._task, None
        if task is None:
            return
        try:
            await asyncio.wait([task], timeout=0.1)
        finally:
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # a broken script shows as a broken connection, as it does over a socket
