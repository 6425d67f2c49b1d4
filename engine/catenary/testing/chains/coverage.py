"""Which nodes and relations of the chains under test were reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catenary.load import read
from catenary.testing.chains.observing import Hits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from catenary.jsontext import Json


@dataclass(frozen=True)
class ChainCoverage:
    """What of one chain was reached.

    Attributes:
        nodes: By node, how often it was visited.
        relations: By `(node, relation)` for each connection, how often a message took it.
    """

    file: Path
    nodes: Mapping[str, int]
    relations: Mapping[tuple[str, str], int]

    @property
    def missed_nodes(self) -> list[str]:
        """The nodes that were never visited."""
        return [node for node, count in self.nodes.items() if not count]

    @property
    def missed_relations(self) -> list[str]:
        """The connected relations that no message took, as `node Relation`."""
        return [f"{node} {relation}" for (node, relation), count in self.relations.items() if not count]

    @property
    def percent(self) -> float:
        """The part of nodes and connected relations that was reached; 100 for a chain without any."""
        total = len(self.nodes) + len(self.relations)
        missed = len(self.missed_nodes) + len(self.missed_relations)
        return 100 * (total - missed) / total if total else 100.0

    def to_dict(self) -> dict[str, Json]:
        """Give it as JSON."""
        return {
            "file": str(self.file),
            "percent": round(self.percent, 1),
            "nodes": {"total": len(self.nodes), "missed": self.missed_nodes},
            "relations": {"total": len(self.relations), "missed": self.missed_relations},
        }


class Coverage:
    """Counts over all cases, by the file of the chain under test."""

    def __init__(self) -> None:
        self._hits: dict[Path, Hits] = {}

    def add(self, chain: Path, hits: Mapping[str, Hits]) -> None:
        """Count what a case reached of its chain."""
        own = self._hits.setdefault(chain, Hits())
        name = read(chain).definition.id
        if name in hits:
            own.add(hits[name])

    def chains(self) -> list[ChainCoverage]:
        """Give the coverage of each chain. What no connection leads to or from, such as a comment, is left out."""
        return [_of(path, hits) for path, hits in sorted(self._hits.items())]

    @property
    def percent(self) -> float:
        """The part of nodes and connected relations of all chains that was reached."""
        chains = self.chains()
        totals = [len(one.nodes) + len(one.relations) for one in chains]
        reached = sum(one.percent * total / 100 for one, total in zip(chains, totals, strict=True))
        return 100 * reached / sum(totals) if sum(totals) else 100.0


def _of(path: Path, hits: Hits) -> ChainCoverage:
    definition = read(path).definition.with_chain_nodes()
    connected = {one.from_id for one in definition.connections} | {one.to_id for one in definition.connections}
    nodes = {
        node.id: hits.nodes[node.id]
        for index, node in enumerate(definition.nodes)
        if node.id in connected or index == definition.first_node_index
    }
    relations = {(one.from_id, one.type): hits.relations[one.from_id, one.type] for one in definition.connections}
    return ChainCoverage(path, nodes, relations)
