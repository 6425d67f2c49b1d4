"""C: split into ten branches and join them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import by_hand
import chains
from measuring import awaiting
from table import Goal, Row

from catenary import Message

if TYPE_CHECKING:
    from rows import Bench

IN_PLACE = Goal(figure=25)
IN_TASKS = Goal(ratio=2.2)


def rows(bench: Bench) -> list[Row]:
    """Measure branches that are plain nodes and branches that suspend once, with a bare join and with `join`."""
    engine = bench.engine
    ids = {
        (branch, join): bench.load(chains.split_chain(f"bench/{branch}", join))
        for branch in ("pass", "suspend")
        for join in ("bench/gather", "join")
    }
    cases = {
        f"{branch} {join}": awaiting(lambda chain_id=chain_id: engine.run(chain_id, Message({"n": 1})))
        for (branch, join), chain_id in ids.items()
    }
    hand = {
        "split": awaiting(lambda: by_hand.split({"n": 1})),
        "tasks": awaiting(lambda: by_hand.split_into_tasks({"n": 1})),
    }
    measured = bench.measure(cases | hand, ["split", "tasks"])
    return [
        measured.row("C", "split into 10 and join", "pass bench/gather", "split", goal=IN_PLACE, peer="split"),
        measured.row(
            "C", "the same, branches suspend once", "suspend bench/gather", "tasks", goal=IN_TASKS, peer="tasks"
        ),
        measured.row("C", "split into 10, `join` writes its list", "pass join", "split"),
        measured.row("C", "the same, branches suspend once", "suspend join", "tasks"),
    ]
