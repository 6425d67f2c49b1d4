"""`comment`: a note in a chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import End, Engine, Message


def test_the_message_passes_unchanged(send: Callable[..., End]) -> None:
    message = Message('{"b": 1}', metadata={"k": "v"})
    end = send("comment", {}, message)
    assert (end.relation, end.message) == ("Success", message)
    assert end.message is message


def test_any_configuration_is_taken_and_kept(engine: Engine) -> None:
    node = {"id": "c", "type": "comment", "configuration": {"text": "see below", "size": [1, {"a": None}]}}
    source: dict[str, Any] = {"ruleChain": {"id": "noted"}, "metadata": {"nodes": [node]}}
    assert engine.check(source) == []
    assert engine.load(source).to_dict()["metadata"]["nodes"][0]["configuration"] == node["configuration"]


def test_it_may_stand_unconnected(engine: Engine) -> None:
    nodes = [{"id": "f", "type": "fork"}, {"id": "c", "type": "comment"}]
    assert engine.check({"ruleChain": {"id": "noted"}, "metadata": {"nodes": nodes}}) == []


@pytest.mark.parametrize("text", ["${global.nothing}", "${vars.nothing}", "${secrets.nothing}", "${msg.x", "{{ x }}"])
def test_nothing_in_its_configuration_is_looked_at(engine: Engine, text: str) -> None:
    node = {"id": "c", "type": "comment", "configuration": {"text": text, "list": [text]}}
    source: dict[str, Any] = {"ruleChain": {"id": "noted"}, "metadata": {"nodes": [node]}}
    assert engine.check(source) == []
    assert engine.run_sync(engine.load(source).id, Message("1")).ok


def test_a_node_that_it_names_is_not_reached_by_that(engine: Engine) -> None:
    nodes = [{"id": "f", "type": "fork"}, {"id": "a", "type": "fork"}]
    nodes += [{"id": "c", "type": "comment", "configuration": {"text": "a"}}]  # type: ignore[dict-item]
    problems = engine.check({"ruleChain": {"id": "noted"}, "metadata": {"nodes": nodes}})
    assert [problem.code for problem in problems] == ["chain.unreachable-node"]


def test_it_may_stand_between_nodes_and_split_a_message(load: Callable[..., Any]) -> None:
    chain = load(["c:comment", "a:log", "b:log"], "c Success a, c Success b")
    assert [end.node_id for end in chain.run_sync(Message("1")).ends] == ["a", "b"]


def test_its_form_has_one_relation(engine: Engine) -> None:
    form = engine.registry.form("comment")
    assert (form["relationTypes"], form["category"], form["fields"]) == (["Success"], "common", [])
