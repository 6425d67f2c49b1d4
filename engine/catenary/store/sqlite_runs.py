"""Runs in a SQLite file: a row for each run, its visits in pieces of text, each version of a chain once."""

from __future__ import annotations

import logging
import sqlite3
import time
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import StoreError
from catenary.recording import RunRecord
from catenary.store.coding import from_text, read_piece, to_text, write_piece
from catenary.store.fingerprint import fingerprint
from catenary.store.owners import Owner, is_there
from catenary.store.pauses import VERSIONS as PAUSES
from catenary.store.runs import RunSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from catenary.jsontext import Json
    from catenary.store.runs import Entry, Limits, Query
    from catenary.store.sqlite import Database, Migrations

logger = logging.getLogger(__name__)

VERSIONS: Final[Migrations] = [
    [
        "CREATE TABLE definitions (key INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, body TEXT NOT NULL)",
        """CREATE TABLE runs (
            key INTEGER PRIMARY KEY,
            run_id TEXT NOT NULL UNIQUE,
            chain_id TEXT NOT NULL,
            chain_version INTEGER NOT NULL,
            definition INTEGER NOT NULL REFERENCES definitions (key),
            status TEXT NOT NULL,
            error TEXT NOT NULL,
            started_ms INTEGER NOT NULL,
            ended_ms INTEGER,
            visits INTEGER NOT NULL,
            size_bytes INTEGER NOT NULL,
            process TEXT NOT NULL
        )""",
        "CREATE INDEX runs_by_time ON runs (started_ms)",
        "CREATE INDEX runs_by_chain ON runs (chain_id, started_ms)",
        "CREATE INDEX runs_by_definition ON runs (definition)",
        """CREATE TABLE pieces (
            run INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE, number INTEGER NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (run, number)
        )""",
    ]
]

OWNER: Final = "history"
_CAN_GO_ON: Final = 2
_PRUNE_EVERY_S: Final = 30.0
_PAGES_AT_ONCE: Final = 10_000
# Whether a node of the run waits for an answer: 2 when a later process could go on from there, 1 when it could not.
_WAITS: Final = """(SELECT max(CASE json_extract(pauses.body, '$.inside') WHEN '' THEN 2 ELSE 1 END) FROM pauses
    WHERE pauses.run_id = runs.run_id AND state IN ('open', 'answered')) AS waits"""
