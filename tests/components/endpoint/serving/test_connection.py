"""Connections, spoken to byte by byte over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from catenary import ResourceError
from catenary_components.endpoint.serving import HttpServer, Limits

QUICK = Limits(read_timeout_s=0.2, write_timeout_s=0.3, idle_timeout_s=0.2)
GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with method, path, query and body."""
    body = b""
    more = True
    while more:
        event = await receive()
        if event["type"] != "http.request":
            return
        body += event["body"]
        more = event["more_body"]
    text = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} ".encode() + body
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]})
    await send({"type": "http.response.body", "body": text})


@asynccontextmanager
async def serving(app: Any = echo, limits: Limits | None = None) -> AsyncGenerator[tuple[HttpServer, int]]:
    server = HttpServer(app, limits=limits)
    port = await server.open("127.0.0.1", 0)
    try:
        yield server, port
    finally:
        await server.close(0.5)


@asynccontextmanager
async def connected(port: int) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect; the connection is cut when the block ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


async def said(port: int, *pieces: bytes, until_closed: bool = True) -> bytes:
    """Send pieces; gives all that comes until the server closes, or the first piece of it."""
    async with connected(port) as (reader, writer):
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0)
        return await (reader.read() if until_closed else reader.read(65536))


async def until(holds: Any) -> None:
    """Wait until something holds, which nobody tells."""
    async with asyncio.timeout(15):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def bodies(answer: bytes) -> list[bytes]:
    return [part.partition(b"\r\n\r\n")[2] for part in answer.split(b"HTTP/1.1 ")[1:]]


