"""Time, as components see it; tests put a fake one in its place."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Timer(Protocol):
    """A call that is to come."""

    def when(self) -> float:
        """Give the time of the call on the monotonic clock."""
        ...

    def cancel(self) -> None:
        """Let the call not come."""
        ...


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

    def call_at(self, when: float, callback: Callable[..., object], *arguments: Any) -> Timer:
        """Have something called at a time of the monotonic clock, on the event loop that runs."""
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

    def call_at(self, when: float, callback: Callable[..., object], *arguments: Any) -> Timer:
        """Have something called at a time of the monotonic clock, on the event loop that runs."""
        loop = asyncio.get_running_loop()
        return loop.call_at(when - time.monotonic() + loop.time(), callback, *arguments)
