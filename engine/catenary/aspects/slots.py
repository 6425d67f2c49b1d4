"""Slots: a few holders at a time for each key, and a queue for those that come when all are taken."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.clock import Clock


@dataclass(slots=True, eq=False)
class _Hold:
    """A slot that is taken, as what goes on inside sees it."""

    slots: Slots
    key: str
    is_live: bool = True


_holds: Final[ContextVar[tuple[_Hold, ...]]] = ContextVar("holds", default=())


def _live_holds() -> tuple[_Hold, ...]:
    return tuple(hold for hold in _holds.get() if hold.is_live)


class Slots:
    """Hands out slots, in the order in which they are asked for. Safe to use from many threads and event loops.

    Args:
        most: How many there are for each key.
        queue: How many may wait for one, for each key.
    """

    def __init__(self, most: int, queue: int) -> None:
        self._most = most
        self._queue = queue
        self._taken: dict[str, int] = {}
        self._waiting: dict[str, deque[Future[None]]] = {}
        self._lock = Lock()

    def taken(self, key: str = "") -> int:
        """Give how many slots of a key are taken."""
        return self._taken.get(key, 0)

    def waiting(self, key: str = "") -> int:
        """Give how many wait for a slot of a key."""
        return len(self._waiting.get(key, ()))

    def is_held(self, key: str) -> bool:
        """Tell whether what goes on here is a part of something that has a slot, and so must not wait for one."""
        return any(hold.slots is self and hold.key == key for hold in _live_holds())

    def hold(self, key: str) -> Callable[[], None]:
        """Have what follows here count as inside of a slot that was taken. Returns: what gives the slot back."""
        hold = _Hold(self, key)
        _holds.set((*_live_holds(), hold))

        def release() -> None:
            hold.is_live = False  # where the run was begun without an event loop it may still be known
            _holds.set(_live_holds())
            self.give_back(key)

        return release

    def take(self, key: str) -> bool:
        """Take a slot.

        Returns:
            Whether there is one; if not, `wait` takes one later.

        Raises:
            LookupError: When there is none, and the queue is full.
        """
        with self._lock:
            return self._take(key)

    async def wait(self, key: str, clock: Clock, timeout_s: float) -> None:
        """Take a slot, in the queue if it has to be.

        Raises:
            LookupError: When the queue is full, or it takes too long.
        """
        with self._lock:  # in here, not before: a queue must not know one who is never going to wait
            if self._take(key):
                return
            place = self._line_up(key)
        handed = asyncio.wrap_future(place)
        limit = asyncio.ensure_future(clock.sleep(timeout_s))
        try:
            await asyncio.wait({handed, limit}, return_when=asyncio.FIRST_COMPLETED)
            if not handed.done():
                raise LookupError
        except BaseException:
            self._give_up(key, place)
            raise
        finally:
            limit.cancel()

    def _take(self, key: str) -> bool:
        taken = self._taken.get(key, 0)
        if taken < self._most:
            self._taken[key] = taken + 1
            return True
        if self._most == 0 or len(self._waiting.get(key, ())) >= self._queue:
            raise LookupError
        return False

    def _line_up(self, key: str) -> Future[None]:
        place: Future[None] = Future()
        self._waiting.setdefault(key, deque()).append(place)
        return place

    def give_back(self, key: str) -> None:
        """Give a slot back: to who has waited longest, if anybody does."""
        with self._lock:
            queue = self._waiting.get(key)
            place = queue.popleft() if queue else None
            if not queue:
                self._waiting.pop(key, None)
            if place is not None:
                place.set_running_or_notify_cancel()
            elif self._taken[key] == 1:
                del self._taken[key]
            else:
                self._taken[key] -= 1
        if place is not None:
            place.set_result(None)

    def _give_up(self, key: str, place: Future[None]) -> None:
        with self._lock:
            queue = self._waiting.get(key)
            is_queued = queue is not None and place in queue
            if queue is not None and is_queued:
                queue.remove(place)
                if not queue:
                    del self._waiting[key]
        if is_queued:
            place.cancel()
        else:  # it was handed over in the same moment
            self.give_back(key)
