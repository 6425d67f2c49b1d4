"""A clock that stands still until it is told to go on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class FakeTimer:
    """A call that comes when a fake clock has been moved so far."""

    def __init__(self, when: float, callback: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self._when = when
        self._call = callback, arguments
        self.is_over = False

    def when(self) -> float:
        """Give the time of the call on the clock."""
        return self._when

    def cancel(self) -> None:
        """Let the call not come."""
        self.is_over = True

    def run(self) -> None:
        """Make the call, unless it was cancelled."""
        if not self.is_over:
            self.is_over = True
            callback, arguments = self._call
            callback(*arguments)


class FakeClock:
    """Stands in for the engine's clock. `advance` moves it; nothing else does, unless `auto` is set.

    Args:
        start_ms: The time of day it begins with, in milliseconds since 1970.
        auto: True lets `sleep` move the clock itself and come back at once, which makes waits take no time.

    Attributes:
        slept: The seconds asked for by each `sleep`, in order.
    """

    def __init__(self, *, start_ms: int = 1_700_000_000_000, auto: bool = False) -> None:
        self._start_ms = start_ms
        self._elapsed_s = 0.0
        self._auto = auto
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._timers: list[FakeTimer] = []
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Give the seconds since the clock was made."""
        return self._elapsed_s

    def time_ms(self) -> int:
        """Give the time of day in milliseconds since 1970."""
        return self._start_ms + round(self._elapsed_s * 1000)

    def advance(self, seconds: float) -> None:
        """Move the clock forward, make the calls that are due, and wake those whose sleep is over, in their order.

        They run when the event loop comes to them: `await asyncio.sleep(0)` afterwards lets them. To be called on the
        event loop on which they sleep.
        """
        if seconds < 0:
            raise ValueError("a clock does not go back")
        self._elapsed_s += seconds
        timers = sorted((t for t in self._timers if t.when() <= self._elapsed_s), key=FakeTimer.when)
        self._timers = [t for t in self._timers if t.when() > self._elapsed_s and not t.is_over]
        for timer in timers:
            timer.run()
        due = sorted((s for s in self._sleepers if s[0] <= self._elapsed_s), key=lambda sleeper: sleeper[0])
        self._sleepers = [s for s in self._sleepers if s[0] > self._elapsed_s]
        for _, woken in due:
            if not woken.done():
                woken.set_result(None)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved by this many seconds."""
        self.slept.append(seconds)
        if self._auto:
            self.advance(max(seconds, 0.0))
        if self._auto or seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._elapsed_s + seconds, woken))
        await woken

    def call_at(self, when: float, callback: Callable[..., object], *arguments: Any) -> FakeTimer:
        """Have something called when the clock has come so far. It does not move the clock, also not with `auto`."""
        timer = FakeTimer(when, callback, arguments)
        self._timers.append(timer)
        return timer
