"""Cycles and reachability."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from catenary.load.graph import cycles, has_cycle, reachable

NODES = list("abcdef")
EDGES = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=12)


def test_cycle_is_named_from_its_first_node():
    assert cycles(NODES, [("c", "b"), ("b", "c"), ("a", "b")]) == [["b", "c", "b"]]


def test_each_group_is_named_once_by_a_shortest_cycle():
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("d", "e"), ("e", "d")]
    assert cycles(NODES, edges) == [["a", "b", "a"], ["d", "e", "d"]]


def test_self_loop_is_a_cycle():
    assert cycles(NODES, [("a", "b"), ("b", "b")]) == [["b", "b"]]


@given(EDGES)
def test_has_cycle_says_what_cycles_finds(edges):
    named = cycles(NODES, edges)
    assert has_cycle(NODES, edges) == bool(named)
    for cycle in named:
        assert cycle[0] == cycle[-1]
        assert all(step in edges for step in pairwise(cycle))


@given(EDGES)
def test_a_node_on_a_cycle_reaches_itself(edges):
    on_cycle = {
        node for node in NODES for source, target in edges if source == node and node in reachable([target], edges)
    }
    assert has_cycle(NODES, edges) == bool(on_cycle)


def test_reachable_includes_the_starts():
    assert reachable(["a", "e"], [("a", "b"), ("b", "c"), ("d", "a")]) == {"a", "b", "c", "e"}


def test_networkx_is_not_imported_for_a_chain_without_cycles():
    code = "import sys; from catenary.load.graph import cycles; cycles(['a'], []); assert 'networkx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
