"""Names that are not known: what was meant by them, and placeholders that are left."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

UNRESOLVED: Final = re.compile(r"\$\{\s*((?:global|vars|secrets)\.[\w.\-]+)\s*\}")
"""A placeholder that the pass over the configuration has left, for nothing is set for it."""

_MOST: Final = 1000
"""How many names are compared: each takes time, and a chain may have thousands of nodes."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Give the known name that is most like `name`, without regard to case; `None` when none is like it."""
    by_lower = {other.lower(): other for other in islice(known, _MOST)}
    matches = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """Give the known name that is meant by a name which may also be one of its own.

    It is one of its own when it is a known one with something before or behind it, such as `react2`.
    """
    by_plain = {_plain(other): other for other in known}
    plain = _plain(name)
    if plain in by_plain:
        return by_plain[plain]
    matches = get_close_matches(plain, [other for other in by_plain if other not in plain], n=1, cutoff=0.75)
    return by_plain[matches[0]] if matches else None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def listed(names: Iterable[str]) -> str:
    """Give the first names as a text."""
    first = list(islice(names, 11))
    return ", ".join(first[:10]) + (", ..." if len(first) > 10 else "") if first else "none"


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Give the hint `did you mean 'x'?`, or another hint when nothing is like the name."""
    guess = closest(name, known)
    return f"did you mean {guess!r}?" if guess else otherwise
