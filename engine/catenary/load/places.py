"""Where the values of a document stand in its text."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.jsontext import Json

Path: TypeAlias = tuple[str | int, ...]
"""The way to a value from the top of a document: keys as written, and indexes of lists."""

MAX_DEPTH: Final = 100
"""How deep values may be nested in a document."""

ABSENT: Final[Any] = object()
"""Stands for a value that is not there."""


HALF_PAIR: Final = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which is no character: no file can hold it and no terminal can show it."""


def entries(value: Json) -> Iterable[tuple[str | int, Json]]:
    """Give the values in a mapping or list, each with its key or index; nothing for other values."""
    if isinstance(value, dict):
        return cast("dict[str | int, Json]", value).items()
    return enumerate(cast("list[Json]", value)) if isinstance(value, list) else ()


def value_at(value: Json, path: Path) -> Json:
    """Follow a path; `ABSENT` when it leads nowhere."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return value


def same_key(mapping: dict[str, Json], key: str) -> str | None:
    """Give the key as it is written in a mapping: the same, else the first that differs in case only."""
    if key in mapping:
        return key
    lower = key.lower()
    return next((name for name in mapping if name.lower() == lower), None)


class Place(NamedTuple):
    """A place in a text, both from 1; 0 and 0 when it is not known."""

    line: int = 0
    column: int = 0


class Lines:
    """Finds line and column, in characters, of an offset into a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]

    def place(self, offset: int) -> Place:
        """Give the place of an offset; the end of the text is a place too."""
        line = bisect_right(self._starts, offset)
        return Place(line, offset - self._starts[line - 1] + 1)


class Places:
    """The places of all values and keys of a document, by path.

    Args:
        text: The text of the document; empty for a document that never was one, of which no place is known.
        values: The offset at which each value begins.
        keys: The offset at which the key of each value in a mapping begins.
    """

    def __init__(
        self,
        text: str = "",
        values: dict[Path, int] | None = None,
        keys: dict[Path, int] | None = None,
    ) -> None:
        self.text = text
        self.values = values or {}
        self.keys = keys or {}
        self._lines: Lines | None = None

    def of(self, path: Path) -> Place:
        """Give where a value begins; of what is not there, where the nearest thing around it begins."""
        return self._find(self.values, path)

    def of_key(self, path: Path) -> Place:
        """Give where the key of a value begins; the value's own place when it has no key."""
        return self._find(self.keys, path) if path in self.keys else self.of(path)

    def at(self, offset: int) -> Place:
        """Give the place of an offset into the text."""
        if self._lines is None:
            self._lines = Lines(self.text)
        return self._lines.place(offset)

    def _find(self, offsets: dict[Path, int], path: Path) -> Place:
        while path and path not in offsets:
            path = path[:-1]
        offset = offsets.get(path)
        return Place() if offset is None else self.at(offset)
