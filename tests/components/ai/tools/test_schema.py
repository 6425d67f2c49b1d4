"""JSON values checked against JSON Schemas."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.references import inlined
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
        (
            {"x-a": 1, "b": 2},
            {"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
            ["x-a must be of type string, not number", "b is not an argument of this tool"],
        ),
        ({"x-a": "1"}, {"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False}, []),
        (
            {"ab": 0},
            {"properties": {"ab": {"type": "number"}}, "patternProperties": {"b": {"minimum": 1}}},
            ["ab must be at least 1"],
        ),
        ({"Ab": 1}, {"propertyNames": {"pattern": "^[a-z]+$"}}, ["the key Ab must match ^[a-z]+$"]),
        (
            {"card": 1},
            {"dependentRequired": {"card": ["name", "card"], "other": ["x"]}},
            ["name is required beside card"],
        ),
        ([1, "x", 2], {"prefixItems": [{"type": "number"}, {"type": "string"}], "items": {"type": "number"}}, []),
        (
            ["x", 1, 2],
            {"prefixItems": [{"type": "number"}], "items": False},
            ["[0] must be of type number, not string", "[1] is not allowed", "[2] is not allowed"],
        ),
        ([1, "x"], {"contains": {"type": "string"}}, []),
        ([1], {"contains": {"type": "string"}, "minContains": 0}, []),
        (
            [1, 2],
            {"contains": {"type": "string"}},
            ["the value must have at least 1 items that fit what it has to contain, not 0"],
        ),
        (
            ["x", "y"],
            {"contains": {"type": "string"}, "maxContains": 1},
            ["the value must have at most 1 items that fit what it has to contain, not 2"],
        ),
        ({"kind": "b"}, {"if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["a"]}}, []),
        (
            {"kind": "a"},
            {"if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["a"]}, "else": False},
            ["a is required"],
        ),
        ({"kind": "b"}, {"if": {"required": ["a"]}, "else": {"required": ["c"]}}, ["c is required"]),
        ([True], {"enum": [[1]]}, ["the value must be one of [1]"]),
        ([1.0], {"const": [1]}, []),
        ([1, 1.0], {"uniqueItems": True}, ["the value must not have the same item twice"]),
        ([1, True], {"uniqueItems": True}, []),
        (1, "odd", []),
        (1, True, []),
    ],
)  # fmt: skip
def test_schemas_within_schemas(value: Any, schema: Any, found: list[str]) -> None:
    assert list(problems(value, schema)) == found


@pytest.mark.parametrize(
    ("part", "value", "place"),
    [
        ({"patternProperties": {"^x": {"$ref": "#/$defs/n"}}}, {"xa": {"xb": {"y": 1}}}, "xa.xb.y"),
        ({"prefixItems": [{"$ref": "#/$defs/n"}]}, [[[{"y": 1}]]], "[0][0][0].y"),
    ],
)
def test_references_are_followed_as_deep_as_the_value_goes(part: Any, value: Any, place: str) -> None:
    schema = {"$defs": {"n": {"additionalProperties": False, **part}}, "$ref": "#/$defs/n"}
    assert list(problems(value, inlined(schema, value))) == [f"{place} is not an argument of this tool"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_every_value_is_its_own_constant(value: Any) -> None:
    assert list(problems(value, {"const": value, "enum": [value]})) == []


NAMES = st.sampled_from(["a", "b", "xa"])
PLAIN = st.sampled_from([None, True, False, 0, 1, 1.0, 2.5, "", "a", "ab"])
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
SCHEMAS = st.recursive(
    st.booleans()
    | st.builds(lambda name: {"type": name}, st.sampled_from(["string", "number", "integer", "array", "object"]))
    | st.builds(lambda value: {"const": value}, VALUES)
    | st.builds(lambda value: {"enum": [value, 1]}, VALUES),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("items", "additionalProperties", "contains", "not", "if", "then", "else"), inner),
            **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), st.lists(inner, min_size=1, max_size=2)),
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^x", "a$"]), inner, max_size=2),
            "propertyNames": st.sampled_from([{"maxLength": 1}, {"pattern": "^x"}, False]),
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, unique=True, max_size=2), max_size=2),
            "required": st.lists(NAMES, unique=True, max_size=2),
            "minContains": st.integers(0, 2),
            "maxContains": st.integers(0, 2),
            "uniqueItems": st.booleans(),
        },
    ),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
@settings(max_examples=times(500), deadline=None)
def test_what_fits_is_what_fits_for_another_checker(schema: Any, value: Any) -> None:
    assert (not list(problems(value, schema))) == jsonschema_rs.is_valid(schema, value)
