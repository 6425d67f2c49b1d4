"""Forms and JSON Schema: what editors get to know about components and chains."""

from __future__ import annotations

import json

from catenary.component import Component, Config, option, register
from catenary.load.form import form, words
from catenary.load.schema import chain_schema, config_schema


class AgedConfig(Config):
    """Settings with an option of former times."""

    period: int = option(0, help="How long.", deprecated="use `wait`")


@register("t/aged", category="test")
class Aged(Component[AgedConfig]):
    """Do nothing."""


def fields(registry, kind):
    return {field["name"]: field for field in registry.form(kind)["fields"]}


def test_form_describes_the_component(registry):
    shown = registry.form("t/filter")
    del shown["fields"]
    assert shown == {
        "type": "t/filter",
        "aliases": ["t/f"],
        "category": "filter",
        "label": "Filter",
        "desc": "Pass what holds.",
        "icon": "",
        "order": 0,
        "version": "0.1",
        "disabled": False,
        "componentKind": "nc",
        "relationTypes": ["True", "False", "Failure"],
        "router": None,
    }


def test_form_of_free_relations_lists_none(registry):
    assert registry.form("switch")["relationTypes"] == []
    assert registry.form("end")["relationTypes"] == []


def test_form_of_an_endpoint_says_so(registry):
    assert registry.form("endpoint/call")["componentKind"] == "ec"


def test_label_is_the_one_registered(registry):
    assert registry.form("join")["label"] == "Bring together"


def test_fields_have_kind_default_and_help(registry):
    assert fields(registry, "t/filter")["limit"] == {
        "name": "limit",
        "type": "int",
        "defaultValue": 10,
        "label": "Limit",
        "desc": "How many.",
        "validate": "",
        "rules": [{"type": "number", "min": 1, "message": "Must be at least 1"}],
        "fields": [],
        "component": None,
        "required": False,
        "ref": "",
        "group": "",
        "unit": "messages",
    }


def test_required_field_has_a_rule(registry):
    field = fields(registry, "endpoint/call")["restEndpointUrl"]
    assert field["required"] is True
    assert field["defaultValue"] is None
    assert field["rules"] == [{"required": True, "message": "This field is required"}]
    assert field["label"] == "Rest endpoint url"


def test_kinds_of_fields(registry):
    kinds = {
        name: field["type"] for kind in ("t/filter", "endpoint/call") for name, field in fields(registry, kind).items()
    }
    assert kinds == {
        "test": "string",
        "text": "string",
        "script": "string",
        "limit": "int",
        "mode": "string",
        "parts": "array",
        "password": "string",
        "restEndpointUrl": "string",
        "method": "string",
        "headers": "map",
        "names": "array",
        "rate": "float",
        "on": "bool",
        "part": "struct",
        "thing": "string",
        "anything": "string",
    }


def test_controls_of_fields(registry):
    shown = fields(registry, "t/filter")
    assert shown["test"]["component"] == {"type": "codeEditor", "language": "expr"}
    assert shown["script"]["component"] == {"type": "codeEditor", "language": "javascript"}
    assert [choice["value"] for choice in shown["mode"]["component"]["options"]] == ["fast", "slow"]
    assert shown["password"]["component"] == {"type": "password"}
    assert shown["limit"]["component"] is None


def test_nested_settings_have_fields_of_their_own(registry):
    assert [field["name"] for field in fields(registry, "t/filter")["parts"]["fields"]] == ["deep", "weight"]


def test_deprecated_option_says_so_in_form_and_schema():
    field = next(field for field in form(Aged)["fields"] if field["name"] == "period")
    assert field["desc"] == "How long. Deprecated: use `wait`."
    option_ = config_schema(Aged)["properties"]["period"]
    assert (option_["deprecated"], option_["description"]) == (True, "How long.")
    assert "Deprecated: use `wait`." in option_["markdownDescription"]


def test_words_of_names():
    assert words("restApiCall") == "Rest api call"
    assert words("base_url") == "Base url"


def test_schema_of_a_configuration_is_json(registry):
    schema = registry.schema("t/filter")
    assert json.loads(json.dumps(schema)) == schema
    assert schema["title"] == "Configuration of t/filter"


def test_option_in_the_schema_has_all_that_an_editor_shows(registry):
    option = registry.schema("t/filter")["properties"]["limit"]
    assert option["default"] == 10
    assert option["description"] == "How many."
    assert option["markdownDescription"] == "How many.\n\nUnit: messages.\n\nDefault: `10`."
    assert option["x-unit"] == "messages"
    assert option["anyOf"][0] == {"type": "integer", "minimum": 1}


