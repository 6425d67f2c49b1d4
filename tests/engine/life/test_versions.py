"""What happens to runs and components when chains are replaced and engines closed."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest
from tests.engine.runtime.kit import Kind, definition, load, ways

from catenary import SUCCESS, Component, Config, Engine, register
from catenary.errors import ChainError, ChainInvalid, EngineError


@register("t/closable", category="test")
class Closable(Component[Config]):
    """Leaves by `Closed` when it is used after it was closed."""

    is_closed = False
    count = 0

    def close(self):
        self.is_closed = True
        Closable.count += 1

    def run(self, ctx, msg):
        return "Closed" if self.is_closed else SUCCESS


@register("t/closeFails", category="test")
class CloseFails(Component[Config]):
    """Cannot be closed."""

    def close(self):
        raise OSError("no way")

    def run(self, ctx, msg):
        return SUCCESS


async def test_run_that_was_asked_for_before_a_reload_takes_the_new_version(engine):
    load(engine, {"a": Kind("t/closable")})
    task = asyncio.create_task(engine.run("c", "x"))
    engine.reload(definition({"b": None}))
    assert ways(await task) == ["b Success"]


async def test_watched_run_that_was_asked_for_before_a_reload_takes_the_new_version(engine):
    load(engine, {"a": Kind("t/closable")})
    task = asyncio.create_task(engine.run("c", "x", run_id="mine"))
    engine.reload(definition({"b": None}))
    assert ways(await task) == ["b Success"]
    assert Closable.count


async def test_run_that_was_asked_for_before_its_chain_was_removed_says_so(engine):
    load(engine, {"a": Kind("t/closable")})
    run = engine.run("c", "x")
    engine.remove("c")
    with pytest.raises(EngineError, match="ruleChain id=c not found"):
        await run


def test_chain_object_of_an_earlier_version_runs_the_present_one(engine):
    chain = load(engine, {"a": Kind("t/closable")})
    engine.reload(definition({"b": None}))
    assert ways(chain.run_sync("x")) == ["b Success"]


@pytest.mark.parametrize("how", ["close", "reload"])
def test_component_that_cannot_be_closed_is_logged_and_the_others_are_closed(how, caplog):
    Closable.count = 0
    engine = Engine()
    load(engine, {"a": Kind("t/closable"), "b": Kind("t/closeFails")}, ["a Success b"])
    if how == "reload":
        engine.reload(definition({"x": None}))
    engine.close_sync()
    assert Closable.count == 1
    assert [(record.message, record.node_id) for record in caplog.records] == [("a component could not be closed", "b")]


def test_one_and_true_are_not_the_same_text(engine):
    one = definition({"a": None})
    one["ruleChain"]["additionalInfo"] = {"n": 1}
    other = definition({"a": None})
    other["ruleChain"]["additionalInfo"] = {"n": True}
    engine.load(one)
    with pytest.raises(ChainError, match="duplicate"):
        engine.load(other)


@register("t/opensUnlessBad", category="test")
class Opens(Component[Config]):
    """Cannot be opened where its node says so."""

    def open(self, ctx):
        if ctx.node_id.startswith("bad"):
            raise OSError(f"no {ctx.node_id}")

    def run(self, ctx, msg):
        return SUCCESS


def test_all_nodes_that_cannot_be_opened_are_told_at_once(engine):
    nodes = {"bad1": Kind("t/opensUnlessBad"), "good": Kind("t/opensUnlessBad"), "bad2": Kind("t/opensUnlessBad")}
    with pytest.raises(ChainInvalid) as caught:
        load(engine, nodes, ["bad1 Success good", "good Success bad2"])
    assert [problem.text for problem in caught.value.problems] == [
        "node 'bad1' (t/opensUnlessBad) cannot be opened: no bad1",
        "node 'bad2' (t/opensUnlessBad) cannot be opened: no bad2",
    ]


def _warm(limit):
    nodes = [
        {"id": "a", "type": "exprFilter", "configuration": {"expr": f"msg.t > {limit}"}},
        {"id": "b", "type": "exprTransform", "configuration": {"expr": "'hot: ' + string(msg.t)"}},
    ]
    connections = [{"fromId": "a", "toId": "b", "type": "True"}]
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": connections}}


def test_version_nobody_is_on_goes_without_the_garbage_collector(engine):
    first = weakref.ref(engine.load(_warm(1)))
    gc.collect()
    gc.disable()
    try:
        assert engine.run_sync("c", {"t": 2}).message.text == "hot: 2"
        for limit in (2, 3):  # the last one that was replaced is kept until the next one is
            engine.reload(_warm(limit))
        assert first() is None
    finally:
        gc.enable()


def test_closed_version_can_still_be_looked_at(engine):
    first = engine.load(_warm(1))
    engine.reload(_warm(2))
    assert list(first.compiled.by_id) == ["a", "b"]
    assert ways(first.run_sync({"t": 2})) == ["a False"]
