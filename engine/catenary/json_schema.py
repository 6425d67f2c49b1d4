"""Check a JSON value against a JSON Schema: the keywords in common use, with texts people and models can act on."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from catenary.jsontext import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
TYPES: Final = tuple(_IS_OF_TYPE)
"""The names of types that there are."""


def _is_multiple(size: float, step: float) -> bool:
    """Tell whether a number is a multiple of another, by their decimal digits: 0.3 is one of 0.1."""
    return step > 0 and math.isfinite(size) and Fraction(str(size)) % Fraction(str(step)) == 0


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
    "minProperties": ("object", lambda size, limit: size >= limit, "must have at least {} keys"),
    "maxProperties": ("object", lambda size, limit: size <= limit, "must have at most {} keys"),
    "multipleOf": ("number", _is_multiple, "must be a multiple of {}"),
}


def problems(value: Json, schema: Json, place: str = "", *, unknown: str = "is not known here") -> Iterator[str]:
    """Tell what is wrong with a value, one text a problem; nothing when it fits.

    Known keywords: `type`, `enum`, `const`, `properties`, `patternProperties`, `propertyNames`, `required`,
    `dependentRequired`, `additionalProperties`, `items`, `prefixItems`, `contains`, `anyOf`, `oneOf`, `allOf`, `not`,
    `if`, `pattern`, `multipleOf`, `uniqueItems`, and limits of numbers and lengths. Any other keyword lets everything
    pass.

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
        yield from _list_problems(cast("list[Json]", value), rules, place, unknown)
    yield from _choice_problems(value, rules, place, unknown)


@lru_cache(maxsize=256)
def pattern_of(text: str) -> SchemaValidator | None:
    """Give what checks a text against a regular expression in linear time; `None` when it is none it can do."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=text))
    except SchemaError:
        return None


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
    if isinstance(choices, list) and not any(same(value, choice) for choice in cast("list[Json]", choices)):
        yield f"{name} must be one of {', '.join(dumps(choice) for choice in cast('list[Json]', choices))}"
    if "const" in rules and not same(value, rules["const"]):
        yield f"{name} must be {dumps(rules['const'])}"
    for keyword, (kind, holds, text) in _LIMITS.items():
        limit = rules.get(keyword)
        if isinstance(limit, int | float) and _IS_OF_TYPE[kind](value):
            size = value if kind == "number" else len(value)
            if math.isnan(size) or not holds(size, limit):
                yield f"{name} {text.format(limit)}"
    pattern = rules.get("pattern")
    if isinstance(pattern, str) and isinstance(value, str) and not _matches(value, pattern):
        yield f"{name} must match {pattern}"
    if rules.get("uniqueItems") is True and isinstance(value, list):
        items = cast("list[Json]", value)
        if len({dumps(_plain(item)) for item in items}) < len(items):
            yield f"{name} must not have the same item twice"


def same(one: Json, other: Json) -> bool:
    """Tell whether two JSON values are equal; `true` is not 1, wherever it stands."""
    if one != other or isinstance(one, bool) != isinstance(other, bool):
        return False
    return not isinstance(one, list | dict) or dumps(_plain(one)) == dumps(_plain(other))


def _plain(value: Json) -> Json:
    """Give a value in which 1.0 is written as 1."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in cast("dict[str, Json]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Json]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _matches(value: str, pattern: str) -> bool:
    validator = pattern_of(pattern)
    try:
        return validator is None or bool(validator.validate_python(value) or True)
    except ValidationError:
        return False


def _object_problems(value: Mapping[str, Json], rules: Mapping[str, Json], place: str, unknown: str) -> Iterator[str]:
    known = rules.get("properties")
    properties: Mapping[str, Json] = cast("Mapping[str, Json]", known) if isinstance(known, dict) else {}
    prefix = f"{place}." if place else ""
    for name in cast("list[str]", rules.get("required") or []):
        if name not in value:
            yield f"{prefix}{name} is required"
    for name, needed in _mapping(rules.get("dependentRequired")).items():
        missing = [one for one in cast("list[str]", needed or []) if one not in value] if name in value else []
        yield from (f"{prefix}{one} is required beside {name}" for one in missing)
    others, names = rules.get("additionalProperties", True), rules.get("propertyNames", True)
    patterns = _mapping(rules.get("patternProperties"))
    for name, item in value.items():
        parts = [properties[name]] if name in properties else []
        parts += [part for pattern, part in patterns.items() if _matches(name, pattern)]
        if names is not True:
            yield from problems(name, names, f"the key {prefix}{name}", unknown=unknown)
        if not parts and others is False:
            yield f"{prefix}{name} {unknown}"
            continue
        for part in parts or [others]:
            yield from problems(item, part, f"{prefix}{name}", unknown=unknown)


def _mapping(value: Json) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else {}


def _list_problems(items: Sequence[Json], rules: Mapping[str, Json], place: str, unknown: str) -> Iterator[str]:
    first = rules.get("prefixItems")
    parts = cast("list[Json]", first) if isinstance(first, list) else []
    for index, item in enumerate(items):
        part = parts[index] if index < len(parts) else rules.get("items", True)
        yield from problems(item, part, f"{place}[{index}]", unknown=unknown)
    if "contains" not in rules:
        return
    count = sum(next(problems(item, rules["contains"]), None) is None for item in items)
    least, most = rules.get("minContains", 1), rules.get("maxContains")
    if isinstance(least, int) and count < least:
        yield f"{place or 'the value'} must have at least {least} items that fit what it has to contain, not {count}"
    if isinstance(most, int) and count > most:
        yield f"{place or 'the value'} must have at most {most} items that fit what it has to contain, not {count}"


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
    if "if" in rules:
        holds = next(problems(value, rules["if"]), None) is None
        yield from problems(value, rules.get("then" if holds else "else", True), place, unknown=unknown)
    if "not" in rules and not any(True for _ in problems(value, rules["not"])):
        yield f"{place or 'the value'} has a form that it must not have"
