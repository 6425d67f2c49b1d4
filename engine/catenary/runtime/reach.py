"""Questions about the graph that are answered once, at load: who reaches which join, and what closes a cycle.

Plain walks without recursion over nodes numbered from 0; sets of joins are integers with one bit a join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Reach:
    """What is known about a graph.

    Attributes:
        joins_after: For each node the set of joins that a path of one or more connections leads to.
        cyclic: For each node whether it lies on a cycle.
        blocks: For each join (by its number among the joins) the joins that must not fire while it waits.
    """

    joins_after: list[int]
    cyclic: list[bool]
    blocks: list[int]


def walk(targets: Sequence[Sequence[int]], first: int) -> tuple[list[int], set[tuple[int, int]]]:
    """Walk depth first from `first`, then from every node not seen yet, connections in the order written.

    Returns:
        The nodes in the order in which they were left, and the connections that close a cycle.
    """
    count = len(targets)
    state = bytearray(count)  # 0 not seen, 1 on the path, 2 left
    left: list[int] = []
    closing: set[tuple[int, int]] = set()
    for root in [first, *range(count)] if count else []:
        if state[root]:
            continue
        state[root] = 1
        path = [(root, iter(targets[root]))]
        while path:
            node, following = path[-1]
            for target in following:
                if state[target] == 0:
                    state[target] = 1
                    path.append((target, iter(targets[target])))
                    break
                if state[target] == 1:
                    closing.add((node, target))
            else:
                path.pop()
                state[node] = 2
                left.append(node)
    return left, closing


def strong_components(targets: Sequence[Sequence[int]], left: Sequence[int]) -> list[int]:
    """Give each node the number of its strongly connected component; a component comes before those it leads to."""
    sources: list[list[int]] = [[] for _ in targets]
    for node, following in enumerate(targets):
        for target in following:
            sources[target].append(node)
    number = [-1] * len(targets)
    current = 0
    for root in reversed(left):
        if number[root] >= 0:
            continue
        number[root] = current
        stack = [root]
        while stack:
            for source in sources[stack.pop()]:
                if number[source] < 0:
                    number[source] = current
                    stack.append(source)
        current += 1
    return number


def analyse(targets: Sequence[Sequence[int]], joins: Sequence[int], first: int = 0) -> Reach:
    """Work out reach, cycles and the order of joins.

    Args:
        targets: For each node the nodes its connections lead to, in the order written.
        joins: The nodes that are joins; the position in this list is the join's number.
        first: The node from which the walk starts.
    """
    left, closing = walk(targets, first)
    number = strong_components(targets, left)
    cyclic = _cyclic(targets, number)
    bit = {node: 1 << position for position, node in enumerate(joins)}
    joins_after = _joins_after(targets, number, bit, cyclic)
    forward = _joins_forward(targets, left, closing, bit)
    blocks = [_blocked_by(position, joins, joins_after, forward) for position in range(len(joins))]
    return Reach(joins_after, cyclic, blocks)


def _cyclic(targets: Sequence[Sequence[int]], number: Sequence[int]) -> list[bool]:
    sizes: dict[int, int] = {}
    for component in number:
        sizes[component] = sizes.get(component, 0) + 1
    return [sizes[number[node]] > 1 or node in following for node, following in enumerate(targets)]


def _joins_after(
    targets: Sequence[Sequence[int]], number: Sequence[int], bit: dict[int, int], cyclic: Sequence[bool]
) -> list[int]:
    members: list[list[int]] = [[] for _ in range(max(number, default=-1) + 1)]
    for node, component in enumerate(number):
        members[component].append(node)
    within = [0] * len(members)  # the joins in a component and after it
    after = [0] * len(members)  # the joins that a node of the component reaches
    for component in range(len(members) - 1, -1, -1):
        own = 0
        beyond = 0
        for node in members[component]:
            own |= bit.get(node, 0)
            for target in targets[node]:
                if number[target] != component:
                    beyond |= within[number[target]]
        within[component] = own | beyond
        after[component] = within[component] if cyclic[members[component][0]] else beyond
    return [after[component] for component in number]


def _joins_forward(
    targets: Sequence[Sequence[int]], left: Sequence[int], closing: set[tuple[int, int]], bit: dict[int, int]
) -> list[int]:
    forward = [0] * len(targets)
    for node in left:  # every target that is not on the path was left before its source
        for target in targets[node]:
            if (node, target) not in closing:
                forward[node] |= forward[target] | bit.get(target, 0)
    return forward


def _blocked_by(own_position: int, joins: Sequence[int], joins_after: Sequence[int], forward: Sequence[int]) -> int:
    """Give the joins that must not fire while this one waits.

    Those it leads to. Of two that lead to each other, only the one that it leads to without closing a cycle.
    """
    node = joins[own_position]
    own = 1 << own_position
    blocked = 0
    for position, other in enumerate(joins):
        mark = 1 << position
        if other == node or not joins_after[node] & mark:
            continue
        if not joins_after[other] & own or forward[node] & mark:
            blocked |= mark
    return blocked


def numbers(bits: int) -> tuple[int, ...]:
    """Give the positions of the bits that are set, lowest first."""
    found: list[int] = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return tuple(found)
