"""Time in which the event loop stood still does not count."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.engine.runtime.stepping import stepped

from catenary.patience import later, pause, within


def test_time_that_the_event_loop_stood_still_does_not_count() -> None:
    async def wait() -> None:
        loop: Any = asyncio.get_running_loop()
        told: list[str] = []
        later(0.1, lambda: told.append("over"))
        pausing = asyncio.create_task(pause(0.1))
        limited = asyncio.create_task(wait_for_ever(0.1))
        await asyncio.sleep(0)
        loop.now += 100
        for _ in range(5):
            await asyncio.sleep(0)
        assert (told, pausing.done(), limited.done()) == ([], False, False)
        await asyncio.sleep(0.2)
        assert (told, pausing.done(), limited.done()) == (["over"], True, True)
        with pytest.raises(TimeoutError):
            await limited

    stepped(wait())


async def wait_for_ever(limit_s: float) -> None:
    async with within(limit_s):
        await asyncio.Event().wait()


def test_what_is_called_off_is_not_called() -> None:
    async def wait() -> None:
        told: list[str] = []
        call_off = later(0.1, lambda: told.append("over"))
        await asyncio.sleep(0.05)
        call_off()
        await asyncio.sleep(0.2)
        assert told == []
        call_off()

    stepped(wait())


def test_what_is_done_in_time_is_not_limited_afterwards() -> None:
    async def wait() -> None:
        async with within(0.1):
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)

    stepped(wait())


def test_a_limited_wait_may_be_cancelled() -> None:
    async def wait() -> None:
        limited = asyncio.create_task(wait_for_ever(0.1))
        await asyncio.sleep(0)
        limited.cancel()
        with pytest.raises(asyncio.CancelledError):
            await limited

    stepped(wait())
