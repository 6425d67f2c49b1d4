"""How wide texts are, roughly and rather too wide than too narrow: no font is at hand when a picture is made."""

from __future__ import annotations

import unicodedata
from typing import Final

_NARROW: Final = frozenset("ijl.,:;'|!")
_SLIM: Final = frozenset('frt()[]{}"`-/\\ I')
_BROAD: Final = frozenset("mwMW@%")
MONOSPACE_EM: Final = 0.62


def width_of(text: str, size: float, *, monospace: bool = False) -> float:
    """Give the width of a text in pixels, for a font of `size` pixels."""
    return size * sum(_em(character, monospace) for character in text)


def fit(text: str, size: float, room: float, *, monospace: bool = False) -> str:
    """Give the text, cut with `…` where it is wider than `room` pixels."""
    if width_of(text, size, monospace=monospace) <= room:
        return text
    left = room - size
    kept = ""
    for character in text:
        left -= size * _em(character, monospace)
        if left < 0:
            break
        kept += character
    return kept.rstrip() + "…"


def lines_of(text: str, size: float, room: float, most: int = 2) -> list[str]:
    """Break a text at spaces into at most `most` lines of `room` pixels; the last one is cut to fit."""
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < most - 1:
        line = words.pop(0)
        while words and width_of(f"{line} {words[0]}", size) <= room:
            line = f"{line} {words.pop(0)}"
        lines.append(fit(line, size, room))
    if words:
        lines.append(fit(" ".join(words), size, room))
    return lines


def printable(text: str) -> str:
    """Give the text with what XML cannot hold, and every kind of line break, shown as a space."""
    return "".join(character if _is_shown(character) else " " for character in text)


def _is_shown(character: str) -> bool:
    return not (unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or ord(character) & 0xFFFE == 0xFFFE)


def _em(character: str, monospace: bool) -> float:
    if unicodedata.east_asian_width(character) in {"W", "F"} or ord(character) > 0x2E80:
        return 1.1
    if unicodedata.combining(character):
        return 0.0
    if monospace:
        return MONOSPACE_EM
    if character in _NARROW:
        return 0.32
    if character in _SLIM:
        return 0.43
    if character in _BROAD:
        return 1.0
    return 0.76 if character.isupper() else 0.64
