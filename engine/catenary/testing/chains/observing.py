"""What a chain test sees of a run: the nodes visited, what came and left, the branches that ended."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from catenary.events import Event, NodeEmitted, NodeFinished, NodeStarted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.chain import Chain
    from catenary.message import Message


@dataclass
class Hits:
    """Which nodes and relations of a chain were reached.

    Attributes:
        nodes: How often each node was visited.
        relations: How often messages left each node by each relation, by `(node, relation)`.
    """

    nodes: Counter[str] = field(default_factory=Counter[str])
    relations: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def add(self, other: Hits) -> None:
        """Count those of another run too."""
        self.nodes.update(other.nodes)
        self.relations.update(other.relations)


class Observer:
    """A listener to the events of one run.

    Args:
        chain: The chain under test; nodes of others are named `chain:node`.

    Attributes:
        path: The nodes visited, in order; those at which branches end by definition are among them.
        came: By node, the message of each visit.
        left: By node, the relations that messages left it by, in order.
        hits: By chain id, what was reached.
        events: How many events there were.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain_id = chain.id
        self.path: list[str] = []
        self.came: dict[str, list[Message]] = {}
        self.left: dict[str, list[str]] = {}
        self.hits: dict[str, Hits] = {}
        self.events = 0
        self._open: dict[int, int] = {}
        self._sources: dict[int, int] = {}
        self._latest: dict[tuple[int, str], int] = {}
        self._sending: set[int] = set()
        self._happened = asyncio.Event()

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        self.events += 1
        self._happened.set()
        if isinstance(event, NodeStarted):
            self._enter(event)
            self._visit(event, event.message)
        elif isinstance(event, NodeEmitted):
            self._sending.add(event.visit)
            self._leave(event, (event.relation,))
        elif isinstance(event, NodeFinished):
            self._open.pop(event.visit, None)
            self._leave(event, event.relations)

    def under_way(self) -> int:
        """Give how many visits go on.

        Those do not count that wait for the chains and nodes that they run, or for what comes of what they have sent.
        """
        waiting = set(self._open.values())
        for visit, level in self._open.items():
            first = visit
            while first in self._sources:
                first = self._sources[first]
                waiting.add(first)
            waiting |= {sender for sender in self._sending if sender < first and self._open.get(sender) == level}
        return len(self._open.keys() - waiting)

    async def next_event(self) -> None:
        """Come back when something happens."""
        self._happened.clear()
        await self._happened.wait()

    def _enter(self, event: NodeStarted) -> None:
        """Take note of a visit, and of the one that it comes from; a join comes from no single one."""
        self._open[event.visit] = event.parent
        source = self._latest.get((event.parent, event.sender))
        if source is not None:
            self._sources[event.visit] = source
        self._latest[event.parent, event.node_id] = event.visit

    def _name(self, event: Event) -> str:
        return event.node_id if event.chain_id == self._chain_id else f"{event.chain_id}:{event.node_id}"

    def _visit(self, event: Event, message: Message) -> None:
        name = self._name(event)
        self.path.append(name)
        self.came.setdefault(name, []).append(message)
        self.hits.setdefault(event.chain_id, Hits()).nodes[event.node_id] += 1

    def _leave(self, event: Event, relations: Iterable[str]) -> None:
        left = self.left.setdefault(self._name(event), [])
        hits = self.hits.setdefault(event.chain_id, Hits())
        for relation in relations:
            left.append(relation)
            hits.relations[event.node_id, relation] += 1

    def own_path(self, named: Iterable[str]) -> list[str]:
        """Give the path; without the nodes of other chains, unless one of them is named."""
        prefixes = tuple(f"{chain_id}:" for chain_id in self.hits if chain_id != self._chain_id)
        if any(name.startswith(prefixes) for name in named):
            return self.path
        return [name for name in self.path if not name.startswith(prefixes)]
