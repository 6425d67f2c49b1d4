"""`end`: where answers come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catenary import Message


def test_a_branch_ends_by_the_relation_that_led_there(load: Callable[..., Any]) -> None:
    chain = load([("f:exprFilter", {"expr": "msg.t > 50"}), "e:end"], "f True e, f False e")
    ends = [chain.run_sync(Message({"t": t})).ends for t in (60, 40)]
    assert [(end.node_id, end.relation, end.gated) for (end,) in ends] == [("e", "True", False), ("e", "False", False)]


def test_connections_that_leave_it_are_ignored(load: Callable[..., Any]) -> None:
    (end,) = load(["e:end", "f:fork"], "e Success f").run_sync(Message("1")).ends
    assert (end.node_id, end.relation) == ("e", "")


def test_ends_elsewhere_are_gated(load: Callable[..., Any]) -> None:
    chain = load([("f:exprFilter", {"expr": "msg.t > 50"}), "e:end"], "f True e")
    (end,) = chain.run_sync(Message({"t": 40})).ends
    assert (end.node_id, end.relation, end.gated) == ("f", "False", True)