_RESUMED: Final = """(SELECT max(resumed_as) FROM pauses WHERE pauses.run_id = runs.run_id) AS resumed_as"""
_COLUMNS: Final = (
    "run_id, chain_id, chain_version, fingerprint, status, error, started_ms, ended_ms, visits, size_bytes, process,"
    f" {_WAITS}, {_RESUMED}"
)
_FROM: Final = "FROM runs JOIN definitions ON definitions.key = runs.definition"
_ADD_RUN: Final = """INSERT INTO runs
    (run_id, chain_id, chain_version, definition, status, error, started_ms, ended_ms, visits, size_bytes, process)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_GO_ON: Final = """UPDATE runs SET status = ?, error = ?, ended_ms = ?, visits = max(visits, ?),
    size_bytes = size_bytes + ? WHERE run_id = ? RETURNING key"""
_ADD_PIECE: Final = """INSERT INTO pieces (run, number, body)
    SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM pieces WHERE run = ?1"""


def is_recorded(database: Database, run_id: str) -> bool:
    """Tell whether a file has the record of a run; it need not have a history."""
    if not database.read("SELECT 1 FROM owners WHERE name = ?", (OWNER,)):
        return False
    return bool(database.read("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)))


class SqliteRuns:
    """Keeps records of runs in a SQLite file, a `RunStore`.

    Args:
        database: The file; closed with this one.
        limits: How much is kept; looked at with the first write and every half a minute.
    """

    def __init__(self, database: Database, limits: Limits) -> None:
        self.database = database
        self._limits = limits
        self._prune_at = 0.0
        database.migrate(OWNER, VERSIONS)
        database.migrate("pauses", PAUSES)
        self._definitions: dict[str, int] = {}
        self._fingerprints: dict[int, tuple[Mapping[str, Json], str]] = {}
        self._owner: Owner | None = None

    def write(self, take: Callable[[], Sequence[Entry]], within_s: float) -> Future[None]:
        """Write what `take` gives when the time has come, see `RunStore.write`."""
        return self.database.submit(lambda connection: self._write(connection, take()), within_s=within_s)

    def runs(self, query: Query) -> list[RunSummary]:
        """Give the runs that a query asks for, the newest first."""
        wanted = _conditions(query)
        where = f"WHERE {' AND '.join(part for part, _ in wanted)}" if wanted else ""
        found: list[RunSummary] = []
        with self.database.reader() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} {_FROM} {where} ORDER BY started_ms DESC, runs.key DESC",
                [value for _, value in wanted],
            )
            for row in rows:
                summary = _summary(row, self.database.path)
                if query.status in {"", summary.status}:
                    found.append(summary)
                if query.limit is not None and len(found) >= query.limit:
                    break
            rows.close()
        return found

    def get(self, run_id: str) -> RunRecord | None:
        """Give the whole record of a run; `None` when there is none. Raises: StoreError: when it is damaged."""
        with self.database.reader() as connection:
            row = connection.execute(
                f"SELECT runs.key, body, {_COLUMNS} {_FROM} WHERE run_id = ?", (run_id,)
            ).fetchone()
            if row is None:
                return None
            pieces = connection.execute("SELECT body FROM pieces WHERE run = ? ORDER BY number", (row["key"],))
            bodies = [piece["body"] for piece in pieces]
        try:
            return _record(row, bodies, self.database.path)
        except ValueError as error:
            raise StoreError(f"run {run_id} cannot be read: {error}", hint="delete it from the history") from error

    def matching(self, prefix: str, limit: int) -> list[str]:
        """Give the ids of runs that begin with a text, the newest first."""
        rows = self.database.read(
            "SELECT run_id FROM runs WHERE substr(run_id, 1, ?) = ? ORDER BY started_ms DESC, key DESC LIMIT ?",
            (len(prefix), prefix, limit),
        )
        return [row["run_id"] for row in rows]

    def delete(self, run_ids: Sequence[str]) -> int:
        """Delete runs. Returns: how many there were."""

        def work(connection: sqlite3.Connection) -> int:
            count = sum(connection.execute("DELETE FROM runs WHERE run_id = ?", (one,)).rowcount for one in run_ids)
            self._tidy(connection)
            return count

        return self.database.write(work)

    def prune(self, limits: Limits) -> int:
        """Delete what goes beyond the limits. Returns: how many runs that were."""
        return self.database.write(lambda connection: self._prune(connection, limits))

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.database.close()
        if self._owner is not None:
            self._owner.close()
            self._owner = None

    # Writing, in the thread of the file

    def _write(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
        process = self._holder()
        try:
            for entry in entries:
                self._write_one(connection, entry, process)
            if entries and time.monotonic() >= self._prune_at:
                self._prune_at = time.monotonic() + _PRUNE_EVERY_S
                self._prune(connection, self._limits)
        except BaseException:
            self._definitions.clear()  # what was added is taken back
            raise

    def _holder(self) -> str:
        """Give the name by which others see whether the process of a run is there; a forked one has another."""
        if self._owner is None or not self._owner.is_held:
            self._owner = Owner(self.database.path)
        return self._owner.name

    def _write_one(self, connection: sqlite3.Connection, entry: Entry, process: str) -> None:
        connection.execute("SAVEPOINT run")
        try:
            self._write_entry(connection, entry, process)
        except sqlite3.OperationalError:  # of the file, not of this run
            raise
        except Exception:
            connection.execute("ROLLBACK TO run")
            self._definitions.clear()
            logger.exception("a run cannot be written to the history", extra={"run_id": entry.record.run_id})
        connection.execute("RELEASE run")

    def _write_entry(self, connection: sqlite3.Connection, entry: Entry, process: str) -> None:
        record = entry.record
        body = write_piece(record, entry.visits)
        last = max((visit.number for visit in entry.visits), default=0)
        key: int | None = None
        if entry.is_first:
            connection.execute("DELETE FROM runs WHERE run_id = ?", (record.run_id,))
        else:
            values = (record.status, _storable(record.error), record.ended_ms, last, len(body), record.run_id)
            row = connection.execute(_GO_ON, values).fetchone()
            key = row[0] if row else None  # deleted in between
        if key is None:
            key = connection.execute(
                _ADD_RUN,
                (
                    record.run_id,
                    _storable(record.chain_id),
                    record.chain_version,
                    self._definition(connection, record.definition),
                    record.status,
                    _storable(record.error),
                    record.started_ms,
                    record.ended_ms,
                    last,
                    len(body),
                    process,
                ),
            ).lastrowid
        connection.execute(_ADD_PIECE, (key, body))

    def _definition(self, connection: sqlite3.Connection, definition: Mapping[str, Json]) -> int:
        """Give the key of a chain as written, which is stored once."""
        mark = self._fingerprint(definition)
        key = self._definitions.get(mark)
        if key is None:
            connection.execute(
                "INSERT INTO definitions (fingerprint, body) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (mark, to_text(definition)),
            )
            row = connection.execute("SELECT key FROM definitions WHERE fingerprint = ?", (mark,)).fetchone()
            key = self._definitions[mark] = row["key"]
        return key

    def _fingerprint(self, definition: Mapping[str, Json]) -> str:
        known = self._fingerprints.get(id(definition))
        if known is None or known[0] is not definition:
            if len(self._fingerprints) > 1000:
                self._fingerprints.clear()
            known = self._fingerprints[id(definition)] = (definition, fingerprint(definition))
        return known[1]

    def _prune(self, connection: sqlite3.Connection, limits: Limits) -> int:
        doomed: set[int] = set()
        if limits.max_age_s is not None:
            oldest = int((time.time() - limits.max_age_s) * 1000)
            doomed |= self._keys(connection, "WHERE started_ms < ?", oldest)
        if limits.max_runs is not None:
            doomed |= self._keys(connection, "ORDER BY started_ms DESC, key DESC LIMIT -1 OFFSET ?", limits.max_runs)
        if limits.max_bytes is not None:
            doomed |= self._keys(
                connection,
                """WHERE key IN (SELECT key FROM (
                    SELECT key, sum(size_bytes) OVER (ORDER BY started_ms DESC, key DESC) AS size FROM runs
                ) WHERE size > ?)""",
                limits.max_bytes,
            )
        connection.executemany("DELETE FROM runs WHERE key = ?", [(key,) for key in doomed])
        if doomed:
            self._tidy(connection)
        return len(doomed)

    def _keys(self, connection: sqlite3.Connection, what: str, value: int) -> set[int]:
        """Give the keys of runs that are over, or whose process is."""
        rows = connection.execute(f"SELECT key, status, process FROM runs {what}", (value,))
        store = self.database.path
        return {row["key"] for row in rows if row["status"] != "running" or not is_there(store, row["process"])}

    def _tidy(self, connection: sqlite3.Connection) -> None:
        """Delete the chains that no run names any more, and give the room back to the disk."""
        self._definitions.clear()
        connection.execute("DELETE FROM definitions WHERE key NOT IN (SELECT definition FROM runs)")
        free = connection.execute("PRAGMA freelist_count").fetchone()[0]
        for _ in range(min(free, _PAGES_AT_ONCE)):  # one by one: the module of Python ends the statement after a step
            connection.execute("PRAGMA incremental_vacuum(1)")


def _storable(text: str) -> str:
    """Give a text with what SQLite cannot hold, halves of surrogate pairs, as escapes."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _status(row: sqlite3.Row, store: Path) -> Any:
    status = row["status"]
    if row["resumed_as"] and status in {"running", "paused"}:
        return "resumed"
    if status != "running":
        return status
    waits = row["waits"] or 0
    if not is_there(store, row["process"]):
        return "paused" if waits == _CAN_GO_ON else "interrupted"
    return "paused" if waits else status


