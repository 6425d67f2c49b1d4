"""`read`: files by lines, folders by entries, and searches for words."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field

from catenary.component import option
from catenary_components.ai.tools.builtin.base import Arguments, ToolFailure
from catenary_components.ai.tools.builtin.files import FileTool, read_text, told
from catenary_components.ai.tools.builtin.paths import PathOptions, PathPolicy
from catenary_components.ai.tools.builtin.searching import (
    OutputMode,
    Search,
    cut_line,
    line_test,
    search_files,
    search_one,
)
from catenary_components.ai.tools.builtin.sensitive import Sensitive
from catenary_components.ai.tools.builtin.texts import lines_of
from catenary_components.ai.tools.builtin.walk import files_below
from catenary_components.ai.tools.builtin.wildcards import alternatives, fits_any
from catenary_components.ai.tools.threads import in_thread

if TYPE_CHECKING:
    from catenary.component import Context

MAX_SHOWN: Final = 50_000
"""Characters of a result."""

_SEARCHED_BYTES: Final = 100_000
_MOST_ENTRIES: Final = 1_000


class ReadConfig(PathOptions):
    """Settings of `read`."""

    max_read_lines: int = option(1000, ge=1, help="Most lines of a file that one call gives.")
    max_search_results: int = option(30, ge=1, help="Most results of a search when the model names no number.")


class ReadArguments(Arguments):
    """What is read."""

    operation: Literal["file", "search", "list"] | None = Field(
        None,
        description="file reads a file, search looks for query, list names what is in a folder; guessed if absent.",
    )
    path: str = Field("", description="File or folder; the work directory if absent.")
    query: str = Field("", max_length=1_000, description="What to search for, ignoring case.")
    pattern: str = Field("", description="For search and list: only files that fit this pattern, such as *.md.")
    line_from: int | None = Field(None, ge=1, description="First line, counted from 1.")
    line_to: int | None = Field(None, ge=1, description="Last line.")
    use_regex: bool = Field(False, description="True reads query as a regular expression.")
    context: int = Field(0, ge=0, le=100, description="Lines shown before and after each result.")
    context_before: int = Field(0, ge=0, le=100, description="Lines shown before each result.")
    context_after: int = Field(0, ge=0, le=100, description="Lines shown after each result.")
    output_mode: OutputMode = Field("content", description="Lines, names of files, or how many lines fit in each file.")
    head_limit: int = Field(0, ge=0, le=500, description="Most results.")


class Read(FileTool[ReadConfig, ReadArguments]):
    """Read a text file by lines, list a folder, or search files for a word.

    Lines come as number: text. A long file comes in parts: go on with line_from.
    """

    name = "read"
    config_type = ReadConfig
    arguments_type = ReadArguments
    is_read_only = True
    main_argument = "path"

    async def run(self, ctx: Context, arguments: ReadArguments) -> str:
        """Read."""
        policy = self.policy.for_run(ctx)
        sensitive = Sensitive.of(ctx, policy, arguments.path)
        text = await in_thread(self._read, policy, arguments, sensitive)
        if len(text) > MAX_SHOWN:
            text = f"{text[:MAX_SHOWN]}\n(cut after {MAX_SHOWN} characters; read fewer lines)"
        return sensitive.noted(text)

    def _read(self, policy: PathPolicy, arguments: ReadArguments, sensitive: Sensitive) -> str:
        operation = arguments.operation or ("search" if arguments.query else None)
        if operation is None and not arguments.path:
            operation = "list"
        real = policy.resolve(arguments.path or ("" if operation == "file" else policy.work))
        with told(arguments.path or "."):
            if operation == "search":
                return self._searched(policy, real, arguments, sensitive)
            if operation == "list" or (operation is None and Path(real).is_dir()):
                return _listed(policy, real, arguments.pattern)
            return self._lines(policy, real, arguments)

    def _lines(self, policy: PathPolicy, real: str, arguments: ReadArguments) -> str:
        if Path(real).is_dir():
            raise ToolFailure(f"Is a directory - {policy.shown(real)}; list it with operation list")
        lines = lines_of(read_text(policy, real))
        first = arguments.line_from or 1
        last = min(arguments.line_to or len(lines), len(lines), first + self.config.max_read_lines - 1)
        if lines and first > len(lines):
            raise ToolFailure(f"Invalid range - {policy.shown(real)} has {len(lines)} lines, and line {first} is none")
        if arguments.line_to is not None and arguments.line_to < first:
            raise ToolFailure(f"Invalid range - line {arguments.line_to} comes before line {first}")
        part = "" if (first, last) == (1, len(lines)) else f", here {first}-{last}"
        head = f"File: {policy.shown(real)} ({len(lines)} lines{part})"
        shown = [f"{at}: {cut_line(lines[at - 1])}" for at in range(first, last + 1)]
        wanted = min(arguments.line_to or len(lines), len(lines))
        more = [f"(go on with line_from={last + 1})"] if last < wanted else []
        return "\n".join([head, *shown, *more])

    def _searched(self, policy: PathPolicy, real: str, arguments: ReadArguments, sensitive: Sensitive) -> str:
        if not arguments.query.strip():
            raise ToolFailure("Missing query - name what to search for")
        search = Search(
            test=line_test(arguments.query, is_regex=arguments.use_regex, ignores_case=True),
            before=arguments.context_before or arguments.context,
            after=arguments.context_after or arguments.context,
            mode=arguments.output_mode,
            most=arguments.head_limit or self.config.max_search_results,
            most_bytes=_SEARCHED_BYTES,
        )
        if Path(real).is_dir():
            patterns = alternatives(arguments.pattern) if arguments.pattern else []
            prefix = "" if real == policy.work else policy.shown(real) + "/"
            wanted = (one for one in files_below(policy, real) if not patterns or fits_any(one.path, patterns))
            files = (one for one in wanted if not sensitive.has(f"{real}/{one.path}"))
            lines, results, has_more = search_files(files, search, prefix)
        else:
            lines, results, has_more = search_one(policy, real, search)
        if not lines:
            return f"No matches for {arguments.query}"
        return "\n".join([*lines, *([f"(the first {results} results; there are more)"] if has_more else [])])


def _listed(policy: PathPolicy, real: str, pattern: str) -> str:
    patterns = alternatives(pattern) if pattern else []
    with policy.folder(real) as handle:
        reading = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=handle)
        try:
            entries = sorted(os.listdir(reading))  # noqa: PTH208 - of an open folder
            shown = [_entry(name, reading) for name in entries if not patterns or fits_any(name, patterns)]
        finally:
            os.close(reading)
    head = f"Folder: {policy.shown(real)} ({len(shown)} entries)"
    more = [f"(the first {_MOST_ENTRIES})"] if len(shown) > _MOST_ENTRIES else []
    return "\n".join([head, *shown[:_MOST_ENTRIES], *more])


def _entry(name: str, folder: int) -> str:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return name
    if stat.S_ISDIR(found.st_mode):
        return f"{name}/"
    return f"{name}@" if stat.S_ISLNK(found.st_mode) else f"{name} ({found.st_size} bytes)"
