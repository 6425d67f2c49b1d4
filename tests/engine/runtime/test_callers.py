"""Callers that cancel a run just when something else ends it, and what others make of their cancellation."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import pytest
from tests.engine.runtime.kit import flow, join, load, ways
from tests.engine.runtime.waiting import Cleaning, Meeting, turns

from catenary import SUCCESS, Aspect, Engine, Message
from catenary.runtime import run as run_module

CANCELLED = "processing cancelled: context canceled"
EXPIRED = "processing cancelled: context deadline exceeded"


def halting(meeting):
    """Give nodes of which one fails once the others are there, so that the chain halts."""

    async def bad(ctx, msg):
        await meeting.all_there.wait()
        raise ValueError("bad")

    return {"s": None, "a": bad, "h": meeting.hang}, ["s a", "s h"]


def rounding(meeting):
    """Give nodes of which one meets the limit of visits once the others are there."""
    return {"s": None, "a": meeting.go_on, "h": meeting.hang, "l": None}, ["s a", "s h", "a l", "l l"]


BOTH = pytest.mark.parametrize(
    ("made", "configuration"),
    [(halting, {"onFailure": "stop"}), (rounding, {"allowCycle": True, "maxVisits": 3})],
    ids=["halts", "limit of visits"],
)


@BOTH
@pytest.mark.parametrize("is_watched", [True, False])
async def test_caller_that_cancels_just_when_a_run_ends_itself_is_answered(engine, made, configuration, is_watched):
    cleaning = Cleaning(1)
    nodes, edges = made(cleaning)
    options = {"listener": lambda event: None} if is_watched else {}
    running = asyncio.create_task(load(engine, nodes, edges, **configuration).run("x", **options))
    await cleaning.all_cleaning.wait()  # the run has ended itself
    running.cancel()
    await turns()
    cleaning.done.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert running.cancelling() == 1


@BOTH
async def test_time_limit_around_a_run_that_ends_itself_just_then_is_kept(engine, made, configuration):
    cleaning = Cleaning(1)
    nodes, edges = made(cleaning)
    chain = load(engine, nodes, edges, **configuration)

    async def let_go():
        await cleaning.all_cleaning.wait()
        limit.reschedule(0)
        await turns()
        cleaning.done.set()

    helping = asyncio.create_task(let_go())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            await chain.run("x")
    await helping
    assert asyncio.current_task().cancelling() == 0
    await turns()


@BOTH
async def test_sub_run_that_ends_itself_just_when_its_caller_is_cancelled_gives_nothing(engine, made, configuration):
    cleaning = Cleaning(1)
    nodes, edges = made(cleaning)
    load(engine, nodes, edges, id="sub", **configuration)
    seen = []

    async def caller(ctx, msg):
        try:
            await ctx.run_chain("sub", msg)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    running = asyncio.create_task(load(engine, {"c": caller}).run("x"))
    await cleaning.all_cleaning.wait()
    running.cancel()
    await turns()
    cleaning.done.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert seen == ["cancelled"]


async def test_run_in_a_task_group_is_cancelled_with_it(engine):
    meeting = Meeting(2)
    chain = load(engine, {"s": None, "a": meeting.hang, "b": meeting.hang}, ["s a", "s b"], onFailure="stop")

    async def fail():
        await meeting.all_there.wait()
        raise ValueError("of another task")

    before = asyncio.all_tasks()
    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            await chain.run("x")
    assert (asyncio.all_tasks(), asyncio.current_task().cancelling()) == (before, 0)


async def test_node_that_makes_an_error_of_a_cancellation_is_not_tried_again(engine):
    there = asyncio.Event()
    tries = []

    async def bad(ctx, msg):
        tries.append(ctx.node_id)
        there.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("cut off") from None

    chain = load(engine, {"a": bad}, keys={"a": {"retry": 2}})
    running = asyncio.create_task(chain.run("x"))
    await there.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert tries == ["a"]


# Time


def test_time_that_is_over_between_two_sub_runs_stops_a_run_without_a_loop(engine, monkeypatch):
    skipped_s = [0.0]
    monkeypatch.setattr(run_module, "monotonic", lambda: time.monotonic() + skipped_s[0])
    seen = []

    async def caller(ctx, msg):
        await ctx.run_node("b", msg)
        skipped_s[0] = 3600.0
        await ctx.run_node("b", msg)
        seen.append("went on")

    nodes = {"a": flow(caller), "b": lambda ctx, msg: seen.append(ctx.node_id), "f": None}
    outcome = load(engine, nodes, ["a f", "a Failure f"]).run_sync(Message("x"), timeout=60)
    assert (outcome.status, ways(outcome), seen) == ("cancelled", ["a Failure"], ["b"])
    assert outcome.ends[0].message.metadata["errorMsg"] == EXPIRED


async def test_caller_that_cancels_is_answered_although_a_join_meets_the_limit_of_visits_by_that(engine):
    there = asyncio.Event()

    async def waits(ctx, msg):
        there.set()
        await asyncio.Event().wait()

    nodes = {"s": None, "j": join(), "k": None, "w": waits}
    chain = load(engine, nodes, ["s j", "j k", "j w", "k j", "w j"], allowCycle=True, maxVisits=1)
    events = []
    running = asyncio.create_task(chain.run("x", listener=events.append))
    await there.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(event.node_id for event in events if event.name == "branch.end") == ["j", "w"]
    assert events[-1].name == "run.cancel"


async def test_branch_that_gives_way_goes_on_no_more_when_a_sibling_halts_the_run(engine, monkeypatch):
    monkeypatch.setattr(run_module, "SLICE_S", 0.0)
    visits, before = [], []

    async def nap(ctx, msg):
        await turns(1)
        return SUCCESS

    async def fails(ctx, msg):
        await turns(5)
        before.extend(visits)
        raise ValueError("stop")

    def goes_round(ctx, msg):
        visits.append(ctx.node_id)
        return SUCCESS

    nodes = {"s": None, "n": nap, "a": goes_round, "b": fails}
    edges = ["s n", "s b", "n a", "a a"]
    chain = load(engine, nodes, edges, allowCycle=True, maxVisits=10**9, onFailure="stop")
    assert sorted(ways(await chain.run("x"))) == ["a Failure", "b Failure"]
    assert visits == before != []


async def test_cancellation_that_an_aspect_swallows_at_the_end_still_cancels_the_run():
    there = asyncio.Event()

    class Deaf(Aspect):
        async def completed(self, ctx, msg, outcome):
            there.set()
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            await turns(1)

    async with Engine(aspects=[Deaf()]) as observed:
        running = asyncio.create_task(load(observed, {"a": None}).run("x"))
        await there.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.mark.parametrize("is_told", [True, False])
async def test_cancellation_that_is_swallowed_while_ends_are_told_stops_the_run_there(engine, is_told):
    there = asyncio.Event()
    seen = []

    async def deaf(end):
        there.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await turns(1)

    async def caller(ctx, msg):
        await ctx.run_chain("sub", msg, each=deaf if is_told else None)

    nodes = {"s": None, "a": None, "b": lambda ctx, msg: seen.append("b")}
    load(engine, nodes, ["s a", "s b"], id="sub")
    running = asyncio.create_task(load(engine, {"c": caller}).run("x"))
    if is_told:
        await there.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert seen == []
    else:
        await running
        assert seen == ["b"]
