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

DARK: Final[dict[str, str]] = {
    GROUND: "#161b22",
    FRAME: "#30363d",
    INK: "#e6edf3",
    PALE_INK: "#9da7b3",
    LINE: "#8b949e",
    FAILURE_LINE: "#d4575f",
    FAILURE_INK: "#ff8a82",
    PALE_LINE: "#3a424c",
    TAKEN: "#58a6ff",
    "#7d4e00": "#e3b341",
    "#fff8e1": "#2a2212",
    "#e8f3ff": "#10233a",
    "#1a6b3a": "#56d364",
    "#e8f7ed": "#12271a",
    "#48505a": "#b7c0ca",
    "#f1f3f5": "#23292f",
    "#34459c": "#a3b3ff",
    "#eceffd": "#1c2240",
    "#8a3b12": "#f0a470",
    "#fff0e6": "#2d1c11",
    "#6639ba": "#c8a2ff",
    "#f5efff": "#251b39",
    "#0c6573": "#56d4dd",
    "#e3f6f8": "#0e262a",
    "#ffebe9": "#33181a",
    "#8a2566": "#f788c4",
    "#ffeff7": "#311624",
}
"""What stands in the place of each colour where the ground is dark."""


def tint_of(category: str) -> Tint:
    """Give the colours of a category."""
    return CATEGORIES.get(category, OTHER)


def relation_tint(relations: tuple[str, ...]) -> Tint:
    """Give the colours of a label; those of the first relation when it names several."""
    return _RELATIONS.get(relations[0], _PLAIN)
