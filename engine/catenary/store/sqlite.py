"""One SQLite file: many readers, one thread that writes, tables that are brought up to date by their owners."""

from __future__ import annotations

import atexit
import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from catenary.errors import StoreError
from catenary.store.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from concurrent.futures import Future

T = TypeVar("T")
Migrations: TypeAlias = "Sequence[Sequence[str]]"
"""For each version of an owner's tables, the SQL statements that make it from the one before."""

APPLICATION_ID: Final = 0x43544E59
"""Marks a file as ours in its header: `CTNY`."""

_LAYOUT: Final = 1
_BUSY_S: Final = 5.0
_AGAIN_S: Final = 0.01


class Database:
    """A SQLite file of ours. Safe to use from many threads; other processes may use the same file at the same time.

    Args:
        path: The file. It and its folder are made when they are missing, readable by the user alone.
        must_exist: True to refuse a file that is not there instead of making one.
        busy_s: How long to wait for another process that is writing, in seconds.

    Raises:
        StoreError: When the file cannot be opened: no access, damaged, of another program, of a later version.
    """

    def __init__(self, path: str | Path, *, must_exist: bool = False, busy_s: float = _BUSY_S) -> None:
        self.path = Path(path).expanduser().absolute()
        self._busy_s = busy_s
        self._gate = Lock()
        self._idle: list[sqlite3.Connection] = []
        self._process = os.getpid()
        self._closed = False
        self._owners: dict[str, int] = {}
        if must_exist and not self.path.is_file():
            raise StoreError(f"there is no store at {self.path}", hint="a run is recorded with `catenary run --record`")
        with self._told():
            self._make_place()
            with closing(self._connect()) as connection:
                _mark(connection, self.path)
                _write_ahead(connection, busy_s)
        self._writer = Writer(self._connect, self._translated)
        atexit.register(self.close)

    def migrate(self, owner: str, versions: Migrations) -> None:
        """Bring the tables of one owner up to date; all of it or nothing, also when several processes do it at once.

        Args:
            owner: Who the tables belong to, such as `history`; their names begin with it or are its own.
            versions: The statements of every version there ever was, the first one first.

        Raises:
            StoreError: When the file has a later version of these tables than this program knows.
        """
        with self._told(), closing(self._connect()) as connection:
            if _version_of(connection, owner) != len(versions):
                with _transaction(connection):
                    _bring_up(connection, owner, versions, self.path)
        self._owners[owner] = len(versions)

    # Reading and writing

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Give all rows of a query. It blocks, so ask for it in a thread where an event loop runs.

        Raises:
            StoreError: When the file cannot be read.
        """
        with self.reader() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def reader(self) -> Generator[sqlite3.Connection]:
        """Lend a connection for several queries that see the same state. Raises: StoreError: as `read`."""
        with self._told():
            connection = self._borrow()
            try:
                with _same_state(connection):
                    yield connection
            finally:
                self._give_back(connection)

    def submit(self, work: Callable[[sqlite3.Connection], T], *, within_s: float = 0.0) -> Future[T]:
        """Have something written by the writer thread, in one transaction with whatever else waits there.

        Args:
            work: Gets the connection. It may be called a second time when the first transaction failed.
            within_s: How long it may wait for others to share a transaction with, in seconds.

        Returns:
            What `work` gave, once it is on disk; a `StoreError` when it could not be written.

        Raises:
            StoreError: When the store is closed.
        """
        self._notice_fork()
        if self._closed:
            raise StoreError(f"the store {self.path} is closed", hint="write before it is closed")
        return self._writer.submit(work, within_s)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Write something and come back when it is on disk. It blocks. Raises: StoreError: as `submit`."""
        return self.submit(work).result()

    def close(self) -> None:
        """Write what waits to be written, and close the file. May be called again, also while the program ends."""
        atexit.unregister(self.close)
        if os.getpid() != self._process:
            return
        self._closed = True
        self._writer.close()
        with self._gate:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # Inside

    def _make_place(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.path.exists():
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._busy_s, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")  # with WAL: sound after a crash, whatever it hits
        return connection

    def _borrow(self) -> sqlite3.Connection:
        self._notice_fork()
        if self._closed:
            raise StoreError(f"the store {self.path} is closed", hint="read before it is closed")
        with self._gate:
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._gate:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _notice_fork(self) -> None:
        """Begin anew in a forked process: SQLite forbids to use a connection of the parent."""
        if os.getpid() == self._process:
            return
        self._process = os.getpid()
        self._gate = Lock()
        self._inherited, self._idle = self._idle, []  # kept, for closing them would let go of the parent's locks
        self._writer = Writer(self._connect, self._translated)
        atexit.register(self.close)

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._translated(error) from error

    def _translated(self, error: sqlite3.Error | OSError) -> StoreError:
        """Give an error of SQLite or of the system in words for users."""
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        if "locked" in reason or "busy" in reason:
            return StoreError(
                f"the store {self.path} is in use: another process has been writing for more than {self._busy_s:g} s",
                hint="try again when it is done",
            )
        if any(sign in reason for sign in ("malformed", "not a database", "already exists")):
            return StoreError(
                f"the store {self.path} is damaged or no SQLite file: {reason}",
                hint="move the file away, or name another one with --store; a new one is made when a run is recorded",
            )
        return StoreError(
            f"the store {self.path} cannot be used: {reason}", hint="look at the path, its rights and the disk"
        )


def _mark(connection: sqlite3.Connection, path: Path) -> None:
    """Make sure that a file is ours, and mark a new one."""
    if not _is_ours(connection, path):
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        with _transaction(connection):
            if not _is_ours(connection, path):  # another process may have been quicker
                connection.execute("CREATE TABLE owners (name TEXT PRIMARY KEY, version INTEGER NOT NULL)")
                connection.execute(f"PRAGMA user_version = {_LAYOUT}")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Tell whether a file is marked as ours; an empty one is not. Raises: StoreError: when we must not touch it."""
    with _same_state(connection):
        kind = connection.execute("PRAGMA application_id").fetchone()[0]
        layout = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if kind == APPLICATION_ID:
        if layout > _LAYOUT:
            raise _too_new(path)
        return True
    if kind or tables:
        raise StoreError(f"{path} is a SQLite file of another program", hint="name another file with --store")
    return False


def _write_ahead(connection: sqlite3.Connection, busy_s: float) -> None:
    """Have readers and a writer not wait for each other. SQLite does not wait itself when several ask for that."""
    until = monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if monotonic() > until:
                raise
            sleep(_AGAIN_S)
        else:
            return


@contextmanager
def _same_state(connection: sqlite3.Connection) -> Generator[None]:
    """Have several queries see the same state."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _version_of(connection: sqlite3.Connection, owner: str) -> int:
    row = connection.execute("SELECT version FROM owners WHERE name = ?", (owner,)).fetchone()
    return row[0] if row else 0


def _bring_up(connection: sqlite3.Connection, owner: str, versions: Migrations, path: Path) -> None:
    present = _version_of(connection, owner)
    if present > len(versions):
        raise _too_new(path)
    for statements in versions[present:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute("INSERT OR REPLACE INTO owners (name, version) VALUES (?, ?)", (owner, len(versions)))


def _too_new(path: Path) -> StoreError:
    return StoreError(
        f"the store {path} was written by a later version of catenary",
        hint="update catenary, or name another file with --store",
    )


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
