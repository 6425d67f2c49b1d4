"""A chain with functions in place of nodes: what they see, where they are reached, and what is shared."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import END, Kind, definition, load, ways

from catenary import Component, Config, register
from catenary.errors import EngineError


@register("t/openedOnce", category="test")
class OpenedOnce(Component[Config]):
    """Leaves by `Open` while it is open."""

    opened = 0
    closed = 0

    async def open(self, ctx):
        self.opened += 1

    def close(self):
        self.closed += 1

    def run(self, ctx, msg):
        return f"{self.opened} {self.closed}"


def test_function_stands_in_for_the_run_of_a_node(engine):
    chain = load(engine, {"a": None, "b": None}, ["a Other b"])
    other = chain.replacing({"a": lambda ctx, msg: ("Other", msg.with_data(f"{ctx.node_id}{msg.data}"))})
    outcome = other.run_sync("x")
    assert (ways(outcome), outcome.message.data) == (["b Success"], "ax")
    assert ways(chain.run_sync("x")) == ["a Success"]
    assert engine.get("c") is chain


async def test_function_may_be_awaited(engine):
    chain = load(engine, {"a": None, "b": None}, ["a Other b"])

    async def late(ctx, msg):
        await asyncio.sleep(0)
        return "Other"

    other = chain.replacing({"a": late})
    assert ways(await other.run("x")) == ["b Success"]
    assert ways(await other.run("x", listener=lambda event: None)) == ["b Success"]


async def test_object_that_is_called_may_be_awaited(engine):
    class Late:
        async def __call__(self, ctx, msg):
            return "Late"

    assert ways(await load(engine, {"a": None}).replacing({"a": Late()}).run("x")) == ["a Late"]


def test_settings_of_the_node_hold_for_the_function(engine):
    tried = []

    def fails(ctx, msg):
        tried.append(msg.data)
        raise OSError("gone")

    chain = load(engine, {"a": None}, keys={"a": {"retry": {"maxRetries": 2, "delay": 0.001}}})
    assert chain.replacing({"a": fails}).run_sync("x").status == "failed"
    assert tried == ["x"] * 3


def test_function_in_place_of_a_join_gets_the_arrivals(engine):
    chain = load(
        engine,
        {"a": None, "b": None, "c": None, "j": Kind("t/join")},
        ["a Success b", "a Success c", "b Success j", "c Success j"],
    )
    other = chain.replacing({"j": lambda ctx, arrivals: f"{len(arrivals)} came"})
    assert ways(other.run_sync("x")) == ["j 2 came"]


async def test_nodes_of_chains_that_run_inside_are_reached(engine):
    load(engine, {"a": None, "b": None}, ["a b"], id="deep")
    calls = {
        "runs": lambda ctx, msg: ctx.run_chain("deep", msg),
        "one": lambda ctx, msg: ctx.run_node("b", msg, chain_id="deep"),
    }

    def caller(call):
        async def run(ctx, msg):
            return [(f"{end.relation}", end.message) for end in await call(ctx, msg)]

        return run

    chain = load(engine, {"s": None, **{name: caller(call) for name, call in calls.items()}}, ["s runs", "s one"])
    other = chain.replacing({"deep:b": lambda ctx, msg: "Mocked"})
    assert sorted(ways(await other.run("x"))) == ["one Mocked", "runs Mocked"]
    assert sorted(ways(await other.run("x", listener=lambda event: None))) == ["one Mocked", "runs Mocked"]
    assert sorted(ways(await chain.run("x"))) == ["one Success", "runs Success"]


def test_what_is_replaced_again_keeps_the_first_functions(engine):
    chain = load(engine, {"a": None, "b": None}, ["a One b"])
    other = chain.replacing({"a": lambda ctx, msg: "One"}).replacing({"b": lambda ctx, msg: "Two"})
    assert ways(other.run_sync("x")) == ["b Two"]


async def test_components_are_opened_once_and_not_closed(engine):
    chain = load(engine, {"a": None, "b": Kind("t/openedOnce")}, ["a b"])
    other = chain.replacing({"a": lambda ctx, msg: "Success"})
    assert ways(await other.run("x")) == ["b 1 0"]
    await other.close()
    other.close_now()
    other.retire()
    assert ways(await chain.run("x")) == ways(await other.run("x")) == ["b 1 0"]


def test_reload_is_followed(engine):
    chain = load(engine, {"a": None})
    other = chain.replacing({"a": lambda ctx, msg: "Mocked"})
    engine.reload(definition({"a": None, "b": None}, ["a Mocked b"]))
    assert ways(other.run_sync("x")) == ["b Success"]
    engine.reload(definition({"b": None}))
    with pytest.raises(EngineError, match="node id=a not found"):
        other.run_sync("x")


@pytest.mark.parametrize("name", ["none", "sub:none", "none:a"])
def test_unknown_node_is_an_error(engine, name):
    load(engine, {"a": None}, id="sub")
    with pytest.raises(EngineError, match=f"node id={name} not found"):
        load(engine, {"a": None}).replacing({name: lambda ctx, msg: None})


def test_end_node_cannot_be_replaced(engine):
    with pytest.raises(EngineError, match="branches end"):
        load(engine, {"e": END}).replacing({"e": lambda ctx, msg: None})
