"""The arguments of a call: read from what the model wrote, and made what the tool gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from catenary_components.ai.models.assemble import CUT_OFF
from catenary_components.ai.models.wire import as_list, as_object
from catenary_components.ai.references import inlined
from catenary_components.ai.said_json import said_json
from catenary_components.ai.tools.schema import problems
from catenary_components.ai.tools.tool import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

    from catenary.jsontext import Json
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.tools.tool import Tool


def read_arguments(tool: Tool, call: ToolCall) -> dict[str, Json]:
    """Read the arguments of a call. Nothing and `null` count as `{}` when the tool needs none.

    Raises:
        ToolInputError: When they are no JSON object.
    """
    stripped = call.arguments.strip()
    if call.metadata.get(CUT_OFF):
        raise ToolInputError(
            f"they were cut off after {len(call.arguments)} characters, because the reply was as long as it may be; "
            "write less at once, or do it in several calls"
        )
    if stripped in ("", "null"):
        if tool.needs_arguments:
            required = ", ".join(cast("list[str]", tool.parameters["required"]))
            raise ToolInputError(f"there are none, but {required} is required")
        return {}
    try:
        value = said_json(stripped)
    except ValueError as error:
        raise ToolInputError(f"they are not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise ToolInputError(f"they must be a JSON object, not {stripped[:100]}")
    return cast("dict[str, Json]", value)


def fitting(tool: Tool, said: Mapping[str, Json]) -> dict[str, Json]:
    """Give what the tool gets: without what is null and may not be, and with what the tool has of its own."""
    if not _has_null(said):
        return {**said, **tool.presets}
    schema = inlined(tool.parameters, cast("Json", said))
    return {**cast("dict[str, Json]", _without_nulls(cast("Json", said), schema)), **tool.presets}


def misfit(error: ValidationError) -> ToolInputError:
    """Say of arguments that a class does not take what is wrong with each, for the model to mend."""
    found = error.errors(include_url=False)
    return ToolInputError("; ".join(_problem(cast("dict[str, Any]", item)) for item in found))


def _problem(item: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in item["loc"])
    if item["type"] == "missing":
        return f"{place} is required"
    if item["type"] == "extra_forbidden":
        return f"{place} is not an argument of this tool"
    text = str(item["msg"]).removeprefix("Value error, ")
    return f"{place}: {text}" if place else text


def _has_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, cast("dict[str, object]", value).values()))
    return value is None or (isinstance(value, list) and any(map(_has_null, cast("list[object]", value))))


def _without_nulls(value: Json, schema: Json) -> Json:
    """Leave out members that are null though their schema wants something else and nobody requires them."""
    if isinstance(value, list):
        return [_without_nulls(item, as_object(schema).get("items")) for item in cast("list[Json]", value)]
    if not isinstance(value, dict):
        return value
    properties, required = _members(as_object(schema))
    return {
        name: _without_nulls(member, properties.get(name))
        for name, member in cast("dict[str, Json]", value).items()
        if member is not None or name in required or name not in properties or _allows_null(properties[name])
    }


def _members(schema: Mapping[str, Json]) -> tuple[dict[str, Json], list[Json]]:
    """Give the members that a schema and its parts know, and those that it requires."""
    properties, required = dict(as_object(schema.get("properties"))), list(as_list(schema.get("required")))
    for part in as_list(schema.get("allOf")):
        more, also = _members(as_object(part))
        properties |= more
        required += also
    return properties, required


def _allows_null(schema: Json) -> bool:
    return next(problems(None, schema), None) is None