def test_examples_are_in_the_schema(registry):
    assert registry.schema("t/filter")["properties"]["test"]["examples"] == ["msg.t > 30"]


def test_other_names_are_in_the_schema(registry):
    properties = registry.schema("t/filter")["properties"]
    assert properties["max"]["description"] == "Another name for `limit`."


def test_required_option_may_be_given_by_another_name(registry):
    schema = registry.schema("endpoint/call")
    assert schema["required"] == ["method"]
    assert schema["allOf"] == [{"anyOf": [{"required": ["restEndpointUrl"]}, {"required": ["url"]}]}]


def test_option_without_a_json_form_may_be_anything(registry):
    assert registry.schema("endpoint/call")["properties"]["thing"]["anyOf"][0] == {}


def test_default_of_a_secret_is_not_shown(registry):
    assert "x-secret" not in registry.schema("t/filter")["properties"]["password"]


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_every_reference_of_the_chain_schema_leads_somewhere(registry):
    schema = registry.chain_schema()
    names = set(references(schema))
    assert names
    assert all(name.removeprefix("#/$defs/") in schema["$defs"] for name in names)
    assert {"#/$defs/node-t-filter-Part", "#/$defs/node-t-filter-Deep"} <= names


def test_node_is_one_of_the_components(registry):
    schema = registry.chain_schema()
    nodes = [name for name in registry.types() if not registry.is_endpoint(registry.get(name))]
    assert len(schema["$defs"]["node"]["oneOf"]) == len(nodes)
    node = schema["$defs"]["node-t-filter"]
    assert node["properties"]["type"]["enum"] == ["t/filter", "t/f"]
    assert node["markdownDescription"] == "Pass what holds.\n\nA longer text about it."
    assert node["x-relations"][0] == {"name": "True", "description": "The condition holds."}
    assert node["required"] == ["type"]
    assert schema["$defs"]["node-endpoint-call"]["required"] == ["type", "configuration"]


def test_an_endpoint_is_one_of_the_endpoints(registry):
    schema = registry.chain_schema()
    assert schema["$defs"]["endpoint"]["oneOf"] == [{"$ref": "#/$defs/endpoint-bell"}]
    bell = schema["$defs"]["endpoint-bell"]
    assert bell["properties"]["type"]["enum"] == ["bell", "endpoint/bell"]
    assert "x-relations" not in bell
    router = schema["$defs"]["router"]
    assert list(router["properties"]) == ["id", "params", "from", "to", "additionalInfo"]


def test_the_form_of_an_endpoint_has_the_fields_of_a_router(registry):
    form = registry.form("endpoint/bell")
    assert (form["componentKind"], form["relationTypes"]) == ("ec", [])
    assert [field["name"] for field in form["router"]] == ["id", "params", "from", "to", "additionalInfo"]
    assert registry.form("pass")["router"] is None


def test_schema_without_components_takes_any_node():
    assert chain_schema([])["$defs"]["node"] == {"type": "object"}


class Tree(Config):
    """Settings that hold settings of their own kind."""

    size: int = option(1, help="How big.")
    branches: list[Tree] = option([], help="What grows on it.")


class Forest(Component[Tree]):
    """Hold trees."""


def test_schema_of_settings_inside_themselves(registry):
    register("forest", category="x")(Forest)
    schema = registry.schema("forest")
    assert schema["properties"]["branches"]["anyOf"][0]["items"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["size"]["title"] == "Size"
    assert "#/$defs/node-forest-Tree" in set(references(registry.chain_schema()))


def test_form_and_schema_of_a_component_without_options(registry):
    assert form(registry.get("pass"))["fields"] == []
    assert config_schema(registry.get("pass"))["properties"] == {}


def test_a_form_has_every_key_that_editors_of_the_field_read(registry):
    shown = registry.form("t/filter")
    assert set(shown) == {
        "type", "aliases", "category", "order", "fields", "label", "desc", "icon", "relationTypes", "disabled",
        "version", "componentKind", "router",
    }  # fmt: skip
    keys = {
        "name", "type", "defaultValue", "label", "desc", "validate", "rules", "fields", "component", "required", "ref",
        "group", "unit",
    }  # fmt: skip
    assert all(set(field) == keys for field in shown["fields"])
