"""`glob`: find files by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from catenary_components.ai.tools.builtin.base import Arguments, ToolFailure
from catenary_components.ai.tools.builtin.files import told
from catenary_components.ai.tools.builtin.finding import Finder
from catenary_components.ai.tools.builtin.walk import files_below
from catenary_components.ai.tools.builtin.wildcards import MAX_PATTERN, alternatives, path_regex

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary_components.ai.tools.builtin.paths import PathPolicy
    from catenary_components.ai.tools.builtin.sensitive import Sensitive


class GlobArguments(Arguments):
    """What is looked for."""

    pattern: str = Field(
        min_length=1,
        max_length=MAX_PATTERN,
        description="Pattern of paths: *.py fits in the folder itself only, **/*.py below it too.",
    )
    path: str = Field("", description="Folder to look in; the work directory if absent.")
    head_limit: int = Field(0, ge=0, description="Most results.")
    sort_by_mtime: bool = Field(False, description="True begins with the files that were changed last.")


class Glob(Finder):
    """Find files by their names. The pattern is compared with paths relative to the folder; ** goes through folders."""

    name = "glob"
    arguments_type = GlobArguments

    async def run(self, ctx: Context, arguments: Arguments) -> str:
        """Find."""
        assert isinstance(arguments, GlobArguments)
        return await self.look(ctx, arguments, self._found, arguments.path, arguments.pattern)

    def _found(self, policy: PathPolicy, arguments: GlobArguments, sensitive: Sensitive) -> str:
        patterns = alternatives(arguments.pattern)
        if any(one.startswith("/") or ".." in one.split("/") for one in patterns):
            raise ToolFailure("Invalid pattern - it is relative to path, and has no ..")
        real = policy.resolve(arguments.path or policy.work)
        most = self.most(arguments.head_limit)
        regexes = [path_regex(one.removeprefix("./")) for one in patterns]
        with told(arguments.path or "."):
            found = [
                (file.changed_ns() if arguments.sort_by_mtime else 0, file.path)
                for file in files_below(policy, real)
                if any(regex.fullmatch(file.path) for regex in regexes) and not sensitive.has(f"{real}/{file.path}")
            ]
        found.sort(key=lambda one: (-one[0], one[1]))
        if not found:
            return f"No files fit {arguments.pattern}"
        prefix = "" if real == policy.work else policy.shown(real) + "/"
        lines = [prefix + path for _, path in found[:most]]
        more = [f"(the first {most} of {len(found)} files)"] if len(found) > most else []
        return "\n".join([*lines, *more])
