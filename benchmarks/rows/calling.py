"""C: a `restApiCall` node, beside the same request by httpx itself, one after the other and 64 in flight."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
from measuring import run_once
from table import Goal

from catenary import Message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from table import Row

    from rows import Bench, Measured

IN_FLIGHT: Final = (1, 64)
TEXT: Final = '{"deviceId":"sensor-17","temperature":41.5,"unit":"C","ok":true}'
HEADERS: Final = {"Content-Type": "application/json"}
_SERVER: Final = Path(__file__).parent.parent / "servers" / "answering.py"
_GOAL: Final = Goal(ratio=1.25)  # four fifths of the requests in the same time
_TIMEOUT_S: Final = 30.0


def rows(bench: Bench) -> list[Row]:
    """Measure both clients against a server in a process of its own."""
    with _server() as url:
        client = httpx.AsyncClient(timeout=_TIMEOUT_S)
        chain = bench.load(_chain(url))

        async def ours() -> None:
            outcome = await bench.engine.run(chain, Message(TEXT))
            assert outcome.ok, outcome.error

        async def bare() -> None:
            answer = await client.post(url, content=TEXT, headers=HEADERS)
            assert answer.status_code == 200
            assert answer.text

        try:
            return [row for count in IN_FLIGHT for row in _rows(bench, count, ours, bare)]
        finally:
            run_once(client.aclose)
            run_once(bench.engine.http.release)


def _rows(
    bench: Bench, count: int, ours: Callable[[], Awaitable[None]], bare: Callable[[], Awaitable[None]]
) -> list[Row]:
    cases = {"ours": _in_flight(ours, count), "bare": _in_flight(bare, count)}
    rows: list[Row] = []

    def each(measured: Measured, name: str) -> list[float]:
        return [sample / count for sample in measured.samples[name]]

    for title, clock in {"on the clock": time.perf_counter, "CPU": time.process_time}.items():
        measured = bench.measure(cases, clock=clock)
        what = f"a request, {count} in flight, {title}"
        rows.append(
            measured.row("C", what, each(measured, "ours"), each(measured, "bare"), goal=_GOAL, against="httpx")
        )
    return rows


def _in_flight(call: Callable[[], Awaitable[None]], most: int) -> Callable[[int], None]:
    """Make a case of calls of which so many are under way at once, and so many times as many in all."""

    async def many(count: int) -> None:
        left = count * most

        async def one_after_the_other() -> None:
            nonlocal left
            while left > 0:
                left -= 1
                await call()

        await asyncio.gather(*(one_after_the_other() for _ in range(most)))

    return lambda count: run_once(lambda: many(count))


def _chain(url: str) -> dict[str, object]:
    settings = {"restEndpointUrlPattern": url, "readTimeoutMs": int(_TIMEOUT_S * 1000)}
    node = {"id": "call", "type": "restApiCall", "configuration": settings}
    return {"ruleChain": {"id": "calling"}, "metadata": {"nodes": [node]}}


@contextmanager
def _server() -> Generator[str]:
    process = subprocess.Popen([sys.executable, str(_SERVER)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/in"
    finally:
        process.terminate()
        process.communicate()
