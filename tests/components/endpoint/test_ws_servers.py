"""`ws` endpoints behind TLS, on a listener of several chains, and on the server of another program."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.components.endpoint.ws_chains import client, door, said, script, talking, until, ws_chain, ws_router
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from catenary import Engine, ResourceError
from catenary_components.endpoint import endpoint_app

ECHO = [script("echo", "return {msg, metadata, msgType}")]


# TLS


async def certificate_in(folder: Path) -> tuple[str, str]:
    """Make a certificate for 127.0.0.1, signed by itself, and its key."""
    files = str(folder / "certificate.pem"), str(folder / "key.pem")
    command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]]
    made = await asyncio.create_subprocess_exec("openssl", *command.split(), *names, stderr=asyncio.subprocess.DEVNULL)
    assert await made.wait() == 0
    return files


async def test_with_a_certificate_it_speaks_wss(tmp_path: Path) -> None:
    certificate, key = await certificate_in(tmp_path)
    trust = ssl.create_default_context(cafile=certificate)
    async with talking(ws_chain(ECHO, certFile=certificate, certKeyFile=key)) as engine:
        assert door(engine).address.startswith("wss://127.0.0.1:")
        big = "x" * 1_000_000
        async with client(engine, ssl=trust) as ws:
            await ws.send(big)
            assert await ws.recv() == big
            closing = asyncio.create_task(engine.close())
            with pytest.raises(ConnectionClosed):
                await ws.recv()
            assert ws.close_code == 1001
            await closing


async def test_a_client_of_wss_that_reads_nothing_is_cut_off(tmp_path: Path) -> None:
    certificate, key = await certificate_in(tmp_path)
    trust = ssl.create_default_context(cafile=certificate)
    settings: dict[str, Any] = {
        "certFile": certificate,
        "certKeyFile": key,
        "heartbeat": 0.3,
        "sessionKey": "k",
        "writeTimeout": 0.3,
    }
    async with talking(ws_chain(ECHO, **settings)) as engine, client(engine, ssl=trust) as ws:
        ws.transport.pause_reading()
        sessions = door(engine).sessions
        with pytest.raises(ResourceError):
            async with asyncio.timeout(15):
                while True:
                    await sessions.push("k", b"x" * 1_000_000)
        await until(lambda: not len(sessions))
        ws.transport.abort()


# A listener of several chains


async def test_chains_on_one_address_have_their_own_clients_and_lives() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = f"127.0.0.1:{free.getsockname()[1]}"
    one, two = (
        ws_chain(ECHO, [ws_router(f"/{name}")], chain_id=name, server=server, sessionKey="k") for name in ("one", "two")
    )
    async with talking(one, two) as engine:
        url = door(engine, "one").address
        async with connect(url + "/one", proxy=None) as a, connect(url + "/two", proxy=None) as b:
            await until(lambda: len(door(engine, "one").sessions) == len(door(engine, "two").sessions) == 1)
            await door(engine, "one").sessions.push("k", "to one")
            await b.send("2")
            assert [await a.recv(), await b.recv()] == ["to one", "2"]
            await engine.stop("one")
            with pytest.raises(ConnectionClosed):
                await a.recv()
            assert a.close_code == 1001
            await b.send("3")
            assert await b.recv() == "3"


# The server of another program


@asynccontextmanager
async def served(engine: Engine, **options: Any) -> AsyncGenerator[tuple[uvicorn.Server, str]]:
    """Serve the endpoints by plain uvicorn, while it runs."""
    listening = socket.create_server(("127.0.0.1", 0))
    made = uvicorn.Server(uvicorn.Config(endpoint_app(engine), lifespan="on", log_config=None, **options))
    serving = asyncio.create_task(made.serve([listening]))
    await until(lambda: made.started)
    try:
        yield made, f"ws://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        made.should_exit = True
        await serving


HOSTED = ws_chain(ECHO, server="ref://server", sessionKey="${metadata.device}", apiKeys=["sesame"])
KEYLESS: dict[str, Any] = {"proxy": None}
KEY: dict[str, Any] = {"subprotocols": ["catenary", "catenary.key.sesame"], "proxy": None}


async def test_another_server_carries_messages_pushes_and_refusals() -> None:
    engine = Engine()
    async with served(engine) as (_, url), talking(HOSTED, engine=engine), connect(url + "/ws/a", **KEY) as ws:
        for number in range(50):
            await ws.send(str(number))
        assert [await said(ws) for _ in range(50)] == list(range(50))
        await door(engine).sessions.push("a", "x\ud800")
        assert await ws.recv() == "x?"
        for path, options, status in (("/ws/a", KEYLESS, 401), ("/nowhere", KEY, 404)):
            with pytest.raises(InvalidStatus) as caught:
                await connect(url + path, **options)
            assert caught.value.response.status_code == status


async def test_on_another_server_a_message_that_is_too_long_is_refused() -> None:
    engine, source = Engine(), ws_chain(ECHO, server="ref://server", maxMessageBytes=1000)
    async with served(engine) as (_, url), talking(source, engine=engine), connect(url + "/ws/a", proxy=None) as ws:
        await ws.send("x" * 1001)
        with pytest.raises(ConnectionClosed):
            await ws.recv()
        assert ws.close_code == 1009


async def test_an_endpoint_on_another_server_says_goodbye_when_its_chain_is_unloaded() -> None:
    engine = Engine()
    async with served(engine) as (_, url), talking(HOSTED, engine=engine), connect(url + "/ws/a", **KEY) as ws:
        await until(lambda: len(door(engine).sessions))
        await engine.stop("talk")
        with pytest.raises(ConnectionClosed):
            await ws.recv()
        assert ws.close_code == 1001


async def test_clients_are_forgotten_when_another_server_stops() -> None:
    engine = Engine()
    async with served(engine) as (server, url), talking(HOSTED, engine=engine), connect(url + "/ws/a", **KEY) as ws:
        sessions = door(engine).sessions
        await until(lambda: len(sessions))
        server.should_exit = True
        with pytest.raises(ConnectionClosed):
            await ws.recv()
        await until(lambda: not len(sessions))
        with pytest.raises(ResourceError, match="no session matched"):
            await sessions.push("a", "too late")
