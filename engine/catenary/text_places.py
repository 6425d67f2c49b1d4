"""Places in a text: line and column of an offset, and the line shown so that a person finds it."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

_WIDTH = 76


def place(source: str, position: int) -> tuple[int, int]:
    """Give line and column, both from 1, of an offset in characters."""
    before = source[: max(position, 0)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def excerpt(source: str, position: int) -> str:
    """Give the line around `position` with a caret below the place; long lines are cut on both sides.

    What cannot be printed is shown as a blank; East Asian characters take two columns of a terminal.
    """
    line, column = place(source, position)
    lines = source.split("\n")
    text = lines[line - 1] if line <= len(lines) else ""
    text = "".join([char if char.isprintable() else " " for char in text.rstrip("\r")])
    start = max(0, min(column - 1 - _WIDTH // 2, len(text) - _WIDTH))
    cut = text[start : start + _WIDTH]
    return f"    {cut}\n    {' ' * sum(map(_columns, cut[: column - 1 - start]))}^"


def _columns(char: str) -> int:
    """Give how many columns of a terminal a character takes."""
    if char.isascii():
        return 1
    return 0 if combining(char) else 2 if east_asian_width(char) in {"W", "F"} else 1


def shorten(text: str, limit: int = 120) -> str:
    """Give `text` on one line and at most `limit` characters long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
