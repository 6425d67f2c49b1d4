"""What a recorded run adds to a picture: which nodes were visited, how often, how long, and what they failed with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catenary.drawing.diagram import Port
    from catenary.recording import RunRecord


@dataclass(slots=True)
class Count:
    """What a run did at one node.

    Attributes:
        visits: How often the node was visited.
        failed: How many of the visits failed or were cut off.
        duration_s: How long they took together, in seconds; what runs inside them included.
        error: The error of the last one that failed; empty when none did.
    """

    visits: int = 0
    failed: int = 0
    duration_s: float = 0.0
    error: str = ""

    @property
    def label(self) -> str:
        """The text on the box, such as `3x 1.2 ms`."""
        often = f"{self.visits}\u00d7 " if self.visits != 1 else ""
        return often + duration_text(self.duration_s)

    @property
    def told(self) -> str:
        """The same in words, such as `3 visits, 1 failed, 1.2 ms in all`."""
        took = duration_text(self.duration_s)
        failed = f", {self.failed} failed" if self.failed else ""
        return f"1 visit{failed}, {took}" if self.visits == 1 else f"{self.visits} visits{failed}, {took} in all"


@dataclass(slots=True)
class Overlay:
    """One run on the picture of its chain.

    Attributes:
        heading: What is said of the run as a whole.
        nodes: By node id, what the run did there; nodes that were not visited are absent.
        sent: By node id and relation, how many messages left.
        inner: By node id and member, how often the one ran the other.
    """

    heading: str
    nodes: dict[str, Count] = field(default_factory=dict[str, Count])
    sent: dict[tuple[str, str], int] = field(default_factory=dict["tuple[str, str]", int])
    inner: dict[tuple[str, str], int] = field(default_factory=dict["tuple[str, str]", int])

    def taken(self, port: Port, target: str = "") -> int:
        """Give how many messages took a port; of a node that runs others, how often it ran this one, or all of them."""
        if port.inner:
            return sum(self.inner.get((port.source, other), 0) for other in ([target] if target else port.targets))
        return sum(self.sent.get((port.source, relation), 0) for relation in port.relations)


def overlay_of(record: RunRecord, chain_id: str | None = None) -> Overlay:
    """Give what a run did in one chain: that of the run, or another one that ran inside it."""
    wanted = record.chain_id if chain_id is None else chain_id
    took = record.duration_s
    heading = f"run {record.run_id}: {record.status}"
    heading += f" in {duration_text(took)}" if took is not None else ""
    overlay = Overlay(heading + (f": {record.error}" if record.error else ""))
    homes: dict[int, str] = {}
    for visit in record.visits:
        if visit.chain_id != wanted:
            continue
        homes[visit.number] = visit.node_id
        count = overlay.nodes.setdefault(visit.node_id, Count())
        count.visits += 1
        count.duration_s += visit.duration_s or 0.0
        if visit.error:
            count.failed += 1
            count.error = visit.error
        for relation, _ in visit.sent:
            way = visit.node_id, relation
            overlay.sent[way] = overlay.sent.get(way, 0) + 1
        if visit.parent in homes:
            inner = homes[visit.parent], visit.node_id
            overlay.inner[inner] = overlay.inner.get(inner, 0) + 1
    return overlay


def duration_text(seconds: float) -> str:
    """Give a time in words, such as `1.2 ms`."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} \u00b5s"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
