"""JSON Schemas as people write them: references, what is wrong with them, and what would not be looked at."""

from __future__ import annotations

from typing import Any

import pytest

from catenary.json_schema import problems
from catenary.schema_reading import SchemaProblem, usable


def properties(**schemas: Any) -> dict[str, Any]:
    return {"type": "object", "properties": schemas}


def test_references_are_put_in_where_they_stand() -> None:
    schema: dict[str, Any] = {
        "$defs": {"Money": {"type": "number", "minimum": 0}, "Pair": {"items": {"$ref": "#/$defs/Money"}}},
        **properties(pay={"$ref": "#/$defs/Money", "maximum": 9}, both={"anyOf": [{"$ref": "#/$defs/Pair"}, True]}),
    }
    assert usable(schema) == properties(
        pay={"type": "number", "minimum": 0, "maximum": 9},
        both={"anyOf": [{"items": {"type": "number", "minimum": 0}}, True]},
    )


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = properties(definitions={"type": "string"}, contains=True, **{"if": {}, "type": {"enum": [1]}})
    assert usable(schema) == schema


def test_what_only_describes_is_left_alone() -> None:
    schema = {
        "title": "T",
        "format": "date",
        "default": {},
        "examples": 5,
        "x-order": [1],
        "$schema": "here",
        "const": 1,
    }
    assert usable(schema) == schema


@pytest.mark.parametrize(
    ("schema", "text", "hint"),
    [
        (
            {"type": "objekt"},
            "type must be one of object, array, string, boolean, null, number, integer, or a list",
            "",
        ),
        ({"type": []}, "type must be one of", ""),
        ({"type": ["string", 1]}, "type must be one of", ""),
        ({"properties": []}, "properties must be a mapping of schemas, not []", ""),
        (properties(a=5), "properties.a must be a schema, not 5", ""),
        (properties(a={"minimum": "1"}), "properties.a.minimum must be a number, not '1'", ""),
        ({"required": "a"}, "required must be a list of names, not 'a'", ""),
        ({"required": [1]}, "required must be a list of names, not [1]", ""),
        ({"items": [{}]}, "items must be a schema, not [{}]", ""),
        ({"items": {"minLength": -1}}, "items.minLength must be a whole number of 0 or more, not -1", ""),
        ({"anyOf": {}}, "anyOf must be a list that is not empty, not {}", ""),
        ({"anyOf": [{}, {"pattern": "("}]}, "anyOf.1.pattern must be a regular expression without look-around", ""),
        ({"pattern": 5}, "pattern must be a regular expression", ""),
        ({"enum": []}, "enum must be a list that is not empty, not []", ""),
        ({"multipleOf": 0}, "multipleOf must be a number above 0, not 0", ""),
        ({"uniqueItems": 1}, "uniqueItems must be true or false, not 1", ""),
        ({"not": 1}, "not must be a schema, not 1", ""),
        ({"if": {}, "then": {}}, "if would not be looked at", "these are: type, enum,"),
        (properties(a={"items": {"contains": {}}}), "properties.a.items.contains would not be looked at", "these are:"),
        ({"$ref": "#/$defs/No"}, "#/$defs/No leads to nothing", "references look like #/$defs/NAME"),
        ({"$ref": "other.json"}, "other.json leads to nothing", "references look like #/$defs/NAME"),
        (properties(a={"$ref": "#/properties/a"}), "#/properties/a leads back to itself", "it cannot be nested"),
    ],
)
def test_what_is_wrong_with_a_schema_is_told_with_its_place(schema: Any, text: str, hint: str) -> None:
    with pytest.raises(SchemaProblem) as caught:
        usable(schema)
    assert str(caught.value).startswith(text)
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("schema", "good", "bad", "text"),
    [
        ({"pattern": "^[a-z]+$"}, ["ab", 5], "aB", "must match ^[a-z]+$"),
        ({"pattern": "b"}, ["abc"], "ac", "must match b"),
        ({"multipleOf": 0.1}, [0.3, 2, "x"], 0.25, "must be a multiple of 0.1"),
        ({"multipleOf": 1e-300}, [1e308], float("inf"), "must be a multiple of 1e-300"),
        ({"uniqueItems": True}, [[1, 2, True], []], [{"a": 1}, {"a": 1}], "must not have the same item twice"),
        ({"uniqueItems": False}, [[1, 1]], None, ""),
        ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}, []], {}, "must have at least 1 keys"),
        ({"maxProperties": 1}, [{"a": 1}], {"a": 1, "b": 2}, "must have at most 1 keys"),
        ({"not": {"type": "null"}}, [1, ""], None, "has a form that it must not have"),
        ({"not": False}, [1], None, ""),
        ({"pattern": "("}, ["anything"], None, ""),
        ({"multipleOf": 0}, [], 1, "must be a multiple of 0"),
    ],
)
def test_a_value_is_held_against_each_keyword(schema: Any, good: list[Any], bad: Any, text: str) -> None:
    assert [found for value in good for found in problems(value, schema)] == []
    assert list(problems(bad, schema, "it")) == ([f"it {text}"] if text else [])
