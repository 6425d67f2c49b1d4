"""JSON text: the quick and the standard implementation give the same."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.test_message import JSON_VALUES

from catenary import jsontext

LOADS = [jsontext.loads, jsontext._stdlib_loads]
DUMPS = [jsontext.dumps, jsontext._stdlib_dumps]


@given(value=JSON_VALUES)
def test_values_survive_both(value):
    for dumps in DUMPS:
        for loads in LOADS:
            try:
                text = dumps(value)
                text.encode()
            except UnicodeEncodeError:
                continue  # a lone surrogate is no text for others
            assert loads(text) == value


@given(value=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers() | st.none()))
def test_both_write_the_same(value):
    assert jsontext.dumps(value) == jsontext._stdlib_dumps(value)


@pytest.mark.parametrize("dumps", DUMPS)
@pytest.mark.parametrize(
    "value", [math.nan, [math.inf], {"a": -math.inf, "b": None}, object(), {1}, datetime.now(UTC), Decimal(1)]
)
def test_what_is_no_json_is_refused(dumps, value):
    with pytest.raises((TypeError, ValueError)):
        dumps(value)


@pytest.mark.parametrize("loads", LOADS)
@pytest.mark.parametrize(
    "text",
    ["NaN", "[Infinity]", "-Infinity", "{", "", "{'a': 1}", "[1,]", b"\xff", "[1e999]", r'"\ud800"', r'["\uDC00"]'],
)
def test_what_is_no_json_is_not_read(loads, text):
    with pytest.raises(ValueError):
        loads(text)


@pytest.mark.parametrize("loads", LOADS)
def test_big_integers_are_exact(loads):
    for number in (2**53 + 1, 2**63, 2**64, 10**40, -(10**30)):
        assert loads(json.dumps({"a": [number]})) == {"a": [number]}
    assert loads("1234567890123456789012.5") == 1234567890123456789012.5
    assert loads(f'"{"a" * 30}"') == "a" * 30
    assert loads("[0.1234567890123456789]") == [0.1234567890123456789]


@pytest.mark.parametrize("dumps", DUMPS)
def test_text_is_compact_and_sorted(dumps):
    assert dumps({"b": [1, None], "a": "ü"}) == '{"a":"ü","b":[1,null]}'
    assert dumps({"a": 2**70}) == f'{{"a":{2**70}}}'


def test_standard_library_stands_in_for_orjson(monkeypatch):
    monkeypatch.setitem(sys.modules, "orjson", None)
    spec = importlib.util.find_spec("catenary.jsontext")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.loads is module._stdlib_loads
    assert module.dumps({"b": 1, "a": 2}) == '{"a":2,"b":1}'


@pytest.mark.parametrize("dumps_in_order", [jsontext.dumps_in_order, jsontext._stdlib_dumps_in_order])
def test_keys_stay_in_order_where_that_is_asked_for(dumps_in_order):
    assert (
        dumps_in_order({"b": 1, "a": [None, 10**30], "c": "é"}) == '{"b":1,"a":[null,' + "1" + "0" * 30 + '],"c":"é"}'
    )
    with pytest.raises(ValueError, match="JSON"):
        dumps_in_order([math.nan])


@pytest.mark.parametrize("dumps", [*DUMPS, jsontext.dumps_in_order, jsontext._stdlib_dumps_in_order])
def test_line_separators_are_escaped_and_nothing_else_is(dumps):
    assert dumps(["\u2028\u2029", "<é>&\u2027", None]) == '["\\u2028\\u2029","<é>&\u2027",null]'


@pytest.mark.parametrize("loads", LOADS)
def test_what_is_nested_too_deeply_is_an_error_of_value(loads):
    for depth in (600, 900, 1_000, 1_020, 5_000, 100_000):
        with contextlib.suppress(ValueError):
            loads('{"a":' + "[" * depth + "]" * depth + "}")
    with pytest.raises(ValueError):
        loads("[" * 100_000 + "]" * 100_000)


@pytest.mark.parametrize("dumps", [*DUMPS, jsontext.dumps_in_order, jsontext._stdlib_dumps_in_order])
def test_what_is_nested_too_deeply_cannot_be_written(dumps):
    value = []
    for _ in range(5_000):
        value = [value]
    with pytest.raises(ValueError, match="nested too deeply"):
        dumps(value)
