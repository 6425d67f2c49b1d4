"""Proxies on whose way something stops: nothing stays open, and nothing stays taken."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.programs import eventually

from catenary import ConnectFailed, TooSlow
from catenary.http import HttpOptions

_GRANTED = b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00"


async def tunnel(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")


async def socks(reader, writer):
    await reader.readexactly(3)
    writer.write(b"\x05\x00")
    await reader.readexactly(4)
    await reader.readexactly((await reader.readexactly(1))[0] + 2)
    writer.write(_GRANTED)


async def nothing(reader, writer):
    del reader, writer


@asynccontextmanager
async def proxy(begin, *, breaks_off=False):
    """Run a proxy that lets a connection through like this, and then is silent, or answers no TLS."""
    connected: set[asyncio.StreamWriter] = set()

    async def handle(reader, writer):
        connected.add(writer)
        try:
            await begin(reader, writer)
            if breaks_off:
                await reader.read(1)
                writer.write(b"HTTP/1.1 400 What\r\n\r\n")
            await reader.read()
        finally:
            writer.transport.abort()
            connected.discard(writer)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], connected
    finally:
        server.close()
        await eventually(lambda: not connected)


@pytest.mark.parametrize(
    ("scheme", "begin"), [("http", nothing), ("http", tunnel), ("socks5", nothing), ("socks5", socks)]
)
async def test_a_connection_that_never_gets_through_is_closed_and_gives_its_place_up(clients, scheme, begin):
    async with proxy(begin) as (port, connected):
        options = HttpOptions(proxy=f"{scheme}://127.0.0.1:{port}", total_timeout_s=0.1, max_connections=1)
        client = clients.client(options)
        for _ in range(3):
            with pytest.raises(TooSlow, match="took longer"):
                await client.request("GET", "https://example.test/")
            await eventually(lambda: not connected)
        pool = client._opened[asyncio.get_running_loop()]._transport._transport_for(options.proxy)._pool
        assert pool.connections == []


@pytest.mark.parametrize(("scheme", "begin"), [("http", tunnel), ("socks5", socks)])
async def test_a_failed_handshake_gives_the_place_of_its_connection_up(clients, scheme, begin):
    async with proxy(begin, breaks_off=True) as (port, connected):
        options = HttpOptions(proxy=f"{scheme}://127.0.0.1:{port}", read_timeout_s=5, max_connections=1)
        client = clients.client(options)
        for _ in range(3):  # each would wait for the place of the one before
            with pytest.raises(ConnectFailed, match="no TLS connection"):
                await client.request("GET", "https://example.test/")
        await eventually(lambda: not connected)
