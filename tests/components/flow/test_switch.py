"""`switch`: the first condition that holds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from catenary import Chain, ChainInvalid, End, Engine, Message

Load = Callable[..., Chain]


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
    ("case", "text"),
    [
        ({"case": "", "then": "A"}, "cases.0.case: the expression is empty"),
        ({"case": "  ", "then": "A"}, "cases.0.case: the expression is empty"),
        ({"case": "msg.t >", "then": "A"}, "cases.0.case: expected a value, found the end"),
        ({"then": "A"}, "the option 'cases.0.case' is required"),
        ({"case": "true"}, "the option 'cases.0.then' is required"),
        ({"case": "true", "then": ""}, "cases.0.then must not be empty"),
        ("msg.t > 5", "cases.0 must be a mapping, not 'msg.t > 5'"),
        (None, "cases.0 must be a mapping, not null"),
    ],
)
@pytest.mark.parametrize("node_type", ["switch", "inclusive"])
def test_a_wrong_case_is_refused(send: Callable[..., End], node_type: str, case: Any, text: str) -> None:
    with pytest.raises(ChainInvalid) as caught:
        send(node_type, {"cases": [case]})
    (problem,) = caught.value.problems
    assert problem.text.startswith(f"node 'node' ({node_type}): {text}")


def test_the_name_of_the_default_relation_is_fixed(send: Callable[..., End], engine: Engine) -> None:
    properties: Any = engine.properties
    properties["defaultRelationType"] = "Rest"
    assert send("switch", {"cases": []}).relation == "Default"


def test_the_message_goes_on_unchanged(send: Callable[..., End]) -> None:
    message = Message('{"b": 1, "a": 2}', metadata={"k": "v"})
    assert send("switch", {"cases": [{"case": "true", "then": "A"}]}, message).message is message


def test_null_in_place_of_cases_is_no_cases_given(send: Callable[..., End]) -> None:
    assert send("switch", {"cases": None}, {"temperature": 60}).relation == "Case2"


def test_a_case_whose_way_is_not_connected_ends_there_and_takes_no_default(load: Load) -> None:
    cases = {"cases": [{"case": "true", "then": "Hot"}]}
    (end,) = load([("n:switch", cases), "d:log"], "n Default d").run_sync(Message("{}")).ends
    assert (end.node_id, end.relation) == ("n", "Hot")


@pytest.mark.parametrize("node_type", ["switch", "inclusive"])
def test_a_connection_that_no_case_leads_to_is_a_warning(load: Load, engine: Engine, node_type: str) -> None:
    cases = {"cases": [{"case": "true", "then": "Hot"}, {"case": "true", "then": "Warm"}]}
    chain = load([(f"n:{node_type}", cases), "l:log"], "n Hot l, n Default l, n Failure l, n warm l")
    known = "Hot, Warm, Default, Failure"
    assert [(one.code, one.text, one.hint) for one in engine.check(chain.to_dict())] == [
        (
            "chain.unknown-relation",
            f"node 'n' ({node_type}): relation 'warm' is not one of {known}",
            "did you mean 'Warm'?",
        )
    ]


def test_without_cases_the_ways_are_those_of_the_examples(load: Load, engine: Engine) -> None:
    chain = load(["n:switch", "l:log"], "n Case1 l, n Case2 l, n Case3 l")
    (problem,) = engine.check(chain.to_dict())
    assert problem.text == "node 'n' (switch): relation 'Case3' is not one of Case1, Case2, Default, Failure"


@pytest.mark.parametrize(
    ("case", "relation"),
    [("${msg.t} > 50", "A"), (True, "A"), ("let x = msg.t; x == 60", "A"), ("msg.t == '${msg.t}'", "Default")],
)
def test_a_case_is_an_expression_however_it_is_written(send: Callable[..., End], case: Any, relation: str) -> None:
    assert send("switch", {"cases": [{"case": case, "then": "A"}]}, '{"t":60}').relation == relation


@pytest.mark.parametrize(
    "configuration",
    [
        {"cases": {"case": "true", "then": "A"}},
        {"CASES": [{"Case": "true", "THEN": "A"}]},
        {"cases": [{"case": "true", "then": "${global.limit}"}]},
    ],
)
def test_cases_are_read_leniently(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    assert send("switch", configuration).relation in {"A", "50"}


def test_a_way_may_be_a_number(load: Load) -> None:
    cases = {"cases": [{"case": "true", "then": 5}]}
    (end,) = load([("n:switch", cases), "l:log"], "n 5 l").run_sync(Message("{}")).ends
    assert end.node_id == "l"


def test_its_form_has_a_list_of_cases_and_lets_the_author_name_the_relations(engine: Engine) -> None:
    form: Any = engine.registry.form("switch")
    assert (form["relationTypes"], form["category"]) == ([], "common")
    (cases,) = form["fields"]
    assert [(field["name"], field["required"]) for field in cases["fields"]] == [("case", True), ("then", True)]
    assert [case["then"] for case in cases["defaultValue"]] == ["Case1", "Case2"]


def test_a_failure_that_is_skipped_is_told_with_its_case(
    send: Callable[..., End], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "catenary_components.flow.switch")
    cases = [{"case": "msg.t > 'x'", "then": "A"}, {"case": "boom()", "then": "B"}, {"case": "true", "then": "C"}]
    assert send("switch", {"cases": cases}, '{"t":1}').relation == "C"
    assert [vars(record)["case"] for record in caplog.records] == ["A", "B"]
    assert "cannot take int and string" in vars(caplog.records[0])["error"]
