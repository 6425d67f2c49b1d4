"""Names of tools as models write them: put right before anything looks at a call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS: Final = re.compile(r"[^a-z0-9]+")
_SUFFIX: Final = re.compile(r"(?<=[a-z0-9])_(?:tool|function)$")


def plain_spelling(name: str) -> str:
    """Give what different spellings of a name have in common: `getStock`, `Get-Stock` and `get_stock_tool` are one."""
    return _SUFFIX.sub("", _SEPARATORS.sub("_", _HUMP.sub("_", name).lower()).strip("_"))


def spellings(names: Iterable[str]) -> Mapping[str, str]:
    """Give names by their plain spelling; those that share one with another name are left out."""
    found: dict[str, str] = {}
    doubled: set[str] = set()
    for name in names:
        plain = plain_spelling(name)
        if plain in found:
            doubled.add(plain)
        found[plain] = name
    return {plain: name for plain, name in found.items() if plain and plain not in doubled}
