"""Searching texts line by line: what fits, with lines around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from catenary.expr.regex import PatternError, pattern_of
from catenary_components.ai.tools.builtin.base import ToolFailure
from catenary_components.ai.tools.builtin.files import is_binary
from catenary_components.ai.tools.builtin.texts import lines_of
from catenary_components.ai.tools.builtin.walk import Found
from catenary_components.ai.tools.threads import check_stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from catenary_components.ai.tools.builtin.paths import PathPolicy

OutputMode = Literal["content", "files_with_matches", "count"]
MAX_LINE: Final = 2_000
"""Characters of a line that is shown."""

_OF_WHOLE_TEXT: Final = re.compile(r"\(\?(?!:)|\\[Az]")  # what may fit a line and not the text that it is in


@dataclass(frozen=True, slots=True)
class LineTest:
    """What tells which lines fit.

    Attributes:
        fits: Tells whether a line does.
        may_fit: Tells at once whether a line of a text can; most files are passed by after that.
    """

    fits: Callable[[str], bool]
    may_fit: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for, and how it is shown.

    Attributes:
        test: Tells which lines fit.
        before: Lines shown before each one that fits.
        after: Lines shown after it.
        mode: Lines, names of files, or numbers of lines.
        most: Most results.
        most_bytes: How much of each file is read.
    """

    test: LineTest
    before: int = 0
    after: int = 0
    mode: OutputMode = "content"
    most: int = 100
    most_bytes: int = 10 * 1024 * 1024


def line_test(pattern: str, *, is_regex: bool, ignores_case: bool) -> LineTest:
    """Give what tells which lines fit. Raises: ToolFailure: when the regular expression is wrong or refused."""
    if not is_regex:
        wanted = pattern.casefold() if ignores_case else pattern

        def has(text: str) -> bool:
            return wanted in (text.casefold() if ignores_case else text)

        return LineTest(has, has)
    flag = "i" if ignores_case else ""
    try:
        fits = pattern_of(f"(?{flag}){pattern}" if flag else pattern)
    except PatternError as error:
        raise ToolFailure(f"Invalid pattern - {error}") from error

    def may_fit(text: str) -> bool:
        try:
            return bool(_OF_WHOLE_TEXT.search(pattern)) or pattern_of(f"(?m{flag}){pattern}")(text)
        except PatternError:  # it is too long for that, or the text is
            return True

    return LineTest(fits, may_fit)


def search_files(files: Iterable[Found], search: Search, prefix: str = "") -> tuple[list[str], int, bool]:
    """Search files.

    Args:
        files: The files.
        search: What for.
        prefix: Stands before their paths.

    Returns:
        The lines that tell what was found, how many results they are, and whether there may be more.
    """
    told: list[str] = []
    results = 0
    for file in files:
        check_stopped()
        lines = _lines_to_look_at(file, search)
        left = search.most - results
        enough = {"content": left + 1, "files_with_matches": 1}.get(search.mode)
        places = list(islice(_fitting(lines, search), enough))
        if not places:
            continue
        if results >= search.most:
            return told, results, True
        if search.mode == "content":
            shown = places[:left]
            told += _with_context(prefix + file.path, lines, shown, search)
            results += len(shown)
            if len(shown) < len(places):
                return told, results, True
        else:
            told.append(prefix + file.path + (f":{len(places)}" if search.mode == "count" else ""))
            results += 1
    return told, results, False


def search_one(policy: PathPolicy, real: str, search: Search) -> tuple[list[str], int, bool]:
    """Search one file, as `search_files` does. Raises: ToolFailure, OSError: when it cannot be read."""
    with policy.opened(real), policy.folder(str(Path(real).parent)) as folder:
        return search_files([Found(policy.shown(real), folder, Path(real).name)], search)


def _lines_to_look_at(file: Found, search: Search) -> list[str]:
    """Give the lines of a file; none when it is no text, or none of them fits."""
    if is_binary(file.name, b""):
        return []
    content = file.read(search.most_bytes)
    if is_binary(file.name, content):
        return []
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    return lines_of(text) if search.test.may_fit(text.replace("\r\n", "\n")) else []


def _fitting(lines: Sequence[str], search: Search) -> Iterator[int]:
    fits = search.test.fits
    for at, line in enumerate(lines):
        if not at % 1000:
            check_stopped()
        if fits(line):
            yield at


def _with_context(path: str, lines: list[str], places: list[int], search: Search) -> list[str]:
    told: list[str] = []
    fitting = set(places)
    last = -1
    for place in places:
        first = max(place - search.before, last + 1)
        if told and first > last + 1 and (search.before or search.after):
            told.append("--")
        end = min(place + search.after, len(lines) - 1)
        for at in range(first, end + 1):
            mark = ":" if at in fitting else "-"
            told.append(f"{path}{mark}{at + 1}{mark}{cut_line(lines[at])}")
        last = max(end, last)
    return told


def cut_line(line: str) -> str:
    """Cut a line that is too long to be shown."""
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}... ({len(line)} characters)"
