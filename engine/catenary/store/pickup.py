"""Looks as long as something waits here: for answers that other processes gave, and what else is to be written."""

from __future__ import annotations

import logging
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final

from catenary.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.pauses.answers import Answer
    from catenary.store.pauses import Key, PauseStore

logger = logging.getLogger(__name__)

_EVERY_S: Final = 0.1
_AFTER_ERROR_S: Final = 5.0


class Pickup:
    """A thread that looks for answers; it is there only while somebody waits.

    Args:
        store: Where answers arrive.
        deliver: Gets each answer, in that thread; an answer may come more than once.
        keep: Called in that thread with each look, to write what has changed.
    """

    def __init__(
        self, store: PauseStore, deliver: Callable[[Key, Answer], None], keep: Callable[[PauseStore], None]
    ) -> None:
        self._store = store
        self._deliver = deliver
        self._keep = keep
        self._gate = Lock()
        self._stop: Event | None = None

    def begin(self) -> None:
        """Look from now on."""
        with self._gate:
            if self._stop is None:
                self._stop = Event()
                Thread(target=self._look, args=(self._stop,), name="catenary-answers", daemon=True).start()

    def end(self) -> None:
        """Look no more."""
        with self._gate:
            stop, self._stop = self._stop, None
        if stop is not None:
            stop.set()

    def _look(self, stop: Event) -> None:
        wait_s = _EVERY_S
        while not stop.wait(wait_s):
            wait_s = _EVERY_S
            try:
                for key, answer in self._store.answers():
                    self._deliver(key, answer)
                self._keep(self._store)
            except StoreError as error:
                if stop.is_set():
                    return
                logger.warning("answers cannot be looked for: %s", error)
                wait_s = _AFTER_ERROR_S
