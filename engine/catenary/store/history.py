"""The history of runs: a recorder that keeps the records of runs in a store, and gives them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from catenary.errors import StoreError
from catenary.store.outbox import Outbox
from catenary.store.places import default_file
from catenary.store.runs import Limits, Query

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from catenary.recording import RunRecord
    from catenary.store.runs import RunStore, RunSummary

LAST: Final = "last"
"""Stands for the id of the run that began last."""

_SHOWN: Final = 5


class History:
    """Keeps the records of runs in a file, and gives them again. A `Recorder`: `Engine(history=History())`.

    A run that is over is handed to a thread that writes; on a crash at most what ended in the last tenth of a second
    is lost, and `close` loses nothing. Safe to use from many threads; several processes may share a file.

    Args:
        path: The file; that of the user's data folder if absent, see `catenary.store.places`.
        limits: How much is kept.
        max_waiting: How many runs may wait to be written. When there are more, the next one waits for room.
        max_wait_s: How long it waits at most, in seconds. Then its record is dropped, and an error is logged.
        must_exist: True to refuse a file that is not there, for readers.
        store: Where the records are kept instead of in a file; closed with the history.

    Raises:
        StoreError: When the file cannot be used.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        limits: Limits | None = None,
        max_waiting: int = 1000,
        max_wait_s: float = 1.0,
        must_exist: bool = False,
        store: RunStore | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.store = store or _open(path, self.limits, must_exist=must_exist)
        self._outbox = Outbox(self.store, max_waiting, max_wait_s)

    # Recording

    def began(self, record: RunRecord) -> None:
        """Take note that a run began."""
        self._outbox.open(record)

    def ended(self, record: RunRecord) -> None:
        """Take the whole record of a run that is over."""
        self._outbox.add(record)

    @property
    def dropped(self) -> int:
        """How many records were lost because they could not be written in time."""
        return self._outbox.dropped

    def flush(self) -> None:
        """Write what waits, and come back when it is on disk. It blocks.

        Raises:
            StoreError: When it cannot be written; it stays, and is tried again.
        """
        self._outbox.flush()

    def close(self) -> None:
        """Write what waits, and close the file. May be called again. It blocks."""
        self._outbox.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading; all of it blocks

    def runs(
        self,
        *,
        chain: str = "",
        status: str = "",
        since: datetime | None = None,
        before: datetime | None = None,
        limit: int | None = 20,
    ) -> list[RunSummary]:
        """Give runs, the newest first.

        Args:
            chain: The id of the chain; all chains if absent.
            status: What they came to, see `RecordStatus`; any if absent.
            since: When they began at the earliest.
            before: When they began at the latest.
            limit: How many at most; `None` for all.

        Raises:
            StoreError: When the store cannot be read.
        """
        return self.store.runs(Query(chain, status, _ms(since), _ms(before), limit))

    def find(self, run: str) -> str:
        """Give the whole id of a run: from the beginning of it, as far as there is one only, or from `last`.

        Raises:
            StoreError: When no run is meant, or several.
        """
        if run == LAST:
            newest = self.store.runs(Query(limit=1))
            if newest:
                return newest[0].run_id
            raise StoreError("no run is recorded", hint="record one with `catenary run --record`")
        found = self.store.matching(run, _SHOWN + 1) if run else []
        if len(found) == 1 or run in found:
            return run if run in found else found[0]
        if not found:
            raise StoreError(f"no recorded run has the id {run!r}", hint="`catenary runs` lists the runs")
        known = ", ".join(found[:_SHOWN]) + (" ..." if len(found) > _SHOWN else "")
        raise StoreError(f"several recorded runs begin with {run!r}: {known}", hint="write more of the id")

    def get(self, run: str) -> RunRecord:
        """Give the whole record of a run, by its id, the beginning of it, or `last`.

        Raises:
            StoreError: When no run is meant, or several.
        """
        run_id = self.find(run)
        record = self.store.get(run_id)
        if record is None:  # deleted in between
            raise StoreError(f"no recorded run has the id {run!r}", hint="`catenary runs` lists the runs")
        return record

    def delete(self, *runs: str) -> int:
        """Delete runs, named as for `get`. Returns: how many. Raises: StoreError: when one is not there."""
        return self.store.delete([self.find(run) for run in runs])

    def prune(self, limits: Limits | None = None) -> int:
        """Delete what goes beyond the limits, those of the history if absent. Returns: how many runs that were."""
        return self.store.prune(limits or self.limits)


def _open(path: str | Path | None, limits: Limits, *, must_exist: bool) -> RunStore:
    from catenary.store.sqlite import Database
    from catenary.store.sqlite_runs import SqliteRuns

    database = Database(path if path is not None else default_file(), must_exist=must_exist)
    try:
        return SqliteRuns(database, limits)
    except BaseException:
        database.close()
        raise


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)
