"""Callbacks of a run and of an engine: what each is told, in which order, and what they cannot disturb."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from contextlib import suppress

import pytest
from tests.engine.runtime.kit import END, Kind, line, load, ways
from tests.engine.runtime.stepping import STEPPING

from catenary import FAILURE, SUCCESS, Component, Config, Engine, Message, register
from catenary.aspects import Aspect
from catenary.errors import RunCancelled

WORD = Message("x", "", "TEXT")


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


async def forever(ctx, msg):
    await asyncio.Event().wait()


def boom(ctx, msg):
    raise ValueError("broken")


class Told:
    """Notes what callbacks are told."""

    def __init__(self):
        self.log = []

    def on_end(self, info, msg, err, relation):
        self.log.append(f"{info.node_id} {relation}" + (f" {err}" if err else ""))

    async def on_end_later(self, info, msg, err, relation):
        await asyncio.sleep(0.001)
        self.on_end(info, msg, err, relation)

    def on_all_completed(self):
        self.log.append("all")

    def on_completed(self, record):
        self.log.append(record.status)


@pytest.fixture
def told():
    return Told()


def test_on_end_is_called_once_for_each_branch(engine, told):
    chain = load(engine, {"s": None, "a": None, "b": boom}, ["s a", "s b"])
    chain.run_sync(WORD, on_end=told.on_end, on_all_completed=told.on_all_completed, on_completed=told.on_completed)
    assert told.log == ["a Success", "b Failure broken", "all", "failed"]


def test_place_of_an_end_is_told(engine):
    seen = []
    chain = load(engine, {"a": None})
    chain.run_sync(WORD, run_id="r", scope=[7], on_end=lambda info, *rest: seen.append((info, rest)))
    ((info, rest),) = seen
    assert (info.run_id, info.chain_id, info.node_id, info.scope[int]) == ("r", "c", "a", 7)
    assert (rest[0].text, rest[1], rest[2]) == ("x", None, "Success")


def test_gated_ends_are_not_told_but_failures_are(engine, told):
    chain = load(engine, {"s": None, "a": None, "b": boom, "e": END}, ["s a", "s b", "s e"])
    outcome = chain.run_sync(WORD, on_end=told.on_end)
    assert sorted(told.log) == ["b Failure broken", "e Success"]
    assert sorted(ways(outcome)) == ["a Success", "b Failure", "e Success"]


def test_failures_can_be_gated_too_but_not_those_that_reach_an_end_node(engine, told):
    engine.hooks.on_end.append(told.on_end)
    engine.hooks.on_end_with_failure = False
    load(engine, {"s": None, "b": boom, "c": boom, "e": END}, ["s b", "s c", "c Failure e"]).run_sync(WORD)
    assert told.log == ["e Failure broken"]


async def test_async_callbacks_are_awaited_before_the_run_is_over(engine, told):
    chain = load(engine, {"s": None, "a": None, "b": None}, ["s a", "s b"])
    await chain.run(WORD, on_end=told.on_end_later, on_all_completed=told.on_all_completed)
    assert told.log == ["a Success", "b Success", "all"]


def test_async_callback_brings_a_loop_to_a_run_without_one(engine, told):
    load(engine, {"a": None}).run_sync(WORD, on_end=told.on_end_later, on_all_completed=told.on_all_completed)
    assert told.log == ["a Success", "all"]


async def test_engine_is_told_before_the_run(told):
    async with Engine() as engine:
        engine.hooks.on_end.append(lambda *_: told.log.append("engine"))
        engine.hooks.on_completed.append(lambda _: told.log.append("engine over"))
        load(engine, {"a": None})
        await engine.run("c", WORD, on_end=told.on_end, on_completed=told.on_completed)
    assert told.log == ["engine", "a Success", "engine over", "completed"]


async def test_what_a_callback_raises_is_logged_and_disturbs_nobody(engine, told, caplog):
    async def bad(*_):
        raise RuntimeError("of the host")

    def worse(*_):
        raise asyncio.CancelledError

    chain = load(engine, {"s": None, "a": None, "b": None}, ["s a", "s b"])
    engine.hooks.on_end.append(worse)
    engine.hooks.on_end.append(bad)
    with caplog.at_level(logging.ERROR):
        outcome = await chain.run(WORD, on_end=told.on_end, on_all_completed=bad, on_completed=told.on_completed)
    assert outcome.ok
    assert told.log == ["a Success", "b Success", "completed"]
    assert len(caplog.records) == 5


def test_run_that_cannot_begin_is_told_of_with_its_message(engine, told):
    messages = []
    load(engine, {"a": None}).run_sync(
        WORD,
        start="z",
        on_end=lambda info, msg, err, relation: messages.append((msg.text, relation, str(err))),
        on_all_completed=told.on_all_completed,
    )
    assert messages == [("x", "Failure", "SetExecuteNodes node id=z not found")]
    assert told.log == ["all"]


async def test_time_limit_tells_of_the_branches_it_cut_off(engine, told):
    chain = load(engine, {"s": None, "a": None, "b": forever}, ["s a", "s b"])
    await chain.run(WORD, timeout=60, on_end=told.on_end, on_all_completed=told.on_all_completed)
    assert told.log == ["a Success", "b Failure processing cancelled: context deadline exceeded", "all"]


async def test_cancelled_run_tells_of_its_branches_before_it_raises(engine, told):
    began = asyncio.Event()

    async def waiting(ctx, msg):
        began.set()
        await forever(ctx, msg)

    chain = load(engine, {"s": None, "a": None, "b": waiting}, ["s a", "s b"])
    options = {"on_end": told.on_end_later, "on_all_completed": told.on_all_completed}
    run = asyncio.create_task(chain.run(WORD, on_completed=told.on_completed, **options))
    await began.wait()  # `a` has ended, and was told of, before `b` begins
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert told.log == ["a Success", "b Failure processing cancelled: context canceled", "all", "cancelled"]


async def test_cancellation_that_a_callback_swallows_still_cancels_the_run(engine):
    began = asyncio.Event()

    async def deaf(*_):
        began.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(600)

    chain = load(engine, {"s": None, "a": None, "b": forever}, ["s a", "s b"])
    run = asyncio.create_task(chain.run(WORD, on_end=lambda info, *_: deaf() if info.node_id == "a" else None))
    await began.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 60)


async def test_cancellation_that_a_callback_swallows_before_it_waits_on_still_cancels_the_run(engine, told, caplog):
    began = asyncio.Event()
    log = []

    async def deaf(info, *_):
        if info.node_id != "a":
            return
        began.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        log.append("swallowed")
        await asyncio.sleep(0)
        log.append("done")

    def later(ctx, msg):
        log.append("visited")

    chain = load(engine, {"s": None, "a": None, "b": later}, ["s a", "s b"])
    run = asyncio.create_task(chain.run(WORD, on_end=deaf, on_completed=told.on_completed))
    await began.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 60)
    assert log == ["swallowed", "done"], "the callback comes to its end, and nothing follows"
    assert told.log == ["cancelled"]
    assert not caplog.records


async def test_cancellation_while_a_callback_is_awaited_cancels_both(engine, told, caplog):
    began = asyncio.Event()
    log = []

    async def waiting(info, *_):
        if info.node_id != "a":
            return
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("callback cancelled")
            raise

    def later(ctx, msg):
        log.append("visited")

    chain = load(engine, {"s": None, "a": None, "b": later}, ["s a", "s b"])
    run = asyncio.create_task(chain.run(WORD, on_end=waiting, on_completed=told.on_completed))
    await began.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 60)
    assert log == ["callback cancelled"]
    assert told.log == ["cancelled"]
    assert not caplog.records, "it is no mistake of the host"


async def test_run_cancelled_before_it_began_is_told_of_with_its_message(engine, told):
    began = asyncio.Event()
    ends = []

    @register("t/opensForever", category="test")
    class OpensForever(Component[Config]):
        """Is never open."""

        async def open(self, ctx):
            began.set()
            await asyncio.Event().wait()

        async def run(self, ctx, msg):
            raise AssertionError("it is never open")

    chain = load(engine, {"a": Kind("t/opensForever")})
    run = asyncio.create_task(
        chain.run(WORD, on_end=lambda *end: ends.append(end), on_all_completed=told.on_all_completed)
    )
    await began.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    ((info, message, error, relation),) = ends
    assert (info.node_id, message.text, relation) == ("", "x", "Failure")
    assert isinstance(error, RunCancelled)
    assert error.run_id == info.run_id
    assert told.log == ["all"]
    assert chain.active == 0


async def test_record_of_a_run_cancelled_from_outside_says_so(engine):
    records, begun = [], asyncio.Event()
    engine.hooks.on_completed.append(records.append)

    async def held(ctx, msg):
        begun.set()
        await forever(ctx, msg)

    running = asyncio.create_task(load(engine, {"a": held}).run(WORD))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (record,) = records
    assert (record.status, record.error) == ("cancelled", "processing cancelled: context canceled")


async def test_visit_limit_loses_no_message(engine, told):
    chain = load(engine, {"a": None, "b": None}, ["a b", "b a"], allowCycle=True, maxVisits=2)
    outcome = await chain.run(WORD, on_end=told.on_end)
    assert [end.message.text for end in outcome.ends] == ["x"]
    assert [line.split(" ")[:2] for line in told.log] == [["a", "Failure"]]


async def test_ends_are_told_as_they_come(engine):
    order = []

    async def slow(ctx, msg):
        await asyncio.sleep(0.01)
        order.append("slow")
        return SUCCESS

    chain = load(engine, {"s": None, "a": None, "b": slow}, ["s a", "s b"])
    await chain.run(WORD, on_end=lambda info, *_: order.append(info.node_id))
    assert order == ["a", "slow", "b"]


def test_sub_runs_are_not_told_of(engine, told):
    async def caller(ctx, msg):
        await ctx.run_chain("inner", msg)
        return FAILURE

    load(engine, {"i": None}, id="inner")
    load(engine, {"a": caller, "b": None}, ["a Failure b", *line("b")]).run_sync(WORD, on_end=told.on_end)
    assert told.log == ["b Success"]


async def test_callback_that_cancels_the_run_when_all_is_done_cancels_it(engine, told):
    def cancel():
        asyncio.current_task().cancel()

    chain = load(engine, {"a": None})
    run = asyncio.create_task(chain.run(WORD, on_all_completed=cancel, on_completed=told.on_completed))
    with pytest.raises(asyncio.CancelledError):
        await run
    assert told.log == []


async def test_a_run_that_is_over_leaves_nothing_to_the_garbage_collector(engine, told):
    chain = load(engine, {"s": None, "a": None, "b": None}, ["s a", "s b"])
    await chain.run(WORD, on_end=told.on_end_later)
    gc.collect()
    gc.disable()
    try:
        run = weakref.ref((await chain.run(WORD, on_end=told.on_end_later))._run)
        assert run() is None
    finally:
        gc.enable()


async def test_callback_that_cancels_itself_disturbs_nobody(engine, told, caplog):
    async def give_up(info, msg, err, relation):
        raise asyncio.CancelledError

    engine.hooks.on_end.append(give_up)
    outcome = await load(engine, {"a": None}).run(WORD, on_end=told.on_end)
    assert (outcome.ok, told.log, caplog.messages) == (True, ["a Success"], ["a callback of a run was cancelled"])


async def test_each_end_is_told_once_also_when_a_later_one_is_told_first():
    told, is_told = [], asyncio.Event()

    class Slow(Aspect):
        async def end(self, ctx, msg, relation, error):
            if ctx.node_id == "x":
                await is_told.wait()

    def on_end(info, msg, err, relation):
        told.append(info.node_id)
        is_told.set()

    async def at_once(ctx, msg):
        return SUCCESS

    nodes = {"s": None, "x": at_once, "y": at_once}
    outcome = await load(Engine(aspects=[Slow()]), nodes, ["s x", "s y"]).run(WORD, on_end=on_end)
    assert [end.node_id for end in outcome.ends] == ["x", "y"]
    assert told == ["y", "x"]
