"""`exprTransform`: payloads from expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import ChainInvalid, End, Message


def payload(end: End) -> Any:
    assert end.relation == "Success", end
    return end.message.data


@pytest.mark.parametrize(
    ("mapping", "data", "result"),
    [
        ({"tmp": "msg.t"}, {"t": 60}, '{"tmp":60}'),
        ({"none": "msg.absent"}, {}, '{"none":null}'),
        ({"b": "'x'", "a": "true"}, {}, '{"a":true,"b":"x"}'),
        ({"half": "msg.t / 2", "whole": "msg.t * 1.0"}, {"t": 5}, '{"half":2.5,"whole":5}'),
        ({"all": "msg"}, {"l": [1.0, {"x": None}]}, '{"all":{"l":[1,{"x":null}]}}'),
        ({"big": "msg.n"}, '{"n":12345678901234567890}', '{"big":12345678901234567890}'),
        ({"huge": "1e21"}, {}, '{"huge":1e+21}'),
        ({}, {"t": 1}, "{}"),
        ({"a": "msg.t;"}, {"t": 1}, '{"a":1}'),
        ({"a": "msg.s", "b": "1e-7"}, {"s": "<b>&\u2028"}, '{"a":"<b>&\\u2028","b":1e-7}'),
        ({"": "1"}, {}, '{"":1}'),
    ],
)
def test_a_mapping_makes_an_object(send: Callable[..., End], mapping: Any, data: Any, result: str) -> None:
    assert payload(send("exprTransform", {"mapping": mapping}, data)) == result


@pytest.mark.parametrize(
    ("expr", "data", "result"),
    [
        ("msg.t * 2", {"t": 2.5}, "5"),
        ("msg.name", {"name": "x"}, "x"),
        ("msg.absent", {}, ""),
        ("msg.t > 1", {"t": 2}, "true"),
        ("1e21", {}, "1000000000000000000000"),
        ("{b: 1, a: msg.l}", {"l": [1.0]}, '{"a":[1],"b":1}'),
        ("msg.t;", {"t": 1}, "1"),
        ("1 / 0", {}, "+Inf"),
        ("msg", '{"n":12345678901234567890123,"m":[1.0]}', '{"m":[1],"n":12345678901234567890123}'),
        ("msg.n", '{"n":-12345678901234567890123}', "-12345678901234567890123"),
        ("msg.n", '{"n":9007199254740993}', "9007199254740993"),
        ("[msg.s]", {"s": "<b>&\u2028\u2029é"}, '["<b>&\\u2028\\u2029é"]'),
        ("[1e21, 1e-7, 1e8]", {}, "[1e+21,1e-7,100000000]"),
        ("duration('90s')", {}, "1m30s"),
        ("[duration('90s')]", {}, '["1m30s"]'),
    ],
)
def test_an_expression_makes_the_whole_payload(send: Callable[..., End], expr: str, data: Any, result: str) -> None:
    assert payload(send("exprTransform", {"expr": expr}, data)) == result


def test_the_data_type_stays_with_an_expression_and_becomes_json_with_a_mapping(send: Callable[..., End]) -> None:
    whole = send("exprTransform", {"expr": "{a: len(msg)}"}, "text", data_type="TEXT")
    mapped = send("exprTransform", {"mapping": {"a": "len(msg)"}}, "text", data_type="TEXT")
    assert (whole.message.data, whole.message.data_type, whole.message.value) == ('{"a":4}', "TEXT", '{"a":4}')
    assert (mapped.message.data, mapped.message.data_type, mapped.message.value) == ('{"a":4}', "JSON", {"a": 4})


def test_an_expression_wins_over_a_mapping_unless_blank(send: Callable[..., End]) -> None:
    assert payload(send("exprTransform", {"expr": "1", "mapping": {"a": "2"}})) == "1"
    assert payload(send("exprTransform", {"expr": " ", "mapping": {"a": "2"}})) == '{"a":2}'


@pytest.mark.parametrize(
    "configuration",
    [
        {"mapping": {"a": "1", "b": "msg.t + 1"}},
        {"mapping": {"a": "[1e308 * 10]"}},
        {"mapping": {"a": "1e308 * 10"}},
        {"mapping": {"a": "groupBy([1, 2], # % 2)"}},
        {"expr": "[1e308 * 10]"},
    ],
)
def test_a_failure_keeps_the_input(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    end = send("exprTransform", configuration, Message('{"t": "x"}'))
    assert (end.relation, end.message.data) == ("Failure", '{"t": "x"}')
    assert end.message.metadata["errorMsg"]


@pytest.mark.parametrize("configuration", [{"mapping": {"a": ""}}, {"mapping": {"a": "1 +"}}, {"expr": "1 +"}])
def test_a_wrong_expression_is_refused(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    with pytest.raises(ChainInvalid):
        send("exprTransform", configuration)


def test_a_result_that_is_no_json_names_its_key(send: Callable[..., End]) -> None:
    end = send("exprTransform", {"mapping": {"good": "1", "bad": "1 / 0"}}, '{"a":1}')
    assert (end.relation, end.message.data) == ("Failure", '{"a":1}')
    assert end.message.metadata["errorMsg"] == "mapping 'bad': +Inf cannot be written as JSON"


@pytest.mark.parametrize("configuration", [{"expr": "map(1..99999, msg)"}, {"mapping": {"a": "map(1..99999, msg)"}}])
def test_a_result_that_holds_a_large_value_many_times_is_a_failure(
    send: Callable[..., End], configuration: dict[str, Any]
) -> None:
    end = send("exprTransform", configuration, list(range(10_000)))
    assert end.relation == "Failure"
    assert "more than 2000000 elements" in end.message.metadata["errorMsg"]
