"""`grep`: find lines of files by a regular expression."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from catenary_components.ai.tools.builtin.base import Arguments
from catenary_components.ai.tools.builtin.files import told
from catenary_components.ai.tools.builtin.finding import Finder
from catenary_components.ai.tools.builtin.paths import PathEscape, PathPolicy
from catenary_components.ai.tools.builtin.searching import OutputMode, Search, line_test, search_files, search_one
from catenary_components.ai.tools.builtin.walk import Found, files_below
from catenary_components.ai.tools.builtin.wildcards import MAX_PATTERN, alternatives, fits_any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.component import Context
    from catenary_components.ai.tools.builtin.sensitive import Sensitive


class GrepArguments(Arguments):
    """What is looked for."""

    pattern: str = Field(min_length=1, max_length=MAX_PATTERN, description="Regular expression that a line must fit.")
    path: str = Field("", description="File or folder to search; the work directory if absent.")
    include: str = Field("", description="Only files that fit this pattern, such as *.py or src/**/*.{ts,tsx}.")
    exclude: str = Field("", description="No files that fit this pattern.")
    output_mode: OutputMode = Field("content", description="Lines, names of files, or how many lines fit in each file.")
    ignore_case: bool = Field(False, alias="-i", description="True ignores case.")
    after: int = Field(0, ge=0, le=100, alias="-A", description="Lines shown after each line that fits.")
    before: int = Field(0, ge=0, le=100, alias="-B", description="Lines shown before each line that fits.")
    around: int = Field(0, ge=0, le=100, alias="-C", description="Lines shown before and after.")
    head_limit: int = Field(0, ge=0, description="Most results.")
    sort_by_mtime: bool = Field(False, description="True begins with the files that were changed last.")


class Grep(Finder):
    """Search the contents of files for a regular expression, but of binary files and those that .gitignore names."""

    name = "grep"
    arguments_type = GrepArguments

    async def run(self, ctx: Context, arguments: Arguments) -> str:
        """Search."""
        assert isinstance(arguments, GrepArguments)
        return await self.look(ctx, arguments, self._found, arguments.path, arguments.include)

    def _found(self, policy: PathPolicy, arguments: GrepArguments, sensitive: Sensitive) -> str:
        search = Search(
            test=line_test(arguments.pattern, is_regex=True, ignores_case=arguments.ignore_case),
            before=arguments.before or arguments.around,
            after=arguments.after or arguments.around,
            mode=arguments.output_mode,
            most=self.most(arguments.head_limit),
        )
        real = policy.resolve(arguments.path or policy.work)
        with told(arguments.path or "."):
            if Path(real).is_file():
                lines, results, has_more = search_one(policy, real, search)
            else:
                lines, results, has_more = self._of_folder(policy, real, arguments, search, sensitive)
        if not lines:
            return f"No matches for {arguments.pattern}"
        return "\n".join([*lines, *([f"(the first {results} results; there are more)"] if has_more else [])])

    @staticmethod
    def _of_folder(
        policy: PathPolicy, real: str, arguments: GrepArguments, search: Search, sensitive: Sensitive
    ) -> tuple[list[str], int, bool]:
        included, excluded = alternatives(arguments.include), alternatives(arguments.exclude)

        def is_wanted(path: str) -> bool:
            if arguments.include and not fits_any(path, included):
                return False
            if arguments.exclude and fits_any(path, excluded):
                return False
            return not sensitive.has(f"{real}/{path}")

        prefix = "" if real == policy.work else policy.shown(real) + "/"
        files = (file for file in files_below(policy, real, minds_gitignore=True) if is_wanted(file.path))
        if not arguments.sort_by_mtime:
            return search_files(files, search, prefix)
        newest = sorted(((file.changed_ns(), file.path) for file in files), key=lambda one: (-one[0], one[1]))
        return search_files(_reopened(policy, real, [path for _, path in newest]), search, prefix)


def _reopened(policy: PathPolicy, real: str, paths: list[str]) -> Iterator[Found]:
    """Give files by their paths below a folder, each with its folder open; those whose folder has gone are left out."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        with suppress(OSError, PathEscape), policy.folder(f"{real}/{folder}".rstrip("/")) as handle:
            yield Found(path, handle, name)
