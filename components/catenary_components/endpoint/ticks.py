"""The runs of one router of a schedule: which are due, which were missed, and which have to wait for others."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from catenary_components.endpoint.cron import latest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from zoneinfo import ZoneInfo

    from catenary_components.endpoint.cron import Schedule
    from catenary_components.endpoint.schedule import Timing

SET_BACK_MS: Final = 3 * 3_600_000
"""When the clock is set back by this much, what is due is worked out anew."""

LONGEST_PAUSE: Final = 2
"""And when nothing would be due for more than so many times as long as usual; else nothing is due twice."""

MISSED: Final = "it was missed"
STILL_GOING: Final = "the run before it is still going"
TOO_MANY: Final = "more wait than may wait (maxWaiting)"
STOPPED: Final = "it was in line when its router was stopped"


class Ticks:
    """What is due for one router, and its runs.

    Attributes:
        timing: What the router says about its times; may be replaced.
        due_ms: When it is due next, in milliseconds since 1970; `None` for never again.
    """

    def __init__(
        self,
        timing: Timing,
        schedule: Schedule,
        now_ms: int,
        *,
        run: Callable[[int], Awaitable[None]],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        leave_out: Callable[[str], None],
    ) -> None:
        """Begin to count.

        Args:
            timing: As the attribute.
            schedule: When it is due.
            now_ms: The present time.
            run: Runs the target for the time that was due; raises nothing.
            spawn: Makes a task.
            leave_out: Is told why times are left out.
        """
        self.timing = timing
        self.due_ms = next(schedule.after(now_ms), None)
        self._schedule = schedule
        self._run = run
        self._spawn = spawn
        self._leave_out = leave_out
        self._seen_ms = now_ms
        self._tasks: list[asyncio.Task[None]] = []
        self._queue: deque[int] = deque()
        self._queue_runner: asyncio.Task[None] | None = None
        self._is_stopped = False

    @property
    def zone(self) -> ZoneInfo:
        """By whose clocks its times are shown."""
        return self._schedule.zone

    def tick(self, now_ms: int) -> None:
        """Begin what is due."""
        if now_ms < self._seen_ms:
            self._set_back(now_ms)
        self._seen_ms = now_ms
        due_ms = self.due_ms
        if due_ms is None or due_ms > now_ms:
            return
        self.due_ms = next(self._schedule.after(now_ms), None)
        times = self._kept(due_ms, now_ms)
        most = self.timing.max_waiting
        if not times or len(times) > most:
            self._leave_out(TOO_MANY if times else MISSED)
        if times:
            self._begin(times[-most:])

    def stop(self) -> None:
        """Let nothing be due any more, and what waits for its turn not come."""
        self._is_stopped = True
        self.due_ms = None

    def _set_back(self, now_ms: int) -> None:
        """Work out anew what is due, unless that could make something due twice that is not due soon again."""
        anew = list(islice(self._schedule.after(now_ms), 2))
        if self.due_ms is None or len(anew) < 2:
            return
        is_long = self.due_ms - now_ms > LONGEST_PAUSE * (anew[1] - anew[0])
        if is_long or now_ms < self._seen_ms - SET_BACK_MS:
            self.due_ms = anew[0]

    def _kept(self, due_ms: int, now_ms: int) -> list[int]:
        """Give the times to run for, out of those that have come; one more than may wait when there are too many."""
        timing = self.timing
        if timing.missed == "all":
            return latest(self._schedule, due_ms, now_ms, timing.max_waiting + 1)
        last = latest(self._schedule, due_ms, now_ms, 1)
        is_late = now_ms - last[0] > timing.tolerance * 1000
        return [] if is_late and timing.missed == "skip" else last

    def _begin(self, times: list[int]) -> None:
        self._tasks = [task for task in self._tasks if not task.done()]
        if self.timing.overlap == "queue":
            self._put_in_line(times)
        elif self.timing.overlap == "skip" and self._tasks:
            self._leave_out(STILL_GOING)
        else:
            self._tasks.append(self._spawn(self._run_all(deque(times))))

    def _put_in_line(self, times: list[int]) -> None:
        queue = self._queue
        queue.extend(times)
        if self._queue_runner is None or self._queue_runner.done():
            self._queue_runner = self._spawn(self._run_all(queue, tuple(self._tasks)))
            self._tasks.append(self._queue_runner)
        if len(queue) > self.timing.max_waiting:
            self._leave_out(TOO_MANY)
        while len(queue) > self.timing.max_waiting:
            queue.popleft()

    async def _run_all(self, times: deque[int], before: tuple[asyncio.Task[None], ...] = ()) -> None:
        """Run for each time, one after the other, once other runs are over."""
        try:
            if before:
                await asyncio.wait(before)
            while times and not self._is_stopped:
                await self._run(times.popleft())
        finally:
            if times:
                self._leave_out(STOPPED)
