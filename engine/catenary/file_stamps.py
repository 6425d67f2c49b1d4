"""What changes when a file does."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Stamp: TypeAlias = tuple[int, int, int]
"""Time in nanoseconds, size, and the number of the file itself, which another one of the same name does not have."""


def stamp_of(path: Path) -> Stamp | None:
    """Give the stamp of a file; `None` when it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
