"""What filters share: conditions that are not blank, and where a message goes whose relation nobody connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import DEFAULT
from catenary.expr import text_of

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary.jsontext import Json


def not_blank(value: Json) -> Json:
    """Read an option that has to be there. Raises: ValueError: when it is blank text."""
    if isinstance(value, str) and not value.strip():
        raise ValueError("can not be empty")
    return value


def connected_or_default(ctx: Context, relation: str) -> str:
    """Give a relation when it is connected; else the default one when that is; else the relation all the same."""
    return relation if ctx.is_connected(relation) else connected_default(ctx) or relation


def connected_default(ctx: Context) -> str:
    """Give the default relation: `Default`, or what the property `defaultRelationType` names; empty if unconnected."""
    default = text_of(ctx.properties.get("defaultRelationType")) or DEFAULT
    return default if ctx.is_connected(default) else ""
