"""D: a loop of a hundred rounds with a new message each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import by_hand
import chains
from measuring import awaiting
from table import Goal, Row

from catenary import Message

if TYPE_CHECKING:
    from rows import Bench


def rows(bench: Bench) -> list[Row]:
    """Measure the loop."""
    engine = bench.engine
    chain_id = bench.load(chains.loop_chain())
    measured = bench.measure(
        {
            "ours": awaiting(lambda: engine.run(chain_id, Message({"n": 0}))),
            "hand": awaiting(lambda: by_hand.loop({"n": 0})),
        },
        ["loop"],
    )
    return [measured.row("D", "loop of 100 rounds", "ours", "hand", goal=Goal(figure=65), peer="loop")]
