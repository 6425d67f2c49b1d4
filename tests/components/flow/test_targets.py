"""Nodes that name others to run: what loading says of those that do not exist."""

from __future__ import annotations

from typing import Any

import pytest

from catenary import Engine


def problems(engine: Engine, node_type: str, configuration: dict[str, Any]) -> list[tuple[str, str, str]]:
    nodes = [
        {"id": "first", "type": node_type, "configuration": configuration},
        {"id": "double", "type": "fork"},
    ]
    found = engine.check({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": []}})
    return [(one.code, one.text, one.hint) for one in found if one.code != "chain.unreachable-node"]


@pytest.mark.parametrize(("node_type", "key"), [("for", "do"), ("while", "do"), ("ref", "targetId")])
def test_a_node_that_does_not_exist_is_guessed(engine: Engine, node_type: str, key: str) -> None:
    text = f"node 'first' ({node_type}): {key} names no node: 'doubel' does not exist"
    assert problems(engine, node_type, {key: "doubel"}) == [("config.unknown-node", text, "did you mean 'double'?")]


@pytest.mark.parametrize("target", ["double", "node:double", "chain:elsewhere"])
def test_what_exists_and_what_stands_elsewhere_is_no_problem(engine: Engine, target: str) -> None:
    assert problems(engine, "for", {"do": target}) == []


def test_a_loop_that_is_its_own_body_is_no_problem_for_it_may_end(engine: Engine) -> None:
    assert [*problems(engine, "for", {"do": "first"}), *problems(engine, "while", {"do": "first"})] == []


def test_a_node_of_another_chain_is_no_problem(engine: Engine) -> None:
    assert problems(engine, "ref", {"targetId": "other:node"}) == []


def test_a_placeholder_without_a_value_has_a_warning_of_its_own(engine: Engine) -> None:
    assert [code for code, _, _ in problems(engine, "for", {"do": "${global.body}"})] == [
        "chain.unresolved-placeholder"
    ]


def test_the_warning_stands_at_the_option(engine: Engine) -> None:
    text = "ruleChain: {id: c}\nmetadata:\n  nodes:\n  - id: a\n    type: for\n    configuration:\n      do: b\n"
    (found,) = engine.check(text)
    assert (found.severity, found.line, found.column) == ("warning", 7, 11)
