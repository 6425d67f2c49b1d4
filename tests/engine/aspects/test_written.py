"""Limits that chains set for themselves in `ruleChain.configuration.limits`."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import definition, load

from catenary import Aspect, Engine, Message
from catenary.errors import ChainInvalid
from catenary.testing import FakeClock


def holding(gate):
    async def node(ctx, msg):
        await gate.wait()
        return "Success"

    return node


async def settle():
    for _ in range(12):
        await asyncio.sleep(0)


async def test_a_chain_limits_its_runs_and_the_rest_waits():
    at_once = []
    running = [0]

    async def node(ctx, msg):
        running[0] += 1
        at_once.append(running[0])
        await asyncio.sleep(0)
        running[0] -= 1
        return "Success"

    chain = load(Engine(), {"n": node}, limits={"concurrency": 2})
    outcomes = await asyncio.gather(*(chain.run("x") for _ in range(20)))
    assert all(outcome.ok for outcome in outcomes)
    assert max(at_once) == 2


async def test_what_finds_no_place_or_waits_too_long_is_refused():
    gate, clock = asyncio.Event(), FakeClock()
    chain = load(Engine(clock=clock), {"n": holding(gate)}, limits={"concurrency": 1, "queue": 1, "queueTimeout": "5s"})
    first, second = (asyncio.create_task(chain.run("x")) for _ in range(2))
    await settle()
    assert str((await chain.run("x")).error) == "concurrency limit reached"
    clock.advance(5)
    assert str((await second).error) == "concurrency limit reached"
    gate.set()
    assert (await first).ok


def test_a_chain_limits_its_rate_for_each_key():
    chain = load(Engine(clock=FakeClock()), {"n": None}, limits={"rate": 1, "burst": 2, "key": "metadata.tenant"})
    messages = [Message("x", metadata={"tenant": tenant}) for tenant in "aaab"]
    assert [chain.run_sync(message).ok for message in messages] == [True, True, False, True]


async def test_a_chain_says_how_long_its_messages_wait_for_their_turn():
    clock = FakeClock(auto=True)
    chain = load(Engine(clock=clock), {"n": None}, limits={"rate": 2, "burst": 1, "maxWait": "1s"})
    assert (await chain.run("x")).ok
    assert (await chain.run("x")).ok
    assert clock.slept == [0.5]


@pytest.mark.parametrize("aspects", [(), (Aspect(),)])
@pytest.mark.parametrize(("limits", "waits"), [({"concurrency": 1}, True), ({"concurrency": 2}, False)])
async def test_runs_count_on_after_a_reload_with_the_same_limits(aspects, limits, waits):
    gate = asyncio.Event()
    engine = Engine(aspects=aspects)
    load(engine, {"n": holding(gate)}, limits={"concurrency": 1})
    first = asyncio.create_task(engine.run("c", "x"))
    await settle()
    engine.reload(definition({"n": None}, limits=limits))
    second = asyncio.create_task(engine.run("c", "x"))
    await settle()
    assert second.done() != waits
    gate.set()
    assert (await first).ok
    assert (await second).ok


async def test_limits_of_the_host_and_of_the_chain_both_hold():
    from catenary.aspects import ConcurrencyLimit

    gate = asyncio.Event()
    engine = Engine(aspects=[ConcurrencyLimit(1)])
    chain = load(engine, {"n": holding(gate)}, limits={"concurrency": 5})
    engine.reload(definition({"n": holding(gate)}, limits={"concurrency": 5}))
    tasks = [asyncio.create_task(engine.run("c", "x")) for _ in range(2)]
    await settle()
    gate.set()
    assert [(await task).ok for task in tasks] == [True, False]
    assert [type(one).__name__ for one in chain.aspects] == ["ConcurrencyLimit", "WrittenConcurrency"]


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (5, "limits must be a mapping, not 5"),
        ({"concurrency": -1}, "limits.concurrency must be at least 0, not -1"),
        ({"rate": 0}, "limits.rate must be greater than 0"),
        ({"queueTimeout": "soon"}, "limits.queueTimeout must be a number of seconds or a text such as '5s' or '500ms'"),
        ({"key": "msg.("}, "limits.key: "),
        ({"key": "n.msg.x"}, "limits.key reads what node 'n' sends, and is asked for before the first node"),
    ],
)
def test_limits_that_are_wrong_are_told_at_load_with_their_place(limits, told):
    written = definition({"n": None}, limits=limits)
    with pytest.raises(ChainInvalid) as caught:
        Engine().load(written)
    (problem,) = caught.value.problems
    assert told in problem.text
    assert [one.text for one in Engine().check(written)] == [problem.text]


def test_a_limit_that_nobody_knows_is_a_warning():
    (problem,) = Engine().check(definition({"n": None}, limits={"concurency": 1}))
    assert (problem.code, problem.severity, problem.hint) == (
        "chain.unknown-key",
        "warning",
        "did you mean 'concurrency'?",
    )


def test_chains_without_limits_have_no_aspects():
    chain = load(Engine(), {"n": None})
    assert (chain.aspects, chain.run_aspects) == ((), None)
    assert load(Engine(), {"n": None}, limits={}).run_aspects is None
