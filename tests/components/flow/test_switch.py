"""`switch`: the first condition that holds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from catenary import ChainInvalid, End, Engine, Message


@pytest.mark.parametrize(
    ("cases", "relation"),
    [
        ([("msg.t > 50", "Hot"), ("msg.t > 20", "Warm")], "Hot"),
        ([("msg.t > 80", "Hot"), ("msg.t > 20", "Warm")], "Warm"),
        ([("msg.t > 80", "Hot")], "Default"),
        ([("msg.t", "Number"), ("'true'", "Text")], "Default"),
        ([("msg.absent > 1", "Never"), ("true", "Next")], "Next"),
        ([], "Default"),
    ],
)
def test_the_first_case_that_is_true_wins(
    send: Callable[..., End], cases: list[tuple[str, str]], relation: str
) -> None:
    configuration = {"cases": [{"case": case, "then": then} for case, then in cases]}
    assert send("switch", configuration, '{"t":60}').relation == relation


@pytest.mark.parametrize(("t", "relation"), [(30, "Case1"), (60, "Case2"), (10, "Default")])
def test_without_cases_the_temperature_is_looked_at(send: Callable[..., End], t: int, relation: str) -> None:
    assert send("switch", {}, {"temperature": t}).relation == relation


def test_a_case_that_fails_is_told_to_the_log(send: Callable[..., End], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "catenary_components.flow.switch")
    send("switch", {"cases": [{"case": "msg.t > 1", "then": "A"}]}, "{}")
    (record,) = caplog.records
    assert (vars(record)["node_id"], vars(record)["case"]) == ("node", "A")


@pytest.mark.parametrize(
    "case",
    [{"case": "", "then": "A"}, {"case": "msg.t >", "then": "A"}, {"case": "true"}, {"case": "true", "then": ""}],
)
def test_a_wrong_case_is_refused(send: Callable[..., End], case: dict[str, Any]) -> None:
    with pytest.raises(ChainInvalid):
        send("switch", {"cases": [case]})


def test_the_name_of_the_default_relation_is_fixed(send: Callable[..., End], engine: Engine) -> None:
    properties: Any = engine.properties
    properties["defaultRelationType"] = "Rest"
    assert send("switch", {"cases": []}).relation == "Default"


def test_the_message_goes_on_unchanged(send: Callable[..., End]) -> None:
    message = Message('{"b": 1, "a": 2}', metadata={"k": "v"})
    assert send("switch", {"cases": [{"case": "true", "then": "A"}]}, message).message is message


def test_null_in_place_of_cases_is_no_cases_given(send: Callable[..., End]) -> None:
    assert send("switch", {"cases": None}, {"temperature": 60}).relation == "Case2"
