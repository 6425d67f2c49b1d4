"""Slots of concurrency limits: whatever happens to those who hold or wait for them, none is lost."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times
from tests.engine.runtime.kit import definition, load

from catenary import Aspect, Engine, Message
from catenary.aspects import Caching, ConcurrencyLimit, RateLimit, caching, slots
from catenary.errors import ChainInvalid, EngineError
from catenary.testing import FakeClock

TENANTS = "ab"


async def settle():
    for _ in range(12):
        await asyncio.sleep(0)


def waiting_node(gate):
    async def node(ctx, msg):
        await gate.wait()
        return "Success"

    return node


STEPS = st.one_of(
    st.tuples(st.just("run"), st.sampled_from(TENANTS)),
    st.tuples(st.just("short run"), st.sampled_from(TENANTS)),
    st.tuples(st.just("cancel"), st.integers(0, 20)),
    st.tuples(st.just("go on"), st.just(0)),
    st.tuples(st.just("let time pass"), st.integers(1, 4)),
    st.tuples(st.just("look away"), st.integers(1, 5)),
    st.tuples(st.just("reload"), st.just(0)),
)


@settings(max_examples=times(60), deadline=None)
@given(st.lists(STEPS, max_size=30), st.booleans(), st.integers(1, 2), st.integers(0, 3), st.booleans())
def test_no_slot_is_lost_whenever_runs_are_cancelled_reloaded_or_late(steps, at_node, most, queue, stops):
    at_once = dict.fromkeys(TENANTS, 0)

    async def go():
        clock, gate = FakeClock(), asyncio.Event()
        cut = {"nodes": ["n"]} if at_node else {}
        limit = ConcurrencyLimit(most, queue=queue, queue_timeout_s=3, key="metadata.tenant", across="engine", **cut)

        async def node(ctx, msg):
            tenant = msg.metadata["tenant"]
            at_once[tenant] += 1
            assert at_once[tenant] <= most
            try:
                await gate.wait()
            finally:
                at_once[tenant] -= 1
            return "Success"

        engine = Engine(aspects=[limit], clock=clock)
        written = definition({"s": None, "n": node}, ["s n"])
        engine.load(written)
        tasks: list[asyncio.Task] = []
        for what, number in steps:
            if what in {"run", "short run"}:
                limits = {"timeout": 0.0001} if what == "short run" else {}
                message = Message("x", metadata={"tenant": number})
                tasks.append(asyncio.create_task(engine.run("c", message, **limits)))
            elif what == "cancel" and tasks:
                tasks[number % len(tasks)].cancel()
            elif what == "go on":
                gate.set()
                await settle()
                gate.clear()
            elif what == "let time pass":
                clock.advance(number)
            elif what == "reload":
                engine.reload({**written, "ruleChain": {**written["ruleChain"], "name": str(len(tasks))}})
            else:
                for _ in range(number):
                    await asyncio.sleep(0)
        if stops:
            await engine.close(grace_s=0)
        gate.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        for tenant in TENANTS:
            assert (limit.slots.taken(tenant), limit.slots.waiting(tenant)) == (0, 0)
        assert not limit.slots._taken
        assert not limit.slots._waiting
        assert not any(isinstance(task.exception(), AssertionError) for task in tasks if not task.cancelled())
        await engine.close()

    asyncio.run(go())
    assert at_once == dict.fromkeys(TENANTS, 0)


@pytest.mark.parametrize("cut", [{}, {"nodes": ["n"]}])
async def test_a_run_that_may_not_wait_leaves_no_place_in_the_queue(cut):
    gate = asyncio.Event()
    limit = ConcurrencyLimit(1, queue=5, across="engine", **cut)
    engine = Engine(aspects=[limit])
    slow = load(engine, {"n": waiting_node(gate)})
    plain = load(engine, {"n": None}, id="plain")
    holder = asyncio.create_task(slow.run("x"))
    await settle()
    with pytest.raises(EngineError, match="inside a running event loop"):
        plain.run_sync("y")
    assert limit.slots.waiting() == 0
    gate.set()
    assert (await holder).ok
    assert limit.slots.taken() == 0


async def test_a_rate_keeps_the_token_of_a_run_that_may_not_wait():
    clock = FakeClock()
    engine = Engine(aspects=[RateLimit(1, burst=1, max_wait_s=1)], clock=clock)
    chain = load(engine, {"n": None})
    assert chain.run_sync("x").ok
    for _ in range(5):
        with pytest.raises(EngineError, match="inside a running event loop"):
            chain.run_sync("x")
    clock.advance(1)
    assert chain.run_sync("x").ok


async def test_a_slot_is_given_back_when_an_aspect_is_cancelled_that_looks_at_a_run_out_of_time():
    limit = ConcurrencyLimit(1, across="engine")
    looking = asyncio.Event()

    class Slow(Aspect):
        async def completed(self, ctx, msg, outcome):
            looking.set()
            await asyncio.Event().wait()

    chain = load(Engine(aspects=[limit, Slow()]), {"n": waiting_node(asyncio.Event())})
    task = asyncio.create_task(chain.run("x", timeout=0.01))
    await looking.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert limit.slots.taken() == 0


async def test_those_who_wait_for_a_slot_begin_on_the_version_that_they_came_to():
    gate = asyncio.Event()
    engine = Engine(aspects=[ConcurrencyLimit(1, queue=3)])
    written = definition({"n": waiting_node(gate)})
    first = engine.load(written)
    tasks = [asyncio.create_task(engine.run("c", "x")) for _ in range(2)]
    await settle()
    second = engine.reload(definition({"n": lambda ctx, msg: "Other"}))
    tasks.append(asyncio.create_task(engine.run("c", "x")))
    await settle()
    assert not tasks[2].done()  # the slots are those of the chain, not of one version
    gate.set()
    assert [str((await task).ends[0].relation) for task in tasks] == ["Success", "Success", "Other"]
    assert (first.active, second.active) == (0, 0)


async def test_those_who_wait_for_a_slot_are_told_when_the_engine_closes():
    limit = ConcurrencyLimit(1, queue=3, across="engine")
    engine = Engine(aspects=[limit])
    load(engine, {"n": waiting_node(asyncio.Event())})
    tasks = [asyncio.create_task(engine.run("c", "x")) for _ in range(3)]
    await settle()
    await engine.close(grace_s=0)
    assert [(await task).status for task in tasks] == ["cancelled"] * 3
    assert (limit.slots.taken(), limit.slots.waiting()) == (0, 0)


def test_keys_that_are_over_are_forgotten():
    limit = ConcurrencyLimit(1, key="msg", across="engine")
    rate = RateLimit(1000, burst=1, key="msg", across="engine")
    clock = FakeClock()
    chain = load(Engine(aspects=[limit, rate], clock=clock), {"n": None})
    for number in range(5000):
        chain.run_sync(str(number))
        clock.advance(0.01)
    assert not limit.slots._taken
    assert len(rate._buckets._full_at) <= 1024


def test_threads_that_have_to_wait_get_their_slots():
    limit = ConcurrencyLimit(1, queue=100, across="engine", nodes=["n"], key="metadata.tenant")
    at_once = dict.fromkeys(TENANTS, 0)

    async def node(ctx, msg):
        tenant = msg.metadata["tenant"]
        at_once[tenant] += 1
        assert at_once[tenant] == 1
        await asyncio.sleep(0)
        at_once[tenant] -= 1
        return "Success"

    with Engine(aspects=[limit]) as engine, ThreadPoolExecutor(8) as threads:
        chain = load(engine, {"n": node})
        messages = [Message("x", metadata={"tenant": TENANTS[number % 2]}) for number in range(100)]
        assert all(outcome.ok for outcome in threads.map(chain.run_sync, messages))
    assert not limit.slots._taken


async def test_a_run_is_stopped_while_an_aspect_holds_up_its_beginning_or_its_end():
    holding = asyncio.Event()

    class Beginning(Aspect):
        async def start(self, ctx, msg):
            holding.set()
            await asyncio.Event().wait()

    class Ending(Aspect):
        async def end(self, ctx, msg, relation, error):
            holding.set()
            await asyncio.Event().wait()

    for aspect in (Beginning(), Ending()):
        holding.clear()
        engine = Engine(aspects=[aspect])
        load(engine, {"n": None})
        task = asyncio.create_task(engine.run("c", "x"))
        await holding.wait()
        await engine.close(grace_s=0)
        assert (await task).status == "cancelled"


async def test_a_run_that_is_stopped_before_it_begins_does_not_wait_for_an_aspect():
    began = []

    class Stopping(Aspect):
        order = 1

        def start(self, ctx, msg):
            ctx._run.root.live = False  # as another thread does that stops the chain
            ctx._run.root.stopping = "processing cancelled: context canceled"

    class Waiting(Aspect):
        async def start(self, ctx, msg):
            began.append(msg)

    chain = load(Engine(aspects=[Stopping(), Waiting()]), {"n": None})
    assert (await chain.run("x")).status == "cancelled"
    assert not began


# Runs inside of runs


async def run_inner(ctx, msg):
    return [("Success", end.message) for end in await ctx.run_chain("inner", msg)]


async def begin_inner(ctx, msg):
    await ctx.need_loop()
    return "Success", (await ctx.chain.engine.run("inner", msg)).message


@pytest.mark.parametrize("run", [run_inner, begin_inner])
@pytest.mark.parametrize("cut", [{}, {"types": ["t/*"]}])
@pytest.mark.parametrize("is_sync", [False, True])
async def test_what_runs_inside_of_something_goes_along_on_its_slot(run, cut, is_sync):
    limit = ConcurrencyLimit(2, queue=100, across="engine", **cut)
    at_once = []

    async def node(ctx, msg):
        at_once.append(limit.slots.taken())
        await asyncio.sleep(0)
        return "Success", msg.with_data("done")

    engine = Engine(aspects=[limit])
    load(engine, {"n": node}, id="inner")
    chain = load(engine, {"o": run})
    runs = (asyncio.to_thread(chain.run_sync, "x") if is_sync else chain.run("x") for _ in range(6))
    outcomes = await asyncio.wait_for(asyncio.gather(*runs), 15)
    assert [outcome.message.text for outcome in outcomes] == ["done"] * 6
    assert max(at_once) <= 2
    assert not limit.slots._taken
    await engine.close()


async def test_one_after_the_other_in_one_task_each_takes_a_slot():
    limit = ConcurrencyLimit(1, across="engine")
    taken = []
    chain = load(Engine(aspects=[limit]), {"n": lambda ctx, msg: taken.append(limit.slots.taken()) or "Success"})
    for _ in range(3):
        assert (await chain.run("x")).ok
    assert taken == [1, 1, 1]
    assert not limit.slots.is_held("")


def test_what_a_thread_ran_before_is_forgotten():
    async def node(ctx, msg):
        await asyncio.sleep(0)
        return "Success"

    limit = ConcurrencyLimit(1, across="engine", types=["t/*"])
    with Engine(aspects=[limit, ConcurrencyLimit(1), Caching("msg")]) as engine:
        chain = load(engine, {"n": node})
        assert all(chain.run_sync(str(number)).ok for number in range(50))
    assert len(slots._holds.get()) <= 2
    assert len(caching._awaited.get()) <= 1


# Keys


def first_of_two(engine, node):
    """Load a chain whose second node gets nothing of what the first one got."""
    return load(
        engine,
        {"first": lambda ctx, msg: ("Success", msg.with_data({"x": msg.text})), "m": hide, "n": node},
        [
            "first m",
            "m n",
        ],
    )


def hide(ctx, msg):
    return "Success", msg.with_data({})


@pytest.mark.parametrize("key", ["first.msg.x", "${first.msg.x}"])
def test_a_key_may_read_what_another_node_sent(key):
    calls = []
    chain = first_of_two(Engine(aspects=[Caching(key, nodes=["n"])]), lambda ctx, msg: calls.append(1) or "Success")
    for text in "aabb":
        assert chain.run_sync(text).ok
    assert len(calls) == 2
    limited = first_of_two(Engine(aspects=[RateLimit(0.001, burst=1, key=key, nodes=["n"])]), None)
    with limited.engine:
        assert [limited.run_sync(text).ok for text in "aabb"] == [True, False, True, False]


def test_an_aspect_of_the_host_says_what_it_reads():
    read = []

    class Reading(Aspect):
        def reads(self, definition):
            return ["first"]

        def before(self, ctx, msg, relation):
            read.append(ctx.output("first"))

    first_of_two(Engine(aspects=[Reading()]), None).run_sync("a")
    assert [message and message.value for message in read] == [None, {"x": "a"}, {"x": "a"}]


@pytest.mark.parametrize("limit", [ConcurrencyLimit(1, key="first.msg.x"), RateLimit(1, key="first.msg.x")])
def test_a_key_that_reads_nodes_cannot_let_runs_in(limit):
    with pytest.raises(ChainInvalid, match="reads what node 'first' sends, and is asked for before that"):
        first_of_two(Engine(aspects=[limit]), None)
    load(Engine(aspects=[limit]), {"other": None})


@pytest.mark.parametrize("key", ["msg.a.b.c", lambda ctx, msg: {}["tenant"]])
def test_a_key_that_cannot_be_had_says_whose_it_is(key):
    chain = load(Engine(aspects=[ConcurrencyLimit(1, key=key)]), {"n": None})
    assert str(chain.run_sync({}).error).startswith("the key of ConcurrencyLimit cannot be had: ")
