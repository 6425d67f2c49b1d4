"""What an event of an agent must have to be read by those who show it: hooks publish what they like, under any name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json

_BLOCK: Final = ("contentId", "reasoningId")
_ID: Final = ("toolId", "actionId")
_NAME: Final = ("toolName", "actionName")
_TOOLS: Final = {
    "start": (_ID, _NAME),
    "args": (_ID, ("delta",)),
    "run": (_ID,),
    "delta": (_ID,),
    "result": (_ID, ("result",)),
}
_NEEDED: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    **{f"{kind}.{what}": (_BLOCK,) for kind in ("content", "reasoning") for what in ("start", "end")},
    **{f"{kind}.delta": (_BLOCK, ("delta",)) for kind in ("content", "reasoning")},
    **{f"{kind}.{what}": needed for kind in ("tool", "action") for what, needed in _TOOLS.items()},
    "agent.limit": (("limit",), ("rounds",)),
    "agent.reminder": (("kind",), ("text",)),
    "budget.warning": (("spent",), ("limit",), ("kind",)),
    "approval.request": (("id",), ("kind",), ("expires",)),
    "approval.resolved": (("id",),),
}
"""By the name of an event, its members; of several names one is enough."""

_LISTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "approval.request": ("toolCalls", ("id", "name")),
    "approval.resolved": ("calls", ("id", "decision")),
    "tool.result": ("parts", ()),
    "action.result": ("parts", ()),
}
"""By the name of an event, a list in it, and the members of each object there."""


def is_whole(name: str, data: Mapping[str, Json]) -> bool:
    """Whether an event has all that is read in it; one of another name has."""
    for names in _NEEDED.get(name, ()):
        if not any(one in data for one in names):
            return False
    listed = _LISTS.get(name)
    if listed is not None:
        return _are_objects(data.get(listed[0]) or [], listed[1])
    return name != "hook.goto" or isinstance(data.get("messages"), list)


def _are_objects(value: Any, members: tuple[str, ...]) -> bool:
    if not isinstance(value, list):
        return False
    entries = cast("list[Any]", value)
    return all(isinstance(one, dict) and all(member in one for member in members) for one in entries)
