"""Who may connect to a `ws` endpoint, under which key they are known, and what they may not do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from typing import Any, Self

import pytest
from tests.components.endpoint.ws_chains import client, door, said, script, talking, until, ws_chain, ws_router
from websockets.exceptions import ConnectionClosed, InvalidStatus

from catenary import ChainInvalid, Engine, ResourceError
from catenary.testing import FakeClock
from catenary_components.endpoint.sessions import Sessions

ECHO = [script("echo", "return {msg, metadata, msgType}")]
WIDE = "0.0.0.0:0"


async def refused(engine: Engine, **options: Any) -> int:
    """Give the status by which a client is refused."""
    with pytest.raises(InvalidStatus) as caught:
        async with client(engine, **options):
            pass
    return caught.value.response.status_code


def test_a_wide_address_needs_keys_or_a_word() -> None:
    with Engine() as engine, pytest.raises(ChainInvalid, match=r"other machines can connect.*apiKeys"):
        engine.load(ws_chain(server=WIDE))


@pytest.mark.parametrize(
    "options",
    [
        {"additional_headers": {"Authorization": "Bearer sesame"}},
        {"additional_headers": {"X-API-Key": "sesame"}},
        {"subprotocols": ["catenary", "catenary.key.sesame"]},
    ],
)
async def test_with_a_key_a_client_gets_through(options: dict[str, Any]) -> None:
    source = ws_chain(apiKeys=["sesame"])
    source["metadata"]["endpoints"][0]["routers"][0]["from"]["processors"] = ["headersToMetadata"]
    async with talking(source) as engine, client(engine, **options) as ws:
        await ws.send("1")
        got = await said(ws)
        assert "catenary.key" not in str(got["metadata"].get("Sec-Websocket-Protocol"))
        assert ws.subprotocol == ("catenary" if "subprotocols" in options else None)


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "nonsense"}, {"Authorization": "Bearer "}])
async def test_without_a_key_nobody_gets_through(headers: dict[str, str]) -> None:
    async with talking(ws_chain(apiKeys=["sesame"])) as engine:
        assert await refused(engine, additional_headers=headers) == 401


@pytest.mark.parametrize(
    ("settings", "origin", "is_let_in"),
    [
        ({}, "https://evil.example", True),
        ({"allowedOrigins": ["https://shop.example"]}, "https://shop.example", True),
        ({"allowedOrigins": ["https://shop.example"]}, "https://evil.example", False),
        ({"allowedOrigins": ["https://shop.example"]}, None, True),
        ({"allowedOrigins": ["*"]}, "https://evil.example", True),
        ({"allowCors": False}, "https://evil.example", False),
        ({"allowCors": False}, "http://SAME", True),
        ({"allowCors": False}, "null", False),
    ],
)
async def test_pages_connect_from_where_they_may(settings: dict[str, Any], origin: Any, is_let_in: bool) -> None:
    async with talking(ws_chain(ECHO, **settings)) as engine:
        own = door(engine).address.removeprefix("ws://")
        given = origin.replace("SAME", own) if origin else None
        if is_let_in:
            async with client(engine, origin=given) as ws:
                await ws.send("1")
                assert await ws.recv() == "1"
        else:
            assert await refused(engine, origin=given) == 403


async def test_the_first_subprotocol_that_both_speak_is_chosen() -> None:
    async with (
        talking(ws_chain(subprotocols=["v2", "v1"])) as engine,
        client(engine, subprotocols=["v3", "v1", "v2"]) as ws,
        client(engine, subprotocols=["v9"]) as other,
    ):
        assert (ws.subprotocol, other.subprotocol) == ("v1", None)


# Sessions


async def test_without_a_key_a_client_is_known_by_its_address() -> None:
    async with talking(ws_chain()) as engine, client(engine) as ws:
        host, port = ws.local_address[:2]
        await until(lambda: len(door(engine).sessions))
        await door(engine).sessions.push(f"{host}:{port}", "hello")
        assert await ws.recv() == "hello"


async def test_a_key_of_the_path_is_known_before_anything_is_sent() -> None:
    async with talking(ws_chain(sessionKey="${metadata.device}")) as engine, client(engine, "/ws/d7") as ws:
        await until(lambda: len(door(engine).sessions))
        await door(engine).sessions.push("d7", b"\x01")
        assert await ws.recv() == b"\x01"


@pytest.mark.parametrize(
    ("key", "messages", "known"),
    [
        ("${msg.id}", ['{"id": "a"}', '{"id": "b"}'], "a"),
        ("${msg.id}", ['{"x": 1}', '{"id": "b"}'], "b"),
        (["${msg.none}", '${reFind("id=([0-9]+)", data)}'], ["nothing", "id=77;"], "77"),
        ("${hex(data)}", ["hi"], "6869"),
        ("${hex(data)}", [b"\xff\x00"], "ff00"),
        ('${reFind("[0-9]+", data)}', ["abc 12 34"], "12"),
        ("${upper(msg.id.x)}", ["1", '{"id": {"x": "k"}}'], "K"),
    ],
)
async def test_the_first_key_that_is_not_empty_counts(key: Any, messages: list[Any], known: str) -> None:
    async with talking(ws_chain(ECHO, sessionKey=key)) as engine, client(engine) as ws:
        for message in messages:
            await ws.send(message)
        for _ in messages:
            await ws.recv()
        sessions = door(engine).sessions
        assert [sessions.key_of(session) for session in sessions] == [known]
        await sessions.push(known, "you")
        assert await ws.recv() == "you"


async def test_a_client_without_its_key_yet_is_reached_by_all_only() -> None:
    async with talking(ws_chain(sessionKey="${msg.id}")) as engine, client(engine) as ws:
        await until(lambda: len(door(engine).sessions))
        host, port = ws.local_address[:2]
        with pytest.raises(ResourceError, match="no session matched target="):
            await door(engine).sessions.push(f"{host}:{port}", "x")
        await door(engine).sessions.push("*", "x")
        assert await ws.recv() == "x"


async def test_a_client_that_was_silent_too_long_is_not_sent_to_until_it_speaks() -> None:
    async with talking(ws_chain(ECHO, sessionKey="k", sessionTTL=10, heartbeat=0)) as engine:
        sessions, clock = door(engine).sessions, FakeClock()
        sessions._now = clock.monotonic
        ws = await client(engine)
        await until(lambda: sessions.matching("k"))
        clock.advance(11)
        with pytest.raises(ResourceError, match=r"(?m)^no session matched target=k$"):
            await sessions.push("k", "x")
        await ws.send("1")
        assert await ws.recv() == "1"
        await sessions.push("k", "x")
        assert await ws.recv() == "x"
        await ws.close()


async def test_answers_to_pings_are_signs_of_life() -> None:
    async with talking(ws_chain(sessionKey="k", sessionTTL=10, heartbeat=0.1)) as engine:
        sessions, clock = door(engine).sessions, FakeClock()
        sessions._now = clock.monotonic
        async with client(engine):
            await until(lambda: sessions.matching("k"))
            for _ in range(3):
                clock.advance(11)
                assert not sessions.matching("k")
                await until(lambda: sessions.matching("k"))


async def test_a_client_that_has_gone_is_forgotten() -> None:
    async with talking(ws_chain(sessionKey="k")) as engine:
        async with client(engine):
            await until(lambda: door(engine).sessions.matching("k"))
        await until(lambda: not len(door(engine).sessions))
        with pytest.raises(ResourceError, match=r"no session matched target=\*"):
            await door(engine).sessions.push("", "x")


# Faults


class RawClient:
    """A client that sends whatever bytes it likes."""

    def __init__(self, engine: Engine) -> None:
        host, port = door(engine).address.removeprefix("ws://").split(":")
        self._address = (host, int(port))

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection(*self._address)
        self.writer.write(
            b"GET /ws/raw HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        assert b" 101 " in await self.reader.readuntil(b"\r\n\r\n")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    async def close_code(self) -> int:
        """Read to the end; give the code of the close frame."""
        async with asyncio.timeout(15):
            rest = await self.reader.read()
        return struct.unpack("!H", rest[rest.index(b"\x88") + 2 :][:2])[0]


def frame(opcode: int, data: bytes, *, fin: bool = True, length: int | None = None) -> bytes:
    """Make a frame of a client, masked by zeros."""
    size = len(data) if length is None else length
    head = bytes([opcode | (0x80 if fin else 0)])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65536:
        head += bytes([0x80 | 126]) + struct.pack("!H", size)
    else:
        head += bytes([0x80 | 127]) + struct.pack("!Q", size)
    return head + b"\0\0\0\0" + data


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"\x81\x01a", 1002),  # not masked
        (frame(0x3, b"x"), 1002),  # no such opcode
        (b"\xf1" + frame(1, b"x")[1:], 1002),  # reserved bits
        (frame(0, b"x"), 1002),  # goes on with nothing
        (frame(9, b"x" * 126), 1002),  # a ping that is too long
        (frame(1, b"\xff\xfe"), 1007),  # a text that is no UTF-8
        (frame(8, b"\x00"), 1002),  # half of a code
    ],
)
async def test_malformed_frames_end_the_connection_alone(sent: bytes, code: int) -> None:
    async with talking(ws_chain(ECHO)) as engine, client(engine) as other:
        async with RawClient(engine) as raw:
            raw.writer.write(sent)
            assert await raw.close_code() == code
        await other.send("1")
        assert await other.recv() == "1"


async def test_pieces_of_a_message_are_put_together_around_a_ping() -> None:
    async with talking(ws_chain(ECHO)) as engine, RawClient(engine) as raw:
        raw.writer.write(frame(1, b"[1,", fin=False) + frame(9, b"?") + frame(0, b"", fin=False) + frame(0, b"2]"))
        async with asyncio.timeout(15):
            assert await raw.reader.readexactly(3) == b"\x8a\x01?"
            assert await raw.reader.readexactly(7) == b"\x81\x05[1,2]"


async def test_a_frame_of_100_megabytes_is_refused_by_its_head() -> None:
    async with talking(ws_chain(ECHO)) as engine, RawClient(engine) as raw:
        raw.writer.write(frame(2, b"x" * 1000, length=100 * 1024 * 1024))
        assert await raw.close_code() == 1009


async def test_a_message_that_is_too_long_in_pieces_is_refused() -> None:
    async with talking(ws_chain(ECHO, maxMessageBytes=1000)) as engine, RawClient(engine) as raw:
        raw.writer.write(frame(2, b"x" * 600, fin=False) + frame(0, b"x" * 600))
        assert await raw.close_code() == 1009


async def test_a_message_of_100_megabytes_comes_when_it_may() -> None:
    nodes = [{"id": "n", "type": "exprTransform", "configuration": {"expr": "len(data)"}}]
    async with talking(ws_chain(nodes, maxMessageBytes=0)) as engine, client(engine, max_size=None) as ws:
        await ws.send("x" * 100_000_000)
        async with asyncio.timeout(15):
            assert await ws.recv() == "100000000"


async def test_a_client_that_answers_no_ping_is_cut_off() -> None:
    async with talking(ws_chain(heartbeat=0.1)) as engine, RawClient(engine):  # reads nothing, answers nothing
        await until(lambda: len(door(engine).sessions))
        await until(lambda: not len(door(engine).sessions))


async def test_pings_do_not_cut_off_a_client_whose_message_takes_long() -> None:
    nodes = [{"id": "d", "type": "delay", "configuration": {"delayMs": "600"}}]
    async with talking(ws_chain(nodes, heartbeat=0.1, queueSize=1)) as engine, client(engine) as ws:
        for number in range(3):
            await ws.send(str(number))
        assert [await ws.recv() for _ in range(3)] == ["0", "1", "2"]


async def test_a_connection_on_which_nothing_is_said_is_closed_when_asked_for() -> None:
    async with talking(ws_chain(ECHO, idleTimeout=0.2)) as engine, client(engine) as ws:
        await ws.send("1")
        assert await ws.recv() == "1"
        with pytest.raises(ConnectionClosed):
            await ws.recv()
        assert ws.close_code == 1000


async def slow_client(engine: Engine, buffer_bytes: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect with a small buffer in the system."""
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    host, port = door(engine).address.removeprefix("ws://").split(":")
    slow.setblocking(False)
    await asyncio.get_running_loop().sock_connect(slow, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=slow, limit=buffer_bytes)
    writer.write(
        b"GET /ws/slow HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def test_a_slow_reader_that_takes_what_it_gets_is_not_cut_off() -> None:
    async with talking(ws_chain(sessionKey="k", writeTimeout=2, heartbeat=0)) as engine:
        reader, writer = await slow_client(engine, 65536)

        async def read() -> None:
            while await reader.read(131072):  # noqa: ASYNC110 - it is slow on purpose
                await asyncio.sleep(0.02)

        reading = asyncio.create_task(read())
        sessions, begun = door(engine).sessions, asyncio.get_running_loop().time()
        await until(lambda: len(sessions))
        for _ in range(3):
            await sessions.push("k", b"x" * 8_000_000)
        assert asyncio.get_running_loop().time() - begun > 2
        reading.cancel()
        writer.transport.abort()


async def test_a_slow_reader_is_cut_off_and_keeps_nobody_waiting() -> None:
    async with talking(ws_chain(sessionKey="k", writeTimeout=0.3, heartbeat=0)) as engine, client(engine) as quick:
        _, writer = await slow_client(engine, 4096)
        sessions = door(engine).sessions
        await until(lambda: len(sessions) == 2)
        received: list[Any] = []

        async def read() -> None:
            while True:
                received.append(len(await quick.recv()))

        reading = asyncio.create_task(read())
        big = os.urandom(1_000_000)
        for _ in range(12):
            await sessions.push("k", big)
        await until(lambda: len(sessions) == 1)
        await until(lambda: len(received) == 12)
        reading.cancel()
        writer.transport.abort()


async def test_a_port_in_use_is_tried_again() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with talking(ws_chain(server=f"127.0.0.1:{port}")) as engine:
            (status,) = engine.endpoints.status()
            assert status.state == "reconnecting"
            assert "in use by another program" in status.error
            assert len(engine.chains) == 1


async def test_http_and_ws_share_an_address() -> None:
    import httpx

    source = ws_chain(ECHO)
    source["metadata"]["endpoints"].append(
        {
            "id": "web",
            "type": "http",
            "configuration": {"server": "ref://door"},
            "routers": [{"params": ["GET"], "from": {"path": "/ws/:device"}, "to": {"wait": True}}],
        }
    )
    async with talking(source) as engine, client(engine) as ws:
        address = door(engine).address.replace("ws", "http")
        async with httpx.AsyncClient(timeout=15) as web:
            assert (await web.get(address + "/ws/1")).status_code == 200
        await ws.send("1")
        assert await ws.recv() == "1"


async def test_two_endpoints_with_the_same_path_on_one_address_are_refused() -> None:
    source = ws_chain(ECHO, [ws_router("/a")])
    second = {**source["metadata"]["endpoints"][0], "id": "second", "configuration": {"server": "ref://door"}}
    source["metadata"]["endpoints"].append(second)
    async with talking(source) as engine:
        errors = [status.error for status in engine.endpoints.status() if status.id == "second"]
        assert "WEBSOCKET /a is there twice" in errors[0]


def test_clients_of_an_event_loop_that_is_over_are_gone() -> None:
    class Kept:
        async def push(self, data: str | bytes) -> None:
            raise AssertionError(data)

    async def connect() -> Sessions[Kept]:
        made = Sessions[Kept]()
        made.join(Kept(), "k")
        return made

    sessions = asyncio.run(connect())
    with pytest.raises(ResourceError, match="no session matched target=k"):
        asyncio.run(sessions.push("k", "too late"))
