"""Sessions as JSON files in a folder, one a session."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.jsontext import dumps, encodable, loads
from catenary_components.ai.sessions.store import DamagedRecord, Record, SessionError, check_key, check_version

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from catenary.jsontext import Json

try:
    import fcntl
except ImportError:  # pragma: no cover - there are no such locks on Windows
    fcntl = None

_SUFFIX: Final = ".json"
_NEW: Final = ".new"
_PLAIN: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST_NAME: Final = 150
_MARKED: Final = 64
"""How many bytes of a name that is too long are kept before its fingerprint."""


class FileStore:
    """A `SessionStore` in a folder, made when it is missing and readable by the user alone.

    A file is written beside, brought to the disk, and put in the place of the former one, so that a reader and a
    crash find the one or the other, whole. Names of files are made of keys so that none leads out of the folder, and
    none is another's: every byte but `a-z`, `0-9`, `_` and `-` is written as `%` and two digits. Processes that use
    the same folder on one machine write one after the other.

    Args:
        folder: Where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._gate = Lock()

    @property
    def place(self) -> str:
        """The folder."""
        return f"files:{self._folder}"

    async def load(self, key: str) -> Record | None:
        """Read a file, see `SessionStore.load`."""
        return await self._done("read", key, lambda: self._read(key))

    async def save(self, key: str, text: str, expected: int) -> int:
        """Write a file, see `SessionStore.save`."""
        return await self._done("saved", check_key(key), lambda: self._write(key, text, expected))

    async def delete(self, key: str) -> bool:
        """Delete a file, see `SessionStore.delete`."""
        return await self._done("deleted", key, lambda: self._delete(key))

    async def set_aside(self, key: str, suffix: str) -> str:
        """Rename a file, see `SessionStore.set_aside`."""
        return await self._done("set aside", key, lambda: self._rename(key, suffix))

    async def keys(self, prefix: str = "") -> list[str]:
        """Read the keys of all files, see `SessionStore.keys`."""
        return await self._done("listed", prefix, lambda: self._keys(prefix))

    async def close(self) -> None:
        """Do nothing: no file stays open."""

    def path_of(self, key: str) -> Path:
        """Give the file of a key."""
        return self._folder / (file_name(key) + _SUFFIX)

    async def _done(self, what: str, key: str, work: Callable[[], Any]) -> Any:
        """Do something in a thread that comes to its end even when nobody waits for it any more."""
        try:
            return await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, work))
        except OSError as error:
            raise _told(error, what, key, self._folder) from error

    def _read(self, key: str) -> Record | None:
        try:
            text = self.path_of(key).read_bytes()
        except FileNotFoundError:
            return None
        return _record(text, key)

    def _write(self, key: str, text: str, expected: int) -> int:
        path = self.path_of(key)
        with self._alone():
            found = _version(path)
            check_version(key, expected, found)
            head = dumps({"key": encodable(key), "version": found + 1})
            _put(path, f'{head[:-1]},"state":{text}}}\n'.encode())
        return found + 1

    def _delete(self, key: str) -> bool:
        with self._alone():
            try:
                self.path_of(key).unlink()
            except FileNotFoundError:
                return False
            return True

    def _rename(self, key: str, suffix: str) -> str:
        path = self.path_of(key)
        aside = path.with_name(path.name + suffix)
        with self._alone():
            path.rename(aside)
        return str(aside)

    def _keys(self, prefix: str) -> list[str]:
        found: list[str] = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            try:
                given: Json = loads(path.read_bytes())
                found.append(str(given["key"]))
            except (OSError, ValueError, TypeError, KeyError):  # gone, or damaged: whoever loads it is told
                continue
        return sorted(key for key in found if key.startswith(prefix))

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Keep other writers out, of this process and of others; for as long as it takes to write a file."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._gate:
            lock = os.open(self._folder / ".lock", os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                yield
            finally:
                os.close(lock)


def file_name(key: str) -> str:
    """Give the name of a key's file, without what stands behind the dot; a very long one ends in a fingerprint."""
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in key.encode("utf-8", "surrogatepass"))
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[:_MARKED]}%~{digest}"


def _record(text: bytes, key: str) -> Record:
    try:
        given: Json = loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedRecord(f"it is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise DamagedRecord("it is no JSON object")
    fields = cast("dict[str, Json]", given)
    version = fields.get("version")
    if not isinstance(version, int) or "state" not in fields or fields.get("key") != encodable(key):
        raise DamagedRecord("it is not a session of this key")
    return Record(version, fields["state"])


def _version(path: Path) -> int:
    """Give the version that is there; 0 for none. A file that is damaged has a version that nobody expects."""
    try:
        given: Json = loads(path.read_bytes())
        return int(given["version"])
    except FileNotFoundError:
        return 0
    except (ValueError, TypeError, KeyError, RecursionError):
        return -2


def _put(path: Path, content: bytes) -> None:
    """Put a file in the place of another: all of it or nothing, also when the machine goes down."""
    new = path.with_name(path.name + _NEW)
    try:
        handle = os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
    with suppress(OSError):  # where folders cannot be opened, the file system sees to it
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _told(error: OSError, what: str, key: str, folder: Path) -> SessionError:
    hint = "look at the folder and who may write there"
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        hint = "the disk is full, or there is a limit: make room"
    reason = error.strerror or str(error)
    return SessionError(f"session {key!r} could not be {what} in {folder}: {reason}", hint=hint)
