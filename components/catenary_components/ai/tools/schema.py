"""Check the arguments of a tool against its JSON Schema, with texts a model can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import json_schema
from catenary.schema_reading import SchemaProblem, check_shape
from catenary_components.ai.models.wire import as_list, as_object
from catenary_components.ai.references import has_reference, inlined
from catenary_components.ai.tools.tool import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from catenary.jsontext import Json


def problems(value: Json, schema: Json) -> Iterator[str]:
    """Tell what is wrong with arguments, one text a problem; nothing when they fit. See `json_schema.problems`."""
    return json_schema.problems(value, schema, unknown="is not an argument of this tool")


def declared(parameters: Mapping[str, Json], tool: str) -> Mapping[str, Json]:
    """Give the schema that a tool is declared with; one that allows any object when nothing was said.

    Raises:
        ValueError: When it is none, or is not about an object, as arguments always are.
    """
    try:
        check_shape(parameters)
    except SchemaProblem as error:
        raise ValueError(f"the tool {tool}: parameters: {error}") from None
    kinds = parameters.get("type", "object")
    if kinds != "object" and "object" not in as_list(kinds):
        raise ValueError(f"the tool {tool}: parameters: type must be object, not {kinds}")
    return parameters or {"type": "object"}


def without(schema: Mapping[str, Json], names: Collection[str]) -> Mapping[str, Json]:
    """Give a schema of an object without some of its members, which then are given by somebody else."""
    if not names:
        return schema
    properties = {name: rules for name, rules in as_object(schema.get("properties")).items() if name not in names}
    required = [name for name in as_list(schema.get("required")) if name not in names]
    rest = {key: value for key, value in schema.items() if key != "required"}
    return {**rest, "properties": properties, **({"required": required} if required else {})}


def preset_schema(schema: Mapping[str, Json], presets: Mapping[str, Json]) -> Json:
    """Give what a schema says of some members alone, whatever else it wants."""
    members = as_object(inlined(schema, dict(presets)))
    return {"properties": as_object(members.get("properties"))}


class SchemaWork:
    """What tools have in common that are declared with a JSON Schema."""

    def __init__(self, parameters: Mapping[str, Json]) -> None:
        self._parameters = parameters
        self._has_reference = has_reference(dict(parameters))

    def check(self, arguments: Mapping[str, Json]) -> None:
        """Check against the declared schema. Raises: ToolInputError: naming every argument that does not fit."""
        value = dict(arguments)
        schema = inlined(self._parameters, value) if self._has_reference else self._parameters
        found = list(problems(value, schema))
        if found:
            raise ToolInputError("; ".join(found))