def _conditions(query: Query) -> list[tuple[str, Any]]:
    """Give what a query asks of the rows, each with its value: too many rows rather than too few."""
    wanted: list[tuple[str, Any]] = []
    if query.chain:
        wanted.append(("chain_id = ?", query.chain))
    if query.since_ms is not None:
        wanted.append(("started_ms >= ?", query.since_ms))
    if query.before_ms is not None:
        wanted.append(("started_ms <= ?", query.before_ms))
    if query.status in {"paused", "resumed"}:  # which of the two a run is, only a look at it can tell
        wanted.append(("(status = 'running' OR status = ?)", "paused"))
    elif query.status:
        is_open = query.status in {"running", "interrupted"}
        wanted.append(("status = ?", "running" if is_open else query.status))
    return wanted


def _summary(row: sqlite3.Row, store: Path) -> RunSummary:
    return RunSummary(
        run_id=row["run_id"],
        chain_id=row["chain_id"],
        chain_version=row["chain_version"],
        fingerprint=row["fingerprint"],
        status=_status(row, store),
        error=row["error"],
        started_ms=row["started_ms"],
        ended_ms=row["ended_ms"],
        visits=row["visits"],
        size_bytes=row["size_bytes"],
        resumed_as=row["resumed_as"] or "",
    )


def _record(row: sqlite3.Row, bodies: list[str], store: Path) -> RunRecord:
    """Put the pieces of a run together. A visit that is in several is as the last one has it."""
    pieces = [read_piece(body) for body in bodies]
    if not pieces:
        raise ValueError("its visits are missing")
    visits = {visit.number: visit for _, written, _ in pieces for visit in written}
    return RunRecord(
        run_id=row["run_id"],
        chain_id=row["chain_id"],
        chain_version=row["chain_version"],
        definition=from_text(row["body"]),
        message=pieces[0][0],
        started_ms=row["started_ms"],
        ended_ms=row["ended_ms"],
        status=_status(row, store),
        error=row["error"],
        visits=[visits[number] for number in sorted(visits)],
        ends=pieces[-1][2],
        resumed_as=row["resumed_as"] or "",
    )
