"""The colours of a picture. Text on all of them has a contrast of at least 4.5 to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GROUND: Final = "#ffffff"
FRAME: Final = "#d0d7de"
INK: Final = "#1f2328"
PALE_INK: Final = "#57606a"
LINE: Final = "#6e7781"
FAILURE_LINE: Final = "#d1636c"
FAILURE_INK: Final = "#b3202c"
PALE_LINE: Final = "#c8ced5"
TAKEN: Final = "#0b5fae"


@dataclass(frozen=True, slots=True)
class Tint:
    """A family of colours: `strong` for borders and text, `soft` for the ground below it."""

    strong: str
    soft: str


CATEGORIES: Final[dict[str, Tint]] = {
    "filter": Tint("#7d4e00", "#fff8e1"),
    "transform": Tint("#0b5fae", "#e8f3ff"),
    "action": Tint("#1a6b3a", "#e8f7ed"),
    "common": Tint("#48505a", "#f1f3f5"),
    "flow": Tint("#34459c", "#eceffd"),
    "external": Tint("#8a3b12", "#fff0e6"),
    "ai": Tint("#6639ba", "#f5efff"),
    "endpoint": Tint("#0c6573", "#e3f6f8"),
    "unknown": Tint("#b3202c", "#ffebe9"),
}
OTHER: Final = Tint("#8a2566", "#ffeff7")

_RELATIONS: Final[dict[str, Tint]] = {
    "Success": Tint("#1a6b3a", "#e8f7ed"),
    "True": Tint("#1a6b3a", "#e8f7ed"),
    "Failure": Tint("#b3202c", "#ffebe9"),
    "False": Tint("#7d4e00", "#fff8e1"),
    "Stream": Tint("#0b5fae", "#e8f3ff"),
}
_PLAIN: Final = Tint("#48505a", "#f1f3f5")


def tint_of(category: str) -> Tint:
    """Give the colours of a category."""
    return CATEGORIES.get(category, OTHER)


def relation_tint(relations: tuple[str, ...]) -> Tint:
    """Give the colours of a label; those of the first relation when it names several."""
    return _RELATIONS.get(relations[0], _PLAIN)
