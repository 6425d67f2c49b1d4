"""Questions about a chain as a graph: what a node reaches, and which nodes lie on a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def reachable(starts: Iterable[str], edges: Iterable[tuple[str, str]]) -> set[str]:
    """Give everything that the starts lead to, the starts included."""
    following: dict[str, list[str]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for target in following.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def cycles(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Name the cycles of a graph, one for each group of nodes that lead to each other.

    Returns:
        Of each group a shortest cycle through the node of it that comes first in `nodes`, as the ids on the way,
        that node first and last; in order of `nodes`.
    """
    if not has_cycle(nodes, edges):
        return []
    import networkx as nx  # only here: the import alone takes longer than loading most chains

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    order = {node: index for index, node in enumerate(nodes)}
    found: list[list[str]] = []
    for group in nx.strongly_connected_components(graph):
        first = min(group, key=order.__getitem__)
        if len(group) == 1 and not graph.has_edge(first, first):
            continue
        if graph.has_edge(first, first):
            found.append([first, first])
            continue
        paths = cast("dict[str, list[str]]", nx.single_source_shortest_path(graph.subgraph(group), first))
        ways = [path for node, path in paths.items() if graph.has_edge(node, first)]
        found.append([*min(ways, key=len), first])
    return sorted(found, key=lambda cycle: order[cycle[0]])


def has_cycle(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> bool:
    """Tell whether any node leads back to itself."""
    following: dict[str, list[str]] = {node: [] for node in nodes}
    incoming: dict[str, int] = dict.fromkeys(following, 0)
    for source, target in edges:
        following[source].append(target)
        incoming[target] += 1
    free = [node for node, count in incoming.items() if not count]
    removed = 0
    while free:
        removed += 1
        for target in following[free.pop()]:
            incoming[target] -= 1
            if not incoming[target]:
                free.append(target)
    return removed < len(incoming)
