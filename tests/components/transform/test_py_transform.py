"""`pyTransform`: messages from Python expressions."""

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
        ({"none": "msg.get('absent')"}, {}, '{"none":null}'),
        ({"b": "'x'", "a": "True"}, {}, '{"a":true,"b":"x"}'),
        ({"half": "msg.t / 2", "whole": "msg.t * 1.0"}, {"t": 5}, '{"half":2.5,"whole":5}'),
        ({"big": "msg.n"}, '{"n":12345678901234567890123}', '{"big":12345678901234567890123}'),
        ({"l": "(1, [2.0])", "d": "{'x': {k: 1 for k in 'ab'}}"}, {}, '{"d":{"x":{"a":1,"b":1}},"l":[1,[2]]}'),
        ({"at": "now()"}, {}, None),
    ],
)
def test_a_mapping_makes_an_object(send: Callable[..., End], mapping: Any, data: Any, result: str | None) -> None:
    found = payload(send("pyTransform", {"mapping": mapping}, data))
    assert result is None or found == result


@pytest.mark.parametrize(
    ("expr", "data", "result"),
    [
        ("msg.t * 2", {"t": 2.5}, "5"),
        ("msg.name", {"name": "x"}, "x"),
        ("None", {}, ""),
        ("msg.t > 1", {"t": 2}, "true"),
        ("1e21", {}, "1000000000000000000000"),
        ("{'b': 1, 'a': msg.l}", {"l": [1.0]}, '{"a":[1],"b":1}'),
        ("[x * 2 for x in msg.l]", {"l": [1, 2]}, "[2,4]"),
        ("(1, 2)", {}, "[1,2]"),
        ("sorted({2, 1})", {}, "[1,2]"),
        ("msg", '{"n": 12345678901234567890123}', '{"n":12345678901234567890123}'),
    ],
)
def test_an_expression_makes_the_whole_payload(send: Callable[..., End], expr: str, data: Any, result: str) -> None:
    assert payload(send("pyTransform", {"expr": expr}, data)) == result


def test_an_expression_wins_over_a_mapping_unless_blank(send: Callable[..., End]) -> None:
    assert payload(send("pyTransform", {"expr": "1", "mapping": {"a": "2"}})) == "1"
    assert payload(send("pyTransform", {"expr": " ", "mapping": {"a": "2"}})) == '{"a":2}'


def test_the_data_type_stays_with_an_expression_and_becomes_json_with_a_mapping(send: Callable[..., End]) -> None:
    whole = send("pyTransform", {"expr": "{'a': len(msg)}"}, "text", data_type="TEXT").message
    mapped = send("pyTransform", {"mapping": {"a": "len(msg)"}}, "text", data_type="TEXT").message
    assert (whole.data, whole.data_type, whole.value) == ('{"a":4}', "TEXT", '{"a":4}')
    assert (mapped.data, mapped.data_type, mapped.value) == ('{"a":4}', "JSON", {"a": 4})


def test_the_other_parts_of_the_message_can_be_set(send: Callable[..., End]) -> None:
    configuration = {
        "expr": "msg.name",
        "msgType": "f'{type}.{msg.name}'",
        "dataType": "'TEXT'",
        "metadata": {"n": "msg.n", "all": "metadata", "old": "metadata.k", "": "1", "none": "None"},
    }
    message = send("pyTransform", configuration, {"name": "x", "n": 2.0}, type="T", metadata={"k": "v"}).message
    assert (message.data, message.type, message.data_type) == ("x", "T.x", "TEXT")
    assert dict(message.metadata) == {"k": "v", "n": "2", "all": '{"k":"v"}', "old": "v", "none": ""}


def test_what_is_not_named_stays(send: Callable[..., End]) -> None:
    message = Message('{"b": 1, "a": 2}', "T", metadata={"k": "v"})
    assert send("pyTransform", {}, message).message is message
    changed = send("pyTransform", {"metadata": {"x": "1"}, "dataType": "''"}, message).message
    assert (changed.data, changed.type, changed.data_type) == (message.data, "T", "JSON")


@pytest.mark.parametrize(
    "configuration",
    [
        {"mapping": {"a": "1", "b": "msg.t + 1"}},
        {"mapping": {"a": "[float('inf')]"}},
        {"mapping": {"a": "float('nan')"}},
        {"mapping": {"a": "{1: 2}"}},
        {"mapping": {"a": "{1, 2}"}},
        {"expr": "[float('inf')]"},
        {"expr": "{1, 2}"},
        {"expr": "[{1, 2}]"},
        {"expr": "1", "metadata": {"a": "msg.absent"}},
        {"expr": "1", "metadata": {"a": "{1}"}},
        {"expr": "1", "msgType": "1 / 0"},
        {"expr": "1", "dataType": "msg.absent"},
    ],
)
def test_a_failure_keeps_the_input(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    end = send("pyTransform", configuration, Message('{"t": "x"}', metadata={"k": "v"}))
    assert (end.relation, end.message.data) == ("Failure", '{"t": "x"}')
    assert dict(end.message.metadata).keys() == {"k", "errorMsg"}


@pytest.mark.parametrize(
    "configuration",
    [
        {"mapping": {"a": ""}},
        {"mapping": {"a": "1 +"}},
        {"expr": "1 +"},
        {"metadata": {"a": "x"}},
        {"msgType": "eval(1)"},
    ],
)
def test_a_wrong_expression_is_refused(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    with pytest.raises(ChainInvalid):
        send("pyTransform", configuration)
