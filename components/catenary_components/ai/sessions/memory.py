"""Sessions in the memory of one process."""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

from catenary.jsontext import loads
from catenary_components.ai.sessions.store import Record, check_key, check_version, is_set_aside


class MemoryStore:
    """A `SessionStore` that ends with its process. What is written and read is a copy."""

    def __init__(self) -> None:
        self._records: dict[str, tuple[int, str]] = {}
        self._lock = Lock()

    @property
    def place(self) -> str:
        """The memory of this store; there is no other with the same records."""
        return f"memory:{id(self)}"

    async def load(self, key: str) -> Record | None:
        """Give the record under a key, see `SessionStore.load`."""
        found = self._records.get(key)
        return Record(found[0], loads(found[1])) if found else None

    async def save(self, key: str, text: str, expected: int) -> int:
        """Write a record, see `SessionStore.save`."""
        with self._lock:
            found = self._records.get(check_key(key), (0, ""))[0]
            check_version(key, expected, found)
            self._records[key] = (found + 1, text)
        return found + 1

    async def delete(self, key: str) -> bool:
        """Take a record out, see `SessionStore.delete`."""
        return self._records.pop(key, None) is not None

    async def set_aside(self, key: str, suffix: str) -> str:
        """Put a record under another key, see `SessionStore.set_aside`."""
        with self._lock:
            self._records[key + suffix] = self._records.pop(key)
        return key + suffix

    async def keys(self, prefix: str = "") -> list[str]:
        """Give the keys, see `SessionStore.keys`."""
        with self._lock:
            return sorted(key for key in self._records if key.startswith(prefix) and not is_set_aside(key))

    async def close(self) -> None:
        """Keep all records: others of the same process use them."""


_of_engines: WeakKeyDictionary[object, MemoryStore] = WeakKeyDictionary()
_lock = Lock()


def memory_of(engine: object) -> MemoryStore:
    """Give the sessions in memory that all agents of an engine share; they stay when chains are loaded anew."""
    with _lock:
        store = _of_engines.get(engine)
        if store is None:
            store = _of_engines[engine] = MemoryStore()
        return store
