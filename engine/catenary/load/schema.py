"""JSON Schema: of a component's configuration, and of the whole chain language for editors."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from pydantic.json_schema import GenerateJsonSchema

from catenary.component import Config, info_of
from catenary.load.decode import dsl_name, extra_of, members, other_names
from catenary.load.form import default_of, deprecation_of, label_of, summary, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic.fields import FieldInfo

    from catenary.component import Component
    from catenary.jsontext import Json

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLACEHOLDER: Final = r"\$\{.*\}"
_TEXT: Final[dict[str, Json]] = {"type": "string"}
_FREE: Final[dict[str, Json]] = {"type": "object"}
_AS_TEXT: Final = {
    "integer": rf"^\s*[-+]?[0-9]+(\.0*)?\s*$|{_PLACEHOLDER}",
    "number": rf"^\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*$|{_PLACEHOLDER}",
    "boolean": rf"^([Tt]rue|[Ff]alse|TRUE|FALSE|0|1)$|{_PLACEHOLDER}",
}


class _Generator(GenerateJsonSchema):
    """Gives an open schema to what has none of its own: templates, expressions and scripts are texts or any value."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:  # noqa: ARG002
        return {}

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Say nothing: a default that is not JSON is left out."""


def config_schema(component: type[Component[Any]]) -> dict[str, Json]:
    """Give the JSON Schema of a component's configuration.

    It takes what loading takes: placeholders in place of any value, numbers as texts, one value for a list of one,
    and the other names of an option. Keys in another case are the exception.
    """
    definitions: dict[str, Json] = {}
    schema = _config(component.config_type(), definitions, "")
    info = info_of(component)
    head: dict[str, Json] = {"$schema": _DIALECT, "title": f"Configuration of {info.type}"}
    return {**head, **schema, **({"$defs": definitions} if definitions else {})}


def _config(config_type: type[Config], definitions: dict[str, Json], prefix: str) -> dict[str, Json]:
    """Give the schema of a `Config`; those inside it are put into `definitions`."""
    generated = config_type.model_json_schema(
        by_alias=True, schema_generator=_Generator, ref_template=f"#/$defs/{prefix}{{model}}"
    )
    inner = generated.pop("$defs", {})
    if "$ref" in generated:  # settings that hold settings of their own kind
        generated = inner[generated["$ref"].rpartition("/")[2].removeprefix(prefix)]
    configs = _configs_in(config_type)
    for name, definition in inner.items():
        definitions[prefix + name] = _finished(configs[name], definition) if name in configs else definition
    return _finished(config_type, generated)


def _configs_in(config_type: type[Config]) -> dict[str, type[Config]]:
    """Give the `Config`s used in a `Config`, at any depth, by class name."""
    found: dict[str, type[Config]] = {}
    waiting: list[Any] = [field.annotation for field in config_type.model_fields.values()]
    while waiting:
        for kind in members(waiting.pop()):
            waiting.extend(get_args(kind))
            if isinstance(kind, type) and issubclass(kind, Config) and kind.__name__ not in found:
                found[kind.__name__] = kind
                waiting.extend(field.annotation for field in kind.model_fields.values())
    return found


def _finished(config_type: type[Config], generated: dict[str, Json]) -> dict[str, Json]:
    """Make the schema that pydantic gives as lenient as decoding is, and put in what editors show."""
    schema: dict[str, Json] = {"type": "object", "properties": {}}
    required: list[str] = []
    choices: list[Json] = []
    for name, field in config_type.model_fields.items():
        key = dsl_name(name, field)
        option = _option(name, field, dict(generated["properties"][key]))
        others = other_names(field)
        schema["properties"][key] = option
        for other in others:
            text = f"Another name for `{key}`."
            schema["properties"][other] = {**option, "description": text, "markdownDescription": text}
        if field.is_required() and others:
            choices.append({"anyOf": [{"required": [one]} for one in (key, *others)]})
        elif field.is_required():
            required.append(key)
    if required:
        schema["required"] = required
    if choices:
        schema["allOf"] = choices
    return schema


def _option(name: str, field: FieldInfo, generated: dict[str, Json]) -> dict[str, Json]:
    for key in [key for key in generated if key in {"title", "description", "default", "examples"} or key[:2] == "x-"]:
        del generated[key]
    unit, text = extra_of(field, "unit"), field.description or ""
    shown = [text, f"Unit: {unit}." if unit else "", deprecation_of(field)]
    option: dict[str, Json] = {"title": extra_of(field, "label") or words(name), "description": text}
    if not field.is_required():
        option["default"] = default_of(field)
        shown.append(f"Default: `{default_of(field)!r}`." if default_of(field) not in ("", None) else "")
    if field.examples:
        option["examples"] = list(field.examples)
    option["markdownDescription"] = "\n\n".join(part for part in shown if part)
    if deprecation_of(field):
        option["deprecated"] = True
    option |= {f"x-{key}": extra_of(field, key) for key in ("unit",) if extra_of(field, key)}
    return {**option, **_lenient(_typed(field, generated), required=field.is_required())}


def _typed(field: FieldInfo, generated: dict[str, Json]) -> dict[str, Json]:
    """Name the kind of an expression or a script, which is text always."""
    from catenary.expr import Expression, PythonExpression, Script

    return dict(_TEXT) if members(field.annotation)[0] in {Expression, PythonExpression, Script} else generated


def _lenient(schema: dict[str, Json], *, required: bool) -> dict[str, Json]:
    """Allow what decoding takes besides: texts for numbers, placeholders, one value for a list, null for absent."""
    kind = schema.get("type")
    if not schema:
        return {}
    if kind == "string" and "enum" not in schema and "const" not in schema:
        ways: list[Json] = [{**schema, "type": ["string", "number", "boolean"]}]
    else:
        pattern = _AS_TEXT.get(str(kind), _PLACEHOLDER)
        ways = [*schema.get("anyOf", [schema]), {"type": "string", "pattern": pattern}]
    if kind == "array":
        ways.append({"not": {"type": ["array", "null"]}})
    if kind == "boolean":
        ways.append({"enum": [0, 1]})
    if not required and {"type": "null"} not in ways:
        ways.append({"type": "null"})
    return {"anyOf": ways} if len(ways) > 1 else cast("dict[str, Json]", ways[0])


def chain_schema(components: Sequence[type[Component[Any]]]) -> dict[str, Json]:
    """Give the JSON Schema of the chain language, in which a node is one of these components."""
    definitions: dict[str, Json] = {"connection": _connection("node"), "nodeKeys": _node_keys()}
    definitions["chainConnection"] = _connection("chain")
    nodes = [component for component in components if not component.brings_in]
    endpoints = [component for component in components if component.brings_in]
    definitions["node"] = _one_of("node", nodes, definitions, _node)
    definitions["endpointKeys"] = _endpoint_keys(definitions)
    definitions["endpoint"] = _one_of("endpoint", endpoints, definitions, _endpoint)
    return {
        "$schema": _DIALECT,
        "title": "A rule chain",
        "description": "Nodes wired by typed relations; messages travel along them.",
        "type": "object",
        "properties": {"ruleChain": _head(definitions), "metadata": _body()},
        "$defs": definitions,
    }


def _one_of(
    kind: str,
    components: Sequence[type[Component[Any]]],
    definitions: dict[str, Json],
    define: Callable[[type[Component[Any]], dict[str, Json], str], dict[str, Json]],
) -> dict[str, Json]:
    """Define each of these components, and give what takes any of them."""
    names: list[str] = []
    for component in components:
        names.append(f"{kind}-{info_of(component).type.removeprefix(f'{kind}/').replace('/', '-')}")
        definitions[names[-1]] = define(component, definitions, f"{names[-1]}-")
    return {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in names]} if names else dict(_FREE)


def _endpoint(component: type[Component[Any]], definitions: dict[str, Json], prefix: str) -> dict[str, Json]:
    """Give the schema of an endpoint, whose type may leave out `endpoint/`."""
    node = _node(component, definitions, prefix)
    names: list[str] = node["properties"]["type"]["enum"]
    node["properties"]["type"]["enum"] = list(
        dict.fromkeys(n for one in names for n in (one.removeprefix("endpoint/"), one))
    )
    node["properties"]["configuration"]["description"] = f"Settings of the `{names[0]}` endpoint."
    kept = {key: part for key, part in node.items() if not key.startswith("x-")}
    return {**kept, "allOf": [{"$ref": "#/$defs/endpointKeys"}], "x-category": info_of(component).category}


def _endpoint_keys(definitions: dict[str, Json]) -> dict[str, Json]:
    from catenary.load.endpoints import RouterConfig

    definitions["router"] = _config(RouterConfig, definitions, "router-")
    routers: dict[str, Json] = {"type": "array", "items": {"$ref": "#/$defs/router"}}
    names: dict[str, Json] = {"type": "array", "items": dict(_TEXT)}
    return {
        "type": "object",
        "properties": {
            "id": _described("Unique in the chain; `endpoint<index>` when it is absent.", _TEXT),
            "type": _described("The component of the endpoint.", _TEXT),
            "name": _described("For display.", _TEXT, default=""),
            "debugMode": _described("Whether its runs are in debug mode.", {"type": "boolean"}, default=False),
            "configuration": _described("The settings of the endpoint.", _FREE),
            "additionalInfo": _described("Editor data, such as `description`, `layoutX`, `layoutY`.", _FREE),
            "processors": _described("Names of what is called with each message, before its router's.", names),
            "routers": _described("Which message goes where.", routers),
        },
    }


def _node(component: type[Component[Any]], definitions: dict[str, Json], prefix: str) -> dict[str, Json]:
    info = info_of(component)
    configuration = _config(component.config_type(), definitions, prefix)
    needs = ["type", "configuration"] if {"required", "allOf"} & configuration.keys() else ["type"]
    return {
        "title": label_of(component),
        "description": summary(component),
        "markdownDescription": inspect.getdoc(component) or "",
        "allOf": [{"$ref": "#/$defs/nodeKeys"}],
        "properties": {
            "type": {"enum": [info.type, *info.aliases], "description": summary(component)},
            "configuration": {"description": f"Settings of the `{info.type}` node.", **configuration},
        },
        "required": needs,
        "x-category": info.category,
        "x-relations": [{"name": str(relation), "description": relation.help} for relation in component.relations],
        "x-free-relations": component.free_relations or not component.relations,
    }


def _described(text: str, schema: dict[str, Json], **more: Json) -> dict[str, Json]:
    return {"description": text, **schema, **more}


def _node_keys() -> dict[str, Json]:
    duration: dict[str, Json] = {"type": ["number", "string"]}
    retry = {
        "maxRetries": _described("Runs after the first one.", {"type": "integer", "minimum": 0}, default=3),
        "delay": _described(
            "The wait before the first retry; seconds, or a text such as '500ms'.", duration, default=1
        ),
        "maxDelay": _described("The longest wait; seconds, or a text.", duration, default=30),
        "backoff": _described("By what each wait is longer than the one before.", {"type": "number"}, default=2),
        "jitter": _described("The part of a wait added at random, 0 to 1.", {"type": "number"}, default=0.1),
    }
    flag: dict[str, Json] = {"type": "boolean"}
    return {
        "type": "object",
        "properties": {
            "id": _described("Unique in the chain; `node<index>` when it is absent.", _TEXT),
            "type": _described("The component.", _TEXT),
            "name": _described("For display.", _TEXT, default=""),
            "debugMode": _described("Whether the node reports what goes in and out.", flag, default=False),
            "configuration": _described("The component's settings.", _FREE),
            "additionalInfo": _described("Editor data, such as `description`, `layoutX`, `layoutY`.", _FREE),
            "timeout": _described("How long one visit may take: seconds, or a text such as '5s'.", duration),
            "templates": _described(
                "Whether a part of a template that fails makes the node fail; absent: the chain decides.",
                {"enum": ["strict", "lenient"]},
            ),
            "retry": {
                "description": "How a node that failed is run again: a number of retries, or the policy.",
                "anyOf": [{"type": "integer", "minimum": 0}, {"type": "object", "properties": retry}],
            },
        },
    }


def _connection(target: str) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {
            "fromId": _described("The node that the messages leave.", _TEXT),
            "toId": _described(f"The {target} that they go to.", _TEXT),
            "type": _described("The relation by which they leave; upper and lower case count.", _TEXT),
            "label": _described("For display.", _TEXT),
        },
        "required": ["fromId", "toId"],
    }


def _head(definitions: dict[str, Json]) -> dict[str, Json]:
    from catenary.load.settings import ChainSettings

    settings = _config(ChainSettings, definitions, "chain-")
    flag: dict[str, Json] = {"type": "boolean"}
    return {
        "type": "object",
        "properties": {
            "id": _described("The chain's name for programs.", _TEXT),
            "name": _described("The chain's name for people.", _TEXT),
            "root": _described("Whether the chain may have endpoints; absent: it may.", flag),
            "debugMode": _described("Whether every node reports what goes in and out.", flag, default=False),
            "disabled": _described("A disabled chain cannot be loaded.", flag, default=False),
            "configuration": _described("Variables and settings of the chain.", settings),
            "additionalInfo": _described("Free; for editors and hosts.", _FREE),
        },
    }


def _body() -> dict[str, Json]:
    def items(name: str) -> dict[str, Json]:
        return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}

    index: dict[str, Json] = {"type": "integer", "minimum": 0}
    return {
        "type": "object",
        "properties": {
            "firstNodeIndex": _described("Index of the node that messages enter by.", index, default=0),
            "nodes": _described("The nodes of the chain.", items("node")),
            "connections": _described("What follows which node, by which relation.", items("connection")),
            "endpoints": _described("What brings messages into the chain.", items("endpoint")),
            "ruleChainConnections": _described("Connections from a node to a whole chain.", items("chainConnection")),
        },
    }
