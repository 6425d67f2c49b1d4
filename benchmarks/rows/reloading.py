"""R: a reload while messages are in flight: what it takes, and whether it holds up anybody."""

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
    from rows import Bench

_REPEATS = 3
_HEARTBEAT_S = 0.001


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

    return [
        row(f"reload 50 nodes, {count} messages in flight", reload_ms, idle, 1.5, "none in flight"),
        row("those messages finish after the reload", finish_ms, left, 1.25, "no reload"),
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
