"""Open pauses in a file, so that another process can answer them."""

from __future__ import annotations

import hashlib
import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from catenary.errors import StoreError
from catenary.jsontext import dumps, loads
from catenary.pauses.answers import Answer, Pause
from catenary.store.owners import Owner, is_there

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator, Iterable
    from concurrent.futures import Future

    from catenary.chain import Chain
    from catenary.jsontext import Json
    from catenary.store.sqlite import Database, Migrations

    Key: TypeAlias = tuple[str, str, int]

logger = logging.getLogger(__name__)

StoredState: TypeAlias = Literal["open", "answered", "done", "expired", "cancelled", "resumed", "moved"]
"""What became of a stored pause: `answered` is not taken by its run yet; `resumed` went on in another run, and `moved`
waits in another run."""

VERSIONS: Final[Migrations] = [
    [
        "CREATE TABLE paused_chains (fingerprint TEXT PRIMARY KEY, body TEXT NOT NULL)",
        """CREATE TABLE pauses (
            key INTEGER PRIMARY KEY,
            run_id TEXT NOT NULL,
            node_id TEXT NOT NULL,
            visit INTEGER NOT NULL,
            state TEXT NOT NULL,
            owner TEXT NOT NULL,
            body TEXT NOT NULL,
            chain TEXT NOT NULL REFERENCES paused_chains (fingerprint),
            answer TEXT,
            resumed_as TEXT NOT NULL DEFAULT '',
            changed_ms INTEGER NOT NULL,
            UNIQUE (run_id, node_id, visit)
        )""",
        "CREATE INDEX pauses_by_owner ON pauses (owner, state)",
    ],
    ["CREATE TABLE paused_joins (run_id TEXT PRIMARY KEY, body TEXT NOT NULL)"],
    ["ALTER TABLE pauses ADD COLUMN refusal TEXT NOT NULL DEFAULT ''"],
]
_KEPT_MS: Final = 30 * 24 * 3600 * 1000
_WHERE: Final = "run_id = ? AND node_id = ? AND visit = ?"
_OVER: Final = "state NOT IN ('open', 'answered')"


@dataclass(frozen=True, slots=True)
class StoredPause:
    """A pause as it is written.

    Attributes:
        pause: The pause.
        state: What became of it.
        owner: Who holds the run.
        answer: The answer, once there is one.
        refusal: Why the node took the last answer that it refused for none; empty if it refused none.
        resumed_as: The run in which it went on.
        chain: The chain as written, and the folders its templates may read.
    """

    pause: Pause
    state: StoredState
    owner: str
    answer: Answer | None
    refusal: str
    resumed_as: str
    chain: dict[str, Any]


class Claim(NamedTuple):
    """What goes along with a pause that was claimed.

    Attributes:
        others: What else waited in the run; some may have an answer that was not taken.
        joins: What had arrived at the joins of the run, as it was handed in.
    """

    others: list[StoredPause]
    joins: str


