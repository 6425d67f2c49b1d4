"""Where a message goes whose relation nobody connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import DEFAULT

if TYPE_CHECKING:
    from catenary.component import Context


def connected_or_default(ctx: Context, relation: str) -> str:
    """Give a relation when it is connected; else the default one when that is; else the relation all the same.

    The default is `Default`, or what the property `defaultRelationType` names.
    """
    if ctx.is_connected(relation):
        return relation
    named = ctx.properties.get("defaultRelationType")
    default = named if isinstance(named, str) and named else DEFAULT
    return default if ctx.is_connected(default) else relation
