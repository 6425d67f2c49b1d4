"""Check the arguments of a tool against its JSON Schema, with texts a model can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json


def problems(value: Json, schema: Json) -> Iterator[str]:
    """Tell what is wrong with arguments, one text a problem; nothing when they fit. See `json_schema.problems`."""
    return json_schema.problems(value, schema, unknown="is not an argument of this tool")
