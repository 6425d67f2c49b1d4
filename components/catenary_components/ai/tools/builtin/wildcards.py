"""File patterns as git and shells know them: `*`, `?`, `[...]`, `{a,b}` and `**`; and `.gitignore` files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from catenary_components.ai.tools.builtin.base import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_PATTERN: Final = 1_000
"""Characters of a pattern."""

_MAX_CHOICES: Final = 100
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")


def alternatives(pattern: str) -> list[str]:
    """Give the patterns that one with `{a,b}` stands for. Raises: ToolFailure: when it is too long, or has too many."""
    if len(pattern) > MAX_PATTERN:
        raise ToolFailure(f"Invalid pattern - a pattern has at most {MAX_PATTERN} characters")
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop(0)
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            waiting += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
        if len(done) + len(waiting) > _MAX_CHOICES:
            raise ToolFailure(f"Invalid pattern - more than {_MAX_CHOICES} alternatives")
    return done


@lru_cache(maxsize=512)
def path_regex(pattern: str) -> re.Pattern[str]:
    """Give what fits whole relative paths: `*` and `?` stay within a folder, `**` goes through any number of them."""
    text, at = "", 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            text, at = text + "(?:[^/]+/)*", at + 3
        elif pattern.startswith("**", at) and at + 2 == len(pattern) and (at == 0 or pattern[at - 1] == "/"):
            text, at = text + ".+", at + 2
        elif pattern[at] == "*":
            while at < len(pattern) and pattern[at] == "*":
                at += 1
            text += "[^/]*"
        elif pattern[at] == "[" and (found := re.compile(r"\[([!^]?)(\]?[^\]/]*)\]").match(pattern, at)):
            text += f"(?!/)[{'^' if found[1] else ''}{_class(found[2])}]"
            at = found.end()
        else:
            escaped = pattern[at] == "\\" and at + 1 < len(pattern)
            at += escaped
            text += "[^/]" if pattern[at] == "?" and not escaped else re.escape(pattern[at])
            at += 1
    try:
        return re.compile(text, re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))


def _class(inside: str) -> str:
    return re.sub(r"([\\\[\]&~|^])", r"\\\1", inside)


def fits_any(path: str, patterns: Iterable[str]) -> bool:
    """Tell whether a relative path fits a pattern; one without `/` is compared with the last part alone."""
    name = path.rpartition("/")[2]
    return any(path_regex(one).fullmatch(path if "/" in one else name) for one in patterns)


@dataclass(frozen=True, slots=True)
class _Rule:
    regex: re.Pattern[str]
    is_negated: bool
    folders_only: bool
    by_name: bool


class Ignored:
    """The rules of a `.gitignore` file, and of those above it.

    Args:
        text: What the file holds.
        folder: The relative path of its folder, with `/` at its end; empty for the top.
        above: The rules of the folder above.
    """

    def __init__(self, text: str, folder: str, above: Ignored | None = None) -> None:
        self._folder = folder
        self._above = above
        self._rules = [rule for line in text.splitlines()[:10_000] if (rule := _rule(line))]

    def has(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether a relative path is ignored; the last rule that fits decides."""
        found = self._decision(path, is_folder)
        return bool(found)

    def _decision(self, path: str, is_folder: bool) -> bool | None:
        inside = path.removeprefix(self._folder)
        for rule in reversed(self._rules):
            if rule.folders_only and not is_folder:
                continue
            if rule.regex.fullmatch(inside.rpartition("/")[2] if rule.by_name else inside):
                return not rule.is_negated
        return self._above._decision(path, is_folder) if self._above else None


def _rule(line: str) -> _Rule | None:
    text = line.rstrip("\n").rstrip(" ") if not line.endswith("\\ ") else line
    if not text or text.startswith("#") or len(text) > MAX_PATTERN:
        return None
    is_negated = text.startswith("!")
    text = text[1:] if is_negated else text
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    by_name = "/" not in text
    text = text.removeprefix("/")
    return _Rule(path_regex(text), is_negated, folders_only, by_name) if text else None
