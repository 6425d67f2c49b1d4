"""Counts and latencies of chains and of nodes."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.engine.runtime.kit import END, definition, load

from catenary import Aspect, Engine, fail
from catenary.aspects import Metrics
from catenary.aspects.histogram import Histogram
from catenary.errors import EngineError
from catenary.testing import FakeClock


def test_messages_and_branch_ends_are_counted_apart():
    engine = Engine(aspects=[Metrics()])
    nodes = {"s": None, "x": None, "y": lambda ctx, msg: fail("bad", msg) if msg.text == "bad" else "Success"}
    chain = load(engine, nodes, ["s x", "s y"])
    for text in ("good", "bad"):
        chain.run_sync(text)
    counted = engine.metrics["chains"]["c"]
    assert counted["messages"] == {"total": 2, "current": 0, "completed": 1, "failed": 1, "paused": 0, "cancelled": 0}
    assert counted["ends"] == {"success": 3, "failed": 1}
    found = {name: (node["total"], node["success"], node["failed"]) for name, node in counted["nodes"].items()}
    assert found == {"s": (2, 2, 0), "x": (2, 2, 0), "y": (2, 1, 1)}


def test_ends_that_are_gated_are_not_counted():
    engine = Engine(aspects=[Metrics()])
    load(engine, {"s": None, "x": None, "e": END}, ["s x", "s e"]).run_sync("m")
    assert engine.metrics["chains"]["c"]["ends"] == {"success": 1, "failed": 0}


async def test_what_is_under_way_is_current_also_after_a_reset():
    gate = asyncio.Event()

    async def slow(ctx, msg):
        await gate.wait()
        return "Success"

    engine = Engine(aspects=[Metrics()])
    task = asyncio.create_task(load(engine, {"n": slow}).run("x"))
    await asyncio.sleep(0)
    engine.reset_metrics()
    counted = engine.metrics["chains"]["c"]
    assert (counted["messages"]["current"], counted["nodes"]["n"]["current"]) == (1, 1)
    gate.set()
    await task
    counted = engine.metrics["chains"]["c"]
    assert (counted["messages"]["current"], counted["messages"]["completed"]) == (0, 1)
    assert (counted["nodes"]["n"]["current"], counted["nodes"]["n"]["success"]) == (0, 1)


async def test_latencies_are_those_of_the_engine_s_clock():
    clock = FakeClock(auto=True)

    async def slow(ctx, msg):
        await ctx.clock.sleep(0.25)
        return "Success"

    engine = Engine(aspects=[Metrics()], clock=clock)
    await load(engine, {"n": slow}).run("x")
    latency = engine.metrics["chains"]["c"]["nodes"]["n"]["latency"]
    assert (latency["count"], latency["sum_s"], latency["max_s"]) == (1, 0.25, 0.25)


async def test_a_reload_keeps_the_counts():
    async with Engine(aspects=[Metrics()]) as engine:
        load(engine, {"n": None}).run_sync("x")
        engine.reload(definition({"n": None, "m": None}, ["n m"])).run_sync("x")
        counted = engine.metrics["chains"]["c"]
        assert (counted["messages"]["total"], counted["nodes"]["n"]["total"], counted["nodes"]["m"]["total"]) == (
            2,
            2,
            1,
        )


def test_engines_never_share_counts():
    metrics = Metrics()
    one, other = Engine(aspects=[metrics]), Engine(aspects=[metrics])
    load(one, {"n": None}).run_sync("x")
    load(other, {"n": None})
    assert one.metrics["chains"]["c"]["messages"]["total"] == 1
    assert other.metrics["chains"]["c"]["nodes"]["n"]["total"] == 0


def test_a_message_that_a_later_start_refuses_is_no_longer_current():
    class Refusing(Aspect):
        def start(self, ctx, msg):
            raise ValueError("no")

    engine = Engine(aspects=[Metrics(), Refusing()])
    load(engine, {"n": None}).run_sync("x")
    messages = engine.metrics["chains"]["c"]["messages"]
    assert (messages["total"], messages["current"], messages["failed"]) == (1, 0, 1)


def test_an_engine_without_metrics_has_none():
    for engine in (Engine(), Engine(aspects=[Aspect()])):
        with pytest.raises(EngineError, match="no metrics") as caught:
            _ = engine.metrics
        assert "Engine(aspects=[Metrics()])" in caught.value.hint
        with pytest.raises(EngineError, match="no metrics"):
            engine.reset_metrics()


def test_a_point_cut_of_a_subclass_is_kept():
    class Picky(Metrics):
        def point_cut(self, ctx, msg, relation):
            return msg.text == "yes"

    engine = Engine(aspects=[Picky()])
    chain = load(engine, {"n": None})
    for text in ("yes", "no"):
        chain.run_sync(text)
    counted = engine.metrics["chains"]["c"]
    assert (counted["messages"]["total"], counted["nodes"]["n"]["total"]) == (1, 1)


@pytest.fixture
def quick_threads():
    """Let threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("quick_threads")
def test_threads_count_together():
    with Engine(aspects=[Metrics()]) as engine:
        chain = load(engine, {"n": None})
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda number: chain.run_sync(str(number)), range(2000)))
        counted = engine.metrics["chains"]["c"]
    node = counted["nodes"]["n"]
    assert counted["messages"] | {"paused": 0} == {
        "total": 2000,
        "current": 0,
        "completed": 2000,
        "failed": 0,
        "paused": 0,
        "cancelled": 0,
    }
    assert counted["ends"] == {"success": 2000, "failed": 0}
    assert (node["total"], node["current"], node["latency"]["count"]) == (2000, 0, 2000)


def test_quantiles_are_exact_to_their_bucket():
    histogram = Histogram()
    for number in range(1, 1001):
        histogram.note(number / 1000)
    for part in (0.5, 0.95, 0.99):
        assert part / 2 <= histogram.quantile_s(part) <= part * 2
    found = histogram.to_dict()
    assert (found["count"], found["max_s"], sum(found["buckets"].values())) == (1000, 1.0, 1000)


def test_a_histogram_is_read_as_its_buckets_and_their_sum():
    histogram = Histogram()
    for seconds in (0.000_003, 0.5, 0.5):
        histogram.note(seconds)
    counts, total = histogram.read()
    assert (counts[2], counts[19], sum(counts)) == (1, 2, 3)
    assert total == pytest.approx(1.000_003)


def test_counts_are_read_by_chain():
    engine = Engine(aspects=[Metrics()])
    load(engine, {"n": None}).run_sync("x")
    counts = engine.metrics_by_chain()["c"]
    assert (counts.total, counts.nodes["n"].entered) == (1, 1)
