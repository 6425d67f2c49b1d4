"""JSON values checked against JSON Schemas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary_components.ai.tools.schema import problems

ORDER = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "minLength": 2, "maxLength": 4},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "sizes": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2},
        "kind": {"enum": ["a", 1]},
        "exact": {"const": True},
        "share": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "note": {"type": ["string", "null"]},
    },
    "required": ["sku"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"sku": "ab", "count": 3.0, "sizes": [1, 2.5], "kind": 1, "exact": True, "share": 0.5, "note": None}, []),
        ({}, ["sku is required"]),
        ([], ["the value must be of type object, not array"]),
        ({"sku": 1}, ["sku must be of type string, not number"]),
        ({"sku": "a"}, ["sku must have at least 2 characters"]),
        ({"sku": "abcde"}, ["sku must have at most 4 characters"]),
        ({"sku": "ab", "count": 0}, ["count must be at least 1"]),
        ({"sku": "ab", "count": 10}, ["count must be at most 9"]),
        ({"sku": "ab", "count": 1.5}, ["count must be of type integer, not number"]),
        ({"sku": "ab", "count": True}, ["count must be of type integer, not boolean"]),
        ({"sku": "ab", "sizes": []}, ["sizes must have at least 1 items"]),
        (
            {"sku": "ab", "sizes": [1, "x", 3]},
            ["sizes must have at most 2 items", "sizes[1] must be of type number, not string"],
        ),
        ({"sku": "ab", "kind": True}, ['kind must be one of "a", 1']),
        ({"sku": "ab", "exact": 1}, ["exact must be true"]),
        ({"sku": "ab", "share": 0}, ["share must be more than 0"]),
        ({"sku": "ab", "share": 1}, ["share must be less than 1"]),
        ({"sku": "ab", "note": 1}, ["note must be of type string or null, not number"]),
        ({"sku": "ab", "more": 1}, ["more is not an argument of this tool"]),
        (
            {"count": 0, "more": 1},
            ["sku is required", "count must be at least 1", "more is not an argument of this tool"],
        ),
    ],
)  # fmt: skip
def test_each_problem_is_named_with_its_place(value: Any, found: list[str]) -> None:
    assert list(problems(value, ORDER)) == found


@pytest.mark.parametrize(
    ("value", "schema", "found"),
    [
        (1, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, []),
        (
            1.5,
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            ["the value must be of type string, not number or the value must be of type integer, not number"],
        ),
        (
            1,
            {"oneOf": [{"type": "number"}, {"type": "integer"}]},
            ["the value fits more than one of the forms it may have"],
        ),
        (
            1,
            {"allOf": [{"minimum": 2}, {"minimum": 3}]},
            ["the value must be at least 2", "the value must be at least 3"],
        ),
        ({"a": 1}, {"additionalProperties": {"type": "string"}}, ["a must be of type string, not number"]),
        ({"a": 1}, {"properties": {"a": False}}, ["a is not allowed"]),
        ({"a": {"b": []}}, {"properties": {"a": {"required": ["c"]}}}, ["a.c is required"]),
        (1, {"type": "color", "format": "odd"}, []),
        (1, "odd", []),
        (1, True, []),
    ],
)  # fmt: skip
def test_schemas_within_schemas(value: Any, schema: Any, found: list[str]) -> None:
    assert list(problems(value, schema)) == found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_every_value_is_its_own_constant(value: Any) -> None:
    assert list(problems(value, {"const": value, "enum": [value]})) == []
