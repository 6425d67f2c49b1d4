"""Connecting to hosts that have more than one address."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing

import pytest
from tests.programs import eventually

from catenary.http.dialing import dial

Known = Callable[..., None]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Known:
    """Have the name `host.test` stand for addresses."""

    def known(*addresses: str) -> None:
        async def found(host: str, port: int, **_: object) -> list[object]:
            assert host == "host.test"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found)

    return known


@asynccontextmanager
async def listening(*addresses: str) -> AsyncGenerator[tuple[int, set[asyncio.StreamWriter]]]:
    """Listen on a port of some addresses; gives it, and those who are connected."""
    connected: set[asyncio.StreamWriter] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.add(writer)
        await reader.read()
        connected.discard(writer)
        writer.close()

    server = await asyncio.start_server(handle, addresses[0], 0)
    port: int = server.sockets[0].getsockname()[1]
    others = [await asyncio.start_server(handle, address, port) for address in addresses[1:]]
    yield port, connected
    await eventually(lambda: not connected)
    for one in (server, *others):
        one.close()


class Silent(asyncio.Protocol):
    """A connection on which nothing is said."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    @property
    def peer(self) -> str:
        return self.transport.get_extra_info("peername")[0]


async def test_a_literal_address_is_connected_to() -> None:
    async with listening("127.0.0.1") as (port, _):
        stream = await dial(Silent, "127.0.0.1", port)
        assert stream.peer == "127.0.0.1"
        stream.transport.abort()


async def test_the_next_address_is_taken_when_one_refuses(known: Known) -> None:
    known("127.0.0.2", "127.0.0.1")
    async with listening("127.0.0.1") as (port, _):
        stream = await dial(Silent, "host.test", port)
        assert stream.peer == "127.0.0.1"
        stream.transport.abort()


async def test_the_next_address_is_tried_beside_one_that_does_not_answer(known: Known) -> None:
    known("127.0.0.2", "127.0.0.1")
    async with listening("127.0.0.1") as (port, _):
        with socket.create_server(("127.0.0.2", port), backlog=0), closing(Crowd("127.0.0.2", port)):
            stream = await dial(Silent, "host.test", port)
            assert stream.peer == "127.0.0.1"
            stream.transport.abort()


class Crowd:
    """Those who stand in line before an address, so that nobody else gets in."""

    def __init__(self, address: str, port: int) -> None:
        self._waiting = [socket.socket() for _ in range(3)]
        for one in self._waiting:
            one.setblocking(False)
            one.connect_ex((address, port))

    def close(self) -> None:
        for one in self._waiting:
            one.close()


@pytest.mark.parametrize("addresses", [["127.0.0.2"], ["127.0.0.2", "127.0.0.3"]])
async def test_a_host_that_lets_nobody_in_is_an_error_of_the_system(known: Known, addresses: list[str]) -> None:
    known(*addresses)
    async with listening("127.0.0.1") as (port, _):
        with pytest.raises(ConnectionRefusedError):
            await dial(Silent, "host.test", port)


async def test_a_host_without_an_address_is_told(known: Known) -> None:
    known()
    with pytest.raises(OSError, match="no address"):
        await dial(Silent, "host.test", 1)


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["127.0.0.3", "127.0.0.2"]])
@pytest.mark.parametrize("rounds", range(14))
async def test_nothing_stays_open_in_whichever_moment_it_is_cancelled(
    known: Known, addresses: list[str], rounds: int
) -> None:
    known(*addresses)
    async with listening("127.0.0.1", "127.0.0.2") as (port, connected):
        dialing = asyncio.ensure_future(dial(Silent, "host.test", port))
        for _ in range(rounds):
            await asyncio.sleep(0)
        if dialing.done():
            dialing.result().transport.abort()
        dialing.cancel()
        await asyncio.wait([dialing])
        await _everybody_is_let_in(port)
        await eventually(lambda: not connected)


async def _everybody_is_let_in(port: int) -> None:
    """Wait until the listeners have taken those who came before."""
    for address in ("127.0.0.1", "127.0.0.2"):
        _, writer = await asyncio.open_connection(address, port)
        writer.close()
        await writer.wait_closed()
