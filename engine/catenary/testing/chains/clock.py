"""The clock of a chain test: when nothing else happens, it moves to the next one who waits for it."""

from __future__ import annotations

import asyncio

from catenary.testing.clock import FakeClock

_QUIET_ROUNDS = 25  # rounds of the event loop in which nobody begins to wait


class LeapingClock(FakeClock):
    """A fake clock that goes on by itself, so that waits take no time and still end in the right order."""

    def __init__(self, *, start_ms: int = 1_700_000_000_000) -> None:
        super().__init__(start_ms=start_ms)
        self._moving: asyncio.Task[None] | None = None

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has come so far."""
        if seconds > 0 and (self._moving is None or self._moving.done()):
            self._moving = asyncio.create_task(self._move())
        await super().sleep(seconds)

    async def _move(self) -> None:
        quiet, known = 0, 0
        while quiet < _QUIET_ROUNDS:
            await asyncio.sleep(0)
            quiet = quiet + 1 if known == len(self.slept) else 0
            known = len(self.slept)
            if quiet < _QUIET_ROUNDS:
                continue
            self._sleepers = [sleeper for sleeper in self._sleepers if not sleeper[1].done()]
            if not self._sleepers:
                return
            times = [due for due, _ in self._sleepers] + [timer.when() for timer in self._timers if not timer.is_over]
            self.advance(max(min(times) - self.monotonic(), 0.0))
            quiet = 0
