"""`fork`: one message, several branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catenary import Message


def test_every_branch_gets_the_message(load: Callable[..., Any]) -> None:
    chain = load(
        ["f:fork", ("a:exprTransform", {"expr": "'a'"}), ("b:exprFilter", {"expr": "msg.t == 1"})],
        "f Success a, f Success b",
    )
    ends = chain.run_sync(Message('{"t":1}')).ends
    assert {(end.node_id, end.relation, end.message.data) for end in ends} == {
        ("a", "Success", "a"),
        ("b", "True", '{"t":1}'),
    }
