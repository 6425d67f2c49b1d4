"""B: 10 and 50 pass-through nodes; what one more node costs."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import chains
from measuring import awaiting, calling
from table import Goal, Row

from catenary import Message

if TYPE_CHECKING:
    from rows import Bench


def rows(bench: Bench) -> list[Row]:
    """Measure rows of plain and of async nodes."""
    engine = bench.engine
    message = Message(chains.TEXT)
    ids = {
        "few": bench.load(chains.row_of(10, "bench/pass")),
        "many": bench.load(chains.row_of(50, "bench/pass")),
        "async few": bench.load(chains.row_of(10, "bench/passAsync")),
        "async many": bench.load(chains.row_of(50, "bench/passAsync")),
    }
    cases = {name: awaiting(lambda chain_id=chain_id: engine.run(chain_id, message)) for name, chain_id in ids.items()}
    sync = {f"sync {name}": calling(lambda name=name: engine.run_sync(ids[name], message)) for name in ("few", "many")}
    measured = bench.measure(cases | sync, ["few", "many"])
    samples = measured.samples
    hops = {peer.name: median(samples.marginal(f"{peer.name} few", f"{peer.name} many", 40)) for peer in bench.peers}
    hop = samples.marginal("few", "many", 40)
    async_hop = samples.marginal("async few", "async many", 40)
    sync_hop = samples.marginal("sync few", "sync many", 40)
    hand = measured.hand_hop
    return [
        measured.row("B", "one more node", hop, hand, goal=Goal(ratio=4, figure=0.4), peers=hops),
        measured.row("B", "one more async node", async_hop, hand, goal=Goal(figure=0.9)),
        measured.row("B", "one more node, `run_sync`", sync_hop, hand),
        measured.row("B", "10 nodes", "few", "hand few", peer="few"),
        measured.row("B", "50 nodes", "many", "hand many", peer="many"),
    ]
