"""The thread that writes: it takes what waits together into one transaction."""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.errors import StoreError

    Work = Callable[[sqlite3.Connection], Any]


@dataclass(slots=True)
class _Job:
    work: Work
    due: float
    done: Future[Any] = field(default_factory=Future[Any])
    result: Any = None
    error: Exception | None = None


class Writer:
    """Writes for one file. Its thread begins with the first work and ends with `close`.

    Args:
        connect: Opens the connection of the thread.
        translated: Gives an error of SQLite in words for users.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], translated: Callable[[sqlite3.Error], StoreError]
    ) -> None:
        self._connect = connect
        self._translated = translated
        self._changed = Condition()
        self._jobs: list[_Job] = []
        self._thread: Thread | None = None
        self._ends = False

    def submit(self, work: Work, within_s: float) -> Future[Any]:
        """Have something written, at the latest begun after `within_s` seconds."""
        job = _Job(work, monotonic() + within_s)
        with self._changed:
            self._jobs.append(job)
            if self._thread is None:
                # Daemonic, so that a program that forgets to close ends; the exit handler of the file waits for it.
                self._thread = Thread(target=self._serve, name="catenary-store", daemon=True)
                self._thread.start()
            self._changed.notify()
        return job.done

    def close(self) -> None:
        """Write what waits, and end the thread. It blocks until that is done."""
        with self._changed:
            self._ends = True
            self._changed.notify()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        try:
            while jobs := self._next():
                try:
                    if connection is None:
                        connection = self._connect()
                    _write_all(connection, jobs)
                except Exception as error:
                    for job in jobs:
                        job.error = error
                for job in jobs:
                    self._finish(job)
        finally:
            if connection is not None:
                connection.close()

    def _next(self) -> list[_Job]:
        """Wait until something is due, and give all that waits then; nothing when the thread is to end."""
        with self._changed:
            while not self._ends:
                due = min((job.due for job in self._jobs), default=None)
                wait_s = None if due is None else due - monotonic()
                if wait_s is not None and wait_s <= 0:
                    break
                self._changed.wait(wait_s)
            jobs, self._jobs = self._jobs, []
            return jobs

    def _finish(self, job: _Job) -> None:
        if isinstance(job.error, sqlite3.Error):
            told = self._translated(job.error)
            told.__cause__ = job.error
            job.done.set_exception(told)
        elif job.error is not None:
            job.done.set_exception(job.error)
        else:
            job.done.set_result(job.result)


def _write_all(connection: sqlite3.Connection, jobs: list[_Job]) -> None:
    """Write all in one transaction; when one of them is at fault, each in its own, so that it harms no other."""
    try:
        _transact(connection, jobs)
    except sqlite3.OperationalError:  # the file is in use, the disk is full: the next try would fare no better
        raise
    except Exception as error:
        if len(jobs) == 1:
            jobs[0].error = error
            return
        for job in jobs:
            _write_all(connection, [job])


def _transact(connection: sqlite3.Connection, jobs: list[_Job]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for job in jobs:
            job.result = job.work(connection)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
