"""What a tool is, whatever stands behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from catenary_components.ai.models.types import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catenary.component import Context
    from catenary.jsontext import Json

DEFAULT_TIMEOUT_S: Final = 120.0


class ToolInputError(Exception):
    """The arguments of a call do not fit the tool; the text says which and why, and is given to the model."""


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
        kind: `function`, `builtin` or `rulechain`, as events tell it.
        target_id: The chain behind it, if any.
        timeout_s: Longest time a call may take, in seconds.
        returns_direct: True makes the result the agent's answer, without asking the model again.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    work: ToolWork
    kind: str = "function"
    target_id: str = ""
    timeout_s: float = DEFAULT_TIMEOUT_S
    returns_direct: bool = False

    @property
    def needs_arguments(self) -> bool:
        """Whether a call without arguments cannot be right."""
        return bool(self.parameters.get("required"))


class Toolbox:
    """The tools of one agent by name, in the order they were listed.

    Raises:
        ValueError: When two tools have one name.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name!r}; give one of them another name")
            self._tools[tool.name] = tool

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        """Give the tool of that name, `None` when there is none."""
        return self._tools.get(name)

    def specs(self) -> tuple[ToolSpec, ...]:
        """Give what a model is told about the tools."""
        return tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in self._tools.values())
