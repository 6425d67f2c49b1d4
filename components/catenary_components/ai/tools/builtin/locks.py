"""One writer a file, among all tools of this process."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

_GUARD: Final = threading.Lock()
_LOCKS: Final[dict[str, tuple[threading.Lock, int]]] = {}


@contextmanager
def file_lock(real: str) -> Generator[None]:
    """Wait until nobody else writes the file with this real path, and keep others waiting to the end of the block.

    It is held while a file is read and written, so the wait is short and has no limit.
    """
    with _GUARD:
        lock, users = _LOCKS.get(real, (threading.Lock(), 0))
        _LOCKS[real] = lock, users + 1
    try:
        with lock:
            yield
    finally:
        with _GUARD:
            users = _LOCKS[real][1] - 1
            if users:
                _LOCKS[real] = lock, users
            else:
                del _LOCKS[real]
