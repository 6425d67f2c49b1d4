"""The `inputSchema` of a chain that is a component: all of it holds, and what cannot be used is refused."""

from __future__ import annotations

import pytest

from catenary import Engine
from catenary.errors import ChainInvalid, EngineError

THREE = {"type": "integer", "minimum": 3}


def component(schema):
    nodes = [{"id": "x", "type": "exprTransform", "configuration": {"expr": "vars"}}]
    return {"ruleChain": {"id": "in", "additionalInfo": {"inputSchema": schema}}, "metadata": {"nodes": nodes}}


def loaded(schema, configuration):
    """Give what the chain inside has as variables."""
    with Engine() as engine:
        engine.register_component("acme/x", component(schema))
        nodes = [{"id": "n", "type": "acme/x", "configuration": configuration}]
        return engine.load({"ruleChain": {"id": "h"}, "metadata": {"nodes": nodes}}).run_sync({}).message.value


def options(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "configuration", "variables"),
    [
        (options(a={"enum": [1, 2]}), {"a": "2"}, {"a": 2}),
        (options(a={"enum": [{"k": 1}, 1.5]}), {"a": {"k": 1}}, {"a": {"k": 1}}),
        (options(a={"type": ["string", "integer"]}), {"a": 1}, {"a": 1}),
        (options(a=True, b=None), {"a": 1, "b": [2]}, {"a": 1, "b": [2]}),
        ({"required": ["a"]}, {"a": 1}, {"a": 1}),
        (options(a={"type": "integer", "minLength": 9, "pattern": "x"}), {"a": 1}, {"a": 1}),
        (options(a={"type": "string", "examples": "x", "title": 5}), {"a": 7}, {"a": "7"}),
        ({"$defs": {"L": THREE}, **options(a={"$ref": "#/$defs/L", "maximum": 4})}, {"a": 4}, {"a": 4}),
    ],
)
def test_what_a_schema_allows_is_taken(schema, configuration, variables):
    assert loaded(schema, configuration) == variables


@pytest.mark.parametrize(
    ("schema", "configuration", "text"),
    [
        ({"required": ["a"]}, {}, "the option 'a' is required"),
        (options(a={"enum": [1, 2]}), {"a": 3}, "a must be one of 1 or 2, not 3"),
        (options(a={"enum": [{"k": 1}, 1.5]}), {"a": 2}, "does not fit: a must be one of"),
        (options(a={"const": "x"}), {"a": "y"}, 'the configuration does not fit: a must be "x"'),
        (options(a={"anyOf": [{"type": "integer"}, {"type": "boolean"}]}), {"a": "z"}, "a must be of type integer"),
        (options(a={"type": "integer", "multipleOf": 5}), {"a": 7}, "a multiple of 5"),
        (options(a={"type": "object", "additionalProperties": {"type": "integer"}}), {"a": {"z": "q"}}, "a.z must be"),
        ({"$defs": {"L": THREE}, **options(a={"$ref": "#/$defs/L"})}, {"a": 1}, "a must be at least 3"),
    ],
)
def test_what_a_schema_forbids_is_a_problem_of_the_node(schema, configuration, text):
    with pytest.raises(ChainInvalid) as caught:
        loaded(schema, configuration)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (options() | {"properties": [1]}, "properties must be a mapping"),
        (options(a=options(b={}, B={})), "properties.a.properties: two names differ only in upper and lower case"),
        (options(**{"": {}}), "properties: a name is empty"),
        ({**options(a={}), "required": "a"}, "required must be a list of names"),
        (options(a={"type": "string", "pattern": "("}), "properties.a.pattern cannot be used: '('"),
        (options(a={"items": {"minimum": "3"}}), "properties.a.items.minimum cannot be used: '3'"),
        (options(a={"$ref": "#/$defs/none"}), "#/$defs/none leads to nothing"),
        (options(a={"$ref": "other.json"}), "other.json leads to nothing"),
        (options(a={"$ref": "#/properties/a"}), "#/properties/a leads back to itself"),
        ({"$defs": {"T": options(t={"$ref": "#/$defs/T"})}, **options(a={"$ref": "#/$defs/T"})}, "back to itself"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_its_place(schema, text):
    with Engine() as engine, pytest.raises(EngineError) as caught:
        engine.register_component("acme/x", component(schema))
    assert str(caught.value).startswith("chain 'in': additionalInfo.inputSchema")
    assert text in str(caught.value)
    assert caught.value.hint


def test_the_form_and_the_schema_of_an_option_with_choices_have_them():
    with Engine() as engine:
        engine.register_component("acme/x", component(options(a={"enum": [1, 2]}, b={"anyOf": [{"type": "null"}]})))
        assert [one["value"] for one in engine.registry.form("acme/x")["fields"][0]["component"]["options"]] == [1, 2]
        assert {"enum": [1, 2], "type": "integer"} in engine.registry.schema("acme/x")["properties"]["a"]["anyOf"]
