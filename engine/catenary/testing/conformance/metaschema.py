"""What a JSON Schema may say (draft 2020-12): keywords, what they take, and references that lead somewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.json_schema import TYPES
from catenary.jsontext import is_count, is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SCHEMA: Final = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_SCHEMAS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED: Final = ("properties", "patternProperties", "$defs", "dependentSchemas")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_type(value: Any) -> bool:
    names: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPES for name in names)


def _is_texts(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    texts = cast("list[Any]", value)
    return all(isinstance(one, str) for one in texts) and len(set(texts)) == len(texts)


def _is_pattern(value: Any) -> bool:
    try:
        re.compile(value)
    except (re.error, TypeError):
        return False
    return True


_TAKES: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    **dict.fromkeys(("$schema", "$id", "$ref", "$comment", "title", "description", "format"), (_is_text, "a text")),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), (_is_bool, "true or false")),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), (is_number, "a number")),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), (is_count, "a count")
    ),
    "multipleOf": (lambda value: is_number(value) and value > 0, "a number above 0"),
    "type": (_is_type, f"one of {', '.join(TYPES)}, or a list of them"),
    "required": (_is_texts, "a list of different texts"),
    "enum": (lambda value: isinstance(value, list), "a list"),
    "examples": (lambda value: isinstance(value, list), "a list"),
    "pattern": (_is_pattern, "a regular expression"),
}


def schema_problems(schema: Any, root: Any = None, place: str = "#") -> Iterator[str]:
    """Tell what is wrong with a JSON Schema, one text a problem.

    Args:
        schema: The schema, or a part of it.
        root: The whole schema, in which references are looked up.
        place: Where the part stands.
    """
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{place} must be an object, true or false"
        return
    rules = cast("dict[str, Any]", schema)
    root = rules if root is None else root
    for key, value in rules.items():
        here = f"{place}/{key}"
        if key in _TAKES and not _TAKES[key][0](value):
            yield f"{here} must be {_TAKES[key][1]}, not {value!r}"
        elif key == "$ref" and not _leads(value, root):
            yield f"{here} refers to {value!r}, which is not there"
        elif key in _SCHEMA:
            yield from schema_problems(value, root, here)
        elif key in _SCHEMAS:
            yield from _list_problems(value, root, here)
        elif key in _NAMED:
            yield from _named_problems(value, root, here)


def _list_problems(value: Any, root: Any, place: str) -> Iterator[str]:
    if not isinstance(value, list) or not value:
        yield f"{place} must be a list of schemas"
        return
    for index, one in enumerate(cast("list[Any]", value)):
        yield from schema_problems(one, root, f"{place}/{index}")


def _named_problems(value: Any, root: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place} must be an object of schemas"
        return
    for name, one in cast("dict[str, Any]", value).items():
        yield from schema_problems(one, root, f"{place}/{name}")


def _leads(reference: str, root: Any) -> bool:
    """Tell whether a reference into the same schema leads somewhere; others are not looked at."""
    if not reference.startswith("#"):
        return True
    found = root
    for name in reference.removeprefix("#").split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or key not in found:
            return False
        found = cast("Any", found)[key]
    return True
