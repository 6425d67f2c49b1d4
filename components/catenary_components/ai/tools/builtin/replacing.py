"""Changing a text: one place, or all of them, and what to say when it is not clear which."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.expr import regex
from catenary.expr.regex import PatternError, pattern_of
from catenary_components.ai.tools.builtin.base import ToolFailure
from catenary_components.ai.tools.threads import check_stopped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_HINTS: Final = 3
"""Places, or near lines, that an error names."""

MAX_PLACES: Final = 100_000
"""Places that a regular expression changes at once; for one text there is no limit."""

_COMPARED_LINES: Final = 5_000
_NEAR: Final = 0.6
_ERRORS: Final = cast(
    "tuple[type[Exception], ...]", (re.error, IndexError, ValueError, getattr(regex.re2, "error", re.error))
)
_NO_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_NESTED: Final = re.compile(r"\([^()]*(?<!\\)[+*][^()]*\)(?:[+*]|\{\d)")


@dataclass(frozen=True, slots=True)
class Replacing:
    """What is put in place of what.

    Attributes:
        search: The text, to the letter, or a regular expression.
        replace: What takes its place; for a regular expression, `\\1` stands for its first group.
        everywhere: Whether all places are changed; else there must be just one.
        is_regex: Whether `search` is a regular expression.
    """

    search: str
    replace: str
    everywhere: bool
    is_regex: bool

    def applied(self, text: str) -> tuple[str, int]:
        """Give the changed text, and at how many places it was.

        Raises:
            ToolFailure: When nothing is found, or too much, or nothing would change.
        """
        spans = self._spans_of_regex(text) if self.is_regex else []
        places = len(spans) if self.is_regex else text.count(self.search)
        if not places:
            raise ToolFailure(f"Not found - {_quoted(self.search)} is not in the file{_near(text, self.search)}")
        if places > 1 and not self.everywhere:
            starts = [start for start, _, _ in spans[:MAX_HINTS]] if self.is_regex else self._starts(text)
            lines = ", ".join(str(text.count("\n", 0, start) + 1) for start in starts)
            more = " ..." if places > MAX_HINTS else ""
            raise ToolFailure(
                f"Not unique - {_quoted(self.search)} is found {places} times, in the lines {lines}{more}; "
                "give more of the text around it, or set global"
            )
        changed = _spliced(text, spans) if self.is_regex else text.replace(self.search, self.replace)
        if changed == text:
            raise ToolFailure("Nothing to do - the file would not change")
        return changed, places

    def _starts(self, text: str) -> list[int]:
        starts = [text.find(self.search)]
        while len(starts) < MAX_HINTS and (at := text.find(self.search, starts[-1] + len(self.search))) >= 0:
            starts.append(at)
        return starts

    def _spans_of_regex(self, text: str) -> list[tuple[int, int, str]]:
        if _NO_CHARACTER.search(text):
            raise ToolFailure("Not UTF-8 - a regular expression needs a file in UTF-8; search to the letter")
        if _NESTED.search(self.search):
            raise ToolFailure("Invalid pattern - a repeat within a repeat is refused")
        try:
            pattern_of(self.search)
            compiled: Any = (regex.re2 or re).compile(f"(?m){self.search}")
            return [(match.start(), match.end(), match.expand(self.replace)) for match in _bounded(compiled, text)]
        except PatternError as error:
            raise ToolFailure(f"Invalid pattern - {error}") from error
        except _ERRORS as error:
            raise ToolFailure(f"Invalid replacement - {error}") from error


def _bounded(compiled: Any, text: str) -> Iterator[Any]:
    """Give what a pattern finds. Raises: ToolFailure: when that is too often."""
    for place, match in enumerate(compiled.finditer(text)):
        if place == MAX_PLACES:
            raise ToolFailure(f"Too many places - more than {MAX_PLACES} fit; make the pattern narrower")
        if not place % 1000:
            check_stopped()
        yield match


def _spliced(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, new in spans:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def _quoted(text: str) -> str:
    first = text.strip("\n").partition("\n")[0]
    return repr(first[:80] + ("..." if len(first) > 80 or "\n" in text.strip("\n") else ""))


def _near(text: str, search: str) -> str:
    """Give a hint at lines that look like what was searched for."""
    wanted = next((line.strip() for line in search.split("\n") if line.strip()), "")
    if not wanted:
        return ""
    lines = text.split("\n", _COMPARED_LINES)[:_COMPARED_LINES]
    by_text = {line.strip(): number for number, line in reversed(list(enumerate(lines, 1))) if line.strip()}
    near = difflib.get_close_matches(wanted[:500], [line for line in by_text if len(line) < 1_000], MAX_HINTS, _NEAR)
    if not near:
        return ""
    return "; did you mean " + " or ".join(f"line {by_text[line]}: {lines[by_text[line] - 1]!r}" for line in near) + "?"
