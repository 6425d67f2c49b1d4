"""Runs that clients have started: what they tell, who listens, and what came of them while somebody may still ask."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import CatenaryError
from catenary_server.api_error import ApiError, busy

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from catenary.engine import Engine
    from catenary.events import Event
    from catenary.outcome import Outcome
    from catenary.pauses.answers import Pause

TERMINAL: Final = frozenset({"run.complete", "run.error", "run.cancel", "run.pause"})
MAX_EVENTS: Final = 10_000
"""How many events of a run are kept for those who follow it."""

_KEPT: Final = 1000
_KEPT_S: Final = 600.0
_KEPT_EVENTS: Final = 100_000
"""How many runs that are over are kept, for how long, and how many events of them all."""


class LiveRun:
    """One run that a client has started.

    Attributes:
        run_id: Its id.
        chain_id: The chain.
        started_ms: When it was started, in milliseconds since 1970.
        outcome: What it came to; `None` while it is on, and when it came to nothing.
        error: What was raised in the place of an outcome.
        is_over: True when nothing of it is on any more.
        waits: True when a node of it waits for an answer, or has.
        started_by_answer: The id of the run that it goes on from; empty for others.
    """

    def __init__(self, run_id: str, chain_id: str, *, resumes: str = "") -> None:
        self.run_id = run_id
        self.chain_id = chain_id
        self.resumes = resumes
        self.started_ms = time.time_ns() // 1_000_000
        self.ended_ms: int | None = None
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        self.is_over = False
        self.waits = False
        self.terminal: Event | None = None
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._count = 0
        self._followers: set[asyncio.Event] = set()
        self._task: asyncio.Task[Outcome] | None = None

    # Being told

    def note(self, event: Event) -> None:
        """Take an event of the run; the terminal one is kept back until the outcome is there."""
        if event.name in TERMINAL:
            self.terminal = event
            return
        self._events.append(event)
        self._count += 1
        self.wake()

    def wake(self) -> None:
        """Have all who follow the run look at it."""
        for follower in self._followers:
            follower.set()

    def begin(self, work: Coroutine[Any, Any, Outcome], when_over: Callable[[LiveRun], None]) -> None:
        """Run it in a task of its own."""

        def over(task: asyncio.Task[Outcome]) -> None:
            self.is_over = True
            self.ended_ms = time.time_ns() // 1_000_000
            if task.cancelled():
                self.error = asyncio.CancelledError()
            elif (error := task.exception()) is not None:
                self.error = error
            else:
                self.outcome = task.result()
            self.wake()
            when_over(self)

        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(over)

    def cancel(self) -> None:
        """Cancel the run; its task cleans up and ends."""
        if self._task is not None:
            self._task.cancel()

    # Following

    @property
    def dropped(self) -> int:
        """The number of the last event that is not kept any more; 0 while all are."""
        return self._count - len(self._events)

    @property
    def kept(self) -> int:
        """How many events are kept."""
        return len(self._events)

    @property
    def last(self) -> int:
        """The number of the last event so far, the terminal one not counted."""
        return self._count

    def events_after(self, number: int) -> Iterator[tuple[int, Event]]:
        """Give the events behind a number, each with its own."""
        first = self.dropped + 1
        events = list(self._events)
        start = max(number + 1, first)
        for offset in range(start - first, len(events)):
            yield first + offset, events[offset]

    def follow(self) -> asyncio.Event:
        """Give what is set whenever something is new; `leave` ends that."""
        follower = asyncio.Event()
        follower.set()
        self._followers.add(follower)
        return follower

    def leave(self, follower: asyncio.Event) -> None:
        """Follow no more."""
        self._followers.discard(follower)


class LiveRuns:
    """All runs that clients have started and that are on, and those that are over and were not asked for yet.

    Args:
        engine: The engine.
        most: How many may be on at once.
    """

    def __init__(self, engine: Engine, most: int) -> None:
        self._most = most
        self._on: dict[str, LiveRun] = {}
        self._over: OrderedDict[str, LiveRun] = OrderedDict()
        self._events = 0
        engine.pauses.on_open(self._waits)

    def __len__(self) -> int:
        """How many are on."""
        return len(self._on)

    def __iter__(self) -> Iterator[LiveRun]:
        """Give those that are on and those that are over, the newest first."""
        self._forget_old()
        return iter([*reversed(self._on.values()), *reversed(self._over.values())])

    def get(self, run_id: str) -> LiveRun | None:
        """Give a run; `None` when there is none."""
        return self._on.get(run_id) or self._over.get(run_id)

    def new(self, run_id: str | None, chain_id: str, *, resumes: str = "") -> LiveRun:
        """Make room for a run.

        Raises:
            ApiError: When there is none, or another run has the id.
        """
        if len(self._on) >= self._most:
            raise busy(self._most)
        run_id = run_id or str(uuid.uuid4())
        if self.get(run_id) is not None:
            raise taken(run_id)
        return LiveRun(run_id, chain_id, resumes=resumes)

    def begin(self, live: LiveRun, work: Coroutine[Any, Any, Outcome]) -> None:
        """Let a run begin."""
        self._on[live.run_id] = live
        live.begin(work, self._ended)

    def delivered(self, live: LiveRun) -> None:
        """Forget a run whose outcome a client has got."""
        if self._over.pop(live.run_id, None) is not None:
            self._events -= live.kept

    def _ended(self, live: LiveRun) -> None:
        del self._on[live.run_id]
        self._over[live.run_id] = live
        self._events += live.kept
        self._forget_old()

    def _forget_old(self) -> None:
        before = time.time_ns() // 1_000_000 - int(_KEPT_S * 1000)
        while self._over:
            live = next(iter(self._over.values()))
            has_room = len(self._over) <= _KEPT and self._events <= _KEPT_EVENTS
            if has_room and (live.ended_ms or 0) >= before:
                return
            self.delivered(live)

    def _waits(self, pause: Pause) -> None:
        live = self._on.get(pause.run_id)
        if live is not None:
            live.waits = True
            live.wake()


def taken(run_id: str) -> ApiError:
    """Give the error for an id that another run has."""
    return ApiError(409, "run.exists", f"there is a run {run_id!r} already", hint="leave runId out, or give another")


def failure_of(live: LiveRun) -> ApiError | None:
    """Give what a client is told of a run that came to no outcome; `None` for one that did."""
    from catenary_server.api_error import api_error_of, unexpected

    if live.error is None:
        return None
    if isinstance(live.error, asyncio.CancelledError):
        return ApiError(409, "run.cancelled", f"the run {live.run_id} was cancelled")
    if isinstance(live.error, CatenaryError):
        return api_error_of(live.error)
    if isinstance(live.error, Exception):
        return unexpected(live.error)
    raise live.error
