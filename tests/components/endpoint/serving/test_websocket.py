"""WebSockets of the server, spoken to byte by byte: what clients and applications may do wrong."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest
from tests.components.endpoint.serving.test_connection import connected, serving, until

HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def frame(opcode: int, data: bytes = b"") -> bytes:
    """Make a short frame of a client, masked by zeros."""
    return bytes([0x80 | opcode, 0x80 | len(data)]) + b"\0\0\0\0" + data


def closed(code: int, reason: bytes = b"") -> bytes:
    """Make a close frame of the server."""
    return b"\x88" + bytes([2 + len(reason)]) + struct.pack("!H", code) + reason


async def accept(receive: Any, send: Any) -> None:
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})


async def shake_hands(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HANDSHAKE)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")


class Listening:
    """An application that takes everything."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await accept(receive, send)
        while not self.events or self.events[-1]["type"] != "websocket.disconnect":
            self.events.append(await receive())


async def test_what_came_before_a_malformed_frame_is_received() -> None:
    app = Listening()
    async with serving(app) as (_, port), connected(port) as (reader, writer):
        await shake_hands(reader, writer)
        writer.write(frame(1, b"one") + frame(1, b"two") + b"\xff\xff\xff")
        assert await reader.read() == closed(1002, b"invalid opcode")
        await until(lambda: len(app.events) == 3)
    assert [event.get("text") for event in app.events] == ["one", "two", None]
    assert app.events[-1]["code"] == 1002


async def test_pings_of_a_client_that_reads_nothing_are_not_answered_without_bound() -> None:
    app = Listening()
    async with serving(app) as (server, port), connected(port) as (reader, writer):
        await shake_hands(reader, writer)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        (connection,) = server.connections
        pings = frame(9, b"x" * 125) * 1000
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                while True:
                    writer.write(pings)
                    await writer.drain()
        assert connection.transport.get_write_buffer_size() < 1_000_000
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        writer.write(frame(1, b"still here"))
        while not app.events:
            await reader.read(65536)
    assert app.events[0]["text"] == "still here"


async def test_pings_of_a_client_that_reads_nothing_do_not_delay_the_end() -> None:
    may_close = asyncio.Event()

    async def leave(scope: Any, receive: Any, send: Any) -> None:
        await accept(receive, send)
        await may_close.wait()

    async with serving(leave) as (server, port), connected(port) as (reader, writer):
        await shake_hands(reader, writer)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        (connection,) = server.connections
        while not connection._is_flooded:
            writer.write(frame(9, b"x" * 125) * 1000)
            await asyncio.sleep(0)
        may_close.set()
        await until(lambda: not server.connections)


async def test_an_application_that_is_cancelled_cuts_its_websocket() -> None:
    begun = asyncio.Queue[Any]()

    async def wait(scope: Any, receive: Any, send: Any) -> None:
        await accept(receive, send)
        begun.put_nowait(asyncio.current_task())
        await asyncio.Event().wait()

    async with serving(wait) as (_, port), connected(port) as (reader, writer):
        await shake_hands(reader, writer)
        (await begun.get()).cancel()
        assert await reader.read() == b""


@pytest.mark.parametrize("error", [ValueError("broken"), ConnectionResetError("by a database")])
async def test_what_an_application_raises_is_logged_and_closes(error: Exception, caplog: Any) -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        await accept(receive, send)
        raise error

    async with serving(fail) as (_, port), connected(port) as (reader, writer):
        await shake_hands(reader, writer)
        assert await reader.readexactly(4) == closed(1011)
    assert str(error) in caplog.text


async def test_what_an_application_raises_before_it_accepts_is_500(caplog: Any) -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("broken")

    async with serving(fail) as (_, port), connected(port) as (reader, writer):
        writer.write(HANDSHAKE)
        assert (await reader.read()).startswith(b"HTTP/1.1 500 ")
    assert "ValueError: broken" in caplog.text


@pytest.mark.parametrize(("is_fault", "told"), [(True, "ValueError: broken"), (False, "")])
async def test_only_what_comes_of_a_client_that_is_gone_is_not_logged(is_fault: bool, told: str, caplog: Any) -> None:
    tasks = asyncio.Queue[Any]()

    async def talk(scope: Any, receive: Any, send: Any) -> None:
        tasks.put_nowait(asyncio.current_task())
        await accept(receive, send)
        assert (await receive())["type"] == "websocket.disconnect"
        try:
            await send({"type": "websocket.send", "text": "too late"})
        except ConnectionResetError:
            if is_fault:
                raise ValueError("broken") from None
            raise

    async with serving(talk) as (_, port):
        async with connected(port) as (reader, writer):
            await shake_hands(reader, writer)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await asyncio.wait([await tasks.get()])
    assert (told in caplog.text) if told else not caplog.text


async def test_what_goes_wrong_while_it_is_closed_is_told_at_once() -> None:
    def fail(code: int) -> None:
        raise ValueError(code)

    async def leave(scope: Any, receive: Any, send: Any) -> None:
        await accept(receive, send)
        send.__self__._close = fail

    loop = asyncio.get_running_loop()
    told, before = list[Any](), loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
    try:
        async with serving(leave) as (server, port), connected(port) as (reader, writer):
            await shake_hands(reader, writer)
            await until(lambda: told)
            server.connections.clear()
    finally:
        loop.set_exception_handler(before)
    assert told[0].args == (1000,)
