"""Chains for the tests of surprises, made from plain functions: `load(engine, {"a": function, "b": "fork"}, "a b")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catenary import Chain, Engine, Outcome


def document(nodes: dict[str, Any], edges: str = "", **head: Any) -> dict[str, Any]:
    """Give a chain: nodes by id as `type` or `(type, configuration)`, edges as `"a Success b, b c"`."""
    written = []
    for node_id, node in nodes.items():
        kind, configuration = node if isinstance(node, tuple) else (node, {})
        if callable(kind):
            kind, configuration = "functions", {"functionName": kind.__name__}
        written.append({"id": node_id, "type": kind, "configuration": configuration})
    connections = []
    for edge in filter(None, map(str.strip, edges.split(","))):
        source, *relation, target = edge.split()
        connections.append({"fromId": source, "type": relation[0] if relation else "Success", "toId": target})
    return {"ruleChain": {"id": "c", **head}, "metadata": {"nodes": written, "connections": connections}}


def load(engine: Engine, nodes: dict[str, Any], edges: str = "", **head: Any) -> Chain:
    for node in nodes.values():
        if callable(node):
            engine.function(node.__name__)(node)
    return engine.reload(document(nodes, edges, **head))


def ways(outcome: Outcome) -> list[str]:
    return [f"{end.node_id} {end.relation}" for end in outcome.ends]


def boom(ctx, msg):
    raise ValueError("broken")


def echo(ctx, msg):
    return "Success"
