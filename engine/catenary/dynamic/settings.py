"""The options of a component that is a chain: from its `inputSchema`, else from the variables that it reads."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self, cast

from pydantic import BeforeValidator, ConfigDict, ValidationInfo, create_model, model_validator

from catenary.component import Config, option
from catenary.dynamic.schema import limits_of, readable
from catenary.json_schema import problems
from catenary.jsontext import Json  # noqa: TC001 - pydantic reads it
from catenary.load.decode import dsl_name
from catenary.load.form import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catenary.definition import ChainDefinition

_VARIABLE: Final = re.compile(r"\$\{[^{}]*?\bvars\.([A-Za-z_][A-Za-z0-9_]*)")
_KINDS: Final[Mapping[str, Any]] = {"string": str, "integer": int, "number": float, "boolean": bool}


class ChainConfig(Config):
    """Base of the settings of components that are chains.

    Attributes:
        schema_of_chain: The `inputSchema`, which holds for all options together.
    """

    schema_of_chain: ClassVar[dict[str, Json]] = {}

    @model_validator(mode="before")
    @classmethod
    def _take_variables(cls, given: Any, info: ValidationInfo) -> Any:
        """Take options that are absent from the variables of the chain that the node is in."""
        context = cast("dict[str, Any]", info.context or {})
        environment = context.get("environment")
        if environment is None or not isinstance(given, dict):
            return given
        options = cast("dict[str, Any]", given)
        host = {
            name: environment.vars[dsl_name(name, field)]
            for name, field in cls.model_fields.items()
            if name not in options and dsl_name(name, field) in environment.vars
        }
        return {**host, **options}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Look at what the fields say nothing of, such as `const` and `anyOf`."""
        wrong = next(problems(self.variables, self.schema_of_chain), None)
        if wrong is not None:
            raise ValueError(f"does not fit: {wrong}")
        return self

    @property
    def variables(self) -> dict[str, Json]:
        """The options as variables: those with a value, by the names that chains have for them."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class OpenChainConfig(ChainConfig):
    """Base of settings to which a node may add options that nobody knows of."""

    model_config = ConfigDict(extra="allow")


def config_of(definition: ChainDefinition) -> type[ChainConfig]:
    """Make the settings of a chain that is a component.

    Raises:
        EngineError: When its `inputSchema` is no schema of an object, or cannot be used.
    """
    given = definition.additional_info.get("inputSchema")
    if given is None:
        return _guessed(definition)
    schema = readable(given, f"chain {definition.id!r}: additionalInfo.inputSchema")
    is_open = schema.get("additionalProperties") is True
    made = _model("Options", schema, OpenChainConfig if is_open else ChainConfig)
    made.schema_of_chain = schema
    return made


def _guessed(definition: ChainDefinition) -> type[ChainConfig]:
    """Make an option of each variable that the nodes read, with the chain's own value as default."""
    names = dict.fromkeys(name for node in definition.nodes for name in _variables_in(node.configuration))
    own: Mapping[str, Any] = chain_variables(definition)
    fields: dict[str, Any] = {}
    for index, name in enumerate(names):
        default = own.get(name)
        kind: Any = type(default) if isinstance(default, (bool, int, float, str)) else Any
        fields[f"option_{index}"] = (
            kind,
            option(default, help=f"What the chain reads as `${{vars.{name}}}`.", label=words(name), alias=name),
        )
    return create_model("Options", __base__=OpenChainConfig, **fields)


def chain_variables(definition: ChainDefinition) -> Mapping[str, Json]:
    """Give the variables of a chain."""
    from catenary.load import chain_settings

    return chain_settings(definition).vars


def _variables_in(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield from _VARIABLE.findall(value)
    elif isinstance(value, dict):
        for item in cast("dict[str, Json]", value).values():
            yield from _variables_in(item)
    elif isinstance(value, list):
        for item in cast("list[Json]", value):
            yield from _variables_in(item)


def _model(name: str, schema: dict[str, Json], base: type[Config]) -> Any:
    required = cast("list[str]", schema.get("required") or [])
    properties = cast("dict[str, dict[str, Json]]", schema.get("properties") or {})
    properties = {**properties, **{name: {} for name in required if name not in properties}}
    fields: dict[str, Any] = {}
    for index, (key, part) in enumerate(properties.items()):
        kind = _kind(part, f"{name}{index}")
        needed = key in required and "default" not in part
        about: dict[str, Any] = {
            "help": str(part.get("description") or part.get("title") or words(key)),
            "label": str(part.get("title") or words(key)),
            "alias": key,
            "examples": part.get("examples") if isinstance(part.get("examples"), list) else None,
            "secret": part.get("format") == "password" or part.get("writeOnly") is True,
            **limits_of(part),
        }
        default = ... if needed else part.get("default")
        is_optional = not needed and default is None
        fields[f"option_{index}"] = (kind | None if is_optional else kind, option(default, **about))
    return create_model(name, __base__=base, **fields)


def _chosen(choices: list[Json], value: Json) -> Json:
    """Give the choice that a text stands for, such as 1 for `"1"`; else the value itself."""
    return next((one for one in choices if str(one) == value), value)


def _kind(schema: dict[str, Json], name: str) -> Any:
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(one, str | int) for one in cast("list[Any]", choices)):
        return Annotated[Literal[tuple(cast("list[Any]", choices))], BeforeValidator(partial(_chosen, choices))]
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        return list[_kind(cast("dict[str, Json]", items), name) if isinstance(items, dict) else Any]
    if kind == "object":
        return _model(name, schema, Config) if schema.get("properties") else dict[str, Any]
    return _KINDS.get(str(kind), Any)
