"""The clock that goes on by itself."""

from __future__ import annotations

import asyncio

from catenary.testing.chains.clock import LeapingClock


async def test_sleepers_wake_in_the_order_of_their_time_and_no_time_passes():
    clock, woken = LeapingClock(start_ms=1000), []

    async def sleep(seconds):
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic()))

    await asyncio.gather(*(sleep(seconds) for seconds in (3600, 1, 60)))
    assert woken == [(1, 1.0), (60, 60.0), (3600, 3600.0)]
    assert clock.time_ms() == 3_601_000


async def test_who_begins_to_wait_later_waits_as_long():
    clock = LeapingClock()

    async def twice():
        await clock.sleep(1)
        await clock.sleep(5)
        return clock.monotonic()

    async def once():
        await clock.sleep(3)
        return clock.monotonic()

    assert await asyncio.gather(twice(), once()) == [6.0, 3.0]


async def test_sleeper_that_is_cancelled_does_not_move_the_clock():
    clock = LeapingClock()
    task = asyncio.create_task(clock.sleep(100))
    await asyncio.sleep(0)
    task.cancel()
    await clock.sleep(1)
    assert clock.monotonic() == 1.0
