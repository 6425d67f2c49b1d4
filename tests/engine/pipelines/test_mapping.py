"""Many messages through one chain: order, bounds, errors, leaving early, threads, other processes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import pickle
import sys
import threading

import pytest
from tests.cases import times
from tests.engine.runtime.kit import blocking, load, ways

from catenary import SUCCESS, ChainDefaults, Engine, EngineError, Message, NodeError
from catenary.component import Config, option, register
from catenary.pipelines.mapping import _AHEAD
from catenary.shared import SharedComponent


def doubled(ctx, msg):
    return SUCCESS, msg.with_data(msg.value * 2)


def refuses_odd(ctx, msg):
    if msg.value % 2:
        raise ValueError(f"{msg.value} is odd")
    return SUCCESS


class Counted:
    """Counts how many visits are going on; each waits until the test lets it go."""

    def __init__(self):
        self.active = self.most = self.begun = self.cancelled = 0
        self.gates = {}

    async def run(self, ctx, msg):
        self.begun += 1
        self.active += 1
        self.most = max(self.most, self.active)
        try:
            await self.gates.setdefault(msg.value, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.active -= 1
        return SUCCESS

    def open(self, value):
        self.gates.setdefault(value, asyncio.Event()).set()


async def values(outcomes):
    return [outcome.message.value async for outcome in outcomes]


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("ordered", [True, False])
async def test_all_items_are_run(engine, concurrency, ordered):
    chain = load(engine, {"a": doubled})
    found = await values(chain.map(range(20), concurrency=concurrency, ordered=ordered))
    assert (found if ordered else sorted(found)) == [2 * n for n in range(20)]
    assert await values(engine.map("c", [1, 2])) == [2, 4]
    assert await values(chain.map([])) == []


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_items_may_come_from_an_async_iterable(engine, concurrency):
    async def source():
        for n in range(5):
            await asyncio.sleep(0)
            yield Message(n)

    chain = load(engine, {"a": doubled})
    assert await values(chain.map(source(), concurrency=concurrency)) == [0, 2, 4, 6, 8]


async def test_order_is_kept_while_later_items_are_done_first(engine):
    counted = Counted()
    chain = load(engine, {"a": counted.run})
    task = asyncio.create_task(values(chain.map(range(4), concurrency=4)))
    await settle()
    for n in reversed(range(4)):
        counted.open(n)
        await settle()
    assert await task == [0, 1, 2, 3]


async def test_outcomes_come_as_they_are_done_where_order_does_not_matter(engine):
    counted = Counted()
    chain = load(engine, {"a": counted.run})
    counted.open(2)
    outcomes = chain.map(range(3), concurrency=3, ordered=False)
    assert (await anext(outcomes)).message.value == 2
    counted.open(0)
    assert (await anext(outcomes)).message.value == 0
    await outcomes.aclose()


async def test_no_more_run_at_once_than_allowed_and_no_more_are_taken_in(engine):
    counted, taken = Counted(), []

    def source():
        for n in range(1000):
            taken.append(n)
            yield n

    chain = load(engine, {"a": counted.run})
    for n in range(1, 1000):
        counted.open(n)  # all but the first are done at once
    async with contextlib.aclosing(chain.map(source(), concurrency=3)) as outcomes:
        first = asyncio.create_task(anext(outcomes))
        await settle()
        await settle()
        assert counted.most <= 3
        assert len(taken) <= 3 * _AHEAD + 1
        counted.open(0)
        assert (await first).message.value == 0


async def test_source_that_is_not_read_further_is_left_alone(engine):
    taken = []

    def source():
        for n in range(100):
            taken.append(n)
            yield n

    outcomes = load(engine, {"a": doubled}).map(source(), concurrency=2)
    await anext(outcomes)
    await settle()
    assert len(taken) < 20
    await outcomes.aclose()


async def test_leaving_early_cancels_what_is_under_way_and_leaves_the_source_to_its_owner(engine):
    counted, items = Counted(), iter(range(100))
    counted.open(0)
    async with contextlib.aclosing(load(engine, {"a": counted.run}).map(items, concurrency=4)) as outcomes:
        await anext(outcomes)
    assert (counted.active, counted.cancelled) == (0, 3)
    assert next(items) == 5  # another one was taken in for the one that was done


async def test_source_that_never_gives_another_item_can_be_left(engine):
    async def source():
        yield 1
        await asyncio.Event().wait()

    async with contextlib.aclosing(load(engine, {"a": doubled}).map(source())) as outcomes:
        assert (await anext(outcomes)).message.value == 2


async def test_error_of_the_source_is_raised(engine):
    def source():
        yield 1
        raise OSError("the file is gone")

    outcomes = load(engine, {"a": doubled}).map(source(), concurrency=2)
    with pytest.raises(OSError, match="the file is gone"):
        await values(outcomes)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("concurrency", [1, 2, 8])
async def test_what_the_source_gave_before_it_failed_is_run_and_given(engine, concurrency, is_async, ordered):
    def plain():
        yield from (1, 2, 3)
        raise OSError("the source broke")

    async def waiting():
        for item in plain():
            yield item

    async def twice(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS, msg.with_data(msg.value * 2)

    source = waiting() if is_async else plain()
    found = []
    with pytest.raises(OSError, match="the source broke"):
        async for outcome in load(engine, {"a": twice}).map(source, concurrency=concurrency, ordered=ordered):
            found.append(outcome.message.value)  # noqa: PERF401 - what came before the error stays
    assert sorted(found) == [2, 4, 6]


async def test_others_get_their_turn_while_short_runs_follow_each_other(engine):
    seen = asyncio.create_task(asyncio.sleep(0))
    async with contextlib.aclosing(load(engine, {"a": doubled}).map(itertools.repeat(1), concurrency=1)) as outcomes:
        async for _ in outcomes:
            if seen.done():
                break


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_run_that_fails_raises_and_names_the_item(engine, concurrency):
    chain = load(engine, {"a": refuses_odd})
    with pytest.raises(NodeError, match="3 is odd") as caught:
        await values(chain.map([2, 3, 4], concurrency=concurrency))
    assert caught.value.__notes__ == ["the item was 3"]


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_what_becomes_of_a_run_that_fails_can_be_chosen(engine, concurrency):
    chain = load(engine, {"a": refuses_odd})
    items, seen = [1, 2, 3, 4], []

    def note(item, outcome):
        seen.append(item)
        return outcome if item == 3 else None

    assert await values(chain.map(items, on_error="skip", concurrency=concurrency)) == [2, 4]
    collected = [outcome async for outcome in chain.map(items, on_error="collect", concurrency=concurrency)]
    assert [outcome.ok for outcome in collected] == [False, True, False, True]
    assert await values(chain.map(items, on_error=note, concurrency=concurrency)) == [2, 3, 4]
    assert seen == [1, 3]


async def test_options_are_those_of_a_run(engine):
    chain = load(engine, {"a": doubled, "b": None}, ["a b"])
    assert [ways(outcome) async for outcome in chain.map([1], start="b")] == [["b Success"]]


@pytest.mark.parametrize("bad", [{"concurrency": 0}, {"on_error": "ignore"}])
async def test_arguments_that_cannot_be_used_are_told(engine, bad):
    chain = load(engine, {"a": doubled})
    with pytest.raises(ValueError, match=next(iter(bad))):
        await values(chain.map([1], **bad))
    with pytest.raises(ValueError, match=next(iter(bad))):
        list(chain.map_sync([1], **bad))


# Without an event loop of the caller's


@pytest.mark.parametrize("concurrency", [1, 4])
def test_plain_loop_gets_all_outcomes_in_order(engine, concurrency):
    chain = load(engine, {"a": doubled})
    outcomes = chain.map_sync(range(50), concurrency=concurrency)
    assert [outcome.message.value for outcome in outcomes] == [2 * n for n in range(50)]


def test_threads_run_several_at_once(engine):
    barrier = threading.Barrier(3, timeout=15)

    def meet(ctx, msg):
        barrier.wait()
        return SUCCESS

    chain = load(engine, {"a": blocking(meet)})
    assert len(list(chain.map_sync(range(6), concurrency=3, ordered=False))) == 6


def test_plain_loop_that_is_left_reads_no_further(engine):
    taken = []

    def source():
        for n in range(1000):
            taken.append(n)
            yield n

    chain = load(engine, {"a": doubled})
    for concurrency in (1, 2):
        taken.clear()
        for _ in chain.map_sync(source(), concurrency=concurrency):
            break
        assert len(taken) < 20


@pytest.mark.parametrize("concurrency", [1, 2, 8])
def test_plain_loop_gets_what_the_source_gave_before_it_failed(engine, concurrency):
    def source():
        yield from (1, 2, 3)
        raise OSError("the source broke")

    found = []
    with pytest.raises(OSError, match="the source broke"):
        for outcome in load(engine, {"a": doubled}).map_sync(source(), concurrency=concurrency):
            found.append(outcome.message.value)  # noqa: PERF401 - what came before the error stays
    assert found == [2, 4, 6]


def test_plain_loop_knows_the_same_ways_with_errors(engine):
    chain = load(engine, {"a": refuses_odd})
    assert [one.message.value for one in chain.map_sync([1, 2], on_error="skip", concurrency=2)] == [2]
    with pytest.raises(NodeError, match="1 is odd"):
        list(chain.map_sync([1, 2], concurrency=2))


# As a function


class AtConfig(Config):
    """Where it is."""

    at: str = option("", help="Where it is.", ref="primary")


FILTER = {
    "ruleChain": {"id": "hot"},
    "metadata": {"nodes": [{"id": "t", "type": "exprTransform", "configuration": {"expr": "msg + global.more"}}]},
}
OUTER = {
    "ruleChain": {"id": "outer"},
    "metadata": {"nodes": [{"id": "f", "type": "flow", "configuration": {"targetId": "hot", "extend": True}}]},
}
FAILS = {
    "ruleChain": {"id": "fails"},
    "metadata": {"nodes": [{"id": "f", "type": "functions", "configuration": {"functionName": "none"}}]},
}


@register("tests/mapping_lender", category="action")
class Lender(SharedComponent[AtConfig, str]):
    """Lends a text."""

    lends = str

    def connect(self, ctx):
        """Connect."""
        return self.config.at

    def run(self, ctx, msg):
        """Pass on."""
        return SUCCESS


LENDER = {"id": "lender", "type": "tests/mapping_lender", "configuration": {"at": "here"}}


def make_engine():
    return Engine({"more": 1000})


def registered(ctx, msg):
    return SUCCESS, msg.with_data(msg.value * 3)


def test_chain_is_a_function_of_one_item_and_of_a_batch():
    with Engine({"more": 1}) as engine:
        run = engine.load(FILTER).as_function()
        assert (run(41), run.batch([1, 2], concurrency=2)) == (42, [2, 3])
        assert run.__name__ == "chain_hot"


def test_function_is_pickled_with_settings_functions_and_other_chains():
    with Engine({"more": 5}, defaults=ChainDefaults(allow_cycle=True)) as engine:
        engine.function("triple")(registered)
        engine.load(FILTER)
        run = engine.load(OUTER).as_function()
        copy = pickle.loads(pickle.dumps(run))
    assert copy(1) == 6
    assert copy.chain.engine is not engine
    assert copy.chain.engine.defaults.allow_cycle
    assert copy.chain.engine.functions == {"triple": registered}
    assert pickle.loads(pickle.dumps(copy))(1) == 6
    assert pickle.loads(pickle.dumps(copy)).chain is copy.chain


def test_engine_of_another_process_may_be_made_by_a_function():
    with Engine({"more": 1}, host_functions={"f": lambda: 1}) as engine:
        chain = engine.load(FILTER)
        assert pickle.loads(pickle.dumps(chain.as_function(engine=make_engine)))(1) == 1001
        with pytest.raises(EngineError, match="cannot be sent to another process: host"):
            pickle.dumps(chain.as_function())


def test_what_only_the_engine_has_is_told_with_the_way_round_it():
    inner = {
        "ruleChain": {"id": "i"},
        "metadata": {"nodes": [{"id": "a", "type": "exprTransform", "configuration": {"expr": "msg"}}]},
    }
    with Engine() as engine:
        engine.register_component("own/type", inner)
        run = engine.load(
            {"ruleChain": {"id": "o"}, "metadata": {"nodes": [{"id": "a", "type": "own/type"}]}}
        ).as_function()
        with pytest.raises(EngineError, match="it needs the component type 'own/type', which this engine has") as told:
            pickle.dumps(run)
    assert "as_function(engine=make_engine)" in told.value.hint
    with Engine() as engine:
        engine.shared.load({"metadata": {"nodes": [LENDER]}})
        borrower = {**LENDER, "id": "b", "configuration": {"at": "ref://lender"}}
        run = engine.load({"ruleChain": {"id": "o"}, "metadata": {"nodes": [borrower]}}).as_function()
        with pytest.raises(EngineError, match="it needs the shared resource 'lender', which this engine has"):
            pickle.dumps(run)


def test_functions_that_stand_in_for_nodes_go_with_the_chain():
    with Engine({"more": 1}) as engine:
        run = engine.load(FILTER).replacing({"t": registered}).as_function()
        assert (run(2), pickle.loads(pickle.dumps(run))(2)) == (6, 6)


def test_other_processes_get_the_version_in_service():
    with Engine({"more": 1}) as engine:
        run = engine.load(FILTER).as_function()
        again = {"id": "t", "type": "exprTransform", "configuration": {"expr": "msg - 1"}}
        engine.reload({**FILTER, "metadata": {"nodes": [again]}})
        assert (run(2), pickle.loads(pickle.dumps(run))(2)) == (1, 1)


def test_function_of_a_closed_engine_runs_in_other_processes():
    with Engine({"more": 1}) as engine:
        run = engine.load(FILTER).as_function()
    assert pickle.loads(pickle.dumps(run))(2) == 3


def test_what_cannot_be_sent_is_named():
    with Engine({"more": 1}) as engine:
        chain = engine.load(FILTER)
        for name, function in {"on_error": lambda item, outcome: None, "on_end": lambda *end: None}.items():
            with pytest.raises(EngineError, match=f"cannot be sent to another process: {name}: "):
                pickle.dumps(chain.as_function(**{name: function}))


def test_function_raises_or_gives_nothing_for_a_run_that_fails():
    with Engine() as engine:
        chain = engine.load(FAILS)
        with pytest.raises(NodeError, match="none"):
            chain.as_function()(1)
        assert chain.as_function(on_error="skip")(1) is None
        assert chain.as_function(on_error="skip").batch([1]) == []


def test_function_runs_in_processes_that_are_spawned():
    with Engine({"more": 2}) as engine:
        run = engine.load(FILTER).as_function()
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.map(run, range(times(5))) == [n + 2 for n in range(times(5))]


@pytest.mark.parametrize("ordered", [True, False])
async def test_an_item_takes_no_more_steps_when_many_run_at_once(engine, ordered):
    async def turn(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    chain = load(engine, {"a": turn})
    await chain.run(1)
    steps = {}
    for concurrency in (4, 400):
        count = itertools.count()
        sys.setprofile(lambda *_, count=count: next(count))
        try:
            async for _ in chain.map(range(1600), concurrency=concurrency, ordered=ordered):
                pass
        finally:
            sys.setprofile(None)
        steps[concurrency] = next(count)
    assert steps[400] < steps[4] * 1.5
