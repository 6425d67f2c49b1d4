"""Time, as components see it; tests put a fake one in its place."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What tells the time to a chain."""

    def monotonic(self) -> float:
        """Give seconds on a clock that never goes back."""
        ...

    def time_ms(self) -> int:
        """Give milliseconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back after this many seconds."""
        ...


class SystemClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        """Give seconds on a clock that never goes back."""
        return time.monotonic()

    def time_ms(self) -> int:
        """Give milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    async def sleep(self, seconds: float) -> None:
        """Come back after this many seconds."""
        await asyncio.sleep(seconds)