CLOSE = b"Connection: close\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /a\r\n\r\n", 505),
        (b"GET /a HTTP/1.2\r\nHost: x\r\n\r\n", 400),
        (b"GET /a HTTP/1.1\r\n\r\n", 400),
        (b"GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"GET /a HTTP/1.1\r\nHost: x\r\nBad Name: 1\r\n\r\n", 400),
        (b"GET /a HTTP/1.1\r\nHost: x\r\n folded: 1\r\n\r\n", 400),
        (b"GET /a HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n", 400),
        (b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
        (b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\n", 400),
        (b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"GET /a HTTP/1.1\r\nHost: x\r\n" + b"X: 1\r\n" * 20_000 + b"\r\n", 431),
        (b"GET /a HTTP/1.1\r\nHost: x\r\nX: " + b"1" * 300_000 + b"\r\n\r\n", 431),
    ],
)
async def test_what_is_no_request_is_refused_and_the_server_lives_on(request_: bytes, status: int) -> None:
    async with serving() as (_, port):
        refused = await said(port, request_)
        answered = await said(port, GET, until_closed=False)
    assert refused.startswith(f"HTTP/1.1 {status} ".encode()), refused
    assert bodies(answered) == [b"GET /a  "]


async def test_requests_that_come_together_are_answered_in_order() -> None:
    post = b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
    last = b"GET /c?q HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n"
    async with serving() as (_, port):
        answer = await said(port, GET + post + last)
    assert bodies(answer) == [b"GET /a  ", b"POST /b  hi", b"GET /c q "]


async def test_a_request_may_come_byte_by_byte() -> None:
    request = (
        b"POST /b HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n"
    )
    async with serving() as (_, port):
        answer = await said(port, *[bytes([byte]) for byte in request])
    assert bodies(answer) == [b"POST /b  hi!"]


async def test_expect_continue_is_answered_before_the_body_comes() -> None:
    async with serving() as (_, port), connected(port) as (reader, writer):
        writer.write(b"POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        told = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"ok")
        answer = await reader.read(65536)
    assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.endswith(b"POST /a  ok")


async def test_http_1_0_is_answered_and_closed() -> None:
    async with serving() as (_, port):
        answer = await said(port, b"GET /a HTTP/1.0\r\n\r\n")
    assert b"connection: close\r\n" in answer
    assert answer.endswith(b"GET /a  ")


@pytest.mark.parametrize(
    "upgrade", [b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"]
)
async def test_an_upgrade_to_something_else_is_answered_without_it(upgrade: bytes) -> None:
    request = b"POST /a HTTP/1.1\r\nHost: x\r\n" + upgrade + b"Content-Length: 2\r\n\r\nhi"
    async with serving() as (_, port):
        answer = await said(port, request, until_closed=False)
    assert bodies(answer) == [b"POST /a  hi"]


async def test_headers_behind_the_body_are_no_headers_of_the_request() -> None:
    names: list[bytes] = []

    async def note(scope: Any, receive: Any, send: Any) -> None:
        await echo(scope, receive, send)
        names.extend(name for name, _ in scope["headers"])

    request = (
        b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Key\r\n\r\n0\r\nX-Key: 1\r\n\r\n"
    )
    async with serving(note) as (_, port):
        await said(port, request, until_closed=False)
    assert b"x-key" not in names


# Time


async def test_a_head_that_never_ends_is_cut_off() -> None:
    async with serving(limits=QUICK) as (_, port):
        answer = await said(port, b"GET /a HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_a_body_that_trickles_is_cut_off_however_often_a_byte_comes() -> None:
    async with serving(limits=QUICK) as (_, port), connected(port) as (reader, writer):
        writer.write(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")

        async def trickle() -> None:
            while not reader.at_eof():
                writer.write(b"x")
                await asyncio.sleep(0.02)

        trickling = asyncio.create_task(trickle())
        async with asyncio.timeout(15):
            answer = await reader.readuntil(b"took too long")
        trickling.cancel()
    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_many_slow_clients_do_not_keep_others_waiting() -> None:
    async with serving(limits=Limits(read_timeout_s=600)) as (server, port):
        slow = [asyncio.create_task(said(port, b"GET / HTTP/1.1\r\nX-a: ")) for _ in range(200)]
        await until(lambda: sum(connection.phase for connection in server.connections) == 200)
        assert bodies(await said(port, GET, until_closed=False)) == [b"GET /a  "]
        assert not any(task.done() for task in slow)
        server.limits = QUICK
        assert all(answer.startswith(b"HTTP/1.1 408 ") for answer in await asyncio.gather(*slow))


async def test_a_connection_without_a_request_is_closed_silently() -> None:
    async with serving(limits=QUICK) as (_, port):
        assert await said(port) == b""


async def test_a_connection_is_kept_between_requests_until_it_is_idle_too_long() -> None:
    async with serving(limits=QUICK) as (_, port):
        answer = await said(port, GET)
    assert bodies(answer) == [b"GET /a  "]


async def test_an_answer_that_nobody_takes_is_cut_off() -> None:
    sent: list[int] = []

    async def flood(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(1000):
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            sent.append(number)

    async with serving(flood, QUICK) as (server, port), connected(port) as (_, writer):
        writer.write(GET)
        await until(lambda: server.connections)
        await until(lambda: not server.connections)
    assert sent


async def test_a_client_that_vanishes_without_a_word_is_forgotten() -> None:
    big = b"x" * (8 * 1024 * 1024)

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        head = [(b"content-length", b"%d" % len(big)), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": big})

    async with serving(answer, QUICK) as (server, port):
        half_open = socket.create_connection(("127.0.0.1", port))  # reads nothing, and never says goodbye
        half_open.sendall(GET)
        await until(lambda: server.connections)
        await until(lambda: not server.connections)
        half_open.close()


# Much


async def test_a_body_that_nobody_reads_is_not_kept_in_memory() -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async with serving(refuse) as (_, port), connected(port) as (reader, writer):
        writer.write(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n")
        for _ in range(50):
            writer.write(b"x" * 1_000_000)
            await writer.drain()  # the server takes it, so that the client gets to its answer
        answer = await reader.readuntil(b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close\r\n" in answer


async def test_a_body_waits_in_the_client_while_nobody_asks_for_it() -> None:
    goes_on = asyncio.Event()

    async def later(scope: Any, receive: Any, send: Any) -> None:
        await goes_on.wait()
        await echo(scope, receive, send)

    async with serving(later) as (server, port), connected(port) as (_, writer):
        writer.write(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n")
        writer.write(b"x" * 50_000_000)
        await until(lambda: any(connection.is_paused for connection in server.connections))
        (connection,) = server.connections
        assert len(connection.cycle._body) < 1_000_000
        goes_on.set()
        writer.transport.abort()


async def test_one_connection_too_many_is_told_so() -> None:
    async with serving(limits=Limits(connections=1)) as (_, port), connected(port) as (_, _writer):
        refused = await said(port, GET, until_closed=False)
    assert refused.startswith(b"HTTP/1.1 503 ")


# Answers


@pytest.mark.parametrize(
    "header", [(b"x-a", b"1\r\nset-cookie: a=b"), (b"x a", b"1"), (b"x-a\r\nb", b"1"), (b"", b"1")]
)
async def test_a_header_that_would_be_two_is_never_sent(header: tuple[bytes, bytes], caplog: Any) -> None:
    async def inject(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [header, (b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async with serving(inject) as (_, port):
        answer = await said(port, GET, until_closed=False)
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"set-cookie" not in answer
    assert "cannot be answered" in caplog.text


async def test_an_application_that_breaks_down_in_the_middle_cuts_its_answer(caplog: Any) -> None:
    async def half(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ValueError("broken")

    async with serving(half) as (_, port), connected(port) as (reader, writer):
        writer.write(GET)
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readuntil(b"0\r\n\r\n")
    assert "cannot be answered" in caplog.text


async def test_an_application_that_answers_nothing_is_500() -> None:
    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        return

    async with serving(nothing) as (_, port):
        assert (await said(port, GET, until_closed=False)).startswith(b"HTTP/1.1 500 ")


@pytest.mark.parametrize("length", [b"1", b"9"])
async def test_a_body_of_another_length_than_told_is_not_taken_for_whole(length: bytes, caplog: Any) -> None:
    async def lie(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": b"four"})

    async with serving(lie) as (_, port):
        answer = await said(port, GET, until_closed=False)
    assert answer.startswith(b"HTTP/1.1 500 ")


async def test_pieces_without_a_length_are_chunks_and_the_head_comes_at_once() -> None:
    goes_on = asyncio.Event()

    async def pieces(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await goes_on.wait()
        for piece in (b"one", b"", b"two"):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async with serving(pieces) as (_, port), connected(port) as (reader, writer):
        writer.write(GET)
        head = await reader.readuntil(b"\r\n\r\n")
        goes_on.set()
        body = await reader.readuntil(b"0\r\n\r\n")
    assert b"transfer-encoding: chunked" in head
    assert body == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"


# Closing


async def test_closing_finishes_what_is_being_answered_and_says_so() -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await goes_on.wait()
        await echo(scope, receive, send)

    async with serving(slow) as (server, port):
        asking = asyncio.create_task(said(port, GET))
        await begun.wait()
        closing = asyncio.create_task(server.close(15))
        with pytest.raises(OSError):
            while True:
                await said(port, GET, until_closed=False)
        goes_on.set()
        answer = await asking
        await closing
    assert b"connection: close\r\n" in answer
    assert answer.endswith(b"GET /a  ")


async def test_a_request_that_is_under_way_when_the_server_closes_is_answered() -> None:
    async with serving() as (server, port), connected(port) as (reader, writer):
        writer.write(GET[:20])
        await until(lambda: any(connection.phase for connection in server.connections))
        closing = asyncio.create_task(server.close(15))
        await asyncio.sleep(0)
        writer.write(GET[20:])
        answer = await reader.read()
        await closing
    assert answer.endswith(b"GET /a  ")
    assert b"connection: close\r\n" in answer


async def test_what_does_not_end_is_cut_off_when_the_time_is_over() -> None:
    async def never(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"
        assert (await receive())["type"] == "http.disconnect"

    async with serving(never) as (server, port):
        asking = asyncio.create_task(said(port, GET))
        await until(lambda: server.connections)
        await server.close(0.1)
        assert await asking == b""


async def test_clients_that_say_nothing_are_asked_whether_they_are_there() -> None:
    async with serving() as (server, port), connected(port):
        await until(lambda: server.connections)
        (connection,) = server.connections
        taken = connection.transport.get_extra_info("socket")
        assert taken.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


async def test_http_1_0_may_keep_its_connection_and_gets_pieces_until_the_end() -> None:
    async def pieces(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/whole":
            await echo(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})

    async with serving(pieces) as (_, port), connected(port) as (reader, writer):
        writer.write(b"GET /whole HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        whole = await reader.readuntil(b"/whole  ")
        writer.write(b"GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        rest = await reader.read()
    assert b"connection: keep-alive\r\n" in whole
    assert b"connection: close\r\n" in rest
    assert rest.endswith(b"\r\n\r\nonetwo")


async def test_without_keep_alive_each_answer_closes() -> None:
    async with serving(limits=Limits(keep_alive=False)) as (_, port):
        assert b"connection: close\r\n" in await said(port, GET)


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_told_to_the_application() -> None:
    seen: list[str] = []

    async def note(scope: Any, receive: Any, send: Any) -> None:
        seen.append((await receive())["type"])
        seen.append((await receive())["type"])
        await send({"type": "http.response.start", "status": 200, "headers": []})  # goes nowhere

    async with serving(note) as (_, port):
        async with connected(port) as (_, writer):
            writer.write(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
            await until(lambda: seen)
        await until(lambda: len(seen) == 2)
    assert seen == ["http.request", "http.disconnect"]


async def test_a_client_that_is_slow_but_takes_what_it_gets_may_take_long() -> None:
    async def much(scope: Any, receive: Any, send: Any) -> None:
        body = b"x" * 16_000_000
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"16000000")]})
        await send({"type": "http.response.body", "body": body})

    async with serving(much, Limits(write_timeout_s=0.5)) as (_, port):
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        slow.setblocking(False)
        await asyncio.get_running_loop().sock_connect(slow, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=slow, limit=65536)
        writer.write(GET[:-2] + CLOSE + b"\r\n")
        got, begun = 0, asyncio.get_running_loop().time()
        while piece := await reader.read(131072):
            got += len(piece)
            await asyncio.sleep(0.02)
        assert got > 16_000_000
        assert asyncio.get_running_loop().time() - begun > 1
        writer.transport.abort()


async def _read_body(scope: Any, receive: Any, send: Any) -> None:
    from starlette.requests import Request

    await Request(scope, receive).body()


async def _break_down(scope: Any, receive: Any, send: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    raise ValueError("broken")


@pytest.mark.parametrize(("app", "told"), [(_read_body, ""), (_break_down, "ValueError: broken")])
async def test_of_a_client_that_is_gone_only_a_real_fault_is_logged(app: Any, told: str, caplog: Any) -> None:
    async with serving(app) as (server, port):
        async with connected(port) as (_, writer):
            writer.write(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
            await until(lambda: any(connection.cycle for connection in server.connections))
            (connection,) = server.connections
            task = connection.cycle.task
        await asyncio.wait([task])
    assert (told in caplog.text) if told else not caplog.text


async def test_bytes_behind_a_websocket_handshake_are_its_first_frame() -> None:
    heard = asyncio.Queue[Any]()

    async def socket_app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        heard.put_nowait(await receive())

    handshake = (
        b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    frame = b"\x81\x82\x00\x00\x00\x00hi"  # a masked text
    async with serving(socket_app) as (_, port), connected(port) as (reader, writer):
        writer.write(handshake + frame)
        answer = await reader.readuntil(b"\r\n\r\n")
        said_ = await heard.get()
    assert answer.startswith(b"HTTP/1.1 101 ")
    assert said_["text"] == "hi"


async def test_many_requests_at_once_wait_in_the_client() -> None:
    goes_on = asyncio.Event()

    async def later(scope: Any, receive: Any, send: Any) -> None:
        await goes_on.wait()
        await echo(scope, receive, send)

    async with serving(later) as (server, port), connected(port) as (reader, writer):
        writer.write(GET * 500)
        await until(lambda: any(connection.is_paused for connection in server.connections))
        goes_on.set()
        answers = b""
        while answers.count(b"GET /a  ") < 500:
            answers += await reader.read(65536)
    assert bodies(answers) == [b"GET /a  "] * 500


async def test_too_many_requests_at_once_are_refused_behind_the_answers() -> None:
    async with serving() as (_, port):
        answer = await said(port, GET * 5000)
    assert bodies(answer)[0] == b"GET /a  "
    assert answer.count(b"connection: close\r\n") == 1


async def test_a_broken_request_behind_a_good_one_closes_after_its_answer() -> None:
    async with serving() as (_, port):
        answer = await said(port, GET + b"\x00\x00\r\n\r\n")
    assert bodies(answer) == [b"GET /a  "]
    assert b"connection: close\r\n" in answer


async def test_a_broken_request_cuts_off_no_answer_before_it_however_long_that_takes(monkeypatch: Any) -> None:
    monkeypatch.setattr("catenary_components.endpoint.serving.server._LINGER_S", 0.01)
    goes_on = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await goes_on.wait()
        await echo(scope, receive, send)

    async with serving(slow, QUICK) as (server, port):
        asking = asyncio.create_task(said(port, GET + b"\x00\x00\r\n\r\n"))
        await until(lambda: server.connections)
        late = server.ticks + 10
        await until(lambda: server.ticks > late)
        goes_on.set()
        assert bodies(await asking) == [b"GET /a  "]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"GET http://other/a%20b?q HTTP/1.1", b"GET /a b q "),
        (b"GET http://other HTTP/1.1", b"GET /  "),
        (b"OPTIONS * HTTP/1.1", b"OPTIONS *  "),
    ],
)
async def test_other_forms_of_addresses_are_read(line: bytes, told: bytes) -> None:
    async with serving() as (_, port):
        assert bodies(await said(port, line + b"\r\nHost: x\r\n\r\n", until_closed=False)) == [told]


async def test_an_upgrade_behind_a_request_that_is_being_answered_is_refused_after_its_answer() -> None:
    upgrade = b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    async with serving() as (_, port):
        answer = await said(port, GET + upgrade)
    assert bodies(answer) == [b"GET /a  "]


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "http.response.body", "body": b"x"}],
        [{"type": "http.response.start", "status": 200}] * 2,
        [{"type": "http.response.nonsense"}],
    ],
)
async def test_an_application_that_breaks_the_rules_is_500(events: list[Any], caplog: Any) -> None:
    async def wild(scope: Any, receive: Any, send: Any) -> None:
        for event in events:
            await send({"headers": [(b"content-length", b"1")], **event})

    async with serving(wild) as (_, port):
        assert (await said(port, GET, until_closed=False)).startswith(b"HTTP/1.1 500 ")
    assert "does not belong here" in caplog.text


async def test_an_application_that_is_cancelled_cuts_its_connection() -> None:
    begun = asyncio.Event()

    async def wait(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with serving(wait) as (server, port):
        asking = asyncio.create_task(said(port, GET))
        await begun.wait()
        (connection,) = server.connections
        connection.cycle.task.cancel()
        assert await asking == b""


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
async def test_an_address_of_another_machine_is_told(host: str) -> None:
    with pytest.raises(ResourceError, match="cannot be listened on"):
        await HttpServer(echo).open(host, 0)


async def test_nothing_is_sent_to_a_client_that_has_hung_up(caplog) -> None:
    is_done = asyncio.Event()

    async def talk(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await asyncio.sleep(0.05)
        client.close()  # with what was not read: the connection is reset
        for _ in range(20):  # before the event loop can tell
            await send({"type": "http.response.body", "body": b"more", "more_body": True})
        is_done.set()

    async with serving(talk) as (_, port):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(GET)
        async with asyncio.timeout(15):
            await is_done.wait()
    assert caplog.text == ""
