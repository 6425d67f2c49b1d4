"""Reach, cycles and the order of joins, against walks that are written to be obvious."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from catenary.runtime.reach import analyse, numbers

GRAPHS = st.integers(1, 8).flatmap(
    lambda count: st.lists(st.lists(st.integers(0, count - 1), max_size=3), min_size=count, max_size=count)
)


def after(targets, node):
    seen, heads = set(), list(targets[node])
    while heads:
        head = heads.pop()
        if head not in seen:
            seen.add(head)
            heads += targets[head]
    return seen


@given(targets=GRAPHS)
def test_reach_equals_a_walk_from_every_node(targets):
    joins = list(range(0, len(targets), 2))
    reach = analyse(targets, joins)
    for node in range(len(targets)):
        found = after(targets, node)
        assert {joins[bit] for bit in numbers(reach.joins_after[node])} == found & set(joins)
        assert reach.cyclic[node] == (node in found)


@given(targets=GRAPHS)
def test_joins_never_wait_for_each_other(targets):
    joins = list(range(len(targets)))
    blocks = analyse(targets, joins).blocks
    for node in joins:
        assert node not in after([list(numbers(bits)) for bits in blocks], node)


def test_nothing_has_no_reach():
    reach = analyse([], [])
    assert (reach.joins_after, reach.cyclic, reach.blocks) == ([], [], [])
    assert numbers(0) == ()
