"""E: memory of runs that wait in an async node."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from typing import TYPE_CHECKING, Any

import by_hand
import chains
from measuring import run_once
from nodes import Wait
from table import Goal, Row

from catenary import Message
from catenary.jsontext import loads

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rows import Bench

PEER_SHARE = 10  # the other libraries get fewer runs: the figure is the same, the time is not


def rows(bench: Bench) -> list[Row]:
    """Measure what Python allocates for a waiting run, its task included."""
    engine, runs = bench.engine, bench.effort.runs
    chain_id = bench.load(chains.row_of(1, "bench/wait"))

    def ours(gate: asyncio.Event) -> Callable[[], Awaitable[Any]]:
        Wait.gate = gate
        return lambda: engine.run(chain_id, Message(chains.TEXT))

    def hand(gate: asyncio.Event) -> Callable[[], Awaitable[Any]]:
        return lambda: by_hand.wait_for(gate, chains.TEXT, loads)

    mine = run_once(lambda: _kib_each(ours, runs))
    floor = run_once(lambda: _kib_each(hand, runs))
    peers = {peer.name: run_once(lambda peer=peer: _kib_each(peer.waiting, runs // PEER_SHARE)) for peer in bench.peers}
    title = f"{runs} runs wait in an async node, each"
    return [Row("E", title, mine, floor, mine / floor, peers, Goal(figure=4), unit="KiB")]


async def _kib_each(prepare: Callable[[asyncio.Event], Callable[[], Awaitable[Any]]], runs: int) -> float:
    gate = asyncio.Event()
    make = prepare(gate)
    warm_up = asyncio.ensure_future(make())
    await asyncio.sleep(0.01)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    waiting = [asyncio.ensure_future(make()) for _ in range(runs)]
    for _ in range(20):
        await asyncio.sleep(0.001)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    gate.set()
    await asyncio.gather(warm_up, *waiting)
    return (after - before) / runs / 1024
