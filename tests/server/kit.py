"""Servers for the tests: inside the process on a real port, and as a process of their own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import catenary_components
from catenary import Engine, Message
from catenary.aspects import Metrics
from catenary_components.endpoint.serving import HttpServer
from catenary_server import ServerApp, ServiceSettings, create_app

assert catenary_components.__doc__

KEY = "a-key-of-sixteen-characters-and-more"
COMMAND = [str(Path(sys.executable).parent / "catenary"), "serve"]


def chain(chain_id: str, *nodes: tuple[str, str, dict[str, Any]], ways: tuple[str, ...] = (), **more: Any) -> Any:
    """Give a chain of nodes `(id, type, configuration)` and ways `from relation to`."""
    written = [{"id": name, "type": kind, "configuration": settings} for name, kind, settings in nodes]
    connections = [dict(zip(("fromId", "type", "toId"), way.split(), strict=True)) for way in ways]
    return {"ruleChain": {"id": chain_id}, "metadata": {"nodes": written, "connections": connections, **more}}


def greeting(chain_id: str = "hello", text: str = "Hello") -> Any:
    return chain(chain_id, ("greet", "exprTransform", {"mapping": {"text": f"'{text} ' + msg.name"}}))


def waiting(chain_id: str = "ask") -> Any:
    settings = {"relations": ["Yes", "No"], "answerers": ["ann"], "use": "merge"}
    done = ("done", "exprTransform", {"mapping": {"n": "msg.n", "by": "metadata._answerer"}})
    return chain(chain_id, ("w", "wait", settings), done, ways=("w Yes done",))


def held(chain_id: str = "held") -> Any:
    """Give a chain whose runs stay on until the gate of the site is opened: see `Site.gate`."""
    return chain(chain_id, ("h", "functions", {"functionName": "hold"}))


def slow(chain_id: str = "slow", delay_ms: int = 60_000) -> Any:
    return chain(chain_id, ("d", "delay", {"delayMs": str(delay_ms)}))


def http_endpoint(method: str, path: str, **configuration: Any) -> Any:
    router = {"params": [method], "from": {"path": path}, "to": {"wait": True, "processors": ["responseToBody"]}}
    return {
        "id": "in",
        "type": "http",
        "configuration": {"server": "ref://server", **configuration},
        "routers": [router],
    }


@dataclass
class Site:
    """A server of the tests, and a client that calls it."""

    engine: Engine
    app: ServerApp
    client: httpx.AsyncClient
    url: str
    gate: asyncio.Event
    """Opens for the runs of `held`."""

    async def run(self, chain_id: str, data: Any = None, **more: Any) -> httpx.Response:
        """Run a message through a chain."""
        query = more.pop("query", {})
        body = {**({} if data is None else {"data": data}), **more}
        return await self.client.post(f"/api/v1/chains/{chain_id}/run", json=body, params=query)

    async def until(self, holds: Any) -> None:
        """Wait until something is true."""
        async with asyncio.timeout(10):
            while not holds():  # noqa: ASYNC110 - the test's own patience
                await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def serving(
    *chains: Any, settings: ServiceSettings | None = None, folder: Path | None = None, **options: Any
) -> AsyncGenerator[Site]:
    """Serve chains on a free port, in the event loop of the test."""
    engine = Engine(aspects=[Metrics()], **options)
    gate = asyncio.Event()

    @engine.function("hold")
    async def _hold(_: Any, msg: Message) -> tuple[str, Message]:
        await gate.wait()
        return "Success", msg

    app = create_app(engine, settings, folder=folder)
    for one in chains:
        engine.load(one)
    if folder is not None:
        app.service.report = engine.load_folder(folder)
    server = HttpServer(app)
    port = await server.open("127.0.0.1", 0)
    url = f"http://127.0.0.1:{port}"
    try:
        async with engine, httpx.AsyncClient(base_url=url, trust_env=False, timeout=10) as client:
            yield Site(engine, app, client, url, gate)
            await engine.close(grace_s=0.2)
    finally:
        await server.close(0.5)


@dataclass
class Sent:
    """One server-sent event."""

    id: str = ""
    event: str = ""
    data: str = ""
    comments: list[str] = field(default_factory=list[str])


async def events_of(response: httpx.Response) -> AsyncIterator[Sent]:
    """Give the events of a stream as they come; one of comments alone has no name."""
    sent = Sent()
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if not line:
            yield sent
            sent = Sent()
        elif not name:
            sent.comments.append(value)
        else:
            setattr(sent, name, value)


def get(url: str, **more: Any) -> httpx.Response:
    """Ask a server of another process, which has time enough."""
    return httpx.get(url, timeout=30, trust_env=False, **more)


def post(url: str, **more: Any) -> httpx.Response:
    """Send something to a server of another process, which has time enough."""
    return httpx.post(url, timeout=30, trust_env=False, **more)


class Process:
    """A `catenary serve` of its own."""

    def __init__(self, popen: subprocess.Popen[str], log: Path) -> None:
        self.popen = popen
        self._log = log
        self.url = ""

    @property
    def output(self) -> str:
        """What it has written to stderr."""
        return self._log.read_text()

    def wait_for(self, pattern: str, within_s: float = 30.0) -> re.Match[str]:
        """Wait until it has written something."""
        deadline = time.monotonic() + within_s
        while True:
            found = re.search(pattern, self.output)
            if found:
                return found
            over = self.popen.poll() is not None
            assert time.monotonic() < deadline and not over, f"{pattern!r} is not in:\n{self.output}"
            time.sleep(0.02)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it. Returns: its exit code."""
        self.popen.send_signal(number)
        return self.popen.wait(30)


@contextlib.contextmanager
def process(tmp_path: Path, *arguments: str, **environ: str) -> Generator[Process]:
    """Start `catenary serve`, on a free port unless told otherwise, and end it afterwards."""
    log = tmp_path / f"serve-{time.monotonic_ns()}.log"
    port = () if "--port" in arguments else ("--port", "0")
    with log.open("w") as opened:
        popen = subprocess.Popen(
            [*COMMAND, *arguments, *port],
            stderr=opened,
            stdout=opened,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "CATENARY_DATA_DIR": str(tmp_path / "data"), **environ},
        )
    started = Process(popen, log)
    try:
        yield started
    finally:
        if popen.poll() is None:
            popen.kill()
        popen.wait(10)


@contextlib.contextmanager
def started(tmp_path: Path, *arguments: str, **environ: str) -> Generator[Process]:
    """Start `catenary serve`, and wait until it is up."""
    with process(tmp_path, *arguments, **environ) as one:
        one.url = one.wait_for(r"(http://\S+)\s+the API")[1]
        yield one
