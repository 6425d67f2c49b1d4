"""Check a JSON value against a JSON Schema: the keywords in common use, with texts people and models can act on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from catenary.jsontext import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from catenary.jsontext import Json

_IS_OF_TYPE: Mapping[str, Callable[[Json], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}
# keyword -> (what it measures, whether the measure is good, what is said when it is not)
_LIMITS: Mapping[str, tuple[str, Callable[[float, float], bool], str]] = {
    "minimum": ("number", lambda size, limit: size >= limit, "must be at least {}"),
    "maximum": ("number", lambda size, limit: size <= limit, "must be at most {}"),
    "exclusiveMinimum": ("number", lambda size, limit: size > limit, "must be more than {}"),
    "exclusiveMaximum": ("number", lambda size, limit: size < limit, "must be less than {}"),
    "minLength": ("string", lambda size, limit: size >= limit, "must have at least {} characters"),
    "maxLength": ("string", lambda size, limit: size <= limit, "must have at most {} characters"),
    "minItems": ("array", lambda size, limit: size >= limit, "must have at least {} items"),
    "maxItems": ("array", lambda size, limit: size <= limit, "must have at most {} items"),
}


def problems(value: Json, schema: Json, place: str = "", *, unknown: str = "is not known here") -> Iterator[str]:
    """Tell what is wrong with a value, one text a problem; nothing when it fits.

    Known keywords: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `anyOf`,
    `oneOf`, `allOf`, and limits of numbers and lengths. Any other keyword lets everything pass.

    Args:
        value: The value.
        schema: The schema; `True` and what is no object allow everything, `False` nothing.
        place: Where the value stands, such as `items[2].name`; empty at the top.
        unknown: What is said of a key that `additionalProperties` forbids.
    """
    if not isinstance(schema, dict):
        if schema is False:
            yield f"{place or 'the value'} is not allowed"
        return
    rules = cast("Mapping[str, Json]", schema)
    wrong_type = _type_problem(value, rules.get("type"))
    if wrong_type:
        yield f"{place or 'the value'} {wrong_type}"
        return
    yield from _value_problems(value, rules, place)
    if isinstance(value, dict):
        yield from _object_problems(cast("Mapping[str, Json]", value), rules, place, unknown)
    if isinstance(value, list):
        for index, item in enumerate(cast("list[Json]", value)):
            yield from problems(item, rules.get("items", True), f"{place}[{index}]", unknown=unknown)
    yield from _choice_problems(value, rules, place, unknown)


def _type_problem(value: Json, wanted: Json) -> str:
    names = cast("list[Json]", wanted) if isinstance(wanted, list) else [wanted]
    known = [name for name in names if isinstance(name, str) and name in _IS_OF_TYPE]
    if not known or any(_IS_OF_TYPE[name](value) for name in known):
        return ""
    given = next(name for name, holds in _IS_OF_TYPE.items() if holds(value))
    return f"must be of type {' or '.join(known)}, not {given}"


def _value_problems(value: Json, rules: Mapping[str, Json], place: str) -> Iterator[str]:
    name = place or "the value"
    choices = rules.get("enum")
    if isinstance(choices, list) and not any(_same(value, choice) for choice in cast("list[Json]", choices)):
        yield f"{name} must be one of {', '.join(dumps(choice) for choice in cast('list[Json]', choices))}"
    if "const" in rules and not _same(value, rules["const"]):
        yield f"{name} must be {dumps(rules['const'])}"
    for keyword, (kind, holds, text) in _LIMITS.items():
        limit = rules.get(keyword)
        if isinstance(limit, int | float) and _IS_OF_TYPE[kind](value):
            size = value if kind == "number" else len(value)
            if math.isnan(size) or not holds(size, limit):
                yield f"{name} {text.format(limit)}"


def _same(one: Json, other: Json) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _object_problems(value: Mapping[str, Json], rules: Mapping[str, Json], place: str, unknown: str) -> Iterator[str]:
    known = rules.get("properties")
    properties: Mapping[str, Json] = cast("Mapping[str, Json]", known) if isinstance(known, dict) else {}
    prefix = f"{place}." if place else ""
    for name in cast("list[str]", rules.get("required") or []):
        if name not in value:
            yield f"{prefix}{name} is required"
    others = rules.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from problems(item, properties[name], f"{prefix}{name}", unknown=unknown)
        elif others is False:
            yield f"{prefix}{name} {unknown}"
        else:
            yield from problems(item, others, f"{prefix}{name}", unknown=unknown)


def _choice_problems(value: Json, rules: Mapping[str, Json], place: str, unknown: str) -> Iterator[str]:
    for part in cast("list[Json]", rules.get("allOf") or []):
        yield from problems(value, part, place, unknown=unknown)
    for keyword in ("anyOf", "oneOf"):
        options = cast("list[Json]", rules.get(keyword) or [])
        tried = [list(problems(value, option, place, unknown=unknown)) for option in options]
        if tried and all(tried):
            yield " or ".join(found[0] for found in tried)
        elif keyword == "oneOf" and sum(not found for found in tried) > 1:
            yield f"{place or 'the value'} fits more than one of the forms it may have"
