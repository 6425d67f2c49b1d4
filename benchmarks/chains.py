"""The chains that are measured, as plain values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

FILTER = "msg.t > 40"
MAPPING = {"id": "msg.deviceId", "fahrenheit": "msg.t * 1.8 + 32"}
TEXT = '{"deviceId":"sensor-17","t":45.5,"unit":"C","ok":true}'
BRANCHES = 10
SCRIPT_FILTER = "return msg.t > 40;"
SCRIPT_TRANSFORM = (
    "msg.fahrenheit = msg.t * 1.8 + 32; metadata.site = 'north';"
    " return {msg: msg, metadata: metadata, msgType: msgType};"
)


def message_chain() -> dict[str, Any]:
    """Give the chain exprFilter -> exprTransform -> end."""
    return _chain(
        "message",
        [
            {"id": "filter", "type": "exprFilter", "configuration": {"expr": FILTER}},
            {"id": "transform", "type": "exprTransform", "configuration": {"mapping": MAPPING}},
            {"id": "end", "type": "end"},
        ],
        [("filter", "True", "transform"), ("transform", "Success", "end")],
    )


def row_of(count: int, node_type: str, relation: str = "Success", **settings: Any) -> dict[str, Any]:
    """Give a chain of this many nodes of one type, joined by one relation; `settings` go to each node."""
    names = [f"n{number}" for number in range(count)]
    nodes = [{"id": name, "type": node_type, **settings} for name in names]
    suffix = "".join(f"-{key}" for key in settings)
    return _chain(f"{count}-{node_type}{suffix}", nodes, [(left, relation, right) for left, right in pairwise(names)])


def script_chain() -> dict[str, Any]:
    """Give the chain jsFilter -> jsTransform."""
    nodes = [
        {"id": "filter", "type": "jsFilter", "configuration": {"jsScript": SCRIPT_FILTER}},
        {"id": "transform", "type": "jsTransform", "configuration": {"jsScript": SCRIPT_TRANSFORM}},
    ]
    return _chain("scripts", nodes, [("filter", "True", "transform")])


def split_chain(branch_type: str, join_type: str) -> dict[str, Any]:
    """Give a chain that splits into ten branches of one node each, and joins them."""
    branches = [f"branch{number}" for number in range(BRANCHES)]
    nodes = [{"id": "fork", "type": "fork"}, *({"id": name, "type": branch_type} for name in branches)]
    nodes.append({"id": "join", "type": join_type})
    connections = [("fork", "Success", name) for name in branches]
    connections += [(name, "Success", "join") for name in branches]
    return _chain(f"split-{branch_type}-{join_type}", nodes, connections)


def wide_chain(branches: int) -> dict[str, Any]:
    """Give a chain that splits into this many branches of one node each, and joins them."""
    names = [f"branch{number}" for number in range(branches)]
    nodes = [
        {"id": "fork", "type": "fork"},
        *({"id": name, "type": "bench/pass"} for name in names),
        {"id": "join", "type": "bench/gather"},
    ]
    ways = [("fork", "Success", name) for name in names] + [(name, "Success", "join") for name in names]
    return _chain(f"wide-{branches}", nodes, ways)


def loop_chain() -> dict[str, Any]:
    """Give a chain whose one node comes back to itself a hundred times."""
    return _chain("loop", [{"id": "round", "type": "bench/round"}], [("round", "True", "round")], allowCycle=True)


def _chain(
    chain_id: str, nodes: list[dict[str, Any]], connections: list[tuple[str, str, str]], **configuration: Any
) -> dict[str, Any]:
    return {
        "ruleChain": {"id": chain_id, "name": chain_id, "configuration": configuration},
        "metadata": {
            "nodes": nodes,
            "connections": [{"fromId": left, "type": relation, "toId": right} for left, relation, right in connections],
        },
    }
