"""Joins that go on early: by quorum and by time, what comes late, and what is stopped."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import blocking, flow, join, limited, line, load, ways
from tests.engine.runtime.stepping import STEPPING

from catenary import SUCCESS, Engine, Message
from catenary.testing import FakeClock
from catenary.testing.chains.clock import LeapingClock

WORD = Message("x", "", "TEXT")
SPLIT = ["s a", "s b", "a j", "b j"]


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


async def forever(ctx, msg):
    await asyncio.Event().wait()


async def turn(ctx, msg):
    await asyncio.sleep(0)
    return SUCCESS


def sleeping(seconds):
    async def sleep(ctx, msg):
        await asyncio.sleep(seconds)
        return SUCCESS

    return sleep


def mark(ctx, msg):
    return SUCCESS, msg.with_data(ctx.node_id, "TEXT")


def texts(outcome):
    return [(f"{end.node_id} {end.relation}", end.message.text) for end in outcome.ends]


# Quorum


def test_quorum_fires_with_the_arrivals_so_far_and_the_rest_is_late(engine):
    nodes = {"s": None, "a": mark, "b": mark, "c": mark, "j": limited(quorum=2)}
    outcome = load(engine, nodes, ["s a", "s b", "s c", "a j", "b j", "c j"]).run_sync(WORD)
    assert sorted(texts(outcome)) == [("j Late", "c"), ("j Success", "a+b")]
    assert outcome.ok


def test_late_end_is_no_answer(engine):
    nodes = {"s": None, "a": mark, "b": sleeping(0.01), "j": limited(quorum=1)}
    outcome = load(engine, nodes, SPLIT).run_sync(WORD)
    assert ways(outcome) == ["j Success", "j Late"]
    assert outcome.message.text == "a"


def test_quorum_that_is_never_reached_holds_nothing_up(engine):
    outcome = load(engine, {"s": None, "a": mark, "b": mark, "j": limited(quorum=5)}, SPLIT).run_sync(WORD)
    assert texts(outcome) == [("j Success", "a+b")]


def test_quorum_counts_a_message_that_comes_straight_from_the_split(engine):
    seen = []
    nodes = {"s": None, "a": lambda ctx, msg: seen.append("a"), "j": limited(quorum=1, stop_rest=True)}
    outcome = load(engine, nodes, ["s j", "s a", "a j"]).run_sync(WORD)
    assert ways(outcome) == ["a Late", "j Success"]
    assert seen == [], "the other branch is stopped before it begins"


def test_list_of_relations_reaches_the_quorum_as_a_whole(engine):
    seen = []

    def split(ctx, msg):
        return ["A", "B"]

    nodes = {"s": split, "x": lambda ctx, msg: seen.append("x"), "j": limited(quorum=1, stop_rest=True)}
    outcome = load(engine, nodes, ["s A j", "s B x", "x j"]).run_sync(WORD)
    assert (seen, ways(outcome)) == ([], ["x Late", "j Success"])


async def test_quorum_of_emissions_does_not_wait_for_the_emitter(engine):
    fired = asyncio.Event()

    def note(ctx, arrivals):
        fired.set()
        return SUCCESS, arrivals[0].message.with_data(len(arrivals))

    async def emitter(ctx, msg):
        for _ in range(3):
            await ctx.emit(SUCCESS, msg)
        await asyncio.wait_for(fired.wait(), 5)

    outcome = await load(engine, {"e": emitter, "j": limited(note, quorum=2)}, ["e j"]).run(WORD)
    assert [(way, text) for way, text in texts(outcome) if way != "e "] == [("j Late", "x"), ("j Success", "2")]


async def test_quorum_stops_the_visits_that_could_still_arrive(engine):
    cleaned = []

    async def long(ctx, msg):
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(ctx.node_id)

    nodes = {"s": None, "a": turn, "b": long, "c": long, "j": limited(quorum=1, stop_rest=True)}
    before = asyncio.all_tasks()
    outcome = await load(engine, nodes, ["s a", "s b", "s c", "a j", "b j", "c j"]).run(WORD)
    assert sorted(ways(outcome)) == ["b Late", "c Late", "j Success"]
    assert (sorted(cleaned), asyncio.all_tasks()) == (["b", "c"], before)
    assert asyncio.current_task().cancelling() == 0


async def test_stopping_leaves_branches_alone_that_cannot_arrive(engine):
    nodes = {"s": None, "a": turn, "b": forever, "c": sleeping(20), "j": limited(quorum=1, stop_rest=True)}
    outcome = await load(engine, nodes, ["s a", "s b", "s c", "a j", "b j"]).run(WORD)
    assert sorted(ways(outcome)) == ["b Late", "c Success", "j Success"]


async def test_emitter_that_fills_the_quorum_is_stopped_with_all_it_sent(engine):
    stopped = []

    async def emitter(ctx, msg):
        try:
            for _ in range(5):
                await ctx.emit("Side", msg)
                await ctx.emit(SUCCESS, msg)
        except asyncio.CancelledError:
            stopped.append(ctx.node_id)
            raise

    nodes = {"e": emitter, "j": limited(quorum=2, stop_rest=True), "d": None}
    outcome = await load(engine, nodes, ["e j", "e Side d"]).run(WORD)
    assert stopped == ["e"]
    assert sorted(ways(outcome)) == ["d Success", "d Success", "e Late", "j Success"]


async def test_what_a_stopped_visit_is_waiting_for_is_stopped_too(engine):
    cleaned = []

    async def long(ctx, msg):
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(ctx.node_id)

    async def emitter(ctx, msg):
        await ctx.emit("Side", msg)

    nodes = {"s": None, "a": sleeping(10), "e": emitter, "l": long, "m": long, "j": limited(quorum=1, stop_rest=True)}
    chain = load(engine, nodes, ["s e", "s a", "a j", "e j", "e Side l", "e Side m"])
    outcome = await chain.run(WORD)
    assert sorted(cleaned) == ["l", "m"]
    assert sorted(ways(outcome)) == ["e Late", "j Success", "l Late", "m Late"]
    assert outcome.ok


async def test_stopped_sub_run_ends_with_its_visit(engine):
    cleaned = []

    async def long(ctx, msg):
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(ctx.node_id)

    async def caller(ctx, msg):
        await ctx.run_chain("inner", msg)

    load(engine, {"l": long}, id="inner")
    nodes = {"s": None, "a": sleeping(10), "c": caller, "j": limited(quorum=1, stop_rest=True)}
    outcome = await load(engine, nodes, ["s c", "s a", "a j", "c j"]).run(WORD)
    assert (cleaned, sorted(ways(outcome))) == (["l"], ["c Late", "j Success"])


async def test_node_that_takes_no_notice_of_being_stopped_is_late_all_the_same(engine):
    async def stubborn(ctx, msg):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return SUCCESS

    after = []
    nodes = {"s": None, "a": turn, "b": stubborn, "x": after.append, "j": limited(quorum=1, stop_rest=True)}
    outcome = await load(engine, nodes, ["s a", "s b", "a j", "b x", "x j"]).run(WORD)
    assert sorted(ways(outcome)) == ["b Late", "j Success"]
    assert after == []


async def test_outer_cancellation_wins_over_being_stopped(engine):
    async def slow_to_stop(ctx, msg):
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(20)

    nodes = {"s": None, "b": slow_to_stop, "a": turn, "j": limited(quorum=1, stop_rest=True)}
    chain = load(engine, nodes, SPLIT)
    task = asyncio.create_task(chain.run(WORD))
    await asyncio.sleep(10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_waiting_join_in_front_is_let_go_when_the_rest_is_stopped(engine):
    nodes = {
        "s": None,
        "x": mark,
        "h": forever,
        "i": join(),
        "a": sleeping(10),
        "j": limited(quorum=1, stop_rest=True),
    }
    chain = load(engine, nodes, ["s x", "s h", "x i", "h i", "i j", "s a", "a j"])
    outcome = await chain.run(WORD)
    assert sorted(texts(outcome)) == [("h Late", "x"), ("i Late", "x"), ("j Success", "x")]


# Time


async def test_time_limit_fails_with_the_first_arrival_and_the_rest_is_late(engine):
    nodes = {"s": None, "a": mark, "b": sleeping(600), "j": limited(timeout_s=200)}
    outcome = await load(engine, nodes, SPLIT).run(WORD)
    assert texts(outcome) == [("j Failure", "a"), ("j Late", "x")]
    assert str(outcome.ends[0].error) == "context deadline exceeded"
    assert outcome.ends[0].message.metadata["errorMsg"] == "context deadline exceeded"


async def test_failure_of_a_time_limit_can_be_connected(engine):
    nodes = {"s": None, "a": mark, "b": sleeping(500), "j": limited(timeout_s=200), "f": None}
    outcome = await load(engine, nodes, [*SPLIT, "j Failure f"]).run(WORD)
    assert (ways(outcome), outcome.ok) == (["f Success", "j Late"], True)


async def test_time_limit_stops_the_rest_if_asked_to(engine):
    nodes = {"s": None, "a": mark, "b": forever, "j": limited(timeout_s=200, stop_rest=True), "f": None}
    outcome = await load(engine, nodes, [*SPLIT, "j Failure f"]).run(WORD)
    assert sorted(ways(outcome)) == ["b Late", "f Success"]


def test_time_limit_is_kept_when_the_loop_comes_later(engine):
    nodes = {"s": None, "a": mark, "b": forever, "j": limited(timeout_s=0.02, stop_rest=True), "f": None}
    outcome = load(engine, nodes, [*SPLIT, "j Failure f"]).run_sync(WORD)
    assert sorted(ways(outcome)) == ["b Late", "f Success"]


def test_join_with_a_time_limit_asks_for_no_loop_when_nothing_waits(engine):
    nodes = {"s": None, "a": mark, "b": mark, "j": limited(timeout_s=30)}
    assert load(engine, nodes, SPLIT).run_sync(WORD).message.text == "a+b"
    assert not engine.loops.are_kept


async def test_fired_join_leaves_no_timer_behind(engine):
    nodes = {"s": None, "a": mark, "b": turn, "j": limited(timeout_s=200)}
    outcome = await load(engine, nodes, SPLIT).run(WORD)
    await asyncio.sleep(300)
    assert texts(outcome) == [("j Success", "a+x")]
    assert outcome._run.timers is None


async def test_time_counts_from_the_first_arrival_of_each_round(engine):
    rounds = []

    def again(ctx, msg):
        rounds.append(msg.text)
        return SUCCESS if len(rounds) < 3 else None

    nodes = {"s": None, "a": sleeping(200), "b": sleeping(300), "j": limited(timeout_s=150), "k": again}
    outcome = await load(engine, nodes, [*SPLIT, *line("j", "k", "s")], allowCycle=True).run(WORD)
    assert outcome.ok
    assert len(rounds) == 3


async def test_late_arrival_in_a_loop_counts_for_the_next_round(engine):
    rounds = []

    def note(ctx, arrivals):
        rounds.append([one.sender for one in arrivals])
        return "Again" if len(rounds) == 1 else SUCCESS

    nodes = {"s": None, "a": mark, "b": sleeping(20), "j": limited(note, quorum=1), "w": sleeping(60)}
    chain = load(engine, nodes, [*SPLIT, "j Again w", "w s"], allowCycle=True)
    outcome = await chain.run(WORD)
    assert outcome.ok
    assert rounds[:2] == [["a"], ["b"]]


async def test_deadline_of_the_run_wins_over_a_waiting_join(engine):
    nodes = {"s": None, "a": mark, "b": forever, "j": limited(timeout_s=900)}
    outcome = await load(engine, nodes, SPLIT).run(WORD, timeout=200)
    assert sorted(ways(outcome)) == ["b Failure", "j Failure"]
    assert outcome.status == "cancelled"


async def calling(ctx, msg):
    ends = await ctx.run_chain("inner", msg)
    return SUCCESS, msg.with_data(",".join(f"{end.node_id} {end.relation}" for end in ends), "TEXT")


async def test_time_limit_in_a_sub_run(engine):
    nodes = {"s": None, "a": mark, "b": forever, "j": limited(timeout_s=200, stop_rest=True)}
    load(engine, nodes, SPLIT, id="inner")
    assert (await load(engine, {"c": calling}).run(WORD)).message.text == "j Failure,b Late"


def test_time_limit_in_a_sub_run_whose_loop_comes_later(engine):
    nodes = {"s": None, "a": mark, "b": forever, "j": limited(timeout_s=0.02, stop_rest=True)}
    load(engine, nodes, SPLIT, id="inner")
    assert load(engine, {"c": flow(calling)}).run_sync(WORD).message.text == "j Failure,b Late"


async def test_every_end_is_told_also_of_what_a_timer_ended(engine):
    events, told = [], []
    nodes = {"s": None, "a": mark, "b": forever, "j": limited(timeout_s=200, stop_rest=True)}
    outcome = await load(engine, nodes, SPLIT).run(
        WORD, listener=events.append, on_end=lambda info, msg, err, relation: told.append(f"{info.node_id} {relation}")
    )
    ended = [f"{event.node_id} {event.relation}" for event in events if event.name == "branch.end"]
    assert sorted(ended) == sorted(told) == sorted(ways(outcome)) == ["b Late", "j Failure"]


async def test_thousand_branches_and_a_quorum(engine):
    names = [f"n{number}" for number in range(1000)]
    nodes = {"s": None, **dict.fromkeys(names, turn), "j": limited(quorum=600)}
    outcome = await load(engine, nodes, [*(f"s {name}" for name in names), *(f"{name} j" for name in names)]).run(WORD)
    assert sorted(set(ways(outcome))) == ["j Late", "j Success"]
    assert ways(outcome).count("j Late") == 400


async def test_blocking_node_that_is_stopped_holds_nobody_up(engine):
    import threading

    gate = threading.Event()
    nodes = {"s": None, "a": sleeping(10), "b": blocking(lambda ctx, msg: gate.wait(15) and SUCCESS)}
    nodes["j"] = limited(quorum=1, stop_rest=True)
    try:
        outcome = await asyncio.wait_for(load(engine, nodes, SPLIT).run(WORD), 60)
    finally:
        gate.set()
    assert sorted(ways(outcome)) == ["b Late", "j Success"]


def test_without_a_loop_nothing_is_interrupted_but_all_ends(engine):
    async def emitter(ctx, msg):
        for _ in range(3):
            await ctx.emit(SUCCESS, msg)

    outcome = load(engine, {"e": flow(emitter), "j": limited(quorum=1, stop_rest=True)}, ["e j"]).run_sync(WORD)
    assert sorted(ways(outcome)) == ["j Late", "j Late", "j Success"]


async def test_the_time_of_a_join_is_that_of_the_clock_of_the_engine():
    clock = FakeClock()
    async with Engine(clock=clock) as engine:
        began = asyncio.Event()

        async def hold(ctx, msg):
            began.set()
            await forever(ctx, msg)

        nodes = {"s": None, "a": mark, "b": hold, "j": limited(timeout_s=30, stop_rest=True)}
        running = asyncio.create_task(load(engine, nodes, SPLIT).run(WORD))
        await began.wait()
        clock.advance(29)
        await asyncio.sleep(0)
        assert not running.done()
        clock.advance(2)
        assert {(end.node_id, end.relation) for end in (await running).ends} == {("b", "Late"), ("j", "Failure")}


@pytest.mark.parametrize(("seconds", "relation"), [(20, "Success"), (60, "Failure")])
async def test_a_clock_that_leaps_to_who_waits_makes_a_join_late_in_its_turn(seconds, relation):
    async def nap(ctx, msg):
        await ctx.clock.sleep(seconds)
        return SUCCESS

    async with Engine(clock=LeapingClock()) as engine:
        nodes = {"s": None, "a": mark, "b": nap, "j": limited(timeout_s=30)}
        outcome = await load(engine, nodes, SPLIT).run(WORD)
        assert next(end.relation for end in outcome.ends if end.node_id == "j") == relation
        assert engine.clock.monotonic() == seconds
