"""A JSON Schema as somebody wrote it: its references put in, and what could not be checked refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from catenary.json_schema import TYPES, pattern_of
from catenary.jsontext import is_count, is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from catenary.jsontext import Json

    Schema = Mapping[str, Json]


class SchemaProblem(ValueError):  # noqa: N818 - what is wrong with a text of a user, as `errors.Problem` is
    """A part of a schema cannot be used.

    Args:
        text: What is wrong, and where in the schema.
        hint: What to do.
    """

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


def usable(schema: Schema) -> dict[str, Json]:
    """Give a schema with its references put in, all of which `json_schema.problems` looks at.

    Raises:
        SchemaProblem: When a part of it is wrong, or nobody would look at it.
    """
    whole = inlined(schema)
    for path, part in _parts(whole, ""):
        _check(part, path)
    return whole


def check_shape(schema: Schema) -> None:
    """Look at a schema whose references stay in it. Keywords that nobody looks at are let through.

    Raises:
        SchemaProblem: When a part of it is wrong, or a reference leads nowhere.
    """
    for path, part in _with_definitions(schema):
        _check(part, path, lets_through=True)
        if isinstance(address := part.get("$ref"), str):
            _at(schema, address)


def inlined(schema: Schema) -> dict[str, Json]:
    """Give a schema with its references into itself put in. Raises: SchemaProblem: when one leads nowhere, or back."""
    own = {key: part for key, part in schema.items() if key not in {"$defs", "definitions"}}
    return cast("dict[str, Json]", _inlined(own, schema, ()))


def _inlined(value: Json, root: Schema, passed: tuple[str, ...]) -> Json:
    if isinstance(value, list):
        return [_inlined(item, root, passed) for item in cast("list[Json]", value)]
    if not isinstance(value, dict):
        return value
    part = cast("Schema", value)
    address = part.get("$ref")
    if not isinstance(address, str):
        return {key: _inlined(item, root, passed) for key, item in part.items()}
    if address in passed:
        raise SchemaProblem(f"{address} leads back to itself", "it cannot be nested without end")
    found = _at(root, address)
    rest = {key: item for key, item in part.items() if key != "$ref"}
    merged = {**cast("Schema", found), **rest} if isinstance(found, dict) else found
    return _inlined(merged, root, (*passed, address))


def _at(root: Schema, address: str) -> Json:
    found: Any = root if address.startswith("#") else None
    for step in address.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = cast("Schema", found).get(name) if isinstance(found, dict) else None
    if found is None:
        raise SchemaProblem(f"{address} leads to nothing", "references look like #/$defs/NAME")
    return found


_ONE: Final = ("items", "additionalProperties", "not")
_SEVERAL: Final = ("anyOf", "oneOf", "allOf")


def _with_definitions(schema: Schema) -> Iterator[tuple[str, Schema]]:
    yield from _parts(schema, "")
    for key in ("$defs", "definitions"):
        named = schema.get(key)
        for name, part in cast("Schema", named).items() if isinstance(named, dict) else ():
            if isinstance(part, dict):
                yield from _parts(cast("Schema", part), f"{key}.{name}.")


def _parts(part: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Give a schema and all schemas in it, each with its place."""
    yield path, part
    named = part.get("properties")
    inner: list[tuple[str, Json]] = [(key, part[key]) for key in _ONE if key in part]
    for key in _SEVERAL:
        listed = part.get(key)
        inner += [(f"{key}.{n}", item) for n, item in enumerate(cast("list[Json]", listed))] if _is_list(listed) else []
    if isinstance(named, dict):
        inner += [(f"properties.{name}", item) for name, item in cast("Schema", named).items()]
    for name, item in inner:
        if not isinstance(item, dict | bool):
            raise SchemaProblem(f"{path}{name} must be a schema, not {item!r}")
        if isinstance(item, dict):
            yield from _parts(cast("Schema", item), f"{path}{name}.")


def _is_list(value: Json) -> bool:
    return isinstance(value, list) and bool(cast("list[Json]", value))


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Json]", value))


def _are_types(value: Json) -> bool:
    names = cast("list[Json]", value) if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPES for name in names)


_NUMBER: Final = (is_number, "a number")
_COUNT: Final = (is_count, "a whole number of 0 or more")
_LIST: Final = (_is_list, "a list that is not empty")
_KEYWORDS: Final[Mapping[str, tuple[Callable[[Json], bool], str]]] = {
    "type": (_are_types, f"one of {', '.join(TYPES)}, or a list of them"),
    "enum": _LIST,
    "properties": (lambda value: isinstance(value, dict), "a mapping of schemas"),
    "required": (_are_texts, "a list of names"),
    **dict.fromkeys(_SEVERAL, _LIST),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    "multipleOf": (lambda value: is_number(value) and cast("float", value) > 0, "a number above 0"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _COUNT),
    "pattern": (
        lambda value: isinstance(value, str) and pattern_of(value) is not None,
        "a regular expression without look-around and back-references",
    ),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
}
_NOT_CHECKED: Final = {
    *("if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas"),
    *("contains", "minContains", "maxContains", "prefixItems", "additionalItems", "unevaluatedItems"),
    *("patternProperties", "propertyNames", "unevaluatedProperties", "$dynamicRef", "$recursiveRef"),
}


def _check(part: Schema, path: str, *, lets_through: bool = False) -> None:
    for key, value in part.items():
        holds, expected = _KEYWORDS.get(key, (None, ""))
        if key in _NOT_CHECKED and not lets_through:
            raise SchemaProblem(f"{path}{key} would not be looked at", f"these are: {', '.join((*_KEYWORDS, *_ONE))}")
        if holds is not None and not holds(value):
            raise SchemaProblem(f"{path}{key} must be {expected}, not {value!r}")
