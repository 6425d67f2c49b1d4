"""`reset_equipped_tools`: the tool by which a model switches groups of tools on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.schema import SchemaWork
from catenary_components.ai.tools.tool import Tool, Toolbox, ToolInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.tools.tool import ToolGroup

NAME: Final = "reset_equipped_tools"

_ABOUT: Final = (
    "Choose the groups of tools that you need for what you are doing. The list is the final state: groups that it "
    "does not name are switched off. The groups are:"
)


def with_groups(tools: Iterable[Tool], groups: Iterable[ToolGroup]) -> Toolbox:
    """Make a toolbox; when the model may switch groups, it gets the tool for that."""
    known = list(groups)
    switched = {group.name: group for group in known if group.switched_by == "model"}
    return Toolbox([*tools, _switch(switched)] if switched else tools, known)


def switch(toolbox: Toolbox, state: AgentState, *, on: Iterable[str] = (), off: Iterable[str] = ()) -> None:
    """Switch groups of tools from code.

    Raises:
        ValueError: When there is no such group.
    """
    on, off = list(on), list(off)
    unknown = [name for name in [*on, *off] if name not in toolbox.groups]
    if unknown:
        raise ValueError(f"there is no group of tools {unknown[0]!r}; there are {', '.join(toolbox.groups) or 'none'}")
    active = {*toolbox.active_groups(state), *on} - {*off}
    state.groups = [name for name in toolbox.groups if name in active]


def _switch(groups: Mapping[str, ToolGroup]) -> Tool:
    listed = "\n".join(f"- {group.name}: {group.description}" for group in groups.values())
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": {
            "to_activate": {
                "type": "array",
                "items": {"type": "string", "enum": list(groups)},
                "description": "The groups that are to be switched on.",
            }
        },
        "required": ["to_activate"],
        "additionalProperties": False,
    }
    return Tool(
        name=NAME,
        description=f"{_ABOUT}\n{listed}",
        parameters=parameters,
        work=_SwitchWork(groups, parameters),
        kind="builtin",
        is_read_only=True,
        is_serial=True,
    )


class _SwitchWork(SchemaWork):
    """Switches groups; those that only the program may switch stay as they are."""

    def __init__(self, groups: Mapping[str, ToolGroup], parameters: Mapping[str, Json]) -> None:
        super().__init__(parameters)
        self._groups = groups

    def check(self, arguments: Mapping[str, Json]) -> None:
        """Check that the groups are there. Raises: ToolInputError: when one is not."""
        named = arguments.get("to_activate")
        for name in cast("list[Json]", named) if isinstance(named, list) else []:
            if name not in self._groups:
                raise ToolInputError(f"there is no group {name!r} to switch; there are {', '.join(self._groups)}")
        super().check(arguments)

    async def run(self, ctx: Context, arguments: Mapping[str, Json], text: str) -> Json:  # noqa: ARG002 - of the protocol
        """Switch the groups and tell how their tools are used."""
        from catenary_components.ai.setup import AgentSetup

        state, toolbox = ctx.scope[AgentState], ctx.scope[AgentSetup].toolbox
        wanted = cast("list[str]", arguments["to_activate"])
        switch(toolbox, state, on=wanted, off=[name for name in self._groups if name not in wanted])
        active = [group for group in self._groups.values() if group.name in toolbox.active_groups(state)]
        if not active:
            return "No group of tools is switched on."
        said = f"Switched on: {', '.join(group.name for group in active)}."
        notes = "\n".join(f"{group.name}: {group.notes}" for group in active if group.notes)
        return f"{said}\n<tool-instructions>\n{notes}\n</tool-instructions>" if notes else said
