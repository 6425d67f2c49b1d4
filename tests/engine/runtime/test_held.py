"""Pauses that are over already when somebody wants to put their run off."""

from __future__ import annotations

import asyncio

from tests.engine.runtime.kit import load, ways

from catenary import Message
from catenary.pauses.answers import Answer, Ask

WORD = Message("x", "", "TEXT")


async def asking(ctx, msg):
    """Wait for an answer."""
    return await ctx.chain.engine.pauses.wait(ctx, Ask(), msg)


async def begun(engine):
    """Start a run, and give it with its pause once that is open."""
    opened = asyncio.get_running_loop().create_future()
    engine.pauses.on_open(opened.set_result)
    running = asyncio.create_task(load(engine, {"w": asking, "n": None}, ["w n"]).run(WORD))
    return running, await opened


async def test_answer_that_came_before_wins_over_putting_the_run_off(engine):
    running, pause = await begun(engine)
    engine.pauses.answer(pause.run_id, "w", None, Answer(data="yes"))
    await engine.pauses.put_off()
    outcome = await running
    assert ways(outcome) == ["n Success"]
    assert outcome.message.text == "yes"


async def test_putting_a_run_off_twice_at_once_is_as_good_as_once(engine):
    running, _ = await begun(engine)
    await asyncio.gather(engine.pauses.put_off(), engine.pauses.put_off())
    outcome = await running
    assert ways(outcome) == ["w Paused"]
    assert list(engine.pauses) == []


async def test_run_is_put_off_also_when_nobody_waits_for_that_any_more(engine):
    running, _ = await begun(engine)
    putting_off = asyncio.create_task(engine.pauses.put_off())
    await asyncio.sleep(0)  # it has begun to wait
    putting_off.cancel()
    outcome = await running
    assert putting_off.cancelled()
    assert ways(outcome) == ["w Paused"]
    assert list(engine.pauses) == []
