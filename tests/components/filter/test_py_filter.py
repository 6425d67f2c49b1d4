"""`pyFilter`: what counts as true, what fails, and what a chain may not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import Chain, ChainInvalid, End, Engine, Message


@pytest.mark.parametrize(
    ("expr", "data", "relation"),
    [
        ("msg['t'] > 50", '{"t":60}', "True"),
        ("msg.t > 50", '{"t":50}', "False"),
        ("msg.t", '{"t":1}', "False"),
        ("msg.t", '{"t":true}', "True"),
        ("'true'", "{}", "False"),
        ("msg.l", '{"l":[1]}', "False"),
        ("msg.l and True", '{"l":[1]}', "True"),
        ("msg[0] == 1", "[1]", "True"),
        ("msg == 5", "5", "True"),
        ("msg.t > 50", "{}", "Failure"),
        ("msg.get('t', 0) > 50", "{}", "False"),
        ("msg.t > 50", "no json", "Failure"),
        ("metadata.get('kind') == 'a' and msgType == 'T'", "{}", "True"),
        ("any(x > 1 for x in msg.l)", '{"l":[1,2]}', "True"),
        ("msg.t > global.limit", '{"t":60}', "Failure"),
        ("msg.t > int(global.limit)", '{"t":60}', "True"),
    ],
)
def test_only_the_boolean_true_is_true(send: Callable[..., End], expr: str, data: str, relation: str) -> None:
    end = send("pyFilter", {"expr": expr}, data, type="T", metadata={"kind": "a"})
    assert end.relation == relation


def test_the_message_goes_on_unchanged(send: Callable[..., End]) -> None:
    message = Message('{"b": 1, "a": 2}', metadata={"k": "v"})
    assert send("pyFilter", {"expr": "True"}, message).message is message


def test_a_failure_names_expression_place_and_reason(send: Callable[..., End]) -> None:
    end = send("pyFilter", {"expr": "1 < msg.t"}, "{}")
    assert end.message.metadata["errorMsg"] == (
        "expression '1 < msg.t', line 1, column 5: there is no key 't'; `.get('t')` gives None where it is missing"
    )


def test_the_output_of_another_node_is_kept_for_it(load: Callable[..., Chain]) -> None:
    chain = load(
        [("first:exprTransform", {"mapping": {"n": "msg.n + 1"}}), ("f:pyFilter", {"expr": "first.msg.n == 2"})],
        "first Success f",
    )
    assert [end.relation for end in chain.run_sync({"n": 1}).ends] == ["True"]


@pytest.mark.parametrize("expr", ["", "  "])
def test_a_blank_expression_is_refused(send: Callable[..., End], expr: str) -> None:
    with pytest.raises(ChainInvalid, match="expr can not be empty"):
        send("pyFilter", {"expr": expr})


@pytest.mark.parametrize(
    "configuration", [{}, {"expr": "msg.t >"}, {"expr": "open('x')"}, {"expr": "msg.__class__"}, {"expr": ["1"]}]
)
def test_a_wrong_expression_is_refused(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    with pytest.raises(ChainInvalid, match="expr"):
        send("pyFilter", configuration)


def test_a_wrong_expression_is_told_with_its_place_in_the_file(engine: Engine) -> None:
    text = """ruleChain: {id: a}
metadata:
  nodes:
    - id: f
      type: pyFilter
      configuration:
        expr: msg.t > 1 and temprature
"""
    (problem,) = engine.check(text)
    assert (problem.code, problem.line, problem.column) == ("expression.syntax", 7, 29)
    assert "unknown name 'temprature'" in problem.text
