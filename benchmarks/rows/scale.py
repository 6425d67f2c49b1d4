"""S: how long large chains and many chains take to load and to run, and the memory of an engine full of them."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from statistics import median
from typing import TYPE_CHECKING, Any

import chains
from measuring import run_once
from table import Goal, Row

from catenary import Engine, Message
from rows import REFERENCE_HOP_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from rows import Bench


def rows(bench: Bench) -> list[Row]:
    """Measure loading and running; the best of a few, for each takes long."""
    repeats = bench.effort.repeats // 3

    def best(work: Callable[[], Any]) -> float:
        return _best(work, repeats)

    speed = median(bench.measure({}).hand_hop) / REFERENCE_HOP_US
    large = json.dumps(chains.row_of(10_000, "bench/pass"))
    real = json.dumps(chains.row_of(10_000, "exprFilter", "True", configuration={"expr": chains.FILTER}))
    wide = chains.wide_chain(1000)
    hundred = [json.dumps(chains.row_of(100, "exprFilter", "True", configuration={"expr": chains.FILTER}))] * 100
    reading, reading_real = best(lambda: json.loads(large)), best(lambda: json.loads(real))
    reading_all = best(lambda: [json.loads(text) for text in hundred])
    engine = Engine()
    message = Message(chains.TEXT)
    chain, joining = engine.load(large), engine.load(wide)

    def row(title: str, ours: float, floor: float | None = None, goal: float | None = None, against: str = "") -> Row:
        ratio = ours / floor if floor else None
        return Row("S", title, ours, floor, ratio, goal=Goal(figure=goal), unit="ms", against=against, speed=speed)

    json_text = "reading its JSON"
    return [
        row("load 10,000 nodes", best(lambda: Engine().load(large)), reading, 2000, json_text),
        row("load 10,000 filters", best(lambda: Engine().load(real)), reading_real, 2000, json_text),
        row("run 10,000 nodes", best(lambda: run_once(lambda: chain.run(message)))),
        row("a join of 1,000", best(lambda: run_once(lambda: joining.run(message)))),
        row("load 100 chains of 100 filters", best(lambda: _filled(hundred)), reading_all, 3000, json_text),
        Row("S", "their memory", _memory(hundred), goal=Goal(figure=150_000_000 / 1024), unit="KiB"),
    ]


def _best(work: Callable[[], Any], repeats: int) -> float:
    """Give the shortest of a few times, in milliseconds of CPU time."""
    found: list[float] = []
    for _ in range(repeats):
        gc.collect()
        began = time.process_time()
        work()
        found.append((time.process_time() - began) * 1000)
    return min(found)


def _filled(texts: list[str]) -> Engine:
    engine = Engine()
    for number, text in enumerate(texts):
        engine.load(text, id=f"c{number}")
    return engine


def _memory(texts: list[str]) -> float:
    gc.collect()
    tracemalloc.start()
    engine = _filled(texts)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0] / 1024
    tracemalloc.stop()
    del engine
    return size
