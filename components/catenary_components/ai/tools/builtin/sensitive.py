"""What a search through a folder leaves out: files that a person is asked about before one of them is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary_components.ai.permission.dangerous import Dangers

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary_components.ai.tools.builtin.paths import PathPolicy


class Sensitive:
    """The dangerous files that one search has come upon, but those that the call itself names: these were asked about.

    How many there are is told whether they fit or not: else a search would tell what is in them.

    Attributes:
        count: How many were left out.

    Args:
        dangers: The lists of the agent.
        work: The folder that paths are relative to.
        named: What the call names.
    """

    def __init__(self, dangers: Dangers, work: str, *named: str) -> None:
        self.count = 0
        self._dangers = dangers
        self._named = {dangers.of_path(one, work) for one in named} | {""}

    @classmethod
    def of(cls, ctx: Context, policy: PathPolicy, *named: str) -> Sensitive:
        """Begin a search with the lists of the agent that asks for it."""
        from catenary_components.ai.setup import AgentSetup

        setup = ctx.scope.get(AgentSetup)
        dangers = setup.gate.policy.dangers if setup is not None and setup.gate is not None else Dangers()
        return cls(dangers, policy.work, *named)

    def has(self, real: str) -> bool:
        """Whether the file with this real path is left out; it is counted then."""
        is_left_out = self._dangers.listed(real) not in self._named
        self.count += is_left_out
        return is_left_out

    def noted(self, text: str) -> str:
        """Put a note under the result of the search, when anything was left out."""
        if not self.count:
            return text
        files = "1 file that" if self.count == 1 else f"{self.count} files that"
        return f"{text}\n({files} may hold settings or secrets left out; name one to search it)"
