"""How requests leave: through the guard, then to the network, a proxy or an application of this process."""

from __future__ import annotations

import asyncio
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.request import getproxies_environment, proxy_bypass

import httpx

from catenary.errors import Refused
from catenary.http.inprocess import mock_of
from catenary.http.pools import transport_for

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from catenary.http.guard import Guard
    from catenary.http.inprocess import AsgiApp, AsgiEvent
    from catenary.http.options import HttpOptions

_SENT: Final = "catenary.sent"  # httpx hands it on to the request that a redirect leads to
_OPENED: Final = frozenset({"connection.connect_tcp.complete", "socks.connect_tcp.complete"})
_UNFINISHED: Final = frozenset({
    "connection.start_tls.failed", "proxy.start_tls.failed", "socks.start_tls.failed",
    "socks.setup_socks5_connection.failed",
})  # fmt: skip
_HARMLESS: Final = frozenset({
    "accept", "accept-charset", "accept-encoding", "accept-language", "connection", "content-encoding",
    "content-language", "content-length", "content-type", "host", "transfer-encoding", "user-agent",
})  # fmt: skip

_Origin: TypeAlias = tuple[str, str, int | None]
_Sent: TypeAlias = tuple[_Origin, httpx.Headers]


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
        # What a server gives to one caller is not shown to it by the next.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
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
        self._redirect_headers = {name.strip().lower() for name in options.redirect_headers} - _HARMLESS
        if options.proxy:
            self._transport_for(options.proxy)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request. What goes wrong is raised as httpx raises it, but for `Refused` of the guard."""
        url = request.url
        origin = (url.scheme, url.host, url.port)
        sent: _Sent | None = request.extensions.get(_SENT)
        if sent is not None:
            request.headers = self._redirected(request.headers, sent, origin)
        request.extensions = {**request.extensions, _SENT: (origin, request.headers)}
        if url.scheme == "mock" and (sent is None or sent[0][0] == "mock"):
            return await AsgiTransport(mock_of(url.host)).handle_async_request(request)
        if url.scheme not in ("http", "https"):  # the address of the call was looked at before
            raise Refused(f"a redirect leads to an address that begins with {url.scheme}:, which is not called")
        port = url.port or (443 if url.scheme == "https" else 80)
        self._guard.check_host(url.host, port)
        proxy = self._proxy_for(url)
        request.extensions["trace"] = self._watched(url.host, port, is_direct=not proxy)
        return await self._transport_for(proxy).handle_async_request(request)

    def _redirected(self, headers: httpx.Headers, sent: _Sent, origin: _Origin) -> httpx.Headers:
        """Give the headers of a request that a redirect has led to: another server gets none that may be secret."""
        origin_before, headers_before = sent
        if origin_before == origin:
            kept, again = headers.raw, {"cookie"}  # httpx always takes it away
        else:
            kept = [header for header in headers.raw if _lower(header[0]) in _HARMLESS]
            again = self._redirect_headers
        return httpx.Headers([*kept, *(header for header in headers_before.raw if _lower(header[0]) in again)])

    def _watched(self, host: str, port: int, *, is_direct: bool) -> Any:
        """Give the function that looks at a new connection before anything is sent on it.

        A name is looked up once, by the connection itself: looking it up before would leave a gap in which the
        answer changes.
        """

        opened: Any = None

        async def trace(event: str, info: dict[str, Any]) -> None:
            nonlocal opened
            if event in _OPENED:
                opened = info["return_value"]
                if is_direct:
                    await self._check_peer(opened, host, port)
            elif event in _UNFINISHED and opened is not None:
                await opened.aclose()  # httpcore leaves it open when the handshake is cancelled

        return trace

    async def _check_peer(self, opened: Any, host: str, port: int) -> None:
        peer = opened.get_extra_info("server_addr")
        try:
            self._guard.check_address(str(peer[0]) if peer else "", host=host, port=port)
        except BaseException:
            await opened.aclose()
            raise

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
            transport = self._transports[proxy] = transport_for(self._options, self._context, proxy)
        return transport

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()


def _lower(name: bytes) -> str:
    return name.lower().decode("ascii", "replace")


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
