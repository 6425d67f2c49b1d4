"""Cancelling: from outside, by time, by the chain itself; nothing is left behind."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from tests.engine.runtime.kit import Kind, blocking, flow, join, line, load, ways
from tests.engine.runtime.stepping import STEPPING

from catenary import SUCCESS, Message
from catenary.errors import RunCancelled, RunTimeout
from catenary.runtime import run as run_module

CANCELLED = "processing cancelled: context canceled"
EXPIRED = "processing cancelled: context deadline exceeded"


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


async def hang(ctx, msg):
    await asyncio.Event().wait()


async def turns(count=3):
    for _ in range(count):
        await asyncio.sleep(0)


async def cancelled(coroutine, after=None):
    """Start, cancel when all waits or after some turns of the loop, and see that it ends so and leaves no task."""
    before = asyncio.all_tasks()
    task = asyncio.create_task(coroutine)
    await (asyncio.sleep(1) if after is None else turns(after))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before


async def test_caller_is_cancelled(engine):
    events = []
    chain = load(engine, {"a": hang, "f": None}, ["a Failure f"])
    await cancelled(chain.run("x", listener=events.append))
    assert [event.name for event in events] == ["run.start", "node.start", "node.end", "branch.end", "run.cancel"]
    assert events[3].error == CANCELLED
    assert events[3].message.metadata["errorMsg"] == CANCELLED
    assert events[3].node_id == "a"


async def test_cancelled_before_the_first_step(engine):
    chain = load(engine, {"a": hang})
    await cancelled(chain.run("x"), after=0)
    assert chain.active == 0


async def test_siblings_are_cancelled_and_told(engine):
    events = []
    cleaned = []

    async def careful(ctx, msg):
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(ctx.node_id)

    nodes = {"s": None, "a": careful, "b": careful, "c": careful, "d": None, "j": join()}
    chain = load(engine, nodes, ["s a", "s b", "s c", "s d", "a j", "b j", "d j"])
    await cancelled(chain.run("x", listener=events.append))
    assert sorted(cleaned) == ["a", "b", "c"]
    ended = [(event.node_id, event.relation, event.error) for event in events if event.name == "branch.end"]
    assert sorted(ended) == [(name, "Failure", CANCELLED) for name in "abcj"]


async def test_siblings_are_told_when_the_run_is_cancelled_at_its_first_wait(engine):
    events = []
    chain = load(engine, {"s": None, "a": hang, "b": hang}, ["s a", "s b"])
    task = asyncio.create_task(chain.run("x", listener=events.append))
    await asyncio.sleep(0)  # the driver ran up to its own node; the sibling's task begins before it hears of the end
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(event.node_id for event in events if event.name == "branch.end") == ["a", "b"]


async def test_cleanup_is_awaited_inside_out(engine):
    order = []

    def careful(name, inner):
        async def run(ctx, msg):
            try:
                await inner(ctx, msg)
            finally:
                await turns()
                order.append(name)

        return run

    load(engine, {"a": careful("innermost", hang)}, id="sub")
    caller = careful("sub-run", lambda ctx, msg: ctx.run_chain("sub", msg))
    emitter = careful("emitter", lambda ctx, msg: ctx.emit("Item", msg))
    chain = load(engine, {"e": emitter, "c": caller}, ["e Item c"])
    await cancelled(chain.run("x"))
    assert order == ["innermost", "sub-run", "emitter"]


async def test_second_cancellation_does_not_cut_the_cleanup_of_tasks_short(engine):
    cleaned = []

    async def careful(ctx, msg):
        try:
            await asyncio.Event().wait()
        finally:
            await turns(10)
            cleaned.append(ctx.node_id)

    chain = load(engine, {"s": None, "b": hang, "a": careful}, ["s b", "s a"])  # the first is awaited in place
    task = asyncio.create_task(chain.run("x"))
    await asyncio.sleep(1)
    task.cancel()
    await turns()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == ["a"]


@pytest.mark.parametrize("sibling", [True, False])
async def test_node_that_swallows_the_cancellation_is_stopped_before_the_next_hop(engine, sibling):
    seen = []

    async def stubborn(ctx, msg):
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return SUCCESS

    nodes = {"s": None, "a": stubborn, "h": hang, "b": lambda ctx, msg: seen.append(1)}
    edges = ["s a", "a b", "a Failure b"] + (["s h"] if sibling else [])
    await cancelled(load(engine, nodes, edges).run("x"))
    assert seen == []


@pytest.mark.parametrize("way", ["emit", "run_chain", "run_node"])
async def test_node_that_swallows_the_cancellation_may_send_nothing_on(engine, way):
    seen = []
    load(engine, {"x": lambda ctx, msg: seen.append("sub")}, id="sub")

    async def stubborn(ctx, msg):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if way == "emit":
                await ctx.emit(SUCCESS, msg)
            elif way == "run_chain":
                await ctx.run_chain("sub", msg)
            else:
                await ctx.run_node("b", msg)

    nodes = {"a": stubborn, "b": lambda ctx, msg: seen.append("next")}
    await cancelled(load(engine, nodes, ["a b"]).run("x"))
    assert seen == []


async def test_swallowing_is_seen_by_outer_runs_too(engine):
    seen = []

    async def stubborn(ctx, msg):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return SUCCESS

    async def caller(ctx, msg):
        try:
            await ctx.run_chain("sub", msg)
        except asyncio.CancelledError:
            seen.append("cancelled")
        return SUCCESS

    load(engine, {"a": stubborn, "b": lambda ctx, msg: seen.append("inner")}, ["a b"], id="sub")
    chain = load(engine, {"c": caller, "d": lambda ctx, msg: seen.append("outer")}, ["c d"])
    await cancelled(chain.run("x"))
    assert seen == ["cancelled"]


async def test_run_inside_a_cancelled_task_is_a_run_like_any_other(engine):
    async def turn(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    chain = load(engine, {"s": None, "a": turn, "b": turn}, ["s a", "s b"])
    outcomes = []

    async def main():
        try:
            await asyncio.Event().wait()
        finally:
            outcomes.append(await chain.run("x"))
            outcomes.append(await chain.run("x", timeout=60))

    await cancelled(main())
    assert [outcome.status for outcome in outcomes] == ["completed", "completed"]


async def test_cancel_during_an_emission(engine):
    events = []

    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)

    chain = load(engine, {"a": emitter, "b": hang, "c": hang, "j": join()}, ["a Item b", "a Item c", "a Item j"])
    await cancelled(chain.run("x", listener=events.append))
    assert sorted(event.node_id for event in events if event.name == "branch.end") == ["a", "b", "c", "j"]


async def test_timeout_gives_a_cancelled_outcome(engine):
    chain = load(engine, {"s": None, "a": hang, "b": hang, "j": join()}, ["s a", "s b", "s j", "a j", "b j"])
    before = asyncio.all_tasks()
    outcome = await chain.run("x", timeout=60)
    assert asyncio.all_tasks() == before
    assert outcome.status == "cancelled"
    assert isinstance(outcome.error, RunTimeout)
    assert str(outcome.error) == EXPIRED
    assert sorted(ways(outcome)) == ["a Failure", "b Failure", "j Failure"]
    assert {end.message.metadata["errorMsg"] for end in outcome.ends} == {EXPIRED}
    assert all(isinstance(end.error, RunCancelled) for end in outcome.ends)
    assert asyncio.current_task().cancelling() == 0
    await turns()


@pytest.mark.parametrize("kind", [None, "t/async"])
async def test_timeout_stops_a_loop_that_never_waits(engine, kind):
    nodes = {"a": None if kind is None else Kind(kind)}
    chain = load(engine, nodes, ["a a"], allowCycle=True, maxVisits=10**9)
    assert (await chain.run("x", timeout=0.01)).status == "cancelled"


async def test_timeout_of_nothing_stops_before_the_first_node(engine):
    seen = []
    outcome = await load(engine, {"a": lambda ctx, msg: seen.append(1)}).run("x", timeout=0)
    assert (outcome.status, seen) == ("cancelled", [])


def test_timeout_holds_without_a_loop(engine):
    chain = load(engine, {"a": None}, ["a a"], allowCycle=True, maxVisits=10**9)
    outcome = chain.run_sync("x", timeout=0.01)
    assert (outcome.status, ways(outcome)) == ("cancelled", ["a Failure"])


def test_timeout_holds_in_a_loop_of_its_own(engine):
    outcome = load(engine, {"a": hang}).run_sync("x", timeout=0.01)
    assert (outcome.status, ways(outcome)) == ("cancelled", ["a Failure"])


async def test_timeout_during_nested_sub_runs(engine):
    ends = []
    load(engine, {"s": None, "a": hang, "b": hang}, ["s a", "s b"], id="inner")

    async def caller(ctx, msg):
        async def each(end):
            ends.append(end)

        await ctx.run_chain("inner" if ctx.chain_id == "middle" else "middle", msg, each=each)

    load(engine, {"m": caller}, id="middle")
    before = asyncio.all_tasks()
    outcome = await load(engine, {"o": caller}).run("x", timeout=60)
    assert (outcome.status, ways(outcome)) == ("cancelled", ["o Failure"])
    assert asyncio.all_tasks() == before


async def test_failed_start_leaves_no_timer(engine):
    chain = load(engine, {"a": None})
    assert (await chain.run("x", start="z", timeout=60)).status == "failed"
    await asyncio.sleep(61)
    assert asyncio.current_task().cancelling() == 0


async def test_outer_cancellation_wins_over_the_timeout(engine):
    async def slow_to_stop(ctx, msg):
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(20)

    task = asyncio.create_task(load(engine, {"a": slow_to_stop}).run("x", timeout=60))
    await asyncio.sleep(70)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_stop_on_failure_cancels_the_rest(engine):
    def bad(ctx, msg):
        raise ValueError("stop")

    nodes = {"s": None, "h": hang, "a": bad, "b": None}
    outcome = await load(engine, nodes, ["s h", "s a", "s b"], onFailure="stop").run("x")
    assert outcome.status == "failed"
    assert str(outcome.error) == "node 'a' (t/def): stop"
    assert outcome.ends[0].node_id == "a"
    assert sorted(ways(outcome)) == ["a Failure", "b Failure", "h Failure"]
    assert [end.message.metadata["errorMsg"] for end in outcome.ends[1:]] == [CANCELLED] * 2
    assert asyncio.current_task().cancelling() == 0


async def test_stop_on_failure_leaves_handled_failures_alone(engine):
    nodes = {"a": lambda ctx, msg: 1 / 0, "b": None}
    assert (await load(engine, nodes, ["a Failure b"], onFailure="stop").run("x")).ok


async def test_stop_on_failure_in_a_task(engine):
    async def bad(ctx, msg):
        await asyncio.sleep(0)
        raise ValueError("stop")

    outcome = await load(engine, {"s": None, "a": bad, "h": hang}, ["s a", "s h"], onFailure="stop").run("x")
    assert ways(outcome) == ["a Failure", "h Failure"]
    assert str(outcome.error) == "node 'a' (t/async): stop"


async def test_stop_on_failure_inside_an_emission(engine):
    seen = []

    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        seen.append("went on")

    nodes = {"e": emitter, "a": lambda ctx, msg: 1 / 0, "f": lambda ctx, msg: seen.append("failure")}
    outcome = await load(engine, nodes, ["e Item a", "e Failure f"], onFailure="stop").run("x")
    assert ways(outcome) == ["a Failure", "e Failure"]
    assert "division" in str(outcome.error)
    assert seen == []


async def test_stop_on_failure_inside_an_emission_of_a_sibling(engine):
    async def emitter(ctx, msg):
        await asyncio.sleep(0)
        await ctx.emit("Item", msg)

    nodes = {"s": None, "e": emitter, "h": hang, "a": lambda ctx, msg: 1 / 0}
    before = asyncio.all_tasks()
    outcome = await load(engine, nodes, ["s e", "s h", "e Item a"], onFailure="stop").run("x")
    assert ways(outcome)[0] == "a Failure"
    assert outcome.status == "failed"
    assert asyncio.all_tasks() == before


async def test_stop_on_failure_of_a_sub_run_leaves_the_caller_alone(engine):
    load(engine, {"s": None, "a": lambda ctx, msg: 1 / 0, "b": None}, ["s a", "s b"], id="sub", onFailure="stop")
    got = []

    async def caller(ctx, msg):
        got.extend(await ctx.run_chain("sub", msg))
        return SUCCESS

    assert (await load(engine, {"c": caller}).run("x")).ok
    assert [(end.node_id, end.relation) for end in got] == [("a", "Failure"), ("b", "Failure")]


async def test_halt_of_the_caller_met_by_each_passes_through_the_sub_run(engine):
    load(engine, {"x": None}, id="sub", onFailure="stop")
    seen = []

    async def caller(ctx, msg):
        await ctx.run_chain("sub", msg, each=lambda end: ctx.emit(end.relation, end.message))
        seen.append("went on")

    outcome = await load(engine, {"c": caller, "a": lambda ctx, msg: 1 / 0}, ["c a"], onFailure="stop").run("x")
    assert ways(outcome) == ["a Failure", "c Failure"]
    assert seen == []


async def test_long_run_gives_way_to_others(engine, monkeypatch):
    monkeypatch.setattr(run_module, "SLICE_S", 0.0)
    ticks = []

    async def others():
        while True:
            ticks.append(1)
            await asyncio.sleep(0)

    names = [f"n{number}" for number in range(1000)]
    task = asyncio.create_task(others())
    await load(engine, dict.fromkeys(names), line(*names)).run("x")
    task.cancel()
    assert len(ticks) >= 10


async def test_run_that_gives_way_can_be_cancelled(engine, monkeypatch):
    monkeypatch.setattr(run_module, "SLICE_S", 0.0)
    events = []
    chain = load(engine, {"a": None}, ["a a"], allowCycle=True, maxVisits=10**9)
    unsubscribe = engine.subscribe(lambda event: event.name in {"branch.end", "run.cancel"} and events.append(event))
    await cancelled(chain.run("x"), after=3)
    unsubscribe()
    assert [event.name for event in events] == ["branch.end", "run.cancel"]


async def test_blocking_node_is_left_when_the_run_is_cancelled(engine):
    import threading

    go = threading.Event()
    chain = load(engine, {"a": blocking(lambda ctx, msg: go.wait(10) and None)})
    outcome = await chain.run("x", timeout=60)
    go.set()
    assert (outcome.status, ways(outcome)) == ("cancelled", ["a Failure"])


def test_cancellation_passes_through_a_node_that_was_entered_without_a_loop(engine):
    seen = []

    async def cancel(ctx, msg):
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    async def caller(ctx, msg):
        await ctx.run_chain("sub", msg)

    load(engine, {"a": cancel}, id="sub")
    chain = load(engine, {"c": flow(caller), "f": lambda ctx, msg: seen.append(1)}, ["c Failure f"])
    with pytest.raises(asyncio.CancelledError):
        chain.run_sync("x")
    assert seen == []


async def test_error_of_each_in_a_task_of_a_sub_run_is_the_failure_of_the_caller(engine):
    async def turn(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    async def caller(ctx, msg):
        async def each(end):
            raise ValueError("each is broken")

        await ctx.run_chain("sub", msg, each=each)

    load(engine, {"s": None, "a": turn, "h": hang}, ["s a", "s h"], id="sub")
    outcome = await load(engine, {"c": caller}).run("x")
    assert outcome.message.metadata["errorMsg"] == "each is broken"
    assert asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize("siblings", [["a", "h"], ["h", "a"]], ids=["awaited in place", "in a task"])
async def test_base_exception_of_a_node_ends_the_run(engine, siblings):
    class Stop(BaseException):
        pass

    async def bad(ctx, msg):
        await asyncio.sleep(0)
        raise Stop

    before = asyncio.all_tasks()
    chain = load(engine, {"s": None, "a": bad, "h": hang}, [f"s {name}" for name in siblings])
    with pytest.raises(Stop):
        await chain.run("x")
    assert asyncio.all_tasks() == before
    assert asyncio.current_task().cancelling() == 0
    assert chain.active == 0


async def test_message_of_a_join_that_was_cut_off_is_its_first(engine):
    async def slow(ctx, arrivals):
        await asyncio.Event().wait()

    outcome = await load(engine, {"a": None, "j": join(slow)}, ["a j"]).run(Message("x"), timeout=60)
    assert (ways(outcome), outcome.message.text) == (["j Failure"], "x")


async def test_a_cancellation_from_before_the_run_stops_it_and_fails_no_node(engine):
    events = []
    chain = load(engine, {"a": hang, "f": None}, ["a Failure f"])

    async def cancel_and_run():
        asyncio.current_task().cancel()
        await chain.run("x", listener=events.append)

    await asyncio.wait([task := asyncio.create_task(cancel_and_run())])
    assert task.cancelled()
    assert [event.name for event in events] == ["run.start", "branch.end", "run.cancel"]


async def test_a_run_goes_on_in_the_clean_up_of_a_cancelled_task(engine):
    async def nap(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    chain = load(engine, {"a": nap})

    async def clean_up():
        try:
            await asyncio.Event().wait()
        finally:
            outcomes.append(await chain.run("x"))

    outcomes = []
    await cancelled(clean_up())
    assert outcomes[0].ok
