"""How far runs may go: visits, depth, length; nothing in the kernel recurses."""

from __future__ import annotations

import asyncio
import sys

import pytest
from tests.engine.runtime.kit import Kind, flow, join, line, load, ways

from catenary import SUCCESS, Engine, Message
from catenary.errors import DepthLimitReached, StepLimitReached


@pytest.fixture(autouse=True)
def _room_for_a_tracer():
    """Python 3.11 counts each frame twice while a tracer, such as that of coverage, looks on."""
    limit = sys.getrecursionlimit()
    if sys.gettrace() is not None:
        sys.setrecursionlimit(2 * limit)
    yield
    sys.setrecursionlimit(limit)


def counting(limit):
    """Give a node that goes round until a number is reached."""

    def run(ctx, msg):
        number = msg.value["n"] + 1
        return ("Again" if number < limit else "Done"), msg.with_data({"n": number})

    return run


def test_loop_stops_at_the_limit_and_names_the_cycle(engine):
    nodes = {"s": None, "a": None, "b": None, "c": None}
    outcome = load(engine, nodes, line("s", "a", "b", "c", "a"), allowCycle=True, maxVisits=5).run_sync("")
    assert outcome.status == "failed"
    assert isinstance(outcome.error, StepLimitReached)
    assert "'a' was visited 5 times" in str(outcome.error)
    assert "a -> b -> c -> a" in str(outcome.error)
    assert outcome.error.run_id == outcome.run_id
    assert outcome.error.hint


def test_limit_is_no_failure_of_a_node(engine):
    visited = []
    nodes = {"a": lambda ctx, msg: [SUCCESS, "Other"], "f": lambda ctx, msg: visited.append(1)}
    outcome = load(engine, nodes, ["a a", "a Failure f"], allowCycle=True, maxVisits=3).run_sync("")
    assert isinstance(outcome.error, StepLimitReached)
    assert visited == []


async def test_limit_met_inside_an_emission_ends_the_run(engine):
    visited = []

    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        visited.append("went on")
        return SUCCESS

    nodes = {"s": emitter, "a": None, "f": lambda ctx, msg: visited.append("failure")}
    chain = load(engine, nodes, ["s Item a", "a a", "s Failure f"], allowCycle=True, maxVisits=3)
    outcome = await chain.run("")
    assert isinstance(outcome.error, StepLimitReached)
    assert visited == []


async def test_limit_met_by_an_emission_itself_ends_the_run(engine):
    visited = []

    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        await ctx.emit("Item", msg)
        return SUCCESS

    nodes = {"a": emitter, "b": lambda ctx, msg: None, "f": lambda ctx, msg: visited.append("failure")}
    chain = load(engine, nodes, ["a Item b", "b Back a", "a Failure f"], allowCycle=True, maxVisits=1)
    outcome = await chain.run("")
    assert isinstance(outcome.error, StepLimitReached)
    assert visited == []


