"""Values as text."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.expr import json_text, text_of
from catenary.expr.kinds import EvaluationError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("a", "a"),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        (41.0, "41"),
        (1e21, "1000000000000000000000"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e-7, "0.0000001"),
        (-0.0, "-0"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
        (b"\xc3\xa9", "\u00e9"),
        ({"b": 1.0, "a": "<b>&"}, '{"a":"<b>&","b":1}'),
        ([1e21, 1e-7, 100000000.0, 1.5e-9, 1e16], "[1e+21,1e-7,100000000,1.5e-9,10000000000000000]"),
        (["\u2028\u2029"], '["\\u2028\\u2029"]'),
        ([None, True, False, {}], "[null,true,false,{}]"),
        (9007199254740993, "9007199254740993"),
        (timedelta(minutes=1, seconds=30), "1m30s"),
        (timedelta(hours=25), "25h0m0s"),
        (timedelta(milliseconds=1.5), "1.5ms"),
        (timedelta(microseconds=7), "7\u00b5s"),
        (-timedelta(seconds=1.5), "-1.5s"),
        (timedelta(), "0s"),
        (datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05Z"),  # noqa: DTZ001 - the claim
        (datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=2))), "2024-01-02T00:00:00+02:00"),
        ([timedelta(seconds=1)], '["1s"]'),
        ((1, 2), "[1,2]"),
        ([1234567890123456789012.5], "[1.2345678901234568e+21]"),
        ([0.0000005], "[5e-7]"),
    ],
)
def test_text_form(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize("value", [[math.inf], {"a": math.nan}, {1: 2}, [object()]])
def test_what_json_cannot_hold_is_an_error(value: Any) -> None:
    with pytest.raises(EvaluationError):
        text_of(value)


def test_a_value_that_grows_without_bound_is_an_error() -> None:
    value: list[Any] = ["x" * 100]
    for _ in range(40):
        value = [value, value]
    with pytest.raises(EvaluationError, match="too large"):
        json_text(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_text_reads_back_as_the_same_value(value: Any) -> None:
    assert json.loads(json_text(value)) == value
    assert json.loads(json_text(value, indent="  ", escape_html=True)) == value
