"""What the tools that find files have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from catenary.component import option
from catenary_components.ai.tools.builtin.base import Arguments
from catenary_components.ai.tools.builtin.files import FileTool
from catenary_components.ai.tools.builtin.paths import PathOptions, PathPolicy
from catenary_components.ai.tools.builtin.sensitive import Sensitive
from catenary_components.ai.tools.threads import in_thread

if TYPE_CHECKING:
    from catenary.component import Context

A = TypeVar("A", bound=Arguments)
Find: TypeAlias = Callable[[PathPolicy, A, Sensitive], str]


class FindConfig(PathOptions):
    """Settings of `grep` and `glob`."""

    max_results: int = option(100, ge=1, help="Most results when the model names no number.")
    hard_max_limit: int = option(500, ge=1, help="Most results that the model may ask for.")


class Finder(FileTool[FindConfig, Arguments]):
    """What `grep` and `glob` have in common: settings, where they look, and how many results there may be."""

    config_type = FindConfig
    is_read_only = True
    main_argument = "pattern"

    async def look(self, ctx: Context, arguments: A, find: Find[A], *named: str) -> str:
        """Look for something in a thread, and add to what is found that sensitive files are left out.

        Args:
            ctx: The visit of the node.
            arguments: What is looked for.
            find: Looks for it where the run may go.
            named: Which of the arguments name files: what is named so is not left out.
        """
        policy = self.policy.for_run(ctx)
        sensitive = Sensitive.of(ctx, policy, *named)
        return sensitive.noted(await in_thread(find, policy, arguments, sensitive))

    def most(self, wanted: int) -> int:
        """Give how many results there may be."""
        return min(wanted or self.config.max_results, self.config.hard_max_limit)
