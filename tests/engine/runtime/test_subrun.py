"""Chains and nodes run as part of a visit."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import END, Kind, SlowOpen, flow, join, line, load, ways

from catenary import SUCCESS, Message
from catenary.errors import EngineError
from catenary.runtime import run as run_module
from catenary.runtime.context import opening_context


def calling(call, got):
    async def run(ctx, msg):
        got.extend(await call(ctx, msg))
        return SUCCESS

    return run


async def test_ends_come_in_order(engine):
    got = []
    load(engine, {"s": None, "a": None, "b": lambda ctx, msg: "Own"}, ["s a", "s b"], id="sub")
    await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg), got)}).run("x")
    assert [(end.node_id, end.relation, end.message.text) for end in got] == [("a", "Success", "x"), ("b", "Own", "x")]


async def test_each_gets_every_end_as_it_comes(engine):
    order = []

    def note(ctx, msg):
        order.append(ctx.node_id)
        return SUCCESS

    async def each(end):
        order.append(f"end {end.node_id}")

    load(engine, {"s": None, "a": note, "b": note, "e": END}, ["s a", "s b", "b e"], id="sub")
    await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg, each=each), [])}).run("")
    assert order == ["a", "end a", "b", "end e"]


async def test_each_gets_the_end_of_a_chain_without_nodes(engine):
    got = []

    async def each(end):
        got.append((end.relation, end.message.metadata["errorMsg"]))

    load(engine, {}, id="sub")
    await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg, each=each), [])}).run("")
    assert got == [("Failure", "the rule chain has no nodes")]


async def test_error_of_each_is_the_failure_of_the_caller(engine):
    async def each(end):
        raise ValueError("each")

    load(engine, {"a": None}, id="sub")
    outcome = await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg, each=each), [])}).run("")
    assert outcome.message.metadata["errorMsg"] == "each"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda ctx, msg: ctx.run_chain("none", msg), "ruleChain id=none not found"),
        (lambda ctx, msg: ctx.run_node("none", msg), "node id=none not found"),
        (lambda ctx, msg: ctx.run_node("a", msg, chain_id="none"), "ruleChain id=none not found"),
        (lambda ctx, msg: ctx.run_chain("sub", msg, start="none"), "SetExecuteNodes node id=none not found"),
    ],
)
async def test_what_is_not_there_is_a_failure(engine, call, text):
    load(engine, {"a": None}, id="sub")
    outcome = await load(engine, {"c": calling(call, [])}).run("")
    assert outcome.message.metadata["errorMsg"] == text


@pytest.mark.parametrize("listener", [None, lambda event: None])
async def test_one_node_runs_alone_or_with_what_follows(engine, listener):
    got, followed, elsewhere = [], [], []

    async def run(ctx, msg):
        got.extend(await ctx.run_node("x", msg))
        followed.extend(await ctx.run_node("x", msg, follow=True))
        elsewhere.extend(await ctx.run_node("p", msg, chain_id="other", follow=True))

    load(engine, {"p": None, "q": None}, ["p q"], id="other")
    nodes = {"c": run, "x": None, "y": None}
    await load(engine, nodes, ["c Never x", "x y"]).run("", listener=listener)
    assert [end.node_id for end in (*got, *followed, *elsewhere)] == ["x", "y", "q"]


async def test_gate_of_a_part_is_that_of_what_follows(engine):
    got = []

    async def run(ctx, msg):
        got.extend(await ctx.run_node("x", msg, follow=True))
        got.extend(await ctx.run_node("y", msg, follow=True))
        got.extend(await ctx.run_node("y", msg))

    nodes = {"c": run, "x": None, "y": None, "e": END, "z": None}
    await load(engine, nodes, ["c Never x", "c Never y", "x z", "y e", "y z"]).run("")
    assert [(end.node_id, end.gated) for end in got] == [("z", False), ("e", False), ("z", True), ("y", False)]


async def test_join_alone_fires_with_the_one_message(engine):
    got = []
    nodes = {"c": calling(lambda ctx, msg: ctx.run_node("j", msg), got), "a": None, "j": join()}
    await load(engine, nodes, ["c Never a", "a j"]).run(Message("x", "", "TEXT"))
    assert [(end.node_id, end.relation, end.message.text) for end in got] == [("j", "Success", "x")]


async def test_looping_node_alone_runs_once(engine):
    got = []
    nodes = {"c": calling(lambda ctx, msg: ctx.run_node("a", msg), got), "a": None}
    await load(engine, nodes, ["c Never a", "a a"], allowCycle=True).run("")
    assert [end.node_id for end in got] == ["a"]


async def test_sub_run_has_the_id_of_the_run_and_nests_its_events(engine):
    ids = []

    def note(ctx, msg):
        ids.append(ctx.run_id)
        return SUCCESS

    load(engine, {"a": note}, id="sub")
    events = []
    outcome = await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg), [])}).run(
        "", listener=events.append
    )
    assert ids == [outcome.run_id]
    assert [(event.name, event.chain_id, event.parent) for event in events if event.node_id == "a"] == [
        ("node.start", "sub", 1),
        ("node.end", "sub", 1),
        ("branch.end", "sub", 1),
    ]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def test_scope_is_inherited_and_can_be_laid_over(engine):
    seen = []

    def note(ctx, msg):
        seen.append((ctx.scope[int], ctx.scope.get(str), ctx.scope.get(bytes, b"-")))
        ctx.scope.set(99)
        return SUCCESS

    async def run(ctx, msg):
        await ctx.run_chain("sub", msg)
        await ctx.run_chain("sub", msg, scope=["own"])
        await ctx.run_chain("sub", msg, scope={int: 7})
        seen.append(ctx.scope[int])

    load(engine, {"a": note}, id="sub")
    await load(engine, {"c": run}).run("", scope=[1])
    assert seen == [(1, None, b"-"), (1, "own", b"-"), (7, None, b"-"), 1]


def test_scope_of_a_plain_sub_run_is_found_upwards(engine):
    seen = []
    load(engine, {"a": lambda ctx, msg: seen.append(int in ctx.scope) or SUCCESS}, id="sub")

    async def run(ctx, msg):
        await ctx.run_chain("sub", msg)

    load(engine, {"c": flow(run)}).run_sync("")
    assert seen == [False]


async def test_chain_object_may_be_run(engine):
    got = []
    sub = engine.make({"ruleChain": {"id": "x"}, "metadata": {"nodes": [{"id": "a", "type": "t/def"}]}})
    await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain(sub, msg), got)}).run("")
    assert [end.node_id for end in got] == ["a"]


async def test_sub_run_may_start_elsewhere(engine):
    got = []
    load(engine, {"a": None, "b": None, "c": None}, line("a", "b", "c"), id="sub")
    await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg, start=["c"]), got)}).run("")
    assert [end.node_id for end in got] == ["c"]


async def test_branches_of_a_sub_run_are_tasks_too(engine):
    async def turn(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    got = []
    load(engine, {"s": None, "a": turn, "b": turn, "j": join()}, ["s a", "s b", "a j", "b j"], id="sub")
    await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg), got)}).run("x")
    assert [end.node_id for end in got] == ["j"]


async def test_plain_node_may_run_nothing(engine):
    def plain(ctx, msg):
        with pytest.raises(EngineError, match="only an async def run"):
            ctx.run_chain("c", msg).send(None)
        return SUCCESS

    assert (await load(engine, {"a": plain}).run("")).ok


async def test_context_in_open_knows_no_run(engine):
    chain = load(engine, {"a": None, "b": None}, ["a b"])
    ctx = opening_context(chain.compiled.steps[0])
    assert (ctx.node_id, ctx.node_type, ctx.node_name, ctx.chain_id, ctx.chain) == ("a", "t/def", "a", "c", chain)
    assert ctx.is_connected("Success")
    assert not ctx.is_connected("Failure")
    assert not ctx.watched
    ctx.notify("nothing")
    assert ctx.http is engine.http
    assert ctx.clock is engine.clock
    assert ctx.functions is engine.functions
    assert ctx.tools is engine.tools
    assert ctx.properties is engine.properties
    assert dict(ctx.vars) == {}
    assert ctx.rule_chain["id"] == "c"
    for use in (lambda: ctx.scope, lambda: ctx.run_id, lambda: ctx.output("a")):
        with pytest.raises(EngineError, match="no run yet"):
            use()
    with pytest.raises(EngineError):
        await ctx.run_node("a", Message())


async def test_sub_chain_is_reloaded_while_a_sub_run_is_on_it(engine):
    from tests.engine.runtime.kit import definition

    closed = []
    entered, go = asyncio.Event(), asyncio.Event()

    async def wait(ctx, msg):
        entered.set()
        await go.wait()
        return SUCCESS

    old = load(engine, {"a": wait}, id="sub")
    old.compiled.steps[0].component.close = lambda: closed.append("old")
    got = []
    task = asyncio.create_task(load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg), got)}).run("x"))
    await entered.wait()
    engine.reload(definition({"b": None}, id="sub"))
    assert closed == []
    go.set()
    assert (await task).ok
    assert [end.node_id for end in got] == ["a"]
    assert closed == ["old"]


def test_ways_of_a_sub_run_without_a_loop(engine):
    load(engine, {"a": None, "b": None}, ["a b"], id="sub")

    async def run(ctx, msg):
        (end,) = await ctx.run_chain("sub", msg)
        return end.relation, end.message

    assert ways(load(engine, {"c": flow(run)}).run_sync("")) == ["c Success"]


async def test_sub_run_of_a_chain_without_nodes_gives_its_failure(engine):
    got = []
    load(engine, {}, id="sub")
    await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg), got)}).run("x")
    assert [(end.node_id, end.relation) for end in got] == [("", "Failure")]


async def test_sub_chain_is_opened_at_first_use(engine):
    SlowOpen.opened = 0
    load(engine, {"a": Kind("t/slowOpen")}, id="sub")
    assert (await load(engine, {"c": calling(lambda ctx, msg: ctx.run_chain("sub", msg), [])}).run("x")).ok
    assert SlowOpen.opened == 1


def test_loop_that_came_in_a_sub_run_serves_what_follows(engine):
    async def turn(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    async def run(ctx, msg):
        await ctx.run_chain("sub", msg)
        return SUCCESS

    load(engine, {"a": turn}, id="sub")
    nodes = {"c": flow(run), "d": flow(run), "e": turn, "f": turn}
    outcome = load(engine, nodes, ["c d", "d e", "d f"]).run_sync("x")
    assert sorted(ways(outcome)) == ["e Success", "f Success"]


def test_loop_that_came_by_each_serves_the_sub_run(engine):
    async def turn(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    async def passing(ctx, msg):
        return SUCCESS

    async def run(ctx, msg):
        await ctx.run_chain("sub", msg, each=lambda end: ctx.emit(end.relation, end.message))

    load(engine, {"s": None, "a": None, "b": flow(passing)}, ["s a", "s b"], id="sub")
    outcome = load(engine, {"c": flow(run), "w": turn}, ["c w"]).run_sync("x")
    assert ways(outcome) == ["w Success", "w Success"]


async def test_short_sub_runs_one_after_the_other_let_others_run(engine, monkeypatch):
    monkeypatch.setattr(run_module, "SLICE_S", 0.001)

    async def many(ctx, msg):
        for _ in range(3000):
            await ctx.run_node("b", msg)
        return SUCCESS

    task = asyncio.create_task(load(engine, {"a": Kind("t/flow", many), "b": None}).run(""))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 5
    assert task.result().ok


@pytest.mark.parametrize("is_sync", [True, False])
async def test_short_sub_runs_without_end_are_stopped_in_time(engine, is_sync):
    async def many(ctx, msg):
        while True:
            await ctx.run_node("b", msg)

    chain = load(engine, {"a": Kind("t/flow", many), "b": None})
    outcome = chain.run_sync("", timeout=0.02) if is_sync else await chain.run("", timeout=0.02)
    assert outcome.status == "cancelled"
