"""Diagrams and chains for the tests of drawing."""

from __future__ import annotations

from hypothesis import strategies as st

from catenary.drawing import Diagram, diagram_of
from catenary.load import read
from catenary.registry import Registry

TYPES = ["exprFilter", "log", "join", "end", "restApiCall", "ai/agent", "nothing/known"]
RELATIONS = ["Success", "Failure", "True", "a relation whose name is longer than any label can be", "<&\"'>", ""]


def chain(
    nodes: list[dict[str, object]],
    connections: list[tuple[str, str, str]],
    endpoints: list[dict[str, object]] | None = None,
    **head: object,
) -> Diagram:
    """Make the diagram of a chain whose connections are `(from, relation, to)`."""
    wires = [{"fromId": a, "type": relation, "toId": b} for a, relation, b in connections]
    document = {
        "ruleChain": {"id": "c", **head},
        "metadata": {"nodes": nodes, "connections": wires, "endpoints": endpoints or []},
    }
    return diagram_of(read(document).definition, Registry())


def line_of(count: int, relation: str = "Success") -> Diagram:
    """Make the diagram of a chain of `count` nodes one behind the other."""
    nodes: list[dict[str, object]] = [{"id": f"s{i}", "type": "log", "name": f"Step {i}"} for i in range(count)]
    return chain(nodes, [(f"s{i}", relation, f"s{i + 1}") for i in range(count - 1)])


ROUTERS = st.fixed_dictionaries(
    {
        "params": st.sampled_from([["post"], [], "GET", {"a": 1}, None]),
        "from": st.one_of(st.none(), st.fixed_dictionaries({"path": st.one_of(st.text(max_size=60), st.none())})),
        "to": st.one_of(
            st.none(),
            st.fixed_dictionaries({"path": st.sampled_from(["", ":n1", "c:n0", "other", "${x}", "component:"])}),
        ),
    }
)
ENDPOINTS = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["n0", "web", "ghost", ""]),
        "type": st.sampled_from(["http", "schedule", "nothing/known"]),
        "routers": st.lists(ROUTERS, max_size=4),
    }
)


@st.composite
def diagrams(draw: st.DrawFn) -> Diagram:
    """Chains of any shape: cycles, loose nodes, dangling connections, odd names."""
    count = draw(st.integers(0, 14))
    ids = [f"n{i}" for i in range(count)]
    names = st.one_of(st.just(""), st.text(max_size=60))
    nodes: list[dict[str, object]] = [
        {"id": node_id, "type": draw(st.sampled_from(TYPES)), "name": draw(names)} for node_id in ids
    ]
    ends = st.sampled_from([*ids, "ghost"])
    wires = draw(st.lists(st.tuples(ends, st.sampled_from(RELATIONS), ends), max_size=30)) if ids else []
    return chain(nodes, wires, name=draw(names), endpoints=draw(st.lists(ENDPOINTS, max_size=3)))
