"""What is cut off just then: tasks that never began, ends that nobody was told of yet, errors that come second."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import join, limited, load, ways
from tests.engine.runtime.stepping import STEPPING
from tests.engine.runtime.waiting import Cleaning, Meeting, hang, turns

from catenary import SUCCESS, Engine
from catenary.errors import StepLimitReached
from catenary.testing import FakeClock

CANCELLED = "processing cancelled: context canceled"
EXPIRED = "processing cancelled: context deadline exceeded"


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def timed(clock):
    """An engine whose time goes on when the test says so."""
    async with Engine(clock=clock) as engine:
        yield engine


def told(events):
    """Give `"node Relation"` of each end that listeners were told of."""
    return [f"{event.node_id} {event.relation}" for event in events if event.name == "branch.end"]


# Tasks


async def test_task_is_cut_off_before_its_first_step_when_a_sibling_halts_the_run(engine):
    began = []

    async def bad(ctx, msg):
        raise ValueError("at once")

    async def sibling(ctx, msg):
        began.append(ctx.node_id)

    events = []
    chain = load(engine, {"s": None, "a": bad, "b": sibling}, ["s a", "s b"], onFailure="stop")
    before = asyncio.all_tasks()
    outcome = await chain.run("x", listener=events.append)
    assert began == []
    assert ways(outcome) == told(events) == ["a Failure", "b Failure"]
    assert outcome.ends[1].message.metadata["errorMsg"] == CANCELLED
    assert asyncio.all_tasks() == before


async def test_task_is_cut_off_before_its_first_step_when_the_caller_is_cancelled(engine):
    began = []

    async def cancelling(ctx, msg):
        task.cancel()
        return SUCCESS

    async def sibling(ctx, msg):
        began.append(ctx.node_id)

    events = []
    nodes = {"s": None, "a": cancelling, "h": hang, "b": sibling, "c": sibling}
    chain = load(engine, nodes, ["s a", "s h", "a b", "a c"])
    task = asyncio.create_task(chain.run("x", listener=events.append))
    await asyncio.wait([task])
    assert task.cancelled()
    assert (began, sorted(told(events))) == ([], ["b Failure", "c Failure", "h Failure"])


async def test_emission_of_a_sibling_in_a_task_halts_the_run(engine):
    went_on = []

    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        went_on.append(ctx.node_id)

    nodes = {"s": None, "h": hang, "e": emitter, "a": lambda ctx, msg: 1 / 0}
    before = asyncio.all_tasks()
    outcome = await load(engine, nodes, ["s h", "s e", "e Item a"], onFailure="stop").run("x")
    assert ways(outcome) == ["a Failure", "e Failure", "h Failure"]
    assert "division" in str(outcome.error)
    assert (went_on, asyncio.all_tasks(), asyncio.current_task().cancelling()) == ([], before, 0)


async def test_emission_of_a_sibling_in_a_task_meets_the_limit_of_the_run(engine):
    went_on = []

    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        went_on.append(ctx.node_id)

    nodes = {"s": None, "h": hang, "e": emitter, "a": None}
    chain = load(engine, nodes, ["s h", "s e", "e Item a", "a a"], allowCycle=True, maxVisits=3)
    outcome = await chain.run("x")
    assert isinstance(outcome.error, StepLimitReached)
    assert ways(outcome) == ["a Failure", "e Failure", "h Failure"]
    assert (went_on, asyncio.current_task().cancelling()) == ([], 0)


async def test_run_raises_the_first_of_several_errors_of_its_tasks(engine):
    class Stop(BaseException):
        pass

    raised = []

    async def bad(ctx, msg):
        await asyncio.sleep(0)
        raised.append(ctx.node_id)
        raise Stop(ctx.node_id)

    before = asyncio.all_tasks()
    chain = load(engine, {"s": None, "h": hang, "a": bad, "b": bad}, ["s h", "s a", "s b"])
    with pytest.raises(Stop, match=r"\Aa\Z"):
        await chain.run("x")
    assert raised == ["a", "b"]
    assert (asyncio.all_tasks(), asyncio.current_task().cancelling()) == (before, 0)


# Joins


async def test_join_with_a_time_limit_that_only_emissions_reach_is_late(timed, clock):
    emitted, answered = asyncio.Event(), asyncio.Event()

    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        emitted.set()
        await answered.wait()
        return "Done"

    def failed(ctx, msg):
        answered.set()
        return SUCCESS

    nodes = {"e": emitter, "j": limited(timeout_s=30), "f": failed}
    running = asyncio.create_task(load(timed, nodes, ["e Item j", "j Failure f"]).run("x"))
    await emitted.wait()
    clock.advance(31)
    outcome = await asyncio.wait_for(running, 10)
    assert ways(outcome) == ["f Success", "e Done"]
    assert outcome.ends[0].message.metadata["errorMsg"] == "context deadline exceeded"


async def test_ends_of_an_emission_that_is_stopped_are_told_once(engine):
    meeting = Meeting(2)

    async def emitter(ctx, msg):
        await ctx.emit("Side", msg)

    nodes = {
        "s": None,
        "e": emitter,
        "a": meeting.go_on,
        "l": meeting.hang,
        "m": meeting.hang,
        "j": limited(quorum=1, stop_rest=True),
    }
    events = []
    chain = load(engine, nodes, ["s e", "s a", "a j", "e j", "e Side l", "e Side m"])
    outcome = await chain.run("x", listener=events.append)
    assert sorted(told(events)) == sorted(ways(outcome)) == ["e Late", "j Success", "l Late", "m Late"]
    assert outcome.ok


def waiting_in_front(meeting):
    """Give a chain in which a join with a time limit stops one that waits in front of it, and a node beside them."""
    nodes = {
        "s": None,
        "d": meeting.hang,
        "x": None,
        "h": meeting.hang,
        "i": join(),
        "j": limited(timeout_s=30, stop_rest=True),
    }
    return nodes, ["s d", "s x", "s h", "s j", "x i", "h i", "i j"]


async def test_ends_that_a_time_limit_made_are_told_once(timed, clock):
    meeting = Meeting(2)
    nodes, edges = waiting_in_front(meeting)
    events = []
    chain = load(timed, nodes, edges)
    running = asyncio.create_task(chain.run("x", listener=events.append))
    await meeting.all_there.wait()
    clock.advance(31)
    for _ in range(10):
        await asyncio.sleep(0)
    assert sorted(told(events)) == ["h Late", "i Late", "j Failure"]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(told(events)) == ["d Failure", "h Late", "i Late", "j Failure"]


@pytest.mark.parametrize("is_heard", [True, False])
async def test_ends_that_a_time_limit_made_are_told_also_when_the_run_is_cancelled_just_then(timed, clock, is_heard):
    meeting = Meeting(2)
    nodes, edges = waiting_in_front(meeting)
    events = []
    chain = load(timed, nodes, edges, onFailure="stop")
    before = asyncio.all_tasks()
    running = asyncio.create_task(chain.run("x", listener=events.append if is_heard else None))
    await meeting.all_there.wait()
    running.cancel()
    clock.advance(31)  # before the run comes to know of the cancellation
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == before
    assert sorted(way.split()[0] for way in told(events)) == (["d", "h", "i", "j"] if is_heard else [])
    assert ("i Late" in told(events)) == is_heard


async def test_no_time_limit_counts_while_a_cancelled_run_cleans_up(timed, clock):
    cleaning = Cleaning(1)
    seen = []
    nodes = {"s": None, "d": cleaning.hang, "j": limited(timeout_s=30), "f": lambda ctx, msg: seen.append("f")}
    running = asyncio.create_task(load(timed, nodes, ["s d", "s j", "d j", "j Failure f"]).run("x"))
    await cleaning.all_there.wait()
    running.cancel()
    await cleaning.all_cleaning.wait()
    clock.advance(31)
    await turns()
    cleaning.done.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert seen == []


async def emit_item(ctx, msg):
    await ctx.emit("Item", msg)


@pytest.mark.parametrize(
    ("first", "edges"),
    [(None, ["s d", "s k", "k f"]), (emit_item, ["s Item d", "s Item k", "k f"])],
    ids=["run", "emission"],
)
async def test_no_sibling_goes_on_while_what_is_cancelled_cleans_up(engine, first, edges):
    cleaning = Cleaning(1)
    go = asyncio.Event()
    seen = []

    async def sibling(ctx, msg):
        await go.wait()
        return SUCCESS

    nodes = {"s": first, "d": cleaning.hang, "k": sibling, "f": lambda ctx, msg: seen.append("f")}
    running = asyncio.create_task(load(engine, nodes, edges).run("x"))
    await cleaning.all_there.wait()
    running.cancel()
    await cleaning.all_cleaning.wait()
    go.set()
    await turns()
    cleaning.done.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert seen == []


async def test_time_limit_of_a_node_that_cleans_up_slowly_stops_nobody_else(timed, clock):
    cleaning = Cleaning(1)
    seen = []
    nodes = {"s": None, "d": cleaning.hang, "j": limited(timeout_s=30), "f": lambda ctx, msg: seen.append("f")}
    chain = load(timed, nodes, ["s d", "s j", "d j", "j Failure f"], keys={"d": {"timeout": "60s"}})
    running = asyncio.create_task(chain.run("x"))
    await cleaning.all_cleaning.wait()
    clock.advance(31)
    await turns()
    assert seen == ["f"]
    cleaning.done.set()
    assert ways(await running) == ["f ", "d Failure"]


async def test_only_what_a_join_lets_go_is_late(engine):
    cleaning = Cleaning(1)
    is_over = asyncio.Event()

    async def emitter(ctx, msg):
        await ctx.emit("Side", msg)

    nodes = {
        "s": None,
        "e": emitter,
        "l": cleaning.hang,
        "o": emitter,
        "m": hang,
        "f": lambda ctx, msg: is_over.set(),
        "a": cleaning.go_on,
        "j": limited(quorum=1, stop_rest=True),
    }
    edges = ["s e", "s o", "s a", "e Side l", "o Side m", "o Failure f", "e j", "a j"]
    running = asyncio.create_task(load(engine, nodes, edges, keys={"o": {"timeout": "60s"}}).run("x"))
    await is_over.wait()  # the join has let go of `e` long ago
    assert cleaning.all_cleaning.is_set()
    cleaning.done.set()
    assert sorted(ways(await running)) == ["e Late", "f ", "j Success", "l Late", "m Failure"]


@pytest.mark.parametrize("limits", [{"quorum": 1}, {"timeout_s": 30}], ids=["early", "with a time limit"])
async def test_node_whose_task_has_not_begun_is_late_when_a_join_stops_the_rest(engine, limits):
    began = []

    async def sibling(ctx, msg):
        began.append(ctx.node_id)
        await asyncio.Event().wait()

    nodes = {"s": None, "a": sibling, "b": sibling, "c": None, "j": limited(**{"quorum": 1, **limits}, stop_rest=True)}
    events = []
    chain = load(engine, nodes, ["s a", "s b", "s c", "a j", "b j", "c j"])
    outcome = await chain.run("x", listener=events.append)
    assert sorted(ways(outcome)) == sorted(told(events)) == ["a Late", "b Late", "j Success"]
    assert began == []


async def test_join_does_not_wait_for_a_branch_that_was_cut_off_with_its_emission(engine):
    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)

    nodes = {"s": None, "e": emitter, "a": None, "n": hang, "j": join()}
    edges = ["s e", "s a", "e Item n", "n j", "a j"]
    events = []
    outcome = await load(engine, nodes, edges, keys={"e": {"timeout": "60s"}}).run("x", listener=events.append)
    assert sorted(ways(outcome)) == sorted(told(events)) == ["e Failure", "j Success", "n Failure"]
