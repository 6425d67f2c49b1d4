"""Limits of concurrency and of rate: slots, queues, tokens, keys; nothing leaks."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times
from tests.engine.runtime.kit import load, ways

from catenary import Aspect, Engine
from catenary.aspects import ConcurrencyLimit, RateLimit
from catenary.aspects.buckets import Buckets
from catenary.errors import EngineError, ExpressionError
from catenary.testing import FakeClock


class Gate:
    """A node that waits until it is told to go on, and counts who is at it."""

    def __init__(self):
        self.event = asyncio.Event()
        self.at_once = self.most = 0

    async def __call__(self, ctx, msg):
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await self.event.wait()
        finally:
            self.at_once -= 1
        return "Success"


def guarded(gate):
    async def run(ctx, msg):
        return await gate(ctx, msg)

    return run


async def settle():
    for _ in range(8):
        await asyncio.sleep(0)


async def test_more_than_the_most_are_refused_at_once():
    gate = Gate()
    chain = load(Engine(aspects=[ConcurrencyLimit(2)]), {"n": guarded(gate)})
    tasks = [asyncio.create_task(chain.run("x")) for _ in range(3)]
    await settle()
    outcome = await tasks[2]
    assert (outcome.status, str(outcome.error)) == ("failed", "concurrency limit reached")
    assert outcome.message.metadata["errorMsg"] == "concurrency limit reached"
    gate.event.set()
    assert [(await task).ok for task in tasks[:2]] == [True, True]
    assert (await chain.run("x")).ok


def test_a_limit_of_none_refuses_all():
    assert not load(Engine(aspects=[ConcurrencyLimit(0, queue=5)]), {"n": None}).run_sync("x").ok


async def test_those_in_the_queue_get_slots_in_order():
    gate, order = Gate(), []
    limit = ConcurrencyLimit(1, queue=3, across="engine")

    async def node(ctx, msg):
        order.append(msg.text)
        return await gate(ctx, msg)

    chain = load(Engine(aspects=[limit]), {"n": node})
    tasks = [asyncio.create_task(chain.run(str(number))) for number in range(5)]
    await settle()
    assert (order, limit.slots.waiting()) == (["0"], 3)
    gate.event.set()
    outcomes = await asyncio.gather(*tasks)
    assert order == ["0", "1", "2", "3"]
    assert [outcome.ok for outcome in outcomes] == [True] * 4 + [False]
    assert gate.most == 1
    assert (limit.slots.taken(), limit.slots.waiting()) == (0, 0)


async def test_who_waits_too_long_is_refused():
    clock, gate = FakeClock(), Gate()
    limit = ConcurrencyLimit(1, queue=1, queue_timeout_s=5, across="engine")
    chain = load(Engine(aspects=[limit], clock=clock), {"n": guarded(gate)})
    first, second = (asyncio.create_task(chain.run("x")) for _ in range(2))
    await settle()
    clock.advance(4.9)
    await settle()
    assert not second.done()
    clock.advance(0.2)
    assert str((await second).error) == "concurrency limit reached"
    gate.event.set()
    assert (await first).ok
    assert (limit.slots.taken(), limit.slots.waiting()) == (0, 0)


async def test_each_key_has_slots_of_its_own():
    gate = Gate()
    limit = ConcurrencyLimit(1, key="metadata.tenant", across="engine")
    chain = load(Engine(aspects=[limit]), {"n": guarded(gate)})
    from catenary import Message

    messages = [Message("x", metadata={"tenant": tenant}) for tenant in ("a", "b", "a")]
    tasks = [asyncio.create_task(chain.run(message)) for message in messages]
    await settle()
    gate.event.set()
    assert [(await task).ok for task in tasks] == [True, True, False]
    assert limit.slots.taken("a") == 0


async def test_a_key_may_be_a_function():
    gate = Gate()
    limit = ConcurrencyLimit(1, key=lambda ctx, msg: {"first": msg.text[0]}, across="engine")
    chain = load(Engine(aspects=[limit]), {"n": guarded(gate)})
    tasks = [asyncio.create_task(chain.run(text)) for text in ("a1", "b1", "a2")]
    await settle()
    gate.event.set()
    assert [(await task).ok for task in tasks] == [True, True, False]


def test_a_key_that_is_no_expression_is_an_error_when_it_is_given():
    with pytest.raises(ExpressionError):
        ConcurrencyLimit(1, key="metadata.(")


async def test_a_slot_is_given_back_when_a_later_start_refuses():
    class Refusing(Aspect):
        def start(self, ctx, msg):
            raise ValueError("no")

    limit = ConcurrencyLimit(1, across="engine")
    chain = load(Engine(aspects=[limit, Refusing()]), {"n": None})
    for _ in range(3):
        assert str((await chain.run("x")).error) == "no"
    assert limit.slots.taken() == 0


@pytest.mark.parametrize("is_waiting", [False, True])
async def test_a_slot_is_given_back_when_the_caller_is_cancelled(is_waiting):
    gate = Gate()
    limit = ConcurrencyLimit(1, queue=1, across="engine")
    chain = load(Engine(aspects=[limit]), {"n": guarded(gate)})
    tasks = [asyncio.create_task(chain.run("x")) for _ in range(2)]
    await settle()
    tasks[is_waiting].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[is_waiting]
    gate.event.set()
    assert (await tasks[not is_waiting]).ok
    assert (limit.slots.taken(), limit.slots.waiting()) == (0, 0)


async def test_one_who_is_cancelled_as_the_slot_is_handed_over_passes_it_on():
    gate = Gate()
    limit = ConcurrencyLimit(1, queue=2, across="engine")
    chain = load(Engine(aspects=[limit]), {"n": guarded(gate)})
    tasks = [asyncio.create_task(chain.run("x")) for _ in range(3)]
    await settle()
    limit.slots.give_back("")  # as the first one will do
    limit.slots._taken[""] = limit.slots.taken() + 1
    tasks[1].cancel()
    gate.event.set()
    assert (await tasks[2]).ok
    assert (await tasks[0]).ok
    assert limit.slots.waiting() == 0


async def test_visits_of_nodes_are_limited_when_nodes_are_named():
    gate = Gate()
    limit = ConcurrencyLimit(1, nodes=["n"], queue=1, across="engine")
    chain = load(Engine(aspects=[limit]), {"s": None, "n": guarded(gate)}, ["s n"])
    tasks = [asyncio.create_task(chain.run("x")) for _ in range(3)]
    await settle()
    assert gate.at_once == 1
    gate.event.set()
    outcomes = [await task for task in tasks]
    assert [ways(outcome) for outcome in outcomes] == [["n Success"], ["n Success"], ["n Failure"]]
    assert gate.most == 1
    assert limit.slots.taken() == 0


async def test_chains_have_slots_of_their_own_unless_they_share_them():
    for across, refused in (("chain", 0), ("engine", 1)):
        gate = Gate()
        engine = Engine(aspects=[ConcurrencyLimit(1, across=across)])
        chains = [load(engine, {"n": guarded(gate)}, id=name) for name in "ab"]
        tasks = [asyncio.create_task(chain.run("x")) for chain in chains]
        await settle()
        gate.event.set()
        assert [(await task).ok for task in tasks].count(False) == refused


def test_threads_share_the_slots():
    most = []
    limit = ConcurrencyLimit(2, queue=100, across="engine")

    def node(ctx, msg):
        most.append(limit.slots.taken())
        return "Success"

    with Engine(aspects=[limit]) as engine:
        chain = load(engine, {"n": node})
        with ThreadPoolExecutor(8) as threads:
            outcomes = list(threads.map(lambda number: chain.run_sync(str(number)), range(100)))
    assert all(outcome.ok for outcome in outcomes)
    assert max(most) <= 2
    assert limit.slots.taken() == 0


def test_wrong_numbers_are_refused():
    for make in (
        lambda: ConcurrencyLimit(-1),
        lambda: RateLimit(0),
        lambda: RateLimit(1, burst=0),
        lambda: ConcurrencyLimit(1, across="world"),
    ):
        with pytest.raises(EngineError):
            make()


# Rate


def test_a_bucket_empties_and_fills_again():
    clock = FakeClock()
    chain = load(Engine(aspects=[RateLimit(2, burst=2)], clock=clock), {"n": None})
    assert [chain.run_sync("x").ok for _ in range(3)] == [True, True, False]
    assert str(chain.run_sync("x").error) == "rate limit reached"
    clock.advance(0.5)
    assert [chain.run_sync("x").ok for _ in range(2)] == [True, False]
    clock.advance(100)
    assert [chain.run_sync("x").ok for _ in range(3)] == [True, True, False]


async def test_messages_wait_for_their_token():
    clock = FakeClock(auto=True)
    chain = load(Engine(aspects=[RateLimit(4, burst=1, max_wait_s=1)], clock=clock), {"n": None})
    for _ in range(3):
        assert (await chain.run("x")).ok
    assert clock.slept == [0.25, 0.25]


async def test_who_would_wait_too_long_is_refused_and_takes_nothing():
    clock = FakeClock()
    chain = load(Engine(aspects=[RateLimit(1, burst=1, max_wait_s=1)], clock=clock), {"n": None})
    assert (await chain.run("x")).ok
    second = asyncio.create_task(chain.run("x"))
    await settle()
    assert not (await chain.run("x")).ok
    clock.advance(1)
    assert (await second).ok


async def test_the_token_of_one_who_gives_up_is_given_back():
    clock = FakeClock()
    chain = load(Engine(aspects=[RateLimit(1, burst=1, max_wait_s=1)], clock=clock), {"n": None})
    assert (await chain.run("x")).ok
    for _ in range(3):
        waiting = asyncio.create_task(chain.run("x"))
        await settle()
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])


async def test_visits_of_nodes_are_rated_when_types_are_named():
    clock = FakeClock(auto=True)
    limit = RateLimit(1, burst=1, max_wait_s=5, types=["t/async"])
    chain = load(
        Engine(aspects=[limit], clock=clock), {"a": guarded(_pass), "b": None, "c": guarded(_pass)}, ["a b", "b c"]
    )
    assert (await chain.run("x")).ok
    assert clock.slept == [1.0]


async def _pass(ctx, msg):
    return "Success"


@settings(max_examples=times(60), deadline=None)
@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 8)), max_size=40),
)
def test_buckets_equal_a_simple_model(burst, steps):
    buckets = Buckets(4.0, burst)
    tokens = {"a": float(burst), "b": float(burst)}
    now = 0.0
    for key, quarters in steps:
        now += quarters / 8
        for name in tokens:
            tokens[name] = min(float(burst), tokens[name] + quarters / 8 * 4)
        expected = tokens[key] >= 1
        assert (buckets.take(key, now, 0.0) is not None) == expected
        if expected:
            tokens[key] -= 1
