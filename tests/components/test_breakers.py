"""The breaker around the nodes that gather, repeat, contain others, or are retried."""

from __future__ import annotations

import pytest

from catenary import FAILURE, Component, Config, Engine, register
from catenary.aspects import Retrying, SkipFallback
from catenary.testing import FakeClock


class _Service(Component[Config]):
    relations = ()
    calls = 0
    is_down = True

    def run(self, ctx, msg):
        _Service.calls += 1
        return FAILURE if _Service.is_down else "Success"


@register("t/breakerService", category="test")
class Service(_Service):
    """Fails while it is down."""


@register("t/breakerBlocking", category="test")
class BlockingService(_Service):
    """Fails in a thread while it is down."""

    blocking = True


@pytest.fixture(autouse=True)
def service():
    _Service.calls, _Service.is_down = 0, True
    return _Service


@pytest.fixture
def clock():
    return FakeClock(auto=True)


def chain_of(nodes, *edges):
    connections = [dict(zip(("fromId", "type", "toId"), edge.split(), strict=True)) for edge in edges]
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": connections}}


def node(name, kind, **configuration):
    return {"id": name, "type": kind, "configuration": configuration}


@pytest.mark.parametrize("kind", ["t/breakerService", "t/breakerBlocking"])
async def test_retries_of_a_node_are_one_failure(service, clock, kind):
    engine = Engine(aspects=[SkipFallback(2, 60)], clock=clock)
    chain = engine.load(chain_of([{**node("n", kind), "retry": {"maxRetries": 2, "delay": 0}}]))
    for _ in range(4):
        await chain.run("x")
    assert service.calls == 6
    clock.advance(60)
    service.is_down = False
    assert (await chain.run("x")).ok
    assert (await chain.run("x")).ok


async def test_retries_by_an_aspect_are_one_failure_too(service, clock):
    engine = Engine(aspects=[SkipFallback(2, 60), Retrying({"maxRetries": 2, "delay": 0})], clock=clock)
    chain = engine.load(chain_of([node("n", "t/breakerService")]))
    for _ in range(4):
        await chain.run("x")
    assert service.calls == 6


async def test_a_join_behind_a_skipped_node_goes_on(service, clock):
    engine = Engine(aspects=[SkipFallback(1, 60, types=["t/breaker*"])], clock=clock)
    chain = engine.load(
        chain_of(
            [node("s", "fork"), node("n", "t/breakerService"), node("m", "comment"), node("j", "join")],
            "s Success n",
            "s Success m",
            "n Failure j",
            "m Success j",
        )
    )
    for _ in range(3):
        outcome = await chain.run("x")
        assert [end.node_id for end in outcome.ends] == ["j"]
    assert service.calls == 1


async def test_a_join_that_fails_too_often_is_skipped_and_still_gathers_once_a_run(clock):
    calls = []

    def count(ctx, arrivals):
        calls.append(len(arrivals))
        return FAILURE

    engine = Engine(aspects=[SkipFallback(2, 60, nodes=["j"])], clock=clock)
    loaded = engine.load(
        chain_of(
            [node("s", "fork"), node("a", "comment"), node("b", "comment"), node("j", "join")],
            "s Success a",
            "s Success b",
            "a Success j",
            "b Success j",
        )
    )
    chain = loaded.replacing({"j": count})
    told = [[str(end.relation) for end in (await chain.run("x")).ends] for _ in range(4)]
    assert (told, calls) == ([["Failure"]] * 4, [2, 2])


async def test_visits_in_a_loop_count_one_by_one_and_the_loop_itself_once(service, clock):
    engine = Engine(aspects=[SkipFallback(3, 60)], clock=clock)
    chain = engine.load(
        chain_of([node("for", "for", range="1..10", do="n"), node("n", "t/breakerService")]),
    )
    for round_ in range(1, 6):
        await chain.run("[1]")
        assert service.calls == min(round_, 3)
    service.is_down = False
    clock.advance(60)
    assert (await chain.run("[1]")).ok
    assert service.calls == 3 + 10


async def test_while_and_groups_see_the_failure_of_a_skipped_node(service, clock):
    engine = Engine(aspects=[SkipFallback(1, 60, nodes=["n"])], clock=clock)
    chain = engine.load(
        chain_of([node("g", "groupAction", nodeIds=["n", "m"]), node("n", "t/breakerService"), node("m", "comment")])
    )
    for _ in range(3):
        assert not (await chain.run("x")).ok
    assert service.calls == 1
    service.is_down = False
    clock.advance(60)
    assert (await chain.run("x")).ok


async def test_the_body_of_a_while_that_is_skipped_ends_the_loop(service, clock):
    engine = Engine(aspects=[SkipFallback(1, 60, nodes=["n"])], clock=clock)
    chain = engine.load(chain_of([node("w", "while", condition="true", do="n"), node("n", "t/breakerService")]))
    for _ in range(3):
        outcome = await chain.run("x")
        assert not outcome.ok
    assert outcome.message.metadata["errorMsg"] == "skip fallback error"
    assert service.calls == 1
