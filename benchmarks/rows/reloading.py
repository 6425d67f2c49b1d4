"""R: a reload while messages are in flight: what it takes, whether it holds up anybody, and for how long at most."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import TYPE_CHECKING

import chains
from measuring import run_once
from nodes import Wait
from table import Goal, Row

from catenary import Engine, Message
from rows import REFERENCE_HOP_US

if TYPE_CHECKING:
    from catenary.chain import Chain
    from rows import Bench

_REPEATS = 3
_HEARTBEAT_S = 0.001
_PAUSES = 30
_EXPRESSIONS = 100
_LONGEST_MS = 20.0


def rows(bench: Bench) -> list[Row]:
    """Measure with 10,000 runs that wait in a node, fewer when it is to be quick."""
    speed = median(bench.measure({}).hand_hop) / REFERENCE_HOP_US
    count = bench.effort.runs
    idle = min(run_once(lambda: _reload(0))[0] for _ in range(_REPEATS))
    busy = [run_once(lambda: _reload(count)) for _ in range(_REPEATS)]
    left = min(run_once(lambda: _finish(count)) for _ in range(_REPEATS))
    reload_ms, finish_ms = min(one[0] for one in busy), min(one[1] for one in busy)

    def row(title: str, ours: float, floor: float, goal: float, against: str) -> Row:
        return Row(
            "R", title, ours, floor, ours / floor, goal=Goal(ratio=goal), unit="ms", against=against, speed=speed
        )

    pause, still = asyncio.run(_longest_waits())
    title = f"longest wait of another run while {_EXPRESSIONS} expressions are reloaded in a thread"
    waits = Row(
        "R",
        title,
        pause,
        still,
        pause / still,
        goal=Goal(figure=_LONGEST_MS),
        unit="ms",
        against="no reload",
        speed=speed,
    )

    return [
        row(f"reload 50 nodes, {count} messages in flight", reload_ms, idle, 1.5, "none in flight"),
        row("those messages finish after the reload", finish_ms, left, 1.25, "no reload"),
        waits,
    ]


async def _reload(count: int) -> tuple[float, float]:
    """Reload a chain with runs on it. Returns: how long it took, and the runs afterwards, in milliseconds."""
    async with Engine() as engine:
        runs = await _started(engine, count)
        began = time.perf_counter()
        engine.reload(_definition(51), id="waiting")
        took = time.perf_counter() - began
        return took * 1000, await _all_done(runs)


async def _finish(count: int) -> float:
    async with Engine() as engine:
        return await _all_done(await _started(engine, count))


async def _started(engine: Engine, count: int) -> list[asyncio.Task[object]]:
    Wait.gate = asyncio.Event()
    chain = engine.load(_definition(50), id="waiting")
    message = Message(chains.TEXT)
    runs: list[asyncio.Task[object]] = [asyncio.create_task(chain.run(message)) for _ in range(count)]
    await asyncio.sleep(_HEARTBEAT_S)
    return runs


def _definition(count: int) -> dict[str, object]:
    definition = chains.row_of(count, "bench/pass")
    definition["metadata"]["nodes"][0]["type"] = "bench/wait"
    return definition


async def _all_done(runs: list[asyncio.Task[object]]) -> float:
    began = time.perf_counter()
    Wait.gate.set()
    await asyncio.gather(*runs)
    return (time.perf_counter() - began) * 1000


async def _longest_waits() -> tuple[float, float]:
    """Give by how much a short run was late at most, in milliseconds: during a reload, and in as long a time without.

    Of many reloads the best one counts: whatever else the machine does only adds to a wait.
    """
    async with Engine() as engine:
        other = engine.load(chains.row_of(2, "bench/pass"), id="other")
        engine.load(_expressions(0), id="many")
        late: list[float] = []
        beat = asyncio.create_task(_beat(other, late))
        with_reload: list[float] = []
        without: list[float] = []
        for limit in range(1, _PAUSES + 1):
            began = time.perf_counter()
            await asyncio.to_thread(engine.reload, _expressions(limit), id="many")
            took = time.perf_counter() - began
            await asyncio.sleep(10 * _HEARTBEAT_S)
            with_reload.append(max(late) * 1000)
            late.clear()
            await asyncio.sleep(took)
            without.append(max(late) * 1000)
            late.clear()
        beat.cancel()
        return min(with_reload), min(without)


def _expressions(limit: int) -> dict[str, object]:
    definition = chains.row_of(_EXPRESSIONS, "exprFilter", "True")
    for number, node in enumerate(definition["metadata"]["nodes"]):  # each another text, or one is compiled for all
        node["configuration"] = {"expr": f"msg.t > {limit} + {number}"}
    return definition


async def _beat(chain: Chain, late: list[float]) -> None:
    message = Message(chains.TEXT)
    while True:
        began = time.perf_counter()
        await asyncio.sleep(_HEARTBEAT_S)
        await chain.run(message)
        late.append(time.perf_counter() - began - _HEARTBEAT_S)
