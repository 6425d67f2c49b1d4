"""What waits to be written: records of runs that are over, and of those that last."""

from __future__ import annotations

import logging
import os
from threading import Condition, Lock
from typing import TYPE_CHECKING, Final

from catenary.errors import StoreError
from catenary.store.runs import Entry

if TYPE_CHECKING:
    from concurrent.futures import Future

    from catenary.recording import RunRecord, Visit
    from catenary.store.runs import RunStore

logger = logging.getLogger(__name__)

BATCH_S: Final = 0.1
"""How long a record waits for others to be written with, in seconds."""

PROGRESS_S: Final = 1.0
"""How often what a lasting run has done is written, in seconds."""

RETRY_S: Final = 2.0


class _Open:
    """A run that lasts, and which of its visits are written."""

    __slots__ = ("is_first", "record", "written")

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self.is_first = True
        self.written: dict[int, bool] = {}  # by number, whether the visit was over then

    def entry(self) -> Entry:
        """Give what is to be written beside what is written already."""
        try:
            visits = [visit for visit in self.record.visits if self._is_news(visit)]
        except Exception:
            logger.exception("the visits of a run cannot be read", extra={"run_id": self.record.run_id})
            visits = []
        return Entry(self.record, visits, self.is_first)

    def _is_news(self, visit: Visit) -> bool:
        written = self.written.get(visit.number)
        return written is None or (not written and visit.duration_s is not None)

    def note(self, entry: Entry) -> None:
        """Take note that something has been written."""
        self.is_first = False
        self.written.update({visit.number: visit.duration_s is not None for visit in entry.visits})


class Outbox:
    """Takes records in the task of a run, and gives them to a store in batches.

    What cannot be written stays here and is tried again. It is bounded: when too many wait, the next one waits for
    room, for a time, and is dropped when there is none.

    Args:
        store: Where the records go.
        max_waiting: How many records may wait.
        max_wait_s: How long one waits for room at most, in seconds.

    Attributes:
        dropped: How many records were lost because there was no room.
    """

    def __init__(self, store: RunStore, max_waiting: int, max_wait_s: float) -> None:
        self.dropped = 0
        self._store = store
        self._max_waiting = max_waiting
        self._max_wait_s = max_wait_s
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._ended: list[RunRecord] = []
        self._open: dict[str, _Open] = {}
        self._taken: list[tuple[_Open, Entry]] = []
        self._count = 0
        self._is_asked = False
        self._is_failing = False
        self._future: Future[None] | None = None
        self._gate = Lock()
        self._room = Condition()

    def open(self, record: RunRecord) -> None:
        """Take the record of a run that begins."""
        self._notice_fork()
        if self._is_closed:
            return
        self._open[record.run_id] = _Open(record)
        if not self._is_asked:
            self._ask(BATCH_S)

    def add(self, record: RunRecord) -> None:
        """Take the record of a run that is over."""
        self._notice_fork()
        if self._is_closed or (len(self._ended) >= self._max_waiting and not self._waits_for_room()):
            self._open.pop(record.run_id, None)
            self._drop(record)
            return
        self._ended.append(record)
        if not self._is_asked:
            self._ask(BATCH_S)

    def flush(self) -> None:
        """Write what waits, and come back when it is on disk. Raises: StoreError: when it cannot be written."""
        future = self._ask(0.0) if self._ended or self._open else None
        if future is not None:
            self._store.write(list, 0.0)  # what is due now takes along what waits
            future.result()

    def close(self) -> None:
        """Write what waits; what cannot be written is lost, and an error is logged."""
        if self._is_closed or self._process != os.getpid():
            return
        try:
            self.flush()
        except Exception:
            lost = len(self._ended) + len(self._open)
            logger.exception("runs are missing in the history: they cannot be written", extra={"runs": lost})
        self._is_closed = True

    # In the task of a run

    def _notice_fork(self) -> None:
        """Begin anew in a forked process: what waits is written by the one that it came from."""
        if self._process != os.getpid():
            self._begin()

    def _waits_for_room(self) -> bool:
        """Wait for room. Returns: False when there was none in time; while the store fails, nobody waits."""
        with self._room:
            return not self._is_failing and self._room.wait_for(self._has_room, self._max_wait_s)

    def _has_room(self) -> bool:
        return len(self._ended) < self._max_waiting

    def _drop(self, record: RunRecord) -> None:
        self.dropped += 1
        if self.dropped == 1:
            logger.error("runs are missing in the history: they cannot be written", extra={"run_id": record.run_id})

    def _ask(self, within_s: float) -> Future[None] | None:
        """Have what waits written soon, once for all. Returns: when that is done; `None` when the store is closed."""
        with self._gate:
            if not self._is_asked or self._future is None or self._future.done():  # done, yet asked: it failed
                self._is_asked = True
                try:
                    self._future = self._store.write(self._take, within_s)
                except StoreError:
                    self._future = None
                    self._is_closed = True
                    logger.exception("runs are missing in the history: it is closed")
                    return None
                self._future.add_done_callback(self._written)
            return self._future

    # In the thread that writes

    def _take(self) -> list[Entry]:
        """Give what is to be written; called again when it could not be."""
        self._is_asked = False  # first: whoever adds something from here on asks for the next batch
        ended = self._ended[:]
        self._count = len(ended)
        over = {record.run_id for record in ended}
        states = [self._open.get(record.run_id) or _Open(record) for record in ended]
        states += [state for run_id, state in list(self._open.items()) if run_id not in over]
        taken = [(state, state.entry()) for state in states]
        self._taken = [
            (state, entry) for state, entry in taken if entry.visits or entry.is_first or state.record.run_id in over
        ]
        return [entry for _, entry in self._taken]

    def _written(self, future: Future[None]) -> None:
        """Let go of what is written, or try it again later."""
        error = future.exception()
        if error is None:
            self._let_go()
        elif not self._is_failing:
            logger.warning("the history cannot be written; it is tried again", exc_info=error)
        self._is_failing = error is not None
        if error is not None or self._open:
            self._ask(PROGRESS_S if error is None else RETRY_S)

    def _let_go(self) -> None:
        for record in self._ended[: self._count]:
            self._open.pop(record.run_id, None)
        for state, entry in self._taken:
            state.note(entry)
        del self._ended[: self._count]
        self._taken = []
        with self._room:
            self._room.notify_all()
