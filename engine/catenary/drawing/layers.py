"""Sort the boxes of a diagram into columns: what follows what, which connections lead back, and in which order."""

from __future__ import annotations

import itertools
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from catenary.drawing.sizes import PORT_STEP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.drawing.diagram import Box, Diagram, Port


@dataclass(slots=True, eq=False)
class Unit:
    """What has a place in a column: a box, or a bend by which connections to a box further on pass the column.

    `left` and `top` are set when the picture is laid out; `middle` is the height at which connections enter. `ports`
    says to which units messages go on from each port; a port without any leads back.
    """

    box: Box | None
    column: int
    width: float = 0.0
    height: float = 0.0
    left: float = 0.0
    top: float = 0.0
    before: list[Unit] = field(default_factory=list["Unit"])
    after: list[Unit] = field(default_factory=list["Unit"])
    ports: dict[Port, list[Unit]] = field(default_factory=dict["Port", "list[Unit]"])

    @property
    def middle(self) -> float:
        """Half way down."""
        return self.top + self.height / 2

    @property
    def right(self) -> float:
        """The right edge."""
        return self.left + self.width

    def port_heights(self) -> dict[Port, float]:
        """Give the y at which messages leave by each port: in the order of what follows, what leads back last."""

        def aim(port: Port) -> tuple[bool, float]:
            following = self.ports[port]
            return not following, sum(unit.middle for unit in following) / (len(following) or 1)

        first = self.middle - (len(self.ports) - 1) / 2 * PORT_STEP
        return {port: first + index * PORT_STEP for index, port in enumerate(sorted(self.ports, key=aim))}


@dataclass(slots=True)
class Group:
    """Boxes that hang together, in columns.

    Args:
        columns: Units by column, from top to bottom.
        hops: The way of each connection that leads on: `(port, target)` and the units it passes, both ends included.
        back: The connections that lead back, to the same column or one before.
    """

    columns: list[list[Unit]]
    hops: dict[tuple[Port, str], list[Unit]] = field(default_factory=dict["tuple[Port, str]", "list[Unit]"])
    back: list[tuple[Port, str]] = field(default_factory=list["tuple[Port, str]"])


def groups_of(diagram: Diagram) -> list[Group]:
    """Give what hangs together, the part with the first node first; boxes without connections are one group."""
    import networkx as nx

    boxes = {box.id: box for box in diagram.boxes}
    order = {box.id: index for index, box in enumerate(diagram.boxes)}
    order[diagram.entry] = -1
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name in sorted(boxes, key=lambda name: order[name]):
        graph.add_node(name)
    graph.add_edges_from((port.source, target) for port in diagram.ports for target in port.targets)
    back = _leading_back(graph)
    parts = [sorted(part, key=lambda name: order[name]) for part in nx.weakly_connected_components(graph)]
    parts.sort(key=lambda part: order[part[0]])
    lonely = [part[0] for part in parts if len(part) == 1 and not graph.has_edge(part[0], part[0])]
    groups = [_group(part, back, diagram, boxes) for part in parts if part[0] not in lonely]
    alone = Group([[Unit(boxes[name], index)] for index, name in enumerate(lonely)])
    if alone.columns:
        groups.insert(0 if diagram.entry in lonely else len(groups), alone)
    return groups


def _group(part: list[str], back: set[tuple[str, str]], diagram: Diagram, boxes: dict[str, Box]) -> Group:
    import networkx as nx

    forward: nx.DiGraph[str] = nx.DiGraph()
    forward.add_nodes_from(part)
    ports = [port for port in diagram.ports if port.source in forward]
    pairs = [(port, target) for port in ports for target in port.targets]
    forward.add_edges_from((port.source, target) for port, target in pairs if (port.source, target) not in back)
    columns = [
        [Unit(boxes[name], index) for name in generation]
        for index, generation in enumerate(nx.topological_generations(forward))
    ]
    units = {unit.box.id: unit for column in columns for unit in column if unit.box}
    group = Group(columns, back=[pair for pair in pairs if (pair[0].source, pair[1]) in back])
    bends: dict[tuple[str, int], Unit] = {}
    for port, target in pairs:
        following = units[port.source].ports.setdefault(port, [])
        if (port.source, target) not in back:
            way = _way(columns, units[port.source], units[target], bends)
            group.hops[port, target] = way
            following.append(way[1])
    _sort(columns)
    return group


def _way(columns: list[list[Unit]], source: Unit, target: Unit, bends: dict[tuple[str, int], Unit]) -> list[Unit]:
    """Give the units that a connection passes. Connections to one box share their bends, so that they run as one."""
    assert target.box is not None
    way = [source]
    for index in range(source.column + 1, target.column):
        key = (target.box.id, index)
        if key not in bends:
            bends[key] = Unit(None, index)
            columns[index].append(bends[key])
        way.append(bends[key])
    way.append(target)
    for before, after in itertools.pairwise(way):
        if after not in before.after:
            before.after.append(after)
            after.before.append(before)
    return way


def _leading_back(graph: object) -> set[tuple[str, str]]:
    """Give the connections that close a cycle on a walk in depth, from the first node on in the order written."""
    following: dict[str, list[str]] = {name: list(graph.successors(name)) for name in graph}  # type: ignore[attr-defined]
    back: set[tuple[str, str]] = set()
    done: set[str] = set()
    for start, first in following.items():
        if start in done:
            continue
        open_nodes = {start}
        stack = [(start, iter(first))]
        while stack:
            name, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                stack.pop()
                open_nodes.discard(name)
                done.add(name)
            elif target in open_nodes:
                back.add((name, target))
            elif target not in done:
                open_nodes.add(target)
                stack.append((target, iter(following[target])))
    return back


def _sort(columns: list[list[Unit]], sweeps: int = 6) -> None:
    """Order each column so that few connections cross: by the mean place of the neighbours, to and fro."""
    best = [list(column) for column in columns]
    least = _crossings(columns)
    for sweep in range(sweeps * 2):
        forth = sweep % 2 == 0
        for index in range(1, len(columns)) if forth else range(len(columns) - 2, -1, -1):
            around = columns[index - 1] if forth else columns[index + 1]
            place = {unit: float(position) for position, unit in enumerate(around)}
            own = {unit: float(position) for position, unit in enumerate(columns[index])}
            columns[index].sort(key=lambda unit: _mean(unit.before if forth else unit.after, place, own[unit]))
        crossings = _crossings(columns)
        if crossings < least:
            least, best = crossings, [list(column) for column in columns]
    for column, order in zip(columns, best, strict=True):
        column[:] = order


def _mean(neighbours: Iterable[Unit], place: dict[Unit, float], own: float) -> float:
    places = [place[unit] for unit in neighbours]
    return sum(places) / len(places) if places else own


def _crossings(columns: list[list[Unit]]) -> int:
    crossings = 0
    for left, right in itertools.pairwise(columns):
        place = {unit: position for position, unit in enumerate(right)}
        seen: list[int] = []
        for unit in left:
            ends = sorted(place[target] for target in unit.after)
            crossings += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
    return crossings
