"""What a tool is, whatever stands behind it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, Protocol

from catenary_components.ai.models.types import ToolSpec
from catenary_components.ai.tools.names import plain_spelling, spellings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.state import AgentState

DEFAULT_TIMEOUT_S: Final = 120.0


class ToolInputError(Exception):
    """The arguments of a call do not fit the tool; the text says which and why, and is given to the model."""


@dataclass(frozen=True, slots=True)
class ToolVerdict:
    """What a tool itself thinks of a call, when it has a say.

    Attributes:
        decision: Whether the call may be run, a person is to be asked, or it is refused.
        reason: Why, for who is asked, and for the model when it is refused.
    """

    decision: Literal["allow", "ask", "deny"]
    reason: str


class ToolWork(Protocol):
    """What a tool does."""

    def check(self, arguments: Mapping[str, Json]) -> None:
        """Look at the arguments before the tool runs. Raises: ToolInputError: when they do not fit."""
        ...

    async def run(self, ctx: Context, arguments: Mapping[str, Json], text: str) -> Json:
        """Do the work.

        Args:
            ctx: The context of the visit in which the model asked for it.
            arguments: The arguments, which passed `check`.
            text: The arguments as the model wrote them.
        """
        ...


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of an agent.

    Attributes:
        name: By which the model calls it.
        description: What the model is told about it.
        parameters: JSON Schema of its arguments.
        work: What it does.
        kind: `function`, `builtin`, `rulechain`, `component`, `external`, `action`, or how a frontend shows it, such as
            `html`; as events tell it.
        target_id: The chain behind it, if any.
        timeout_s: Longest time a call may take, in seconds.
        returns_direct: True makes the result the agent's answer, without asking the model again.
        is_read_only: Whether it changes nothing.
        is_serial: Whether it runs alone, not beside other calls of the same reply.
        may_repeat: Whether it makes sense to call it again and again with the same arguments.
        is_strict: Whether the service is asked to give arguments that keep to the schema.
        main_argument: The argument that patterns of permission rules are compared with; empty for all of them.
        text_for_rules: Gives what these patterns are compared with, when that is more than one argument.
        folder_of: Gives the folder that paths in the arguments are relative to; `None` for that of the agent.
        is_external: Whether its result comes from outside, of another system or of a person; it is never run here.
        retries: How often a call that fails is tried again.
        group: The group it belongs to; empty for a tool that is always there.
        presets: Arguments that are given to it whatever the model says; they are not in `parameters`.
        check_permission: Gives the tool's own opinion of a call; `None` for a tool that has none.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    work: ToolWork
    kind: str = "function"
    target_id: str = ""
    timeout_s: float = DEFAULT_TIMEOUT_S
    returns_direct: bool = False
    is_read_only: bool = False
    is_serial: bool = False
    may_repeat: bool = False
    is_strict: bool = False
    main_argument: str = ""
    is_external: bool = False
    retries: int = 0
    group: str = ""
    presets: Mapping[str, Json] = field(default_factory=dict[str, "Json"])
    check_permission: Callable[[Mapping[str, Json]], ToolVerdict | None] | None = None
    text_for_rules: Callable[[Mapping[str, Json]], str] | None = None
    folder_of: Callable[[Context, Mapping[str, Json]], str] | None = None

    @property
    def needs_arguments(self) -> bool:
        """Whether a call without arguments cannot be right."""
        return bool(self.parameters.get("required"))


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """Tools that are offered and taken away together.

    Attributes:
        name: By which it is switched.
        description: What it is for, told to the model.
        notes: How its tools are used; told to the model when it switches the group on.
        is_active: Whether an agent begins with it switched on.
        switched_by: Who switches it: the model, by the tool `reset_equipped_tools`, or only the program around.
    """

    name: str
    description: str = ""
    notes: str = ""
    is_active: bool = False
    switched_by: Literal["model", "code"] = "model"


class Toolbox:
    """The tools of one agent by name, in the order they were listed.

    Attributes:
        groups: The groups, by name.
        hidden: The names of tools that the model is told nothing of.

    Args:
        tools: The tools.
        groups: The groups they may belong to.

    Raises:
        ValueError: When two tools or groups have one name, or a tool is of a group that is not there.
    """

    def __init__(self, tools: Iterable[Tool] = (), groups: Iterable[ToolGroup] = ()) -> None:
        self.groups: dict[str, ToolGroup] = {}
        for group in groups:
            if group.name in self.groups:
                raise ValueError(f"two groups of tools are called {group.name!r}; give one of them another name")
            self.groups[group.name] = group
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name!r}; give one of them another name")
            if tool.group and tool.group not in self.groups:
                raise ValueError(
                    f"the tool {tool.name!r} is of the group {tool.group!r}, which toolGroups does not have"
                )
            self._tools[tool.name] = tool
        self.hidden: frozenset[str] = frozenset()
        self._begins_with = [group.name for group in self.groups.values() if group.is_active]
        self._spellings = spellings(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def names(self) -> Iterator[str]:
        """Give the names of all tools."""
        return iter(self._tools)

    def get(self, name: str) -> Tool | None:
        """Give the tool of that name, `None` when there is none."""
        return self._tools.get(name)

    def repaired(self, call: ToolCall) -> ToolCall:
        """Give a call with the name that its tool really has, when the model spelled it otherwise."""
        name = self.real_name(call.name)
        return call if name == call.name else replace(call, name=name)

    def real_name(self, name: str) -> str:
        """Give the name of the tool that is meant, however it is spelled; the same when there is none."""
        return name if name in self._tools else self._spellings.get(plain_spelling(name)) or name

    def active_groups(self, state: AgentState) -> list[str]:
        """Give the names of the groups that are switched on."""
        return self._begins_with if state.groups is None else state.groups

    def offers(self, tool: Tool, state: AgentState) -> bool:
        """Whether the model may call a tool as things are."""
        return not tool.group or tool.group in self.active_groups(state)

    async def close(self) -> None:
        """Let go of what tools hold, such as a browser; may be awaited again."""
        for tool in self._tools.values():
            close = getattr(tool.work, "close", None)
            if close is not None:
                await close()

    def specs(self, state: AgentState | None = None) -> tuple[ToolSpec, ...]:
        """Give what a model is told about the tools that it may call; about all of them without a state.

        Their order is that of the list, whatever is switched on: services keep what requests have in common.
        """
        return tuple(
            ToolSpec(tool.name, tool.description, tool.parameters, tool.is_strict)
            for tool in self._tools.values()
            if tool.name not in self.hidden and (state is None or self.offers(tool, state))
        )
