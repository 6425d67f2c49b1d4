"""The clock that is told the time."""

from __future__ import annotations

import asyncio

import pytest

from catenary.testing import FakeClock


def test_the_clock_stands_still_until_it_is_moved():
    clock = FakeClock(start_ms=1000)
    assert (clock.monotonic(), clock.time_ms()) == (0.0, 1000)
    clock.advance(1.5)
    assert (clock.monotonic(), clock.time_ms()) == (1.5, 2500)


def test_the_clock_does_not_go_back():
    with pytest.raises(ValueError, match="back"):
        FakeClock().advance(-1)


async def test_sleepers_wake_when_their_time_has_come():
    clock, woken = FakeClock(), []

    async def sleeper(seconds):
        await clock.sleep(seconds)
        woken.append(seconds)

    tasks = [asyncio.create_task(sleeper(seconds)) for seconds in (3, 1, 2, 0)]
    await asyncio.sleep(0)
    clock.advance(2)
    for _ in range(5):
        await asyncio.sleep(0)
    assert woken == [0, 1, 2]
    clock.advance(1)
    await asyncio.gather(*tasks)
    assert woken == [0, 1, 2, 3]
    assert clock.slept == [3, 1, 2, 0]


async def test_a_sleeper_that_was_cancelled_is_not_woken():
    clock = FakeClock()
    task = asyncio.create_task(clock.sleep(1))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    clock.advance(2)
    assert task.cancelled()


async def test_an_automatic_clock_moves_by_itself():
    clock = FakeClock(auto=True)
    await clock.sleep(30)
    assert clock.monotonic() == 30
    assert clock.slept == [30]


async def test_calls_come_when_the_clock_has_come_so_far_in_their_order_unless_cancelled():
    clock = FakeClock()
    called = []
    clock.call_at(5, called.append, "later")
    clock.call_at(2, called.append, "sooner")
    clock.call_at(3, called.append, "cancelled").cancel()
    clock.advance(1)
    assert called == []
    clock.advance(4)
    assert called == ["sooner", "later"]
