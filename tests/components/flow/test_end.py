"""`end`: where answers come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import Engine, Message


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


def test_as_the_first_node_it_ends_the_branch_by_no_relation(load: Callable[..., Any]) -> None:
    message = Message('{"a":1}', "T", "JSON", {"k": "v"}, "m1", 7)
    (end,) = load(["e:end"]).run_sync(message).ends
    assert (end.relation, end.message, end.error, end.gated) == ("", message, None, False)


def test_each_branch_that_gets_there_is_an_answer_of_its_own(load: Callable[..., Any]) -> None:
    chain = load(["f:fork", "a:log", "b:log", "e:end"], "f Success a, f Success b, a Success e, b Success e")
    told: list[tuple[str, str]] = []
    chain.run_sync(Message("1"), on_end=lambda ctx, msg, error, relation: told.append((ctx.node_id, str(relation))))
    assert told == [("e", "Success"), ("e", "Success")]


def test_a_failure_that_leads_there_is_told_with_its_error(load: Callable[..., Any]) -> None:
    chain = load([("a:exprTransform", {"expr": "msg.x + 1"}), "e:end"], "a Failure e")
    outcome = chain.run_sync(Message("{}"))
    (end,) = outcome.ends
    assert (end.node_id, end.relation, outcome.ok) == ("e", "Failure", False)
    assert "msg.x + 1" in str(end.error)


@pytest.mark.parametrize("with_failure", [True, False])
def test_elsewhere_only_a_failure_that_is_not_connected_is_told(
    load: Callable[..., Any], engine: Engine, *, with_failure: bool
) -> None:
    engine.hooks.on_end_with_failure = with_failure
    nodes = ["f:fork", ("a:exprTransform", {"expr": "msg.x + 1"}), "b:log", "e:end"]
    told: list[str] = []
    chain = load(nodes, "f Success a, f Success b")
    outcome = chain.run_sync(Message("{}"), on_end=lambda ctx, msg, error, relation: told.append(ctx.node_id))
    assert told == (["a"] if with_failure else [])
    assert [(end.node_id, end.gated) for end in outcome.ends] == [("a", False), ("b", True)]


def test_the_body_of_a_loop_is_gated_by_its_own_end_nodes_only(load: Callable[..., Any]) -> None:
    body = [("l:for", {"range": "1..2", "do": "b", "mode": 1}), "b:log", "e:end"]
    outside = load(body, "l Success e").run_sync(Message("7"))
    assert [(end.node_id, end.gated, end.message.value) for end in outside.ends] == [("e", False, [7, 7])]
    inside = load(body, "b Success e").run_sync(Message("7"))
    assert [(end.node_id, end.gated, end.message.value) for end in inside.ends] == [("l", True, [7, 7])]


def test_a_node_alone_is_not_gated(load: Callable[..., Any]) -> None:
    chain = load([("g:groupAction", {"nodeIds": "a,b", "mergeToMap": True}), "a:log", "b:log", "e:end"], "g Success e")
    assert [(end.node_id, end.relation) for end in chain.run_sync(Message('{"x":1}')).ends] == [("e", "Success")]


def test_a_connection_that_leaves_it_is_a_warning(load: Callable[..., Any], engine: Engine) -> None:
    chain = load(["e:end", "f:fork"], "e Success f")
    (problem,) = engine.check(chain.to_dict())
    assert (problem.text, problem.hint) == (
        "node 'e' (end): branches end here, so the connection is never taken",
        "remove the connection",
    )


def test_its_form_has_no_relations(engine: Engine) -> None:
    form = engine.registry.form("end")
    assert (form["relationTypes"], form["category"], form["fields"]) == ([], "common", [])
