"""`restApiCall` and servers that are down, die, stall, drip, lie and flood: real sockets on the loopback address."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
import tracemalloc

import pytest
from tests.programs import eventually

from catenary import ConnectFailed, Engine, Message, Refused, TooSlow

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


def chain_of(**configuration):
    node = {"id": "a", "type": "restApiCall", "configuration": {"readTimeoutMs": 15_000, **configuration}}
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}


class Site:
    """A server of raw bytes; what its handler leaves open is closed with it."""

    def __init__(self, handler):
        self._handler = handler
        self._open = set()
        self.requests = []

    async def start(self, port=0, **options):
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", port, **options)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if options.get('ssl') else 'http'}://127.0.0.1:{self.port}"
        return self

    async def _handle(self, reader, writer):
        self._open.add(writer)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(head)
            await self._handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
            self._open.discard(writer)

    async def stop(self):
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()
        await eventually(lambda: not self._open)


@pytest.fixture
async def site():
    """Start a server whose connections are handled like this."""
    started = []

    async def site(handler, **options):
        started.append(await Site(handler).start(**options))
        return started[-1]

    yield site
    for one in started:
        await one.stop()


@pytest.fixture
async def call():
    """Send one message through a node with these settings; gives the only end."""
    async with Engine() as engine:

        async def call(data="{}", **configuration):
            chain = engine.reload(chain_of(**configuration))
            (end,) = (await chain.run(Message(data))).ends
            return end

        yield call


def answering(*pieces):
    async def handler(reader, writer):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return handler


async def hang(reader, writer):
    """Say nothing, until the other side goes away."""
    await reader.read()


# Down, and dead


async def test_a_chain_loads_while_its_peer_is_down_and_works_when_it_is_back(free_port):
    async with Engine() as engine:
        engine.load(chain_of(url=f"http://127.0.0.1:{free_port}"))
        for _ in range(2):
            outcome = await engine.run("c", Message("{}"))
            assert isinstance(outcome.ends[0].error, ConnectFailed)
            peer = await Site(answering(OK)).start(free_port)
            assert (await engine.run("c", Message("{}"))).message.data == "ok"
            await peer.stop()


async def test_a_peer_that_dies_before_it_answers_is_told(site, call):
    async def die(reader, writer):
        writer.transport.abort()

    end = await call("d", url=(await site(die)).url)
    assert isinstance(end.error, ConnectFailed)
    assert end.error.retryable
    assert end.message.data == "d"
    assert "status" not in end.message.metadata


async def test_a_peer_that_dies_in_the_middle_of_its_answer_is_told(site, call):
    server = await site(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
    end = await call("d", url=server.url)
    assert "broke off the connection" in end.message.metadata["errorBody"]
    assert end.message.data == "d"


async def test_a_kept_connection_that_the_peer_has_closed_is_not_used_again(site, call):
    server = await site(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    async with Engine() as engine:
        engine.load(chain_of(url=server.url))
        for _ in range(3):
            assert (await engine.run("c", Message("{}"))).ok
            await asyncio.sleep(0.02)
    assert len(server.requests) == 3


async def test_an_unknown_host_is_told(call):
    end = await call(url="http://no-such-host.invalid/", readTimeoutMs=0)
    assert isinstance(end.error, ConnectFailed)
    assert str(end.error) == "no connection to no-such-host.invalid:80: no such host"


async def test_wrong_credentials_are_told(site, call):
    page = b'{"error": "who are you?"}'
    server = await site(answering(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n" % len(page) + page))
    end = await call(url=server.url, headers={"Authorization": "Bearer wrong"}, maxRetries=3)
    assert (end.message.metadata["statusCode"], end.message.metadata["errorBody"]) == ("401", page.decode())
    assert not end.error.retryable
    assert len(server.requests) == 1


# Slow


async def test_a_peer_that_never_accepts_is_given_up(call):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # the kernel connects; nobody ever reads
        began = time.monotonic()
        end = await call(url=f"http://127.0.0.1:{listening.getsockname()[1]}", readTimeoutMs=200)
        assert isinstance(end.error, TooSlow)
        assert time.monotonic() - began < 15


async def test_a_peer_that_does_not_take_a_big_body_is_given_up(call):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        end = await call("x" * 20_000_000, url=f"http://127.0.0.1:{listening.getsockname()[1]}", readTimeoutMs=300)
        assert isinstance(end.error, TooSlow)


async def test_a_body_that_drips_does_not_outlast_the_time_of_the_call(site, call):
    async def drip(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    began = time.monotonic()
    end = await call("d", url=(await site(drip)).url, readTimeoutMs=300)
    assert isinstance(end.error, TooSlow)
    assert "took longer than 0.3 s" in str(end.error)
    assert end.message.data == "d"
    assert time.monotonic() - began < 15


async def test_a_head_that_drips_does_not_outlast_the_time_of_the_call(site, call):
    async def drip(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nX-A: ")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    assert isinstance((await call(url=(await site(drip)).url, readTimeoutMs=300)).error, TooSlow)


async def test_redirects_that_lead_on_and_on_slowly_do_not_outlast_the_time_of_the_call(site, call):
    async def elsewhere(reader, writer):
        await asyncio.sleep(0.1)
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /on\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()

    assert isinstance((await call(url=(await site(elsewhere)).url, readTimeoutMs=250)).error, TooSlow)


async def test_a_silent_event_stream_is_given_up(site, call):
    async def silent(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: nothing yet\n")
        await hang(reader, writer)

    error = (await call(url=(await site(silent)).url, readTimeoutMs=200)).error
    assert isinstance(error, TooSlow)
    assert "0.2 s" in str(error)


# Too much


@pytest.mark.parametrize("framing", ["Content-Length: 100000000", "Transfer-Encoding: chunked", "Connection: close"])
async def test_an_answer_of_a_hundred_megabytes_is_broken_off(site, call, framing):
    sent = 0
    done = asyncio.Event()

    async def flood(reader, writer):
        nonlocal sent
        piece = b"x" * 65_536
        framed = b"10000\r\n" + piece + b"\r\n" if "chunked" in framing else piece
        writer.write(b"HTTP/1.1 200 OK\r\n%s\r\n\r\n" % framing.encode())
        try:
            while sent < 100_000_000:
                writer.write(framed)
                await writer.drain()
                sent += len(piece)
        finally:
            done.set()

    url = (await site(flood)).url
    tracemalloc.start()
    try:
        end = await call("d", url=url, maxResponseBytes=1_000_000, readTimeoutMs=15_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(end.error, Refused)
    assert "is larger than 1000000 bytes" in end.message.metadata["errorBody"]
    assert end.message.data == "d"
    await asyncio.wait_for(done.wait(), 15)
    assert sent < 20_000_000  # what the buffers of the kernel took
    assert peak < 8_000_000


async def test_an_answer_of_just_the_size_is_taken(site, call):
    server = await site(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000))
    assert (await call(url=server.url, maxResponseBytes=1000)).message.data == "x" * 1000
    assert isinstance((await call(url=server.url, maxResponseBytes=999)).error, Refused)


async def test_a_size_that_is_told_for_an_error_page_does_not_hide_the_page(site, call):
    server = await site(answering(b"HTTP/1.1 500 No\r\nContent-Length: 70000\r\n\r\n" + b"why" * 30_000))
    end = await call(url=server.url, maxResponseBytes=100_000)
    assert (end.message.metadata["statusCode"], len(end.message.metadata["errorBody"])) == ("500", 65_536)


async def test_a_body_of_twenty_megabytes_is_sent_whole(site, call):
    taken = 0

    async def take(reader, writer):
        nonlocal taken
        while taken < 20_000_000:
            taken += len(await reader.read(1 << 20))
        writer.write(OK)
        await writer.drain()

    server = await site(take, limit=1 << 20)
    assert (await call("x" * 20_000_000, url=server.url, readTimeoutMs=15_000)).message.data == "ok"
    assert b"content-length: 20000000\r\n" in server.requests[0].lower()


async def test_a_line_of_an_event_stream_that_never_ends_is_refused(site, call):
    async def flood(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")
        while not writer.is_closing():
            writer.write(b"x" * 65_536)
            await writer.drain()

    end = await call(url=(await site(flood)).url, maxResponseBytes=1_000_000, readTimeoutMs=15_000)
    assert isinstance(end.error, Refused)


# Malformed


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x00\x01\x02\x03\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 99999 What\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nnogzip"[:-1],
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200_000 + b"\r\n\r\n",
    ],
)
async def test_an_answer_that_is_none_is_a_failure_of_the_node(site, call, answer):
    server = await site(answering(answer))
    end = await call("d", url=server.url)
    assert isinstance(end.error, ConnectFailed | Refused), end.error
    assert f"127.0.0.1:{server.port}" in str(end.error)
    assert end.message.metadata["errorBody"] == str(end.error)
    assert end.message.data == "d"


async def test_a_handshake_that_never_ends_is_given_up_and_leaves_no_connection(call):
    taking = []

    async def silent(reader, writer):
        taking.append(asyncio.current_task())
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    end = await call(url=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", readTimeoutMs=200)
    assert isinstance(end.error, TooSlow)
    server.close()
    await asyncio.sleep(0.01)
    await asyncio.wait_for(asyncio.gather(*taking), 15)


# Many at once


async def test_not_more_connections_are_open_than_allowed(site):
    open_now = most = 0
    both = asyncio.Barrier(2)

    async def count(reader, writer):
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await both.wait()
        await asyncio.sleep(0.02)  # in which a third might come
        open_now -= 1
        writer.write(OK)
        await writer.drain()

    server = await site(count)
    async with Engine() as engine:
        engine.load(chain_of(url=server.url, maxParallelRequestsCount=2))
        outcomes = await asyncio.gather(*(engine.run("c", Message("{}")) for _ in range(8)))
    assert all(outcome.ok for outcome in outcomes)
    assert most == 2


# Where a redirect may lead


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("http://169.254.169.254/latest/meta-data/", "link-local or metadata address"),
        ("http://metadata.google.internal/", "link-local or metadata address"),
        ("http://[::ffff:169.254.169.254]/", "link-local or metadata address"),
        ("file:///etc/passwd", "a redirect leads to an address that begins with file:, which is not called"),
        ("gopher://127.0.0.1/x", "begins with gopher:"),
        ("mock://model/", "a redirect leads to an address that begins with mock:"),
        ("http://[bad", "no such host"),
    ],
)
async def test_a_redirect_to_where_no_call_may_go_is_refused(site, call, location, text):
    head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    end = await call(url=(await site(answering(head.encode()))).url)
    assert text in str(end.error)


async def test_a_redirect_off_the_list_of_hosts_is_refused(site):
    other = await site(answering(OK))
    head = f"HTTP/1.1 307 Elsewhere\r\nLocation: http://localhost:{other.port}/\r\nContent-Length: 0\r\n\r\n"
    server = await site(answering(head.encode()))
    async with Engine(allowed_hosts=[f"127.0.0.1:{server.port}"]) as engine:
        outcome = await engine.load(chain_of(url=server.url)).run(Message("{}"))
        assert "not one of the allowed hosts" in str(outcome.error)
    assert other.requests == []


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
async def test_a_redirect_keeps_what_it_should(site, call, status, method):
    there = await site(answering(OK))
    head = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {there.url}/x\r\nContent-Length: 0\r\n\r\n"
    server = await site(answering(head.encode()))
    await call("d", url=server.url, headers={"Authorization": "Bearer s3cret"})
    (request,) = there.requests
    assert request.startswith(f"{method} /x ".encode())
    assert b"s3cret" not in request


# Proxies


async def piped(reader, writer, host, port):
    """Carry bytes between a client and a server until one of them goes away."""
    there_reader, there_writer = await asyncio.open_connection(host, port)

    async def carry(source, sink):
        try:
            while piece := await source.read(65_536):
                sink.write(piece)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.close()

    await asyncio.gather(carry(reader, there_writer), carry(there_reader, writer))


async def test_https_goes_through_a_tunnel_of_the_proxy(site, call, certificate):
    server = await site(answering(OK), ssl=context_of(certificate))

    async def tunnel(reader, writer):
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await piped(reader, writer, "127.0.0.1", server.port)

    proxy = await site(tunnel)
    settings = {"enableProxy": True, "proxyHost": "127.0.0.1", "proxyPort": proxy.port, "caFile": str(certificate[0])}
    end = await call(url=server.url, proxyUser="me", proxyPassword="s3cret", **settings)
    assert end.message.data == "ok"
    assert proxy.requests[0].startswith(f"CONNECT 127.0.0.1:{server.port} ".encode())
    assert b"proxy-authorization: basic" in proxy.requests[0].lower()
    assert b"proxy-authorization" not in server.requests[0].lower()


async def test_a_proxy_may_be_spoken_to_by_tls(site, call, certificate):
    proxy = await site(answering(OK), ssl=context_of(certificate))
    settings = {"enableProxy": True, "proxyScheme": "https", "proxyHost": "127.0.0.1", "proxyPort": proxy.port}
    url = "http://example.test/x"
    assert (await call(url=url, caFile=str(certificate[0]), **settings)).message.data == "ok"
    assert proxy.requests[0].startswith(b"POST http://example.test/x ")
    assert isinstance((await call(url=url, **settings)).error, ConnectFailed)


async def test_a_proxy_may_speak_socks5(call):
    server = await Site(answering(OK)).start()
    asked = []

    async def socks(reader, writer):
        version, count = await reader.readexactly(2)
        assert (version, 2) == (5, 2)
        assert 2 in await reader.readexactly(count)
        writer.write(b"\x05\x02")
        await reader.readexactly(1)
        asked.append(await reader.readexactly((await reader.readexactly(1))[0]))
        asked.append(await reader.readexactly((await reader.readexactly(1))[0]))
        writer.write(b"\x01\x00")
        assert await reader.readexactly(4) == b"\x05\x01\x00\x03"
        asked.append(await reader.readexactly((await reader.readexactly(1))[0]))
        await reader.readexactly(2)
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        await piped(reader, writer, "127.0.0.1", server.port)
        writer.close()

    proxy = await asyncio.start_server(socks, "127.0.0.1", 0)
    try:
        end = await call(
            url="http://example.test/x",
            enableProxy=True,
            proxyScheme="socks5",
            proxyHost="127.0.0.1",
            proxyPort=proxy.sockets[0].getsockname()[1],
            proxyUser="me",
            proxyPassword="s3cret",
        )
        assert end.message.data == "ok"
        assert asked == [b"me", b"s3cret", b"example.test"]
    finally:
        proxy.close()
        await server.stop()


async def test_a_proxy_that_is_down_is_told(call, free_port):
    settings = {"enableProxy": True, "proxyHost": "127.0.0.1", "proxyPort": free_port}
    end = await call(url="http://example.test/", proxyUser="me", proxyPassword="s3cret", **settings)
    assert isinstance(end.error, ConnectFailed)
    assert "s3cret" not in str(end.error)


def context_of(certificate):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    return context
