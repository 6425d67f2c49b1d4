"""The breaker: skips, one probe, and closes again."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import Kind, blocking, definition, load, ways
from tests.engine.runtime.stepping import STEPPING

from catenary import FAILURE, Engine
from catenary.aspects import SkipFallback
from catenary.errors import EngineError
from catenary.testing import FakeClock


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


class Service:
    """A node that fails while it is down."""

    def __init__(self):
        self.is_down = True
        self.calls = 0

    def run(self, ctx, msg):
        self.calls += 1
        if self.is_down:
            raise ValueError("down")
        return "Success"


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def clock():
    return FakeClock()


def texts(outcomes):
    return [str(outcome.error) if outcome.error else "ok" for outcome in outcomes]


KINDS = {
    "def": lambda run: run,
    "async": lambda run: Kind("t/async", run),
    "blocking": blocking,
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_node_that_failed_three_times_is_skipped_and_tried_again(service, clock, kind):
    engine = Engine(aspects=[SkipFallback()], clock=clock)
    chain = load(engine, {"n": KINDS[kind](service.run)})
    outcomes = [await chain.run("x") for _ in range(5)]
    assert service.calls == 3
    assert [outcome.message.metadata["errorMsg"] for outcome in outcomes] == ["down"] * 3 + ["skip fallback error"] * 2
    clock.advance(9.9)
    await chain.run("x")
    assert service.calls == 3
    clock.advance(0.1)
    service.is_down = False
    assert (await chain.run("x")).ok
    assert (await chain.run("x")).ok
    assert service.calls == 5


def test_it_closes_again_under_steady_traffic(service, clock):
    chain = load(Engine(aspects=[SkipFallback()], clock=clock), {"n": service.run})
    for second in range(60):
        service.is_down = second < 15
        outcome = chain.run_sync("x")
        clock.advance(1)
    assert outcome.ok
    assert service.calls < 60


def test_a_probe_that_fails_opens_it_for_as_long_again(service, clock):
    chain = load(Engine(aspects=[SkipFallback()], clock=clock), {"n": service.run})
    for _ in range(4):
        chain.run_sync("x")
    clock.advance(10)
    assert ways(chain.run_sync("x")) == ["n Failure"]
    assert service.calls == 4
    clock.advance(9)
    chain.run_sync("x")
    assert service.calls == 4
    clock.advance(1)
    chain.run_sync("x")
    assert service.calls == 5


async def test_one_message_tries_the_node_and_the_others_are_skipped_meanwhile(service, clock):
    gate = asyncio.Event()

    async def slow(ctx, msg):
        service.calls += 1
        if service.is_down:
            return FAILURE
        await gate.wait()
        return "Success"

    chain = load(Engine(aspects=[SkipFallback()], clock=clock), {"n": slow})
    for _ in range(3):
        await chain.run("x")
    clock.advance(10)
    service.is_down = False
    probe = asyncio.create_task(chain.run("x"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert "skip fallback error" in str((await chain.run("x")).error)
    gate.set()
    assert (await probe).ok
    assert (await chain.run("x")).ok


async def test_a_probe_that_is_cancelled_lets_another_one_try(service, clock):
    async def slow(ctx, msg):
        if service.is_down:
            return FAILURE
        if msg.text == "slow":
            await asyncio.sleep(600)
        return "Success"

    chain = load(Engine(aspects=[SkipFallback()], clock=clock), {"n": slow})
    for _ in range(3):
        await chain.run("x")
    clock.advance(10)
    service.is_down = False
    assert (await chain.run("slow", timeout=60)).status == "cancelled"
    assert (await chain.run("x")).ok


def test_success_resets_the_count(service, clock):
    chain = load(Engine(aspects=[SkipFallback()], clock=clock), {"n": service.run})
    for is_down in (True, True, False, True, True, False):
        service.is_down = is_down
        chain.run_sync("x")
    assert service.calls == 6
    assert chain.run_sync("x").ok


def test_failures_that_lie_far_apart_do_not_count_together(service, clock):
    chain = load(Engine(aspects=[SkipFallback(window_s=5)], clock=clock), {"n": service.run})
    for _ in range(6):
        chain.run_sync("x")
        clock.advance(3)
    assert service.calls == 6


def test_each_node_has_a_count_of_its_own(service, clock):
    other = Service()
    other.is_down = False
    chain = load(Engine(aspects=[SkipFallback(1)], clock=clock), {"n": service.run, "m": other.run}, ["n Failure m"])
    assert [ways(chain.run_sync("x")) for _ in range(2)] == [["m Success"]] * 2
    assert (service.calls, other.calls) == (1, 2)


async def test_reloading_the_node_begins_anew_and_other_nodes_go_on(service, clock):
    async with Engine(aspects=[SkipFallback(1)], clock=clock) as engine:
        written = definition({"n": service.run, "m": service.run}, ["n Failure m"])
        engine.load(written)
        engine.get("c").run_sync("x")
        assert service.calls == 2
        engine.get("c").run_sync("x")
        assert service.calls == 2
        engine.reload_node("c", {**written["metadata"]["nodes"][0], "name": "other"})
        engine.get("c").run_sync("x")
        assert service.calls == 3


def test_a_point_cut_of_a_subclass_is_kept(service, clock):
    class Picky(SkipFallback):
        def point_cut(self, ctx, msg, relation):
            return msg.text == "counted"

    chain = load(Engine(aspects=[Picky(1)], clock=clock), {"n": service.run})
    for text in ("x", "x", "counted", "x", "counted"):
        chain.run_sync(text)
    assert service.calls == 4


def test_wrong_numbers_are_refused():
    with pytest.raises(EngineError):
        SkipFallback(0)
