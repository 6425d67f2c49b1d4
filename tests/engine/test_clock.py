"""The clock of the machine."""

from __future__ import annotations

import asyncio
import time

from catenary.clock import SystemClock


async def test_system_clock_tells_the_time():
    clock = SystemClock()
    began = clock.monotonic()
    await clock.sleep(0)
    assert clock.monotonic() >= began
    assert abs(clock.time_ms() - time.time() * 1000) < 60_000


async def test_system_clock_calls_at_a_time():
    clock = SystemClock()
    called = asyncio.Event()
    clock.call_at(clock.monotonic(), called.set)
    await called.wait()