async def test_limit_met_in_a_sibling_task_ends_the_run(engine):
    async def wait(ctx, msg):
        await asyncio.sleep(60)

    async def turn(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    nodes = {"s": None, "w": wait, "v": wait, "t": turn}
    chain = load(engine, nodes, ["s w", "s t", "s v", "t t"], allowCycle=True, maxVisits=4)
    outcome = await chain.run("")
    assert isinstance(outcome.error, StepLimitReached)
    assert sorted(ways(outcome)) == ["t Failure", "v Failure", "w Failure"]
    assert asyncio.current_task().cancelling() == 0


async def test_limit_of_a_sub_run_is_the_failure_of_the_caller(engine):
    load(engine, {"a": None}, ["a a"], id="sub", allowCycle=True, maxVisits=3)

    async def caller(ctx, msg):
        await ctx.run_chain("sub", msg)

    outcome = await load(engine, {"c": caller, "d": None}, ["c Failure d"]).run("")
    assert ways(outcome) == ["d Success"]
    assert "visited 3 times" in outcome.message.metadata["errorMsg"]


async def test_limit_of_the_caller_met_by_each_is_not_the_failure_of_the_sub_run(engine):
    load(engine, {"x": None}, id="sub")

    async def caller(ctx, msg):
        await ctx.run_chain("sub", msg, each=lambda end: ctx.emit(end.relation, end.message))

    seen = []
    nodes = {"c": caller, "a": None, "f": lambda ctx, msg: seen.append(1)}
    chain = load(engine, nodes, ["c a", "a a", "c Failure f"], allowCycle=True, maxVisits=3)
    assert isinstance((await chain.run("")).error, StepLimitReached)
    assert seen == []


def test_visits_are_counted_by_run_and_only_on_cycles(engine):
    names = [f"n{number}" for number in range(30)]
    nodes = {"s": None, **dict.fromkeys(names), "x": None, "a": counting(3)}
    edges = [f"s {name}" for name in names] + [f"{name} x" for name in names] + ["s Never a", "a Again a"]
    chain = load(engine, nodes, edges, allowCycle=True, maxVisits=3)
    assert len(chain.run_sync("").ends) == 30
    for _ in range(3):
        assert chain.run_sync({"n": 0}, start="a").ok


def test_joins_on_a_cycle_are_counted(engine):
    outcome = load(engine, {"a": None, "j": join()}, ["a j", "j a"], allowCycle=True, maxVisits=4).run_sync("")
    assert isinstance(outcome.error, StepLimitReached)


def test_starting_on_a_cycle_counts(engine):
    nodes = {"a": lambda ctx, msg: None, "b": None}
    chain = load(engine, nodes, ["a b", "b a"], allowCycle=True, maxVisits=1)
    assert isinstance(chain.run_sync("", start=["b", "b"]).error, StepLimitReached) is True


def test_loop_of_ten_thousand_rounds(engine):
    nodes = {"a": counting(10_000), "e": None}
    chain = load(engine, nodes, ["a Again a", "a Done e"], allowCycle=True, maxVisits=20_000)
    assert chain.run_sync({"n": 0}).message.value == {"n": 10_000}


@pytest.mark.parametrize("kind", ["t/flow", "t/async"])
async def test_loop_of_ten_thousand_awaited_rounds(engine, kind):
    nodes = {"a": Kind(kind, counting(10_000)), "e": None}
    chain = load(engine, nodes, ["a Again a", "a Done e"], allowCycle=True, maxVisits=20_000)
    assert (await chain.run({"n": 0})).message.value == {"n": 10_000}


def test_default_limit_is_ten_thousand(engine):
    outcome = load(engine, {"a": None}, ["a a"], allowCycle=True).run_sync("")
    assert "visited 10000 times" in str(outcome.error)


async def test_chain_of_ten_thousand_nodes():
    names = [f"n{number}" for number in range(10_000)]
    async with Engine() as engine:
        nodes = {name: Kind("t/async") if number % 100 == 0 else None for number, name in enumerate(names)}
        chain = load(engine, nodes, line(*names))
        assert ways(await chain.run("")) == ["n9999 Success"]


def test_cycle_and_joins_over_thousands_of_nodes_are_no_recursion(engine):
    names = [f"n{number}" for number in range(3000)]
    nodes = {name: join() if number % 3 == 1 else None for number, name in enumerate(names)}
    chain = load(engine, {**nodes, "e": lambda ctx, msg: None}, line(*names, "e", "n0"), allowCycle=True)
    assert chain.run_sync("").ok


async def test_sub_runs_nest_to_the_limit(engine):
    deepest = []

    async def down(ctx, msg):
        number = msg.value
        if number == 100:
            deepest.append(number)
            return SUCCESS
        ends = await ctx.run_chain("c", msg.with_data(number + 1))
        return ends[0].relation, ends[0].message

    chain = load(engine, {"a": flow(down)})
    for start, relation in ((1, "Success"), (0, "Success"), (-1, "Failure")):
        for listener in (None, lambda event: None):
            outcome = await chain.run(Message(start), listener=listener)
            assert ways(outcome) == [f"a {relation}"], (start, outcome)
    assert "nested 100 deep" in outcome.message.metadata["errorMsg"]
    assert chain.run_sync(Message(1)).ok


async def test_depth_counts_emissions_inside_emissions(engine):
    seen = []

    async def down(ctx, msg):
        seen.append(msg.value)
        try:
            await ctx.emit("Down", msg.with_data(msg.value + 1))
        except DepthLimitReached:
            return "Bottom"
        return None

    outcome = await load(engine, {"a": down}, ["a Down a"], allowCycle=True).run(Message(0))
    assert ways(outcome) == ["a Bottom"]
    assert seen == list(range(101))


async def test_depth_limit_can_be_set(engine):
    async def down(ctx, msg):
        await ctx.run_chain("c", msg)

    outcome = await load(engine, {"a": down}, maxDepth=3).run("")
    assert outcome.ok, "the deepest one fails in its own sub-run"

    async def strict(ctx, msg):
        (end,) = await ctx.run_chain("d", msg)
        return end.relation, end.message

    outcome = await load(engine, {"a": strict}, id="d", maxDepth=3).run("")
    assert "nested 3 deep" in outcome.message.metadata["errorMsg"]


async def test_timeout_and_watch_leave_the_depth_as_it_is(engine):
    async def down(ctx, msg):
        if msg.value == 99:
            return SUCCESS
        each = []

        async def note(end):
            each.append(end)

        await ctx.run_chain("c", msg.with_data(msg.value + 1), each=note)
        return each[0].relation, each[0].message

    policy = {"timeout": "30s"}
    chain = load(engine, {"a": down}, keys={"a": policy})
    outcome = await chain.run(Message(0), listener=lambda event: None)
    assert ways(outcome) == ["a Success"], outcome.error


def test_shortest_cycle_is_named(engine):
    edges = ["a p", "a q", "p r", "q r", "r Never s", "s a", "r a"]
    error = load(engine, dict.fromkeys("apqrs"), edges, allowCycle=True, maxVisits=2).run_sync("").error
    assert "the cycle is a -> p -> r -> a" in str(error)
