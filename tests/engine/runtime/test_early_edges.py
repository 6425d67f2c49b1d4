"""Joins that go on early, at their edges: when time or a quorum comes to something that is over, or stands beside."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import AsyncJoining, Kind, flow, join, limited, load, together, ways

from catenary import SUCCESS, Engine, Message, register
from catenary.component import JoinLimits
from catenary.errors import StepLimitReached
from catenary.testing import FakeClock

WORD = Message("x", "", "TEXT")
SPLIT = ["s a", "s b", "a j", "b j"]


@register("t/limitedAsyncJoin", category="test")
class LimitedAsyncJoining(AsyncJoining):
    """An async join that may go on early."""

    def __init__(self, config):
        super().__init__(config)
        self.join_limits = JoinLimits(config.timeout_s, config.quorum, config.stop_rest)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def timed(clock):
    """An engine whose time goes on when the test says so."""
    async with Engine(clock=clock) as engine:
        yield engine


def mark(ctx, msg):
    return SUCCESS, msg.with_data(ctx.node_id, "TEXT")


async def turn(ctx, msg):
    await asyncio.sleep(0)
    return SUCCESS, msg.with_data(ctx.node_id, "TEXT")


class Gate:
    """A node that waits until the test lets it go on."""

    def __init__(self):
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def node(self, ctx, msg):
        self.reached.set()
        await self.opened.wait()
        return SUCCESS, msg.with_data(ctx.node_id, "TEXT")


def async_limited(function, **limits):
    return Kind("t/limitedAsyncJoin", function, JoinLimits(**limits))


def texts(outcome):
    return sorted((f"{end.node_id} {end.relation}", end.message.text) for end in outcome.ends)


# Time


async def test_time_that_is_over_does_nothing_to_a_join_that_has_fired(timed, clock):
    gate = Gate()
    nodes = {"s": None, "a": mark, "b": mark, "j": limited(timeout_s=30), "g": gate.node}
    nodes["w"] = turn  # the time is measured once something waits
    running = asyncio.create_task(load(timed, nodes, ["s a", "s w", "w b", "a j", "b j", "j g"]).run(WORD))
    await gate.reached.wait()
    clock.advance(60)
    gate.opened.set()
    assert texts(await running) == [("g Success", "g")]


async def test_time_of_a_join_that_fires_before_anything_waits_is_not_measured(timed, clock):
    gate = Gate()
    nodes = {"s": None, "a": mark, "b": mark, "j": limited(timeout_s=30), "g": gate.node}
    running = asyncio.create_task(load(timed, nodes, [*SPLIT, "j g"]).run(WORD))
    await gate.reached.wait()
    clock.advance(60)
    gate.opened.set()
    assert texts(await running) == [("g Success", "g")]


async def test_time_limit_of_a_join_in_a_loop_counts_as_a_visit_and_meets_their_limit(timed, clock):
    gates = [Gate(), Gate()]

    async def emitter(ctx, msg):
        for gate in gates:
            await ctx.emit(SUCCESS, msg)
            await gate.node(ctx, msg)

    nodes = {"e": emitter, "j": limited(timeout_s=30), "w": None}
    chain = load(timed, nodes, ["e j", "j Again w", "w j"], allowCycle=True, maxVisits=1)
    running = asyncio.create_task(chain.run(WORD))
    await gates[0].reached.wait()
    clock.advance(30)
    gates[0].opened.set()
    await gates[1].reached.wait()
    clock.advance(30)
    outcome = await running
    assert outcome.status == "failed"
    assert isinstance(outcome.error, StepLimitReached)
    assert "'j' was visited 1 times" in str(outcome.error)
    timed_out, too_often, *others = outcome.ends
    assert [end.node_id for end in others] == ["e"]
    assert (timed_out.node_id, str(timed_out.error)) == ("j", "context deadline exceeded")
    assert (too_often.node_id, too_often.error) == ("j", outcome.error)


async def test_ends_that_a_timer_makes_by_itself_are_told_too(timed, clock):
    events, gate = [], Gate()
    nodes = {"s": None, "x": mark, "h": gate.node, "i": join(), "a": mark, "j": limited(timeout_s=30, stop_rest=True)}
    chain = load(timed, nodes, ["s x", "s h", "s a", "x i", "h i", "i j", "a j"])
    running = asyncio.create_task(chain.run(WORD, listener=events.append))
    await gate.reached.wait()
    clock.advance(30)
    outcome = await running
    told = [f"{event.node_id} {event.relation}" for event in events if event.name == "branch.end"]
    assert sorted(told) == sorted(ways(outcome)) == ["h Late", "i Late", "j Failure"]


async def test_async_join_fails_when_its_time_is_over_and_is_not_called(timed, clock):
    called, gate = [], Gate()

    async def note(ctx, arrivals):
        called.append(arrivals)

    nodes = {"s": None, "a": mark, "b": gate.node, "j": async_limited(note, timeout_s=30, stop_rest=True)}
    running = asyncio.create_task(load(timed, nodes, SPLIT).run(WORD))
    await gate.reached.wait()
    clock.advance(30)
    outcome = await running
    assert texts(outcome) == [("b Late", "x"), ("j Failure", "a")]
    assert str(next(end.error for end in outcome.ends if end.node_id == "j")) == "context deadline exceeded"
    assert called == []


async def test_async_join_with_a_time_limit_is_called_when_all_came_in_time(timed, clock):
    async def gather(ctx, arrivals):
        await asyncio.sleep(0)
        return together(ctx, arrivals)

    gate = Gate()
    nodes = {"s": None, "a": mark, "b": gate.node, "j": async_limited(gather, timeout_s=30)}
    running = asyncio.create_task(load(timed, nodes, SPLIT).run(WORD))
    await gate.reached.wait()
    clock.advance(29)
    gate.opened.set()
    assert texts(await running) == [("j Success", "a+b")]


# What is stopped


async def test_join_that_stops_the_rest_leaves_visits_alone_that_lead_to_another_one(engine):
    gate, held = Gate(), Gate()

    def fired(ctx, arrivals):
        gate.opened.set()
        return together(ctx, arrivals)

    async def first(ctx, msg):
        await asyncio.gather(gate.reached.wait(), held.reached.wait())
        return SUCCESS, msg.with_data(ctx.node_id, "TEXT")

    nodes = {
        "s": None,
        "a": first,
        "b": held.node,
        "c": gate.node,
        "j": limited(fired, quorum=1, stop_rest=True),
        "k": limited(quorum=1, stop_rest=True),
    }
    outcome = await load(engine, nodes, ["s a", "s b", "s c", "a j", "b j", "c k"]).run(WORD)
    assert texts(outcome) == [("b Late", "x"), ("j Success", "a"), ("k Success", "c")]


async def test_node_that_could_be_stopped_fails_by_its_own_error(engine):
    async def failing(ctx, msg):
        await asyncio.sleep(0)
        raise ValueError("its own")

    nodes = {"s": None, "a": mark, "b": failing, "j": limited(quorum=2, stop_rest=True)}
    outcome = await load(engine, nodes, SPLIT).run(WORD)
    assert texts(outcome) == [("b Failure", "x"), ("j Success", "a")]
    assert repr(next(end.error for end in outcome.ends if end.node_id == "b")) == "ValueError('its own')"


def test_join_whose_quorum_is_full_does_not_fire_when_another_one_stops_it_first(engine):
    fired = []

    def note(ctx, arrivals):
        fired.append(ctx.node_id)
        return together(ctx, arrivals)

    nodes = {"s": None, "i": limited(note, quorum=1), "j": limited(note, quorum=1, stop_rest=True)}
    outcome = load(engine, nodes, ["s j", "s i", "i j"]).run_sync(WORD)
    assert texts(outcome) == [("i Late", "x"), ("j Success", "x")]
    assert fired == ["j"]


def test_join_beside_one_that_stops_the_rest_gets_all_that_can_reach_it(engine):
    nodes = {"s": None, "x": mark, "y": mark, "a": mark, "b": mark, "j": limited(quorum=1, stop_rest=True), "k": join()}
    outcome = load(engine, nodes, ["s x", "s a", "s b", "s y", "x k", "a j", "b j", "y k"]).run_sync(WORD)
    assert texts(outcome) == [("b Late", "x"), ("j Success", "a"), ("k Success", "x+y")]


def test_message_of_a_stopped_branch_is_not_waited_for_by_the_join_beside(engine):
    nodes = {"s": None, "a": mark, "b": mark, "j": limited(quorum=1, stop_rest=True), "k": join()}
    outcome = load(engine, nodes, [*SPLIT, "a k", "b k"]).run_sync(WORD)
    assert texts(outcome) == [("b Late", "x"), ("j Success", "a"), ("k Success", "a")]


# Without a loop


def test_async_join_of_a_run_without_a_loop_keeps_its_limits(engine):
    async def sender(ctx, msg):
        for text in "ab":
            await ctx.emit(SUCCESS, msg.with_data(text, "TEXT"))

    async def gather(ctx, arrivals):
        return together(ctx, arrivals)

    nodes = {"e": flow(sender), "j": async_limited(gather, timeout_s=30, quorum=2)}
    outcome = load(engine, nodes, ["e j"]).run_sync(WORD)
    assert ("j Success", "a+b") in texts(outcome)
