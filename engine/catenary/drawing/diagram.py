"""What a picture of a chain shows, before anything has a place: boxes, and the ports by which messages leave them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from catenary.component import info_of
from catenary.load.graph import reachable
from catenary.relation import FAILURE

if TYPE_CHECKING:
    from catenary.definition import ChainDefinition, Connection, NodeDefinition
    from catenary.registry import Registry

Shape: TypeAlias = Literal["box", "join", "end", "chain", "missing", "endpoint"]

UNKNOWN: Final = "unknown"

RUNS: Final = "runs"
"""The label of what a node runs itself."""


@dataclass(frozen=True, slots=True)
class Box:
    """One node of the picture.

    Args:
        id: The id of the node; that of a chain for the shape `chain`.
        name: The node's name; empty when it has none or is named like its id.
        category: The category of its component; `unknown` when no component has the type.
        shape: `join` for nodes that collect, `end` for nodes at which branches end, `chain` for another chain that
            messages are handed to, `missing` for a node that connections name and the chain does not have, `endpoint`
            for what brings messages in.
        reached: False when no path leads to it from the node that messages enter by, or from an endpoint.
    """

    id: str
    name: str
    type: str
    category: str
    shape: Shape = "box"
    reached: bool = True


@dataclass(frozen=True, slots=True)
class Port:
    """Where messages leave a box: the relations that lead to the same targets share one.

    With `inner` it is no connection: the node runs the targets itself, as its options say. With `incoming` it is a
    router of an endpoint.
    """

    source: str
    relations: tuple[str, ...]
    targets: tuple[str, ...]
    inner: bool = False
    incoming: bool = False

    @property
    def label(self) -> str:
        """The text on the connections."""
        return ", ".join(self.relations)

    @property
    def is_failure(self) -> bool:
        """True when nothing but failures leave here."""
        return self.relations == (FAILURE,)


@dataclass(frozen=True, slots=True)
class Diagram:
    """A chain as boxes and ports, nodes in the order written. `entry` is the id of the first node, if any."""

    id: str
    name: str
    entry: str
    boxes: tuple[Box, ...]
    ports: tuple[Port, ...]

    @property
    def mark(self) -> str:
        """The id of the node that the mark of the start points to; empty where endpoints lead to the first node."""
        shown = any(port.incoming and self.entry in port.targets for port in self.ports)
        return "" if shown else self.entry


def diagram_of(definition: ChainDefinition, registry: Registry) -> Diagram:
    """Make the diagram of a chain. Of nodes that share an id, the first is shown."""
    from catenary.drawing.inlets import Inlets

    nodes = {node.id: node for node in reversed(definition.nodes)}
    ordered = [node for node in definition.nodes if nodes[node.id] is node]
    connections = [*definition.connections, *definition.rule_chain_connections]
    ports = _ports(connections) + _inner_ports(ordered, registry, set(nodes))
    first = definition.first_node or (definition.nodes[0] if definition.nodes else None)
    entry = first.id if first else ""
    inlets = Inlets(definition, registry, entry)
    ports += inlets.ports
    starts = [entry, *(port.source for port in inlets.ports)]
    reached = reachable(starts, ((port.source, target) for port in ports for target in port.targets))
    boxes = [_box(node, registry, node.id in reached) for node in ordered]
    chains = {connection.to_id for connection in definition.rule_chain_connections}
    others = (end for connection in connections for end in (connection.from_id, connection.to_id))
    for other in dict.fromkeys(end for end in others if end not in nodes):
        known = other in chains
        kind = "another chain" if known else "no such node"
        shape: Shape = "chain" if known else "missing"
        boxes.append(Box(other, "", kind, "flow" if known else UNKNOWN, shape, other in reached))
    taken = {box.id for box in boxes}
    boxes += [box for box in inlets.boxes if box.id not in taken]
    return Diagram(definition.id, definition.name, entry, tuple(boxes), ports)


def _box(node: NodeDefinition, registry: Registry, reached: bool) -> Box:
    component = registry.find(node.type)
    name = node.name if node.name != node.id else ""
    if component is None:
        return Box(node.id, name, node.type or "no type", UNKNOWN, "box", reached)
    shape: Shape = "join" if component.collects else "end" if component.ends else "box"
    return Box(node.id, name, node.type, info_of(component).category, shape, reached)


def _ports(connections: list[Connection]) -> tuple[Port, ...]:
    targets: dict[tuple[str, str], dict[str, None]] = {}
    for connection in connections:
        targets.setdefault((connection.from_id, connection.type), {})[connection.to_id] = None
    relations: dict[tuple[str, frozenset[str]], list[str]] = {}
    for (source, relation), ends in targets.items():
        relations.setdefault((source, frozenset(ends)), []).append(relation)
    return tuple(
        Port(source, tuple(names), tuple(targets[source, names[0]])) for (source, _), names in relations.items()
    )


def _inner_ports(nodes: list[NodeDefinition], registry: Registry, known: set[str]) -> tuple[Port, ...]:
    """Give, for nodes whose options name others, what they run."""
    from catenary.load.node_names import nodes_named

    found: list[Port] = []
    for node in nodes:
        component = registry.find(node.type)
        named = nodes_named(component.config_type(), node.configuration) if component else []
        targets = tuple(dict.fromkeys(name for name in named if name in known and name != node.id))
        if targets:
            found.append(Port(node.id, (RUNS,), targets, inner=True))
    return tuple(found)
