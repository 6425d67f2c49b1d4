"""Runs without an event loop, with one of their own, and from many threads."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context

import pytest
from tests.engine.runtime.kit import Kind, SlowOpen, blocking, flow, join, line, load, ways

from catenary import SUCCESS, Engine
from catenary.errors import EngineError
from catenary.runtime.loops import Loops


async def turn(ctx, msg):
    await asyncio.sleep(0)
    return SUCCESS


def test_plain_chain_needs_no_loop(engine):
    chain = load(engine, {"a": None, "b": None, "j": join()}, ["a b", "a j", "b j"])
    for _ in range(100):
        assert ways(chain.run_sync("x")) == ["j Success"]
    assert engine.loops._idle == []


def test_nodes_that_wait_get_a_loop_which_is_kept(engine):
    chain = load(engine, {"a": None, "b": turn, "c": turn}, line("a", "b", "c"))
    for _ in range(100):
        assert ways(chain.run_sync("x")) == ["c Success"]
    assert len(engine.loops._idle) == 1


async def test_inside_a_loop_a_plain_chain_runs(engine):
    assert load(engine, {"a": None}).run_sync("x").ok


@pytest.mark.parametrize("nested", [False, True])
async def test_inside_a_loop_a_chain_that_waits_is_an_error(engine, nested):
    async def caller(ctx, msg):
        await ctx.run_chain("sub", msg)

    load(engine, {"a": turn}, id="sub")
    chain = load(engine, {"c": flow(caller)}) if nested else engine.get("sub")
    with pytest.raises(EngineError, match="inside a running event loop") as caught:
        chain.run_sync("x")
    assert "await engine.run" in caught.value.hint
    assert chain.active == 0


def test_node_that_says_it_waits_not_can_ask_for_a_loop(engine):
    async def node(ctx, msg):
        await ctx.need_loop()
        await ctx.need_loop()
        await asyncio.sleep(0)
        return SUCCESS

    load(engine, {"a": flow(node)}, id="sub")

    async def caller(ctx, msg):
        await ctx.run_chain("sub", msg)
        return SUCCESS

    assert load(engine, {"c": flow(caller)}).run_sync("x", timeout=30).ok


async def test_need_loop_is_nothing_where_there_is_one(engine):
    async def node(ctx, msg):
        await ctx.need_loop()
        return SUCCESS

    assert (await load(engine, {"a": flow(node)}).run("x")).ok


@pytest.mark.parametrize("node", [None, turn, blocking(lambda ctx, msg: SUCCESS)], ids=["def", "async", "blocking"])
def test_many_threads_at_once(engine, node):
    chain = load(engine, {"a": node, "b": None, "j": join()}, ["a b", "a j", "b j"])
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(chain.run_sync, range(100)))
    assert all(ways(outcome) == ["j Success"] for outcome in outcomes)
    assert chain.active == 0


def test_threads_that_meet_at_the_opening_wait_for_it(engine):
    SlowOpen.opened = 0
    chain = load(engine, {"a": Kind("t/slowOpen")})
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(chain.run_sync, range(4), timeout=15))
    assert all(outcome.ok for outcome in outcomes)
    assert SlowOpen.opened == 1


async def test_tasks_that_meet_at_the_opening_wait_for_it(engine):
    SlowOpen.opened = 0
    chain = load(engine, {"a": Kind("t/slowOpen")})
    outcomes = await asyncio.gather(*(chain.run(number) for number in range(4)))
    assert all(outcome.ok for outcome in outcomes)
    assert SlowOpen.opened == 1


def test_loop_taken_by_another_thread_in_between_is_no_error():
    class Contested(list):
        def __bool__(self):
            return True  # what another thread took between the look and the grasp

    loops = Loops()
    loops._idle = Contested()

    async def one():
        return 1

    assert loops.run(one()) == 1
    while list.__len__(loops._idle):
        list.pop(loops._idle).close()


def test_engine_used_without_a_loop_may_be_closed_in_one():
    engine = Engine()
    assert load(engine, {"a": turn}).run_sync("x").ok
    asyncio.run(engine.close())
    assert engine.loops._idle == []
    engine.close_sync()


async def test_close_sync_inside_a_loop_is_a_clear_error(engine):
    load(engine, {"a": None})
    with pytest.raises(EngineError, match="close_sync"):
        engine.close_sync()


def test_interrupt_of_the_keyboard_ends_the_run(engine):
    def stop(ctx, msg):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(engine, {"a": stop}).run_sync("x")


def test_sub_chain_that_must_be_opened_gets_a_loop(engine):
    load(engine, {"a": Kind("t/slowOpen")}, id="sub")

    async def caller(ctx, msg):
        await ctx.run_chain("sub", msg)
        return SUCCESS

    assert load(engine, {"c": flow(caller)}).run_sync("x").ok
    assert load(engine, {"a": Kind("t/slowOpen")}, id="direct").run_sync("x").ok


def test_timeout_during_the_opening_is_a_cancelled_outcome(engine):
    chain = load(engine, {"a": Kind("t/slowOpen")})
    assert chain.run_sync("x", timeout=0.01).status == "cancelled"
    assert chain.run_sync("x").ok


async def test_timeout_during_the_opening_leaves_the_caller_alone(engine):
    chain = load(engine, {"a": Kind("t/slowOpen")})
    outcome = await chain.run("x", timeout=0.01)
    assert outcome.status == "cancelled"
    assert asyncio.current_task().cancelling() == 0


def test_threads_have_their_own_loops(engine):
    seen = set()
    barrier = threading.Barrier(3)

    async def note(ctx, msg):
        seen.add(id(asyncio.get_running_loop()))
        barrier.wait(15)
        return SUCCESS

    chain = load(engine, {"a": note})
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(chain.run_sync, range(3)))
    assert len(seen) == 3


def test_nodes_see_the_context_variables_of_whoever_calls():
    request: ContextVar[str] = ContextVar("request")
    seen = []

    async def waiting(ctx, msg):
        await asyncio.sleep(0)
        seen.append(request.get("none"))
        return "Success"

    with Engine() as engine:
        chain = load(engine, {"n": waiting})
        for name in ("first", "second"):
            copy_context().run(lambda name=name: (request.set(name), chain.run_sync("x")))
        chain.run_sync("x")
    assert seen == ["first", "second", "none"]


@pytest.mark.parametrize("where", ["here", "in sub-runs", "in an emission", "in sub-runs that wait"])
def test_branches_go_on_at_the_same_time_once_one_of_them_has_asked_for_a_loop(engine, where):
    met = []

    async def meet(ctx, msg):
        met.append(ctx.node_id)
        await ctx.need_loop()
        for _ in range(20):
            await asyncio.sleep(0)
        return SUCCESS, msg.with_data(str(len(met)), "TEXT")

    async def runs(ctx, msg):
        ends = await ctx.run_chain("sub", msg)
        return SUCCESS, ends[0].message

    async def emits(ctx, msg):
        await ctx.emit(SUCCESS, msg)

    node = flow(runs if "sub-runs" in where else meet)
    load(engine, {"m": meet if where == "in sub-runs that wait" else flow(meet)}, id="sub")
    nodes = {"s": flow(emits) if where == "in an emission" else None, "a": node, "b": node}
    outcome = load(engine, nodes, ["s a", "s b"]).run_sync("x")
    assert [end.message.text for end in outcome.ends if end.node_id != "s"] == ["2", "2"]


def test_a_caller_behind_whom_branches_wait_gives_them_tasks_in_the_order_written(engine):
    order = []

    async def note(ctx, msg):
        order.append(ctx.node_id)
        await ctx.need_loop()
        await asyncio.sleep(0)
        return SUCCESS

    nodes = {"s": None, "a": flow(note), "b": flow(note), "c": lambda ctx, msg: order.append(ctx.node_id), "d": note}
    assert len(load(engine, nodes, ["s a", "s b", "s c", "s d"]).run_sync("x").ends) == 4
    assert order == ["a", "b", "c", "d"]
