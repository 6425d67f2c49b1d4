"""Connections over asyncio's transports, and the pools they are kept in."""

from __future__ import annotations

import asyncio

import httpcore
import pytest
from tests.engine.http.test_chunked import answering

from catenary.errors import TooSlow
from catenary.http import HttpClients, HttpOptions
from catenary.http.network import AsyncioBackend, Stream, Waiting
from catenary.http.pools import _CROWD, Crowds  # pyright: ignore[reportPrivateUsage]

MANY = 4 * 1024 * 1024


async def test_a_sender_that_is_faster_than_the_reader_is_held_back() -> None:
    sent = 0

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        for _ in range(64):
            writer.write(b"x" * MANY)
            await writer.drain()
            sent += MANY

    async with answering(talk) as url:
        stream = await AsyncioBackend().connect_tcp("127.0.0.1", int(url.rpartition(":")[2].strip("/")), 15)
        read = len(await stream.read(65536, 15))
        while True:  # until what is sent stands still
            before = sent
            await asyncio.sleep(0.1)
            if sent == before:
                break
        assert sent < 32 * MANY
        while piece := await stream.read(65536, 15):
            read += len(piece)
        assert read == 64 * MANY
        await stream.aclose()


async def test_a_peer_that_takes_nothing_ends_a_write_in_time() -> None:
    is_over = asyncio.Event()

    async def talk(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await is_over.wait()

    async with answering(talk) as url:
        stream = await AsyncioBackend().connect_tcp("127.0.0.1", int(url.rpartition(":")[2].strip("/")), 15)
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(b"x" * 64 * MANY, 0.1)
        is_over.set()
        await stream.aclose()
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"x", 0.1)


async def test_an_end_that_was_asked_for_is_no_failure() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"all")

    async with answering(talk) as url:
        stream = await AsyncioBackend().connect_tcp("127.0.0.1", int(url.rpartition(":")[2].strip("/")), 15)
        assert await stream.read(2) == b"al"
        assert await stream.read(2) == b"l"
        assert await stream.read(2) == b""
        assert stream.get_extra_info("is_readable")
        await stream.aclose()


async def test_one_timer_serves_waits_of_any_length() -> None:
    waiting = Waiting()
    loop = asyncio.get_running_loop()
    for seconds in (30.0, None, 30.0, 0.02):
        task = asyncio.ensure_future(waiting.wait(seconds))
        await asyncio.sleep(0)
        if seconds == 0.02:
            assert not await task
        else:
            waiting.wake()
            assert await task
    began = loop.time()
    assert not await waiting.wait(0.05)
    assert loop.time() - began >= 0.04
    waiting.close()


async def test_a_cancelled_wait_leaves_the_connection_usable() -> None:
    go = asyncio.Event()

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go.wait()
        writer.write(b"here")

    async with answering(talk) as url:
        stream = await AsyncioBackend().connect_tcp("127.0.0.1", int(url.rpartition(":")[2].strip("/")), 15)
        assert isinstance(stream, Stream)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await stream.read(10, 30)
        go.set()
        assert await stream.read(10, 15) == b"here"
        await stream.aclose()


async def test_any_number_of_calls_go_on_at_once_and_leave_room(clients: HttpClients) -> None:
    go = asyncio.Event()
    open_now = most = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        while True:
            await reader.readuntil(b"\r\n\r\n")
            open_now += 1
            most = max(most, open_now)
            if open_now == 3 * _CROWD:
                go.set()
            await go.wait()
            open_now -= 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async with answering(talk) as url:
        client = clients.client(HttpOptions(max_connections=None))
        answers = await asyncio.gather(*(client.request("GET", url) for _ in range(3 * _CROWD)))
        assert {answer.text for answer in answers} == {"ok"}
        assert most == 3 * _CROWD
        crowds = (await client._pool())._transport._transports[""]  # pyright: ignore
        assert isinstance(crowds, Crowds)
        assert crowds._calls == [0, 0, 0]  # pyright: ignore
        await client.close()


async def test_a_call_that_fails_leaves_its_room(clients: HttpClients) -> None:
    async def talk(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with answering(talk) as url:
        client = clients.client(HttpOptions(max_connections=None, read_timeout_s=0.02))
        with pytest.raises(TooSlow):
            await client.request("GET", url)
        crowds = (await client._pool())._transport._transports[""]  # pyright: ignore
        assert crowds._calls == [0]
        await client.close()
