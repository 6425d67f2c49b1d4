"""The `inputSchema` of a chain that is a component, made ready to be read: what cannot be used is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from catenary.errors import EngineError
from catenary.json_schema import pattern_of
from catenary.schema_reading import SchemaProblem, inlined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json

    Schema = dict[str, Json]

LIMITS: Final = {
    "number": {
        "minimum": "ge",
        "maximum": "le",
        "exclusiveMinimum": "gt",
        "exclusiveMaximum": "lt",
        "multipleOf": "multiple_of",
    },
    "string": {"minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"},
    "array": {"minItems": "min_length", "maxItems": "max_length"},
}
"""What JSON Schema calls limits, by kind, and what pydantic does. Those of other kinds mean nothing."""


def readable(given: Json, place: str) -> Schema:
    """Give a schema with its local references put in, and each property a schema of its own.

    Args:
        given: The schema as it is written.
        place: Where it stands, for errors.

    Raises:
        EngineError: When it is no schema of an object, or a part of it cannot be used.
    """
    root = cast("Schema", given) if isinstance(given, dict) else {"type": "none"}
    if root.get("type", "object") != "object":
        raise EngineError(
            f"{place} is no JSON Schema of an object",
            hint='write {"type": "object", "properties": {...}, "required": [...]}',
        )
    try:
        whole = inlined(root)
    except SchemaProblem as problem:
        raise EngineError(f"{place}: {problem}", hint=problem.hint) from None
    for path, part in _parts(whole, place):
        _check(part, path)
    return whole


def limits_of(part: Schema) -> dict[str, Any]:
    """Give the limits of a property that suit its kind, as `option` takes them."""
    kind = "number" if part.get("type") == "integer" else str(part.get("type"))
    return {ours: part[theirs] for theirs, ours in LIMITS.get(kind, {}).items() if theirs in part}


def _parts(part: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Give the schema and all in it, each with its place; what is no schema allows everything, as `true` does."""
    yield path, part
    properties = part.get("properties")
    if isinstance(properties, dict):
        for name, inner in cast("Schema", properties).items():
            properties[name] = inner if isinstance(inner, dict) else {}
            yield from _parts(cast("Schema", properties[name]), f"{path}.properties.{name}")
    items = part.get("items")
    if isinstance(items, dict):
        yield from _parts(cast("Schema", items), f"{path}.items")


def _check(part: Schema, path: str) -> None:
    properties: Any = part.get("properties") or {}
    required: Any = part.get("required") or []
    if not isinstance(properties, dict):
        raise EngineError(f"{path}.properties must be a mapping", hint="write the schema of each option by its name")
    if not isinstance(required, list) or not all(isinstance(name, str) for name in cast("list[Json]", required)):
        raise EngineError(f"{path}.required must be a list of names", hint='write "required": ["limit"]')
    names = cast("Schema", properties)
    twins = len({name.lower() for name in names}) < len(names)
    if twins or "" in names:
        reason = "two names differ only in upper and lower case" if twins else "a name is empty"
        raise EngineError(f"{path}.properties: {reason}", hint="give each option a name of its own")
    for limits in LIMITS.values():
        for name in limits:
            if name in part and not _is_limit(name, part[name]):
                raise EngineError(f"{path}.{name} cannot be used: {part[name]!r}", hint=_HINTS.get(name, _NUMBER))


_NUMBER: Final = "write a number"
_HINTS: Final = {"pattern": "write a regular expression without look-around and back-references"}


def _is_limit(name: str, value: Json) -> bool:
    if name == "pattern":
        return isinstance(value, str) and pattern_of(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)
