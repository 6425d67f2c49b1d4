"""Files that a program names itself: they may lie where it says, whatever folders the chains of its engine may use."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from catenary import Engine

_named: WeakKeyDictionary[Engine, set[str]] = WeakKeyDictionary()


def trust(engine: Engine, name: str) -> None:
    """Let a file, or a store of sessions, lie where its name says."""
    _named.setdefault(engine, set()).add(name.strip())


def is_trusted(engine: Engine, name: str) -> bool:
    """Tell whether the program has named a file or store itself."""
    return name.strip() in _named.get(engine, ())
