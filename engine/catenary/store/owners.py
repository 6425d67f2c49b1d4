"""Who holds runs: a lock on a file, which the system lets go of when the process ends, however it ends.

A process number would not do: it is given out again. Neither would a heartbeat: a process that sleeps for a while
would count as gone, and its run would go on twice.
"""

from __future__ import annotations

import os
import sys
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIX: Final = "-holders"
_CLOEXEC: Final = getattr(os, "O_CLOEXEC", 0)


class Owner:
    """Holds a lock as long as it is not closed and its process lives. Forked processes do not hold it.

    Args:
        store: The file of records; the locks are in a folder beside it.

    Attributes:
        name: A unique name.
    """

    def __init__(self, store: Path) -> None:
        self.name = str(uuid.uuid4())
        self._path = _path(store, self.name)
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        new = self._path.with_suffix(".new")
        self._file: int | None = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | _CLOEXEC, 0o600)
        _lock(self._file, shared=False)
        new.rename(self._path)  # what has this name and no lock belongs to nobody
        _held[self.name] = self
        _sweep(store)

    @property
    def is_held(self) -> bool:
        """False once it is closed, and in a forked process."""
        return self._file is not None

    def close(self) -> None:
        """Let go of the lock. May be called again."""
        _held.pop(self.name, None)
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                self._path.unlink()
            os.close(file)

    def forget(self) -> None:
        """Close the file that a fork inherited; the lock stays with the parent."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def is_there(store: Path, name: str) -> bool:
    """Tell whether the owner of this name holds its lock still."""
    try:
        file = os.open(_path(store, name), os.O_RDWR | _CLOEXEC)
    except OSError:
        return False
    try:
        return not _lock(file, shared=True)
    finally:
        os.close(file)


def _path(store: Path, name: str) -> Path:
    return store.with_name(f"{store.name}{_SUFFIX}") / f"{name}.lock"


def _sweep(store: Path) -> None:
    """Delete the files of processes that could not do so themselves."""
    for path in _path(store, "").parent.glob("*.lock"):
        if not is_there(store, path.stem):
            with suppress(OSError):
                path.unlink()


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, *, shared: bool) -> bool:  # noqa: ARG001 - there is one kind only
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(file: int, *, shared: bool) -> bool:
        """Take the lock if nobody has it. Those who only look take a shared one, and do not see each other."""
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


_held: dict[str, Owner] = {}


def _after_fork() -> None:
    for owner in list(_held.values()):
        owner.forget()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