class PauseStore:
    """The pauses of all processes that share a file. Calls that give no future block.

    Args:
        database: The file.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        database.migrate("pauses", VERSIONS)
        self._owner: Owner | None = None
        self._texts: WeakKeyDictionary[Chain, tuple[str, str]] = WeakKeyDictionary()
        database.submit(_prune)

    # What the owner of a run does

    @property
    def owner(self) -> Owner:
        """What says that this process holds runs; made when it is first asked for."""
        if self._owner is None or not self._owner.is_held:
            self._owner = Owner(self.database.path)
        return self._owner

    def open(self, pause: Pause, chain: Chain) -> Future[None]:
        """Write down that a node waits; nobody holds the run of one that keeps something."""
        fingerprint, text = self._text_of(chain)
        body = dumps(pause.to_record())
        owner = self.owner.name if pause.kept is None else ""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO paused_chains VALUES (?, ?)", (fingerprint, text))
            connection.execute(
                """INSERT OR REPLACE INTO pauses (run_id, node_id, visit, state, owner, body, chain, changed_ms)
                VALUES (?, ?, ?, 'open', ?, ?, ?, ?)""",
                (*pause.key, owner, body, fingerprint, _now()),
            )

        return self.database.submit(work)

    def settle(self, key: Key, state: StoredState, before: Iterable[StoredState]) -> Future[bool]:
        """Write down what became of a pause. The result says whether it was in one of the states before."""
        states = tuple(before)
        marks = ", ".join("?" * len(states))
        sql = f"UPDATE pauses SET state = ?, changed_ms = ? WHERE {_WHERE} AND state IN ({marks})"
        return self._update(sql, (state, _now(), *key, *states))

    def note(self, key: Key, state: StoredState, before: Iterable[StoredState]) -> None:
        """Write down what became of a pause without waiting."""
        with _told(key):
            self.settle(key, state, before)

    def keep_joins(self, run_id: str, joins: str) -> None:
        """Write down what has arrived at the joins of a run that waits, without waiting; an empty text for nothing."""

        def work(connection: sqlite3.Connection) -> None:
            if joins:
                connection.execute("INSERT OR REPLACE INTO paused_joins VALUES (?, ?)", (run_id, joins))
            else:
                connection.execute("DELETE FROM paused_joins WHERE run_id = ?", (run_id,))

        self.database.submit(work)

    def release(self, key: Key) -> None:
        """Let others go on with a run that was put off, without waiting."""
        with _told(key):
            self._update(f"UPDATE pauses SET owner = '' WHERE {_WHERE}", key)

    def answers(self) -> list[tuple[Key, Answer]]:
        """Give the answers that came for runs of this process and are not taken yet."""
        if self._owner is None:
            return []
        rows = self.database.read(
            "SELECT run_id, node_id, visit, answer FROM pauses WHERE owner = ? AND state = 'answered'",
            (self._owner.name,),
        )
        return [((row["run_id"], row["node_id"], row["visit"]), _answer(row["answer"])) for row in rows]

    def refuse(self, key: Key, reason: str) -> Future[bool]:
        """Give an answer back that the node takes for none: it waits for another one."""
        sql = f"""UPDATE pauses SET state = 'open', answer = NULL, refusal = ?, changed_ms = ?
            WHERE {_WHERE} AND state = 'answered'"""
        return self._update(sql, (reason, _now(), *key))

    def close(self) -> None:
        """Let go of the runs that this process holds: others may go on with those that wait."""
        if self._owner is not None:
            self._owner.close()
            self._owner = None

    # What a node does that is run again with the answer

    def claim_parked(self, stored: StoredPause, answer: Answer, run_id: str) -> Future[bool]:
        """Take a question of a run that is over. The result says whether nobody else did.

        One that a process has taken and is gone since can be taken again.
        """
        sql = f"""UPDATE pauses SET state = 'answered', answer = ?, resumed_as = ?, owner = ?, changed_ms = ?
            WHERE {_WHERE} AND owner = ? AND state = ?"""
        values = (dumps(answer.to_dict()), run_id, self.owner.name, _now(), *stored.pause.key)
        return self._update(sql, (*values, stored.owner, stored.state))

    def keep_parked(self, pause: Pause) -> Future[bool]:
        """Write down what a node keeps."""
        sql = f"UPDATE pauses SET body = ?, changed_ms = ? WHERE {_WHERE}"
        return self._update(sql, (dumps(pause.to_record()), _now(), *pause.key))

    # What whoever answers does

    def find(self, run_id: str, node_id: str, visit: int | None) -> list[StoredPause]:
        """Give the pauses of a node in a run, in the order of its visits."""
        return self._select("run_id = ? AND node_id = ? AND (? IS NULL OR visit = ?)", (run_id, node_id, visit, visit))

    def waiting(self) -> list[StoredPause]:
        """Give all pauses that wait for an answer, the first one first.

        Those are among them that were answered and whose process ended before it was done with the answer.
        """
        found = self._select("state IN ('open', 'answered')", ())
        return [one for one in found if one.state == "open" or not self.is_held(one)]

    def matching(self, prefix: str) -> list[str]:
        """Give the ids of the runs with pauses that begin with a text."""
        sql = "SELECT DISTINCT run_id FROM pauses WHERE substr(run_id, 1, ?) = ? ORDER BY run_id LIMIT 10"
        return [row["run_id"] for row in self.database.read(sql, (len(prefix), prefix))]

    def answer(self, key: Key, answer: Answer) -> bool:
        """Hand in an answer. Returns: whether it was the first one."""
        sql = f"UPDATE pauses SET state = 'answered', answer = ?, changed_ms = ? WHERE {_WHERE} AND state = 'open'"
        return self._update(sql, (dumps(answer.to_dict()), _now(), *key)).result()

    def is_held(self, stored: StoredPause) -> bool:
        """Tell whether the process that holds the run lives."""
        return is_there(self.database.path, stored.owner)

    def take_up(self, stored: StoredPause, answer: Answer, run_id: str) -> Claim | None:
        """Claim a pause whose process is gone, for a new run.

        Returns:
            What goes along with it; `None` when somebody else was quicker.
        """
        claim = f"""UPDATE pauses SET state = 'resumed', answer = ?, resumed_as = ?, changed_ms = ?
            WHERE {_WHERE} AND owner = ? AND state IN ('open', 'answered')"""
        move = "UPDATE pauses SET state = 'moved', resumed_as = ?, changed_ms = ? WHERE key = ?"
        key, text = stored.pause.key, dumps(answer.to_dict())

        def work(connection: sqlite3.Connection) -> Claim | None:
            won = connection.execute(claim, (text, run_id, _now(), *key, stored.owner)).rowcount
            if not won:
                return None
            others = _rows(
                connection, "run_id = ? AND owner = ? AND state IN ('open', 'answered')", key[0], stored.owner
            )
            moved = [(row["key"], one) for row in others if _moves((one := _stored(row)).pause)]
            for row_key, _ in moved:
                connection.execute(move, (run_id, _now(), row_key))
            kept = connection.execute("SELECT body FROM paused_joins WHERE run_id = ?", (key[0],)).fetchone()
            return Claim([one for _, one in moved], kept["body"] if kept else "")

        return self.database.write(work)

    # Inside

    def _update(self, sql: str, values: tuple[Any, ...]) -> Future[bool]:
        return self.database.submit(lambda connection: connection.execute(sql, values).rowcount > 0)

    def _select(self, where: str, values: tuple[Any, ...]) -> list[StoredPause]:
        with self.database.reader() as connection:
            return [_stored(row) for row in _rows(connection, where, *values)]

    def _text_of(self, chain: Chain) -> tuple[str, str]:
        known = self._texts.get(chain)
        if known is None:
            roots: list[Json] = [str(root) for root in chain.environment.roots]
            text = dumps({"definition": chain.to_dict(), "roots": roots})
            known = self._texts[chain] = (hashlib.sha256(text.encode()).hexdigest(), text)
        return known


def _moves(pause: Pause) -> bool:
    """Tell whether a question waits again in the run that goes on with another one."""
    return not pause.inside and pause.kept is None


@contextmanager
def _told(key: Key) -> Generator[None]:
    """Tell in the log of a store that is closed too early: what nobody waits for must not disturb a run."""
    try:
        yield
    except StoreError as error:
        logger.warning("what became of a pause is not written: %s", error, extra={"run_id": key[0]})


def _prune(connection: sqlite3.Connection) -> None:
    """Forget pauses that were over long ago."""
    connection.execute(f"DELETE FROM pauses WHERE {_OVER} AND changed_ms < ?", (_now() - _KEPT_MS,))
    connection.execute("DELETE FROM paused_chains WHERE fingerprint NOT IN (SELECT chain FROM pauses)")
    connection.execute("DELETE FROM paused_joins WHERE run_id NOT IN (SELECT run_id FROM pauses)")


def _rows(connection: sqlite3.Connection, where: str, *values: Any) -> list[sqlite3.Row]:
    return connection.execute(
        f"""SELECT key, state, owner, answer, refusal, resumed_as, pauses.body, paused_chains.body AS chain_body
        FROM pauses JOIN paused_chains ON fingerprint = chain WHERE {where} ORDER BY key""",
        values,
    ).fetchall()


def _stored(row: sqlite3.Row) -> StoredPause:
    return StoredPause(
        Pause.from_dict(_values(row["body"])),
        row["state"],
        row["owner"],
        _answer(row["answer"]) if row["answer"] else None,
        row["refusal"],
        row["resumed_as"],
        _values(row["chain_body"]),
    )


def _now() -> int:
    return time.time_ns() // 1_000_000


def _values(text: str) -> dict[str, Any]:
    return loads(text)


def _answer(text: str) -> Answer:
    return Answer.from_dict(_values(text))
