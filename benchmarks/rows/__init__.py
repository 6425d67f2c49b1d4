"""What is measured, one file a group of rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import by_hand
from measuring import Effort, Samples, awaiting, measure, ratio
from table import Goal, Row

from catenary import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from measuring import Cases
    from peers import Peer

REFERENCE_HOP_US: Final = 0.11
"""A hand-written awaited hop on the machine that the goals were written on."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What all rows share: the engine, the other libraries, and how long to measure."""

    effort: Effort
    peers: Sequence[Peer] = ()
    engine: Engine = field(default_factory=Engine)

    def load(self, chain: dict[str, Any]) -> str:
        """Load a chain and give its id."""
        return self.engine.load(chain).id

    def measure(
        self, cases: Cases, peer_cases: Sequence[str] = (), clock: Callable[[], float] = time.process_time
    ) -> Measured:
        """Measure cases, the same cases of the other libraries, and hand-written hops as the measure of the machine."""
        few, many = by_hand.awaited_steps(10), by_hand.awaited_steps(50)
        together = {
            **cases,
            "hand few": awaiting(lambda: few(1)),
            "hand many": awaiting(lambda: many(1)),
            **{f"{peer.name} {name}": peer.cases[name] for peer in self.peers for name in peer_cases},
        }
        return Measured(measure(together, self.effort, clock), self.peers)


@dataclass(frozen=True, slots=True)
class Measured:
    """The samples of a group, and how rows are made of them."""

    samples: Samples
    peers: Sequence[Peer]

    @property
    def hand_hop(self) -> list[float]:
        """What a hand-written awaited hop cost in these moments, once a repeat."""
        return self.samples.marginal("hand few", "hand many", 40)

    def row(
        self,
        group: str,
        title: str,
        ours: str | list[float],
        floor: str | list[float] | None = None,
        *,
        goal: Goal | None = None,
        peer: str = "",
        peers: Mapping[str, float] | None = None,
        against: str = "",
    ) -> Row:
        """Make a row of two cases, given by name or as their samples; `peer` names the case of the other libraries."""
        mine = self.samples[ours] if isinstance(ours, str) else ours
        other = self.samples[floor] if isinstance(floor, str) else floor
        return Row(
            group,
            title,
            median(mine),
            floor=median(other) if other else None,
            ratio=ratio(mine, other) if other else None,
            peers=dict(peers) if peers else self._of_peers(peer),
            goal=goal or Goal(),
            against=against,
            speed=median(self.hand_hop) / REFERENCE_HOP_US,
        )

    def _of_peers(self, case: str) -> dict[str, float]:
        names = {peer.name: f"{peer.name} {case}" for peer in self.peers}
        return {name: median(self.samples[key]) for name, key in names.items() if key in self.samples}
