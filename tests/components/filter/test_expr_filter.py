"""`exprFilter`: what counts as true, what fails, and what a chain may not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import ChainInvalid, End, Message


@pytest.mark.parametrize(
    ("expr", "data", "relation"),
    [
        ("msg.t > 50", '{"t":60}', "True"),
        ("msg.t > 50", '{"t":50}', "False"),
        ("msg.t", '{"t":1}', "False"),
        ("'true'", "{}", "False"),
        ("msg[0] == 1", "[1]", "True"),
        ("msg == 5", "5", "True"),
        ("msg.t > 50", "{}", "Failure"),
        ("msg.t > 50", "no json", "Failure"),
        ("metadata.kind == 'a' && msgType == 'T'", "{}", "True"),
        ("${msg.t} > 50", '{"t":60}', "True"),
    ],
)
def test_only_the_boolean_true_is_true(send: Callable[..., End], expr: str, data: str, relation: str) -> None:
    end = send("exprFilter", {"expr": expr}, data, type="T", metadata={"kind": "a"})
    assert end.relation == relation


def test_text_is_seen_as_text(send: Callable[..., End]) -> None:
    assert send("exprFilter", {"expr": "len(msg) == 2"}, "ab", data_type="TEXT").relation == "True"


@pytest.mark.parametrize(
    ("expr", "relation"),
    [("len(msg) == 2", "True"), ("msg == 'AB'", "True"), ("msg[0] == 65", "True"), ("msg.t > 1", "Failure")],
)
def test_bytes_are_read_as_text(send: Callable[..., End], expr: str, relation: str) -> None:
    assert send("exprFilter", {"expr": expr}, b"AB", data_type="BINARY").relation == relation


@pytest.mark.parametrize("expr", ["'a' + 1 == 'a1'", "1 == '1'", "not 5"])
def test_what_can_never_hold_is_refused(send: Callable[..., End], expr: str) -> None:
    with pytest.raises(ChainInvalid, match="expr"):
        send("exprFilter", {"expr": expr})


def test_the_message_goes_on_unchanged(send: Callable[..., End]) -> None:
    message = Message('{"b": 1, "a": 2}', metadata={"k": "v"})
    assert send("exprFilter", {"expr": "true"}, message).message is message


def test_a_failure_names_the_error(send: Callable[..., End]) -> None:
    end = send("exprFilter", {"expr": "msg.t > 50"}, "{}")
    assert end.message.metadata["errorMsg"] == str(end.error)


@pytest.mark.parametrize("expr", ["", "  "])
def test_a_blank_expression_is_refused(send: Callable[..., End], expr: str) -> None:
    with pytest.raises(ChainInvalid, match="expr can not be empty"):
        send("exprFilter", {"expr": expr})


@pytest.mark.parametrize("configuration", [{}, {"expr": "msg.t >"}])
def test_a_wrong_expression_is_refused(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    with pytest.raises(ChainInvalid, match="expr"):
        send("exprFilter", configuration)
