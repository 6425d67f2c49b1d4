"""What hooks that work in the agent's folder have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.tools.builtin.base import Workplace
from catenary_components.ai.tools.builtin.paths import PathOptions, PathPolicy

if TYPE_CHECKING:
    from typing import Self

    from catenary.component import Context

OptionsT = TypeVar("OptionsT", bound=PathOptions)


class FolderHook(AgentHook, Generic[OptionsT]):
    """A hook with a folder of its agent: `new` finds out which files it may use."""

    def __init__(self, config: OptionsT) -> None:
        self._config = config
        self._policy: PathPolicy | None = None

    def new(self, ctx: Context) -> Self:
        """Give the instance of an agent. Raises: ValueError: when its folder may not be used."""
        made = type(self)(self._config)
        made.order = self.order
        made._policy = PathPolicy.of(self._config, Workplace.of(ctx))
        return made
