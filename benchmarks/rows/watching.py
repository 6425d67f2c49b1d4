"""W: what one more node costs when runs are counted, watched over, recorded in memory, and kept in a file."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chains
from measuring import awaiting
from table import Goal, Row

from catenary import Aspect, Engine, Message
from catenary.aspects import Metrics
from catenary.recording import MemoryRecorder

if TYPE_CHECKING:
    from measuring import Cases

    from rows import Bench

_KEPT = 50  # records: a recorder that keeps all of them would measure the memory of the machine


class Passing(Aspect):
    """Looks at each message on its way into a node, and lets it go on."""

    def before(self, ctx: Any, msg: Message, relation: Any, /) -> Message:  # noqa: ARG002 - what it is called with
        """Give the message."""
        return msg


def rows(bench: Bench) -> list[Row]:
    """Measure one more node with each of them; the time of threads that write to a file is not the run's own."""
    recorded = Engine()
    recorded.record(MemoryRecorder(limit=_KEPT))
    with tempfile.TemporaryDirectory() as folder, Engine(history=Path(folder) / "runs.db") as kept:
        engines = {
            "off": Engine(),
            "metrics": Engine(aspects=[Metrics()]),
            "aspect": Engine(aspects=[Passing()]),
            "both": Engine(aspects=[Metrics(), Passing()]),
            "recorder": recorded,
            "history": kept,
        }
        cases: Cases = {}
        for name, engine in engines.items():
            cases |= _pair(name, engine)
        measured = bench.measure(cases, clock=time.thread_time)
    hop = {name: measured.samples.marginal(f"{name} few", f"{name} many", 40) for name in engines}
    off = "everything off"
    return [
        measured.row("W", f"one more node, {off}", hop["off"], measured.hand_hop, goal=Goal(ratio=4, figure=0.4)),
        measured.row("W", "one more node, metrics", hop["metrics"], hop["off"], against=off),
        measured.row("W", "one more node, one aspect", hop["aspect"], hop["off"], against=off),
        measured.row("W", "one more node, metrics and an aspect", hop["both"], goal=Goal(figure=1)),
        measured.row("W", "one more node, recorder in memory", hop["recorder"], goal=Goal(figure=2)),
        measured.row("W", "one more node, history in a file", hop["history"], goal=Goal(figure=10)),
        measured.row("W", "10 nodes, history in a file", "history few", "off few", against=off),
    ]


def _pair(name: str, engine: Engine) -> Cases:
    message = Message(chains.TEXT)
    ids = {size: engine.load(chains.row_of(count, "bench/pass")).id for size, count in (("few", 10), ("many", 50))}
    if not engine.run_sync(ids["many"], message).ok:
        raise RuntimeError(f"the chain fails with {name}")
    return {
        f"{name} {size}": awaiting(lambda chain_id=chain_id: engine.run(chain_id, message))
        for size, chain_id in ids.items()
    }
