"""Sessions: what an agent remembers from call to call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.lazy_names import lazy_getattr

if TYPE_CHECKING:
    from catenary_components.ai.sessions.files import FileStore
    from catenary_components.ai.sessions.hold import SessionPolicy, Sessions
    from catenary_components.ai.sessions.memory import MemoryStore, memory_of
    from catenary_components.ai.sessions.places import open_store
    from catenary_components.ai.sessions.slot import Slot
    from catenary_components.ai.sessions.store import SessionStore
    from catenary_components.ai.sessions.window import Window

__all__ = [
    "FileStore",
    "MemoryStore",
    "SessionPolicy",
    "SessionStore",
    "Sessions",
    "Slot",
    "Window",
    "memory_of",
    "open_store",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "FileStore": "files",
        "MemoryStore": "memory",
        "SessionPolicy": "hold",
        "SessionStore": "store",
        "Sessions": "hold",
        "Slot": "slot",
        "Window": "window",
        "memory_of": "memory",
        "open_store": "places",
    },
)
