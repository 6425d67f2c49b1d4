"""The place of a character inside a text of a document: an offset into the value becomes a line and a column."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catenary.load.places import Path, Place, Places

_ESCAPE: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]")


def place_inside(places: Places, path: Path, written: str, source: str, position: int) -> Place | None:
    """Find where a character of an expression, template or script stands.

    Args:
        places: The places of the document.
        path: The path of the text.
        written: The text.
        source: What was compiled: the text, or a part of it.
        position: The offset into `source`.

    Returns:
        The place; `None` when the text does not stand in the document as it is (a placeholder was resolved in it,
        or it is a YAML text folded over lines).
    """
    begin = written.find(source)
    start = places.values.get(path)
    if begin < 0 or start is None:
        return None
    offset = begin + position
    text = places.text
    quote = text[start : start + 1]
    if quote == '"':
        return _in_quotes(places, start + 1, written, offset)
    plain_start = start + 1 if quote == "'" else start
    if text.startswith(written, plain_start):
        return places.at(plain_start + offset)
    if quote == "|":
        return _in_block(places, start, written, offset)
    return None


def _in_quotes(places: Places, at: int, written: str, offset: int) -> Place | None:
    """Count characters of a text in double quotes, in which one may be written as an escape."""
    text = places.text
    seen = 0
    while seen < offset:
        match = _ESCAPE.match(text, at)
        if match is None or seen >= len(written):
            return None
        at = match.end()
        seen += 1
    return places.at(at)


def _in_block(places: Places, at: int, written: str, offset: int) -> Place | None:
    """Find a line of a literal block of YAML: the lines after `|`, each with the same indentation before it."""
    text = places.text
    row = written.count("\n", 0, offset)
    column = offset - (written.rfind("\n", 0, offset) + 1)
    lines = written.split("\n")
    for _ in range(row + 1):
        at = text.find("\n", at) + 1
        if not at:
            return None
    end = text.find("\n", at)
    line = text[at : end if end >= 0 else len(text)].rstrip("\r")
    if not line.endswith(lines[row]):
        return None
    return places.at(at + len(line) - len(lines[row]) + column)
