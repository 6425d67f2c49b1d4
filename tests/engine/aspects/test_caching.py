"""Kept results of nodes, and retries by an aspect."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import Kind, definition, flow, join, load, ways

from catenary import BINARY, FAILURE, Component, Config, Engine, Message, fail, register
from catenary.aspects import Caching, Retrying
from catenary.errors import EngineError
from catenary.testing import FakeClock


class Counter:
    """Answers with the number of the call."""

    def __init__(self):
        self.calls = 0

    def run(self, ctx, msg):
        self.calls += 1
        return "Odd", msg.with_data({"call": self.calls}).put("by", "counter")


@pytest.fixture
def counter():
    return Counter()


@pytest.fixture
def clock():
    return FakeClock(auto=True)


@pytest.mark.parametrize("kind", ["t/def", "t/async", "t/blocking"])
async def test_what_a_node_sent_is_sent_again_for_the_same_key(counter, clock, kind):
    engine = Engine(aspects=[Caching("msg.city", ttl="10s")], clock=clock)
    chain = load(engine, {"n": Kind(kind, counter.run)})
    first = await chain.run(Message({"city": "Ulm"}, metadata={"trace": "1"}))
    again = await chain.run(Message({"city": "Ulm"}, metadata={"trace": "2"}))
    assert ways(first) == ways(again) == ["n Odd"]
    assert again.message.value == {"call": 1}
    assert dict(again.message.metadata) == {"trace": "2", "by": "counter"}
    assert (await chain.run({"city": "Bonn"})).message.value == {"call": 2}
    clock.advance(11)
    assert (await chain.run({"city": "Ulm"})).message.value == {"call": 3}


def test_without_a_key_the_whole_message_is_the_key(counter):
    chain = load(Engine(aspects=[Caching()]), {"n": counter.run})
    for message in (Message("a"), Message("a"), Message("a", "T"), Message("a", metadata={"k": "v"}), Message(b"a")):
        chain.run_sync(message)
    assert counter.calls == 4


@pytest.mark.parametrize(
    "sent", [Message("text", "T", "TEXT"), Message(b"\x00\xff", data_type=BINARY), Message([1, {}])]
)
def test_every_kind_of_data_comes_back_as_it_was(sent):
    chain = load(Engine(aspects=[Caching("1")]), {"n": lambda ctx, msg: ("Success", sent)})
    first, again = chain.run_sync("x").message, chain.run_sync("y").message
    assert (again.data, again.type, again.data_type, again.value) == (
        first.data,
        first.type,
        first.data_type,
        first.value,
    )


def test_several_emissions_and_none_are_kept_too():
    calls = []
    chain = load(
        Engine(aspects=[Caching("msg")]),
        {"n": lambda ctx, msg: calls.append(1) or (["A", "B"] if msg.text == "2" else None)},
    )
    assert [ways(chain.run_sync(text)) for text in ("2", "2", "0", "0")] == [["n A", "n B"]] * 2 + [["n "]] * 2
    assert len(calls) == 2


def test_metadata_that_the_node_took_away_is_taken_away_again():
    chain = load(Engine(aspects=[Caching("1")]), {"n": lambda ctx, msg: ("Success", msg.without("secret"))})
    for _ in range(2):
        assert dict(chain.run_sync(Message("x", metadata={"secret": "s", "k": "v"})).message.metadata) == {"k": "v"}


@pytest.mark.parametrize("failing", [lambda ctx, msg: fail("no", msg), lambda ctx, msg: 1 / 0, lambda ctx, msg: 7])
def test_failures_are_not_kept(failing):
    calls = []
    chain = load(Engine(aspects=[Caching("1")]), {"n": lambda ctx, msg: calls.append(1) or failing(ctx, msg)})
    assert [ways(chain.run_sync("x")) for _ in range(2)] == [["n Failure"]] * 2
    assert len(calls) == 2


async def test_one_goes_on_to_the_node_and_the_others_wait_for_what_it_brings(counter):
    async def slow(ctx, msg):
        await asyncio.sleep(0.01)
        return counter.run(ctx, msg)

    chain = load(Engine(aspects=[Caching("1")]), {"n": slow})
    outcomes = await asyncio.gather(*(chain.run("x") for _ in range(20)))
    assert counter.calls == 1
    assert all(outcome.message.value == {"call": 1} for outcome in outcomes)


async def test_when_the_first_one_fails_the_next_one_goes_on(counter):
    async def slow(ctx, msg):
        await asyncio.sleep(0.01)
        counter.calls += 1
        return FAILURE if counter.calls == 1 else "Success"

    chain = load(Engine(aspects=[Caching("1")]), {"n": slow})
    outcomes = await asyncio.gather(*(chain.run("x") for _ in range(5)))
    assert [outcome.ok for outcome in outcomes].count(False) == 1
    assert counter.calls == 2


async def test_when_the_first_one_is_cancelled_the_next_one_goes_on(counter):
    async def slow(ctx, msg):
        await asyncio.sleep(0.01)
        return counter.run(ctx, msg)

    chain = load(Engine(aspects=[Caching("1")]), {"n": slow})
    first = asyncio.create_task(chain.run("x"))
    await asyncio.sleep(0)
    second = asyncio.create_task(chain.run("x"))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).message.value == {"call": 1}


async def test_what_was_sent_on_the_way_keeps_a_visit_from_being_kept():
    calls = []

    async def emitting(ctx, msg):
        calls.append(1)
        await ctx.emit("Stream", msg)
        return "Success"

    chain = load(Engine(aspects=[Caching("1")]), {"n": emitting})
    assert [ways(await chain.run("x")) for _ in range(2)] == [["n Stream", "n Success"]] * 2
    assert len(calls) == 2


# Visits inside of kept ones


async def run_again(ctx, msg):
    """Run the chain of the node as part of the visit, as `flow` nodes do."""
    return [("Success", end.message) for end in await ctx.run_chain(ctx.chain_id, msg)]


async def send_again(ctx, msg):
    """Send the message back to the node on the way."""
    await ctx.emit("Again", msg)


async def call_again(ctx, msg):
    """Begin another run of the chain, as functions of a host do."""
    await ctx.need_loop()
    return "Success", (await ctx.chain.run(msg)).message


@pytest.mark.parametrize("again", [run_again, send_again, call_again])
@pytest.mark.parametrize("is_sync", [False, True])
@pytest.mark.parametrize("make", [lambda run: run, flow])
async def test_a_node_that_comes_back_to_itself_does_not_wait_for_itself(again, is_sync, make):
    left = [3]

    async def node(ctx, msg):
        left[0] -= 1
        if left[0]:
            return await again(ctx, msg)
        await ctx.need_loop()
        return "Success", msg.with_data("done")

    with_loop = Engine(aspects=[Caching("1")])
    chain = load(with_loop, {"n": make(node)}, ["n Again n"], allowCycle=True)
    run = asyncio.to_thread(chain.run_sync, "x") if is_sync else chain.run("x")
    outcome = await asyncio.wait_for(run, 15)
    assert outcome.message.text == "done"
    assert left == [0]
    await with_loop.close()


async def test_two_nodes_that_run_each_other_do_not_wait_for_each_other():
    engine = Engine(aspects=[Caching("1")])
    depth = [0]

    def other(chain_id):
        async def node(ctx, msg):
            depth[0] += 1
            await asyncio.sleep(0.001)
            if depth[0] < 6:
                await ctx.run_chain(chain_id, msg)
            return "Success"

        return node

    load(engine, {"n": other("b")}, id="a")
    load(engine, {"n": other("a")}, id="b")
    outcomes = await asyncio.wait_for(asyncio.gather(*(engine.run(name, "x") for name in "abab")), 15)
    assert all(outcome.ok for outcome in outcomes)


async def test_after_a_visit_its_task_waits_for_others_as_before(counter):
    async def slow(ctx, msg):
        await asyncio.sleep(0.01)
        return counter.run(ctx, msg)

    chain = load(Engine(aspects=[Caching("msg")]), {"n": slow})

    async def two_runs():
        await chain.run(str(counter.calls))
        return await chain.run("same")

    await asyncio.gather(two_runs(), two_runs())
    assert counter.calls == 2


def test_a_node_with_other_settings_after_a_reload_begins_anew(counter):
    engine = Engine(aspects=[Caching("1")])
    first, second = (definition({"n": counter.run}, name=name) for name in "ab")
    second["metadata"]["nodes"][0]["configuration"]["quorum"] = 7
    engine.load(first)
    calls = []
    for written in (first, second, first):
        engine.reload(written)
        calls.append(engine.run_sync("c", "x").message.value["call"])
    assert calls == [1, 2, 1]


def test_joins_are_left_out():
    chain = load(Engine(aspects=[Caching("1")]), {"s": None, "a": None, "j": join()}, ["s a", "a j", "s j"])
    assert chain.run_sync("x").message.text == "x+x"
    step = chain.compiled.by_id["j"]
    assert step.component.collects
    assert chain.run_sync("y").message.text == "x+x"  # the nodes before it are not left out


def test_a_wrong_ttl_is_an_error_when_it_is_given():
    with pytest.raises(EngineError, match="ttl"):
        Caching("1", ttl="soon")


# Retries


@register("t/ownRetries", category="test")
class OwnRetries(Component[Config]):
    """Says that it retries by itself."""

    retries = True
    tries = 0

    def run(self, ctx, msg):
        type(self).tries += 1
        return FAILURE


async def test_nodes_are_tried_again_by_the_policy(clock):
    tries = []

    def flaky(ctx, msg):
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("x")
        return "Success"

    policy = {"maxRetries": 3, "delay": 1, "backoff": 2, "jitter": 0}
    assert (await load(Engine(aspects=[Retrying(policy)], clock=clock), {"n": flaky}).run("x")).ok
    assert clock.slept == [1.0, 2.0]


def test_plain_nodes_are_retried_where_no_event_loop_runs(clock):
    with Engine(aspects=[Retrying(2)], clock=clock) as engine:
        assert load(engine, {"n": None}).run_sync("x").ok


async def test_nodes_that_are_retried_already_are_left_out(clock):
    tries = []
    engine = Engine(aspects=[Retrying(5)], clock=clock)
    chain = load(engine, {"n": lambda ctx, msg: tries.append(1) or FAILURE}, keys={"n": {"retry": 1}})
    await chain.run("x")
    assert len(tries) == 2
    OwnRetries.tries = 0
    await load(engine, {"n": Kind("t/ownRetries")}, id="own").run("x")
    assert OwnRetries.tries == 1


async def test_inner_aspects_see_each_attempt_and_outer_ones_the_visit(clock):
    seen = []
    engine = Engine(aspects=[Retrying({"maxRetries": 2, "delay": 0})], clock=clock)

    def look(name):
        def around(ctx, msg, proceed):
            seen.append(name)
            return proceed(msg)

        return around

    engine.around(order=100)(look("outer"))
    engine.around(order=300)(look("inner"))
    await load(engine, {"n": lambda ctx, msg: FAILURE}).run("x")
    assert seen == ["outer", "inner", "inner", "inner"]


def test_a_wrong_policy_is_an_error_when_it_is_given():
    with pytest.raises(EngineError, match="policy of Retrying"):
        Retrying({"maxRetries": "many"})
