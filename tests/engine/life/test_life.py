"""Reloading, stopping and naming of chains: what callers and components notice of it."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.engine.runtime.kit import Kind, definition, load, ways
from tests.engine.runtime.waiting import turns
from tests.programs import eventually

from catenary import SUCCESS, Component, Config, Engine, option, register
from catenary.errors import ChainError, ChainInvalid, EngineError
from catenary.life import stopping


class TracedConfig(Config):
    """Names the component in the log."""

    name: str = option("", help="Its name.")
    fails: bool = option(False, help="True for one that cannot be opened.")


class _Traced(Component[TracedConfig]):
    log: list[str] = []  # noqa: RUF012 - one for all

    def run(self, ctx, msg):
        return SUCCESS


@register("t/life", category="test")
class Traced(_Traced):
    """Notes when it is made, opened and closed."""

    def __init__(self, config):
        super().__init__(config)
        self.log.append(f"make {config.name}")

    def open(self, ctx):
        if self.config.fails:
            raise OSError("no such port")
        self.log.append(f"open {self.config.name}")

    def close(self):
        self.log.append(f"close {self.config.name}")


@register("t/lifeLater", category="test")
class TracedLater(_Traced):
    """Is opened and closed on an event loop."""

    async def open(self, ctx):
        await asyncio.sleep(0)
        self.log.append(f"open {self.config.name}")

    async def close(self):
        await asyncio.sleep(0)
        self.log.append(f"close {self.config.name}")


@pytest.fixture
def log():
    _Traced.log = []
    return _Traced.log


def chain_of(names, edges=(), chain_id="c", kind="t/life", **more):
    nodes = [{"id": name[0], "type": kind, "configuration": {"name": name}} for name in names]
    ways = [{"fromId": a, "toId": b, "type": "Success"} for a, b in edges]
    return {"ruleChain": {"id": chain_id, **more}, "metadata": {"nodes": nodes, "connections": ways}}


def node(name, kind="t/life", **configuration):
    return {"id": name[0], "type": kind, "configuration": {"name": name, **configuration}}


# One node


def test_reload_of_a_node_makes_and_opens_that_node_only(engine, log):
    engine.load(chain_of(["a1", "b1"], ["ab"]))
    log.clear()
    chain = engine.reload_node("c", node("b2"))
    assert log == ["make b2", "open b2", "close b1"]
    assert chain.version == 2
    assert engine.get("c") is chain
    assert engine.run_sync("c", "x").ok
    engine.close_sync()
    assert sorted(log[3:]) == ["close a1", "close b2"]


def test_reload_of_an_unknown_node_names_the_known_ones(engine, log):
    engine.load(chain_of(["a1", "b1"]))
    with pytest.raises(EngineError, match="node id=z not found") as caught:
        engine.reload_node("c", node("z9"))
    assert "'a', 'b'" in caught.value.hint
    assert engine.get("c").version == 1


def test_reload_of_a_node_without_id_says_so(engine, log):
    engine.load(chain_of(["a1"]))
    with pytest.raises(EngineError, match=r"(?m)^the node to replace has no id$") as caught:
        engine.reload_node("c", {"type": "t/life"})
    assert "'a'" in caught.value.hint


@pytest.mark.parametrize("empty", ["", "  ", {}])
def test_reload_of_a_node_without_text_says_so(engine, log, empty):
    engine.load(chain_of(["a1"]))
    with pytest.raises(ChainError, match="dsl can not empty"):
        engine.reload_node("c", empty)


@pytest.mark.parametrize("text", ['{"id": "a", "type": "t/life"}', "id: a\ntype: t/life"])
def test_a_node_may_be_given_as_text(engine, log, text):
    engine.load(chain_of(["a1"]))
    assert engine.reload_node("c", text).version == 2


def test_node_that_cannot_be_opened_leaves_the_version_before_as_it_is(engine, log):
    engine.load(chain_of(["a1", "b1"], ["ab"]))
    log.clear()
    with pytest.raises(ChainInvalid, match="no such port"):
        engine.reload_node("c", node("b2", fails=True))
    assert log == ["make b2"]
    assert engine.get("c").version == 1
    assert ways(engine.run_sync("c", "x")) == ["b Success"]


def test_chain_with_the_node_in_it_is_checked_as_a_whole(engine, log):
    engine.load(definition({"a": None, "j": Kind("t/join")}, ["a j"]))
    with pytest.raises(ChainInvalid, match="component not found"):
        engine.reload_node("c", {"id": "j", "type": "nope"})
    assert engine.get("c").version == 1


def test_end_node_that_comes_with_a_reload_gates_the_others(engine):
    load(engine, {"a": None, "b": None, "c": None}, ["a b", "a c"])
    assert not any(end.gated for end in engine.run_sync("c", "x").ends)
    engine.reload_node("c", {"id": "b", "type": "t/end"})
    assert any(end.gated for end in engine.run_sync("c", "x").ends)


def test_shared_component_is_closed_once_when_its_last_version_is_idle(engine, log):
    async def scenario():
        entered, leave = asyncio.Event(), asyncio.Event()

        async def wait(ctx, msg):
            entered.set()
            await leave.wait()
            return SUCCESS

        whole = definition({"w": wait}, [])
        whole["metadata"]["nodes"] += [node("a1"), node("b1")]
        whole["metadata"]["connections"] += [
            {"fromId": "w", "toId": "a", "type": "Success"},
            {"fromId": "a", "toId": "b", "type": "Success"},
        ]
        engine.load(whole)
        running = asyncio.create_task(engine.run("c", "x"))
        await entered.wait()
        engine.reload_node("c", node("b2"))
        engine.reload(definition({"x": None}))
        assert "close b2" in log
        assert "close a1" not in log
        leave.set()
        assert (await running).ok
        assert sorted(entry for entry in log if entry.startswith("close")) == ["close a1", "close b1", "close b2"]
        await engine.close()
        assert len([entry for entry in log if entry.startswith("close")]) == 3

    asyncio.run(scenario())


async def test_component_that_opens_later_is_opened_once_for_all_versions(engine, log):
    engine.load(chain_of(["a1", "b1"], ["ab"], kind="t/lifeLater"))
    engine.reload_node("c", node("b2", "t/lifeLater"))
    assert (await engine.run("c", "x")).ok
    engine.reload_node("c", node("b3", "t/lifeLater"))
    assert (await engine.run("c", "x")).ok
    await engine.sweep()
    assert log == ["open a1", "open b2", "open b3", "close b2"] or log == ["open a1", "open b2", "close b2", "open b3"]
    await engine.close()
    assert sorted(log[-2:]) == ["close a1", "close b3"]


async def test_version_nobody_is_on_is_closed_on_the_event_loop_after_a_reload(engine, log):
    engine.load(chain_of(["a1"], kind="t/lifeLater"))
    await engine.run("c", "x")
    await asyncio.to_thread(engine.reload, chain_of(["a2"], kind="t/lifeLater"))
    await eventually(lambda: "close a1" in log)
    assert log == ["open a1", "close a1"]


@register("t/closesLater", category="test")
class ClosesLater(_Traced):
    """Is opened at load and closed on an event loop."""

    async def close(self):
        await asyncio.sleep(0)
        self.log.append(f"close {self.config.name}")


@pytest.mark.parametrize("first", ["in the loop", "before the engine is entered"])
async def test_what_closes_on_an_event_loop_is_closed_after_a_reload_in_a_thread(first, log):
    engine = Engine()
    if first == "in the loop":
        engine.load(chain_of(["a1"], kind="t/closesLater"))
    else:
        await asyncio.to_thread(engine.load, chain_of(["a1"], kind="t/closesLater"))
    async with engine:
        await asyncio.to_thread(engine.reload, chain_of(["a2"], kind="t/closesLater"))
        await eventually(lambda: bool(log))
        assert log == ["close a1"]


# All


def test_reload_of_all_takes_over_properties(log):
    properties = {"limit": 1}
    with Engine(properties) as engine:
        source = chain_of(["a1"])
        source["metadata"]["nodes"][0]["configuration"]["name"] = "${global.limit}"
        engine.load(source)
        properties["limit"] = 2
        assert [chain.version for chain in engine.reload_all()] == [2]
        assert log == ["make 1", "open 1", "make 2", "open 2", "close 1"]
        assert engine.get("c").to_dict()["metadata"]["nodes"][0]["configuration"]["name"] == "${global.limit}"


def test_reload_of_all_replaces_what_it_can_and_tells_the_rest(log):
    properties = {"fails": False}
    with Engine(properties) as engine:
        source = chain_of(["a1"], chain_id="one")
        source["metadata"]["nodes"][0]["configuration"]["fails"] = "${global.fails}"
        engine.load(source)
        engine.load(chain_of(["a2"], chain_id="two"))
        properties["fails"] = True
        with pytest.raises(ChainInvalid, match=r"chain 'one': node 'a'.* cannot be opened"):
            engine.reload_all()
        assert {name: chain.version for name, chain in engine.chains.items()} == {"one": 1, "two": 2}


def test_disabled_chain_says_so(engine, log):
    with pytest.raises(ChainInvalid, match="the rule chain has been disabled"):
        engine.load(chain_of(["a1"], disabled=True))
    engine.load(chain_of(["a1"]))
    with pytest.raises(ChainInvalid, match="the rule chain has been disabled"):
        engine.reload(chain_of(["a1"], disabled=True))
    assert engine.get("c").version == 1


# Names


def test_own_id_of_a_chain_is_an_alias(engine, log):
    chain = engine.load(chain_of(["a1"], chain_id="own"), id="given")
    assert engine.get("own") is chain
    assert engine.run_sync("own", "x").ok
    assert list(engine.chains) == ["given"]
    engine.remove("own")
    assert not engine.chains
    with pytest.raises(EngineError, match="ruleChain id=own not found"):
        engine.get("own")


def test_reload_keeps_the_id_and_the_cache_and_takes_over_the_alias(engine, log):
    engine.load(chain_of(["a1"], chain_id="first"), id="c")
    engine.cache.set("c:seen", 1)
    chain = engine.reload(chain_of(["a2"], chain_id="second"), id="c")
    assert chain.id == "c"
    assert engine.get("second") is chain
    assert engine.cache.get("c:seen") == 1
    with pytest.raises(EngineError, match="not found"):
        engine.get("first")


def test_reload_by_alias_replaces_the_chain(engine, log):
    engine.load(chain_of(["a1"], chain_id="own"), id="given")
    assert engine.reload(chain_of(["a2"], chain_id="own")).id == "given"
    assert engine.reload(chain_of(["a3"], chain_id="other"), id="own").version == 3


def test_alias_that_several_chains_have_is_unclear(engine, log):
    engine.load(chain_of(["a1"], chain_id="own"), id="one")
    engine.load(chain_of(["a1"], chain_id="own"), id="two")
    with pytest.raises(EngineError, match="'own' is the own id of several chains: 'one', 'two'"):
        engine.get("own")
    engine.remove("two")
    assert engine.get("own").id == "one"


def test_id_wins_over_an_alias(engine, log):
    first = engine.load(chain_of(["a1"], chain_id="own"))
    engine.load(chain_of(["a1"], chain_id="own"), id="copy")
    assert engine.get("own") is first


def test_another_chain_cannot_take_an_alias_for_its_id(engine, log):
    given = engine.load(chain_of(["a1"], chain_id="own"), id="given")
    assert engine.load(chain_of(["a1"], chain_id="own")) is given
    with pytest.raises(ChainError, match=r"chain\.duplicate-id: 'own' is another name of the chain 'given'"):
        engine.load(chain_of(["a2"], chain_id="own"))


# Being told


def test_each_change_is_told_once(engine, log):
    told = []
    engine.on_new(lambda chain: told.append(("new", chain.id, chain.version)))
    engine.on_updated(lambda chain, node_id: told.append(("updated", chain.id, chain.version, node_id)))
    off = engine.on_deleted(lambda chain_id: told.append(("deleted", chain_id)))
    engine.load(chain_of(["a1"]))
    engine.load(chain_of(["a1"]))
    engine.reload(chain_of(["a2"]))
    engine.reload_node("c", node("a3"))
    engine.remove("c")
    off()
    engine.load(chain_of(["a1"]))
    engine.remove("c")
    assert told == [
        ("new", "c", 1),
        ("updated", "c", 2, ""),
        ("updated", "c", 3, "a"),
        ("deleted", "c"),
        ("new", "c", 1),
    ]


def test_callback_that_fails_is_logged_and_the_chain_is_there(engine, log, caplog):
    def fails(chain):
        raise RuntimeError("oh")

    told = []
    engine.on_new(fails)
    engine.on_new(told.append)
    assert told == [engine.load(chain_of(["a1"]))]
    assert "a callback about chains failed" in caplog.text


def test_threads_that_load_the_same_chain_get_one(engine, log):
    barrier = threading.Barrier(4)

    def one(_):
        barrier.wait()
        return engine.load(chain_of(["a1"]))

    with ThreadPoolExecutor(4) as threads:
        chains = set(threads.map(one, range(4)))
    assert len(chains) == 1
    assert log == ["make a1", "open a1"]


# Stopping


async def held(engine):
    """Load a chain whose node waits; give the run on it, and what lets it go on."""
    entered, leave = asyncio.Event(), asyncio.Event()

    async def wait(ctx, msg):
        entered.set()
        await leave.wait()
        return SUCCESS

    load(engine, {"a": wait, "b": None}, ["a b"])
    run = asyncio.create_task(engine.run("c", "x"))
    await entered.wait()
    return run, leave


async def test_runs_in_flight_have_the_grace_and_new_ones_are_refused(engine):
    run, leave = await held(engine)
    stopping = asyncio.create_task(engine.stop("c", grace_s=60))
    await asyncio.sleep(0)
    with pytest.raises(EngineError, match=r"(?m)^engine is shutting down$"):
        await engine.run("c", "y")
    with pytest.raises(EngineError, match=r"(?m)^engine is shutting down$"):
        engine.reload(definition({"a": None}))
    assert not stopping.done()
    leave.set()
    await stopping
    assert ways(await run) == ["b Success"]
    with pytest.raises(EngineError, match="ruleChain id=c not found"):
        await engine.run("c", "y")


async def test_runs_are_cancelled_when_the_grace_is_over(engine):
    run, _ = await held(engine)
    await engine.stop("c", grace_s=0.01)
    outcome = await run
    assert outcome.status == "cancelled"
    assert [(end.node_id, end.relation, str(end.error)) for end in outcome.ends] == [
        ("a", "Failure", "processing cancelled: context canceled")
    ]


async def test_second_stop_waits_for_the_first(engine):
    run, leave = await held(engine)
    first = asyncio.create_task(engine.stop("c", grace_s=60))
    await asyncio.sleep(0)
    second = asyncio.create_task(engine.stop("c", grace_s=0))
    await turns()
    assert not second.done()
    leave.set()
    await asyncio.gather(first, second)
    assert (await run).ok


async def test_runs_in_flight_may_still_run_other_chains_that_stop_too(engine):
    entered, leave = asyncio.Event(), asyncio.Event()

    async def outer(ctx, msg):
        entered.set()
        await leave.wait()
        await ctx.run_chain("inner", msg)
        return SUCCESS

    load(engine, {"i": None}, id="inner")
    load(engine, {"a": outer}, id="outer")
    run = asyncio.create_task(engine.run("outer", "x"))
    await entered.wait()
    closing = asyncio.create_task(engine.close(grace_s=60))
    await asyncio.sleep(0)
    leave.set()
    await closing
    assert (await run).ok


async def test_stop_drops_the_cache_of_the_chain_and_a_reload_does_not(engine):
    load(engine, {"a": None})
    engine.cache.set("c:seen", 1)
    engine.cache.set("other", 1)
    engine.reload(definition({"b": None}))
    assert engine.cache.has("c:seen")
    await engine.stop("c")
    assert not engine.cache.has("c:seen")
    assert engine.cache.has("other")


async def test_chain_that_was_stopped_can_be_loaded_again(engine):
    load(engine, {"a": None})
    await engine.stop("c")
    assert load(engine, {"a": None}).version == 1
    assert (await engine.run("c", "x")).ok


async def test_earlier_versions_are_stopped_as_well(engine):
    run, _ = await held(engine)
    engine.reload(definition({"b": None}))
    await engine.stop("c", grace_s=0)
    assert (await run).status == "cancelled"


async def test_stop_that_is_cancelled_ends_the_grace(engine):
    run, _ = await held(engine)
    stopping = asyncio.create_task(engine.stop("c", grace_s=60))
    await turns()
    assert not stopping.done()
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert (await run).status == "cancelled"
    assert not engine.chains


async def test_node_that_does_not_let_itself_be_cancelled_holds_up_nobody_for_long(engine, caplog):
    entered, leave = asyncio.Event(), asyncio.Event()

    async def stubborn(ctx, msg):
        entered.set()
        while not leave.is_set():
            try:
                await leave.wait()
            except asyncio.CancelledError:
                continue
        return SUCCESS

    load(engine, {"a": stubborn})
    run = asyncio.create_task(engine.run("c", "x"))
    await entered.wait()
    await asyncio.wait_for(engine.stop("c", grace_s=0), 15)
    assert "do not let themselves be cancelled" in caplog.text
    leave.set()
    assert (await run).status == "cancelled"


async def test_node_that_was_cancelled_cleans_up_also_when_the_event_loop_stood_still(engine, log, monkeypatch):
    monkeypatch.setattr(stopping, "_CLEAN_UP_S", 0.0)
    entered = asyncio.Event()

    async def careful(ctx, msg):
        try:
            entered.set()
            await asyncio.Event().wait()
        finally:
            await turns(5)
            log.append("clean")

    whole = definition({"s": careful})
    whole["metadata"]["nodes"].append(node("a1"))
    engine.load(whole)
    run = asyncio.create_task(engine.run("c", "x"))
    await entered.wait()
    await engine.stop("c", grace_s=0)
    assert log[2:] == ["clean", "close a1"]
    assert (await run).status == "cancelled"


async def test_node_may_stop_its_own_chain_and_is_cancelled_by_it(engine, log):
    async def stops(ctx, msg):
        await engine.stop("c", grace_s=0.01)
        return SUCCESS

    whole = definition({"s": stops})
    whole["metadata"]["nodes"].append(node("a1"))
    engine.load(whole)
    assert (await engine.run("c", "x")).status == "cancelled"
    assert log == ["make a1", "open a1", "close a1"]
    assert not engine.chains


def test_chain_that_another_thread_loads_while_the_engine_closes_is_closed_too(engine, log):
    @engine.registry.register("t/closing", category="test")
    class Closing(Traced):
        """Closes the engine in another thread while it is opened."""

        def open(self, ctx):
            super().open(ctx)
            thread = threading.Thread(target=engine.close_sync)
            thread.start()
            thread.join(15)

    with pytest.raises(EngineError, match="the engine is closed"):
        engine.load(chain_of(["a1"], kind=Closing.info.type))
    assert log == ["make a1", "open a1", "close a1"]
    assert not engine.chains


def test_stop_from_a_thread_stops_a_run_of_another(engine):
    entered, leave = threading.Event(), asyncio.Event()

    async def wait(ctx, msg):
        entered.set()
        await leave.wait()

    load(engine, {"a": wait})
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(engine.run_sync("c", "x")))
    thread.start()
    assert entered.wait(15)
    engine.stop_sync("c", grace_s=0.01)
    thread.join(15)
    assert outcomes[0].status == "cancelled"


async def test_stop_sync_inside_an_event_loop_names_the_other_one(engine):
    load(engine, {"a": None})
    with pytest.raises(EngineError) as caught:
        engine.stop_sync("c")
    assert caught.value.hint == "use `await engine.stop()` there"


def test_stop_sync_of_an_endless_chain_without_an_event_loop_comes_back(engine):
    entered = threading.Event()

    def again(ctx, msg):
        entered.set()
        return SUCCESS

    whole = definition({"a": again}, ["a a"])
    whole["ruleChain"]["configuration"] = {"allowCycle": True, "maxVisits": 100_000_000}
    engine.load(whole)
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(engine.run_sync("c", "x")))
    thread.start()
    assert entered.wait(15)
    engine.stop_sync("c", grace_s=0.01)
    thread.join(15)
    assert outcomes[0].status == "cancelled"


# Many messages


async def test_reload_under_ten_thousand_messages_in_flight_delays_loses_and_mixes_none(engine):
    many = 10_000
    gate = asyncio.Event()
    entered = asyncio.Semaphore(0)

    def version(number):
        async def first(ctx, msg):
            entered.release()
            await gate.wait()
            return SUCCESS, msg.put("first", number)

        def second(ctx, msg):
            return SUCCESS, msg.put("second", number)

        return definition({"a": first, "b": second}, ["a b"])

    engine.load(version(1))
    runs = [asyncio.create_task(engine.run("c", str(index))) for index in range(many // 2)]
    for _ in range(many // 2):
        await entered.acquire()
    chain = engine.reload(version(2))
    assert chain.version == 2
    runs += [asyncio.create_task(engine.run("c", str(index))) for index in range(many // 2, many)]
    for _ in range(many // 2):
        await entered.acquire()
    engine.reload(version(3))
    gate.set()
    outcomes = await asyncio.gather(*runs)
    assert all(outcome.ok for outcome in outcomes)
    assert [outcome.message.text for outcome in outcomes] == [str(index) for index in range(many)]
    seen = [(outcome.message.metadata["first"], outcome.message.metadata["second"]) for outcome in outcomes]
    assert seen == [(1, 1)] * (many // 2) + [(2, 2)] * (many // 2)
    assert engine.get("c").version == 3


# Threads, and runs inside runs


@register("t/notClosed", category="test")
class NotClosed(Component[Config]):
    """Fails when it is used after it was closed."""

    is_closed = False

    def close(self):
        self.is_closed = True

    def run(self, ctx, msg):
        if self.is_closed:
            raise AssertionError("used after it was closed")
        return SUCCESS


def test_threads_run_a_chain_while_it_is_reloaded_again_and_again(engine):
    whole = definition({"a": Kind("t/notClosed"), "b": Kind("t/notClosed")}, ["a b"])
    engine.load(whole)
    all_there, over = threading.Barrier(5), threading.Event()

    def run(_):
        all_there.wait(15)
        while not over.is_set():
            engine.run_sync("c", "x").raise_for_error()
        engine.run_sync("c", "x").raise_for_error()

    with ThreadPoolExecutor(4) as threads:
        runs = [threads.submit(run, number) for number in range(4)]
        all_there.wait(15)
        try:
            for _ in range(100):
                engine.reload(whole)
                engine.reload_node("c", whole["metadata"]["nodes"][0])
        finally:
            over.set()
        for done in runs:
            done.result()
    assert engine.get("c").version == 201


async def test_sub_run_that_was_asked_for_before_a_reload_takes_the_new_version(engine):
    load(engine, {"a": Kind("t/notClosed")}, id="inner")

    async def outer(ctx, msg):
        asked = [asyncio.create_task(ctx.run_chain("inner", msg)) for _ in range(2)]
        engine.reload(definition({"b": Kind("t/notClosed")}, id="inner"))
        ends = await asyncio.gather(*asked)
        return SUCCESS, msg.with_data([end.node_id for [end] in ends])

    load(engine, {"o": outer}, id="outer")
    outcome = await engine.run("outer", "x")
    assert outcome.raise_for_error().message.value == ["b", "b"]


async def test_sub_run_of_a_chain_that_is_replaced_as_it_is_looked_up_takes_the_new_version(engine, monkeypatch):
    load(engine, {"a": Kind("t/notClosed")}, id="inner")
    look_up = engine.get

    def outrun(name):
        found = look_up(name)
        if name == "inner" and found.version == 1:  # as another thread may
            engine.reload(definition({"b": Kind("t/notClosed")}, id="inner"))
        return found

    async def outer(ctx, msg):
        [end] = await ctx.run_chain("inner", msg)
        return SUCCESS, msg.with_data(end.node_id)

    load(engine, {"o": outer}, id="outer")
    monkeypatch.setattr(engine, "get", outrun)
    assert (await engine.run("outer", "x")).raise_for_error().message.text == "b"


async def test_version_is_kept_open_while_a_sub_run_is_on_it(engine):
    entered, leave = asyncio.Event(), asyncio.Event()

    async def wait(ctx, msg):
        entered.set()
        await leave.wait()
        return SUCCESS

    async def outer(ctx, msg):
        await ctx.run_chain("inner", msg)
        return SUCCESS

    load(engine, {"w": wait, "a": Kind("t/notClosed")}, ["w a"], id="inner")
    load(engine, {"o": outer}, id="outer")
    run = asyncio.create_task(engine.run("outer", "x"))
    await entered.wait()
    inner = engine.reload(definition({"b": None}, id="inner"))
    assert inner.version == 2
    leave.set()
    (await run).raise_for_error()


async def test_chain_that_is_taken_out_keeps_nothing_of_what_its_last_runs_stored(engine):
    entered, leave = asyncio.Event(), asyncio.Event()

    async def late(ctx, msg):
        entered.set()
        await leave.wait()
        ctx.chain_cache.set("seen", 1)
        return SUCCESS

    load(engine, {"a": late})
    run = asyncio.create_task(engine.run("c", "x"))
    await entered.wait()
    engine.remove("c")
    leave.set()
    assert (await run).ok
    assert not engine.cache.has("c:seen")


async def test_a_run_is_stopped_while_a_component_is_opened_for_it():
    engine = Engine()
    load(engine, {"n": Kind("t/neverOpen")})
    task = asyncio.create_task(engine.run("c", "x"))
    await asyncio.sleep(0)
    await engine.close(grace_s=0)
    assert (await task).status == "cancelled"


@register("t/neverOpen", category="test")
class NeverOpen(Component[Config]):
    """Its opening does not end."""

    async def open(self, ctx):
        await asyncio.Event().wait()

    async def run(self, ctx, msg):
        raise AssertionError("it was never opened")


async def inner_at_work(engine):
    """Load a chain that is run by a node of another one and waits in two nodes; give the run."""
    both, entered = asyncio.Event(), []

    async def wait(ctx, msg):
        entered.append(ctx.node_id)
        if len(entered) == 2:
            both.set()
        await asyncio.Event().wait()

    async def call(ctx, msg):
        await ctx.run_chain("inner", msg)
        return SUCCESS

    load(engine, {"i": None, "w": wait, "v": wait}, ["i w", "i v"], id="inner")
    load(engine, {"call": call, "ok": None, "mend": None}, ["call ok", "call Failure mend"], id="outer")
    run = asyncio.create_task(engine.run("outer", "x"))
    await both.wait()
    return run


async def test_run_around_a_chain_that_is_stopped_goes_on_by_failure(engine):
    run = await inner_at_work(engine)
    await engine.stop("inner", grace_s=0.01)
    outcome = await run
    assert (outcome.status, ways(outcome)) == ("completed", ["mend Success"])
    assert outcome.message.metadata["errorMsg"] == "processing cancelled: context canceled"
    assert list(engine.chains) == ["outer"]


async def test_chain_that_is_stopped_takes_in_no_runs_from_other_chains(engine):
    run = await inner_at_work(engine)
    stopping = asyncio.create_task(engine.stop("inner", grace_s=60))
    await asyncio.sleep(0)
    refused = await engine.run("outer", "y")
    assert (ways(refused), refused.message.metadata["errorMsg"]) == (["mend Success"], "engine is shutting down")
    stopping.cancel()
    await asyncio.wait([stopping])
    assert ways(await run) == ["mend Success"]


async def test_runs_on_a_chain_that_is_stopped_may_run_it_again(engine):
    entered, leave = asyncio.Event(), asyncio.Event()

    async def again(ctx, msg):
        if msg.text == "inner":
            return SUCCESS
        entered.set()
        await leave.wait()
        await ctx.run_chain("c", msg.with_data("inner"))
        return SUCCESS

    load(engine, {"a": again})
    run = asyncio.create_task(engine.run("c", "outer"))
    await entered.wait()
    stopping = asyncio.create_task(engine.stop("c", grace_s=60))
    await asyncio.sleep(0)
    leave.set()
    await stopping
    assert (await run).ok


async def test_chains_one_inside_the_other_may_be_stopped_together(engine):
    run = await inner_at_work(engine)
    await engine.close(grace_s=0)
    outcome = await run
    assert outcome.status == "cancelled"
