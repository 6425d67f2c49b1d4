"""`ctx.emit`: order, back-pressure, and what is an error."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import END, flow, join, load, ways

from catenary import FAILURE, STREAM, SUCCESS, Message
from catenary.errors import EngineError


async def test_pieces_arrive_in_order_before_what_is_returned(engine):
    async def speak(ctx, msg):
        for text in ("a", "b", "c"):
            await ctx.emit(STREAM, msg.with_data(text))
        return SUCCESS, msg.with_data("abc")

    chain = load(engine, {"s": speak})
    for listener in (None, lambda event: None):
        outcome = await chain.run("", listener=listener)
        assert [end.message.text for end in outcome.ends] == ["a", "b", "c", "abc"]
        assert outcome.message.text == "abc"


async def test_emit_comes_back_when_all_that_came_of_it_has_ended(engine):
    order = []

    async def slow(ctx, msg):
        for _ in range(5):
            await asyncio.sleep(0)
        order.append(ctx.node_id)
        return SUCCESS

    async def emitter(ctx, msg):
        for number in range(2):
            order.append(f"emit {number}")
            await ctx.emit("Item", msg)
        order.append("done")

    nodes = {"e": emitter, "a": slow, "b": slow, "c": slow}
    await load(engine, nodes, ["e Item a", "e Item b", "a c"]).run("")
    once = ["a", "b", "c"]
    assert order[0] == "emit 0"
    assert sorted(order[1:4]) == once
    assert order[4] == "emit 1"
    assert sorted(order[5:8]) == once
    assert order[8:] == ["done"]


async def test_join_fires_after_the_emitter_is_done(engine):
    order = []

    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        order.append("between")
        await ctx.emit("Item", msg)
        return "Item"

    nodes = {"e": emitter, "j": join(lambda ctx, arrivals: order.append(len(arrivals)))}
    await load(engine, nodes, ["e Item j"]).run("")
    assert order == ["between", 3]


async def test_what_was_emitted_stays_when_the_visit_raises(engine):
    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        raise ValueError("after")

    outcome = await load(engine, {"e": emitter, "a": None}, ["e Item a"]).run("")
    assert ways(outcome) == ["a Success", "e Failure"]


async def test_emit_after_the_visit_is_an_error(engine):
    kept = []

    async def keep(ctx, msg):
        kept.append(ctx)
        return SUCCESS

    await load(engine, {"a": keep}).run("")
    with pytest.raises(EngineError, match=r"emit\(\) after the visit was over"):
        await kept[0].emit(SUCCESS, Message())
    with pytest.raises(EngineError, match="only while it runs"):
        await kept[0].run_chain("c", Message())


async def test_emit_of_a_plain_node_is_an_error(engine):
    def plain(ctx, msg):
        coroutine = ctx.emit(SUCCESS, msg)
        with pytest.raises(EngineError, match="after the visit was over"):
            coroutine.send(None)
        return SUCCESS

    assert (await load(engine, {"a": plain}).run("")).ok


@pytest.mark.parametrize("emission", [(3, Message()), ("A", "text"), (None, None)])
async def test_emitting_something_else_is_a_failure(engine, emission):
    async def emitter(ctx, msg):
        await ctx.emit(*emission)

    outcome = await load(engine, {"a": emitter}).run("")
    assert "a relation and a message are asked for" in outcome.message.metadata["errorMsg"]


async def test_several_emissions_at_once(engine):
    async def turn(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    async def emitter(ctx, msg):
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(ctx.emit("Item", msg))

    outcome = await load(engine, {"e": emitter, "a": turn, "b": turn}, ["e Item a", "e Item b"]).run("")
    assert sorted(ways(outcome)) == ["a Success"] * 3 + ["b Success"] * 3


async def test_emitted_failure_fails_the_run(engine):
    async def emitter(ctx, msg):
        await ctx.emit(FAILURE, msg)
        return SUCCESS

    outcome = await load(engine, {"e": emitter}).run("")
    assert (outcome.status, ways(outcome)) == ("failed", ["e Failure", "e Success"])


def test_emission_needs_no_loop(engine):
    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        return SUCCESS

    outcome = load(
        engine, {"e": flow(emitter), "a": flow(emitter), "z": END}, ["e Item a", "a Item z", "e z"]
    ).run_sync("")
    assert [way for way in ways(outcome) if way[0] == "z"] == ["z Item", "z Success"]
    assert not engine.loops._idle


async def test_emission_onto_a_cycle_and_into_sub_runs(engine):
    load(engine, {"x": None, "y": None}, ["x y"], id="sub")

    async def caller(ctx, msg):
        await ctx.run_chain("sub", msg, each=lambda end: ctx.emit(end.relation, end.message.put("from", end.node_id)))

    outcome = await load(engine, {"c": caller, "d": None}, ["c d"]).run("")
    assert (ways(outcome), outcome.message.metadata["from"]) == (["d Success"], "y")
