"""JSON Schemas with references inside: put in place for a check, and moved to where a wrapping schema needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json

DEFINITIONS: Final = ("$defs", "definitions")
_DEEPEST: Final = 200
_DEEPER: Final = ("items", "additionalProperties", "prefixItems", "contains", "propertyNames")


def hoisted(member: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Give the schema of an object with one member of this schema; its definitions stay where references find them."""
    inner = {key: value for key, value in schema.items() if key not in DEFINITIONS}
    definitions = {key: schema[key] for key in DEFINITIONS if key in schema}
    return {
        "type": "object",
        "properties": {member: inner},
        "required": [member],
        "additionalProperties": False,
        **definitions,
    }


def inlined(schema: Mapping[str, Json], value: Json) -> Json:
    """Give a schema with `$ref` replaced by what it leads to, as deep as a value goes.

    A reference that leads nowhere allows nothing, so that a mistake in a schema is seen.
    """
    if not has_reference(cast("Json", schema)):
        return cast("Json", schema)
    return _Inliner(schema).at(cast("Json", schema), min(_depth(value) + 1, _DEEPEST))


class _Inliner:
    """Puts references in place; what is the same at the same depth is made once."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        self._made: dict[tuple[str, int], Json] = {}

    def at(self, schema: Json, depth: int) -> Json:
        if isinstance(schema, list):
            return [self.at(one, depth) for one in cast("list[Json]", schema)]
        if not isinstance(schema, dict):
            return schema
        rules = cast("dict[str, Json]", schema)
        reference = rules.get("$ref")
        rest = {key: self._below(key, one, depth) for key, one in rules.items() if key not in ("$ref", *DEFINITIONS)}
        if not isinstance(reference, str):
            return rest
        target = self._target(reference, depth)
        return {**rest, "allOf": [*_list(rest.get("allOf")), target]} if rest else target

    def _below(self, key: str, schema: Json, depth: int) -> Json:
        if key in ("enum", "const", "default", "examples"):
            return schema
        if key in ("properties", "patternProperties") and isinstance(schema, dict):
            return {name: self.at(one, depth - 1) for name, one in cast("dict[str, Json]", schema).items()}
        return self.at(schema, depth - 1 if key in _DEEPER else depth)

    def _target(self, reference: str, depth: int) -> Json:
        if depth < 0:
            return True  # no value goes as deep
        key = (reference, depth)
        if key not in self._made:
            self._made[key] = True  # of a reference that leads to itself
            self._made[key] = self.at(self._found(reference), depth)
        return self._made[key]

    def _found(self, reference: str) -> Json:
        if not reference.startswith("#"):
            return False
        found: Json = cast("Json", self._root)
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or name not in found:
                return False
            found = cast("dict[str, Json]", found)[name]
        return found


def _list(value: Json) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []


def has_reference(schema: Json) -> bool:
    """Whether there is a `$ref` in a schema."""
    if isinstance(schema, dict):
        rules = cast("dict[str, Json]", schema)
        return "$ref" in rules or any(map(has_reference, rules.values()))
    return isinstance(schema, list) and any(map(has_reference, cast("list[Json]", schema)))


def _depth(value: Json) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, cast("dict[str, Json]", value).values()), default=0)
    return 1 + max(map(_depth, cast("list[Json]", value)), default=0) if isinstance(value, list) else 0
