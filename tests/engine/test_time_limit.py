"""Limits of time that stand still while somebody is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.engine.runtime.kit import load

from catenary import Engine, Message
from catenary.component import TimeLimit
from catenary.testing import FakeClock


async def visited(clock: FakeClock, block: Any, seconds: float = 10) -> list[str]:
    """Visit a node that runs a block with a limit; gives what came of it."""
    seen: list[str] = []

    async def limiting(ctx: Any, msg: Message) -> str:
        try:
            async with TimeLimit(ctx, seconds) as limit:
                await block(limit)
                seen.append("done")
        except TimeoutError:
            seen.append("over")
        return "Success"

    async with Engine(clock=clock) as engine:
        assert (await load(engine, {"a": limiting}).run(Message("x"))).ok
    return seen


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("moved", "came"), [(9.9, ["done"]), (10, ["over"])])
async def test_a_block_has_so_many_seconds(moved: float, came: list[str]) -> None:
    clock = FakeClock()

    async def block(_limit: TimeLimit) -> None:
        clock.advance(moved)
        await turns()

    assert await visited(clock, block) == came


async def test_a_block_that_is_left_in_time_leaves_no_timer_behind() -> None:
    clock = FakeClock()

    async def block(_limit: TimeLimit) -> None:
        await turns()

    assert await visited(clock, block) == ["done"]
    clock.advance(100)  # a timer would raise here: the block is over


async def test_time_that_somebody_takes_to_answer_does_not_count() -> None:
    clock = FakeClock()

    async def block(limit: TimeLimit) -> None:
        for _ in range(3):
            clock.advance(3)
            limit.rest()
            clock.advance(100)
            limit.go_on()
            await turns()

    assert await visited(clock, block) == ["done"]
    assert await visited(clock, block, seconds=8) == ["over"]


async def test_time_that_is_over_does_not_begin_again() -> None:
    clock = FakeClock()

    async def block(limit: TimeLimit) -> None:
        try:
            clock.advance(10)
            await turns()
        finally:
            limit.rest()
            limit.go_on()

    assert await visited(clock, block) == ["over"]


async def test_time_is_over_also_when_somebody_was_asked_in_its_last_moment() -> None:
    class LateClock(FakeClock):
        """Makes no calls by itself, as a busy event loop does for a while."""

        is_busy = True

        def call_at(self, when: float, callback: Any, *arguments: Any) -> Any:
            return super().call_at(when + 1000 if self.is_busy else when, callback, *arguments)

    clock = LateClock()

    async def block(limit: TimeLimit) -> None:
        clock.advance(11)
        limit.rest()
        clock.is_busy = False
        limit.go_on()
        clock.advance(0)
        await turns()

    assert await visited(clock, block) == ["over"]
