"""Live debugging: what nodes got and gave, in order, and only of those in debug mode."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import END, join, load
from tests.engine.runtime.stepping import STEPPING

from catenary import SUCCESS

NODES = {"a": None, "b": None, "e": END}
EDGES = ["a b", "b e"]


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


def flows(told):
    return [f"{flow} {node}" for _, flow, node, *_ in told]


async def test_in_comes_before_out_and_all_before_the_run_is_over(engine):
    told = []

    async def slow(*event):
        await asyncio.sleep(0)
        told.append(event)

    await load(engine, NODES, EDGES).run("x", debug=True, on_debug=slow)
    assert flows(told) == ["IN a", "OUT a", "IN b", "OUT b", "IN e"]
    chain_id, _, _, message, relation, error = told[2]
    assert (chain_id, message.text, str(relation), error) == ("c", "x", "Success", None)


@pytest.mark.parametrize(
    ("chain_flag", "node_flag", "override", "expected"),
    [
        (False, False, None, []),
        (False, True, None, ["IN b", "OUT b"]),
        (True, False, None, ["IN a", "OUT a", "IN b", "OUT b", "IN e"]),
        (False, False, True, ["IN a", "OUT a", "IN b", "OUT b", "IN e"]),
        (True, True, False, []),
    ],
)
async def test_flags_and_the_override_decide_both_ways(engine, chain_flag, node_flag, override, expected):
    from tests.engine.runtime.kit import definition

    told = []
    written = definition(NODES, EDGES, keys={"b": {"debugMode": node_flag}})
    written["ruleChain"]["debugMode"] = chain_flag
    await engine.load(written).run("x", debug=override, on_debug=lambda *event: told.append(event))
    assert flows(told) == expected


async def test_debug_mode_holds_in_sub_runs_too(engine):
    async def outer(ctx, msg):
        await ctx.run_node("b", msg)
        await ctx.run_chain("inner", msg)
        return SUCCESS

    load(engine, {"i": None}, id="inner")
    told = []
    await load(engine, {"a": outer, "b": None}).run("x", debug=True, on_debug=lambda *event: told.append(event))
    assert flows(told) == ["IN a", "IN b", "OUT b", "IN i", "OUT i", "OUT a"]
    assert told[3][0] == "inner"


async def test_what_a_node_reports_is_a_log_item(engine):
    def node(ctx, msg):
        ctx.notify("reading", value=3)
        return SUCCESS

    told = []
    await load(engine, {"a": node}).run("x", debug=True, on_debug=lambda *event: told.append(event))
    assert flows(told) == ["IN a", "Log a", "OUT a"]
    assert (told[1][3].value, told[1][4]) == ({"value": 3}, "reading")


async def test_a_failure_is_told_with_its_error(engine):
    told = []
    chain = load(engine, {"a": lambda ctx, msg: 1 / 0})
    await chain.run("x", debug=True, on_debug=lambda *event: told.append(event))
    assert (str(told[1][4]), repr(told[1][5])) == ("Failure", "ZeroDivisionError('division by zero')")


async def test_a_callback_that_raises_is_logged_and_the_others_are_called(engine, caplog):
    told = []

    def bad(*event):
        raise ValueError("bad")

    engine.hooks.on_debug.append(bad)
    outcome = await load(engine, {"a": None}).run("x", debug=True, on_debug=lambda *event: told.append(event))
    assert outcome.ok
    assert flows(told) == ["IN a", "OUT a"]
    assert "a debug callback raised" in caplog.text


async def test_nobody_who_debugs_makes_no_observed_compilation(engine):
    chain = load(engine, {"a": None})
    await chain.run("x", debug=True)
    await chain.run("x", debug=False, on_debug=print)
    assert chain._observed is None


def test_async_callbacks_of_a_run_without_a_loop_are_awaited(engine):
    told = []

    async def late(*event):
        told.append(event)

    assert load(engine, {"a": None}).run_sync("x", debug=True, on_debug=late).ok
    assert flows(told) == ["IN a", "OUT a"]


async def test_each_exit_of_a_node_is_told_as_a_visit(engine):
    async def node(ctx, msg):
        ctx.notify("one")
        await ctx.emit("Stream", msg.with_data("s"))
        return [SUCCESS, ("Other", msg)]

    told = []
    nodes = {"a": node, "s": None, "n": lambda ctx, msg: None}
    await load(engine, nodes, ["a Stream s", "a n"]).run("x", on_node_completed=told.append)
    assert [(visit.node_id, [relation for relation, _ in visit.sent]) for visit in told] == [
        ("a", ["Stream"]),
        ("s", ["Success"]),
        ("a", ["Success"]),
        ("a", ["Other"]),
        ("n", []),
    ]
    assert told[0].items == [("one", {})]


async def test_callbacks_of_exits_may_be_async_and_may_raise(engine, caplog):
    told = []

    async def late(visit):
        told.append(visit.node_id)
        raise ValueError("late")

    def bad(visit):
        raise ValueError("bad")

    chain = load(engine, {"a": None, "b": lambda ctx, msg: 1 / 0}, ["a b"])
    await chain.run("x", on_node_completed=late)
    assert told == ["a", "b"]
    assert caplog.text.count("a callback of a run raised") == 2
    assert not (await chain.run("x", on_node_completed=bad)).ok
    assert caplog.text.count("a callback of a run raised") == 4


async def test_a_callback_of_an_exit_that_waits_for_something_cancelled_does_not_cancel_the_run(engine, caplog):
    told = []

    async def cancelled(visit):
        told.append(visit.node_id)
        waiting = asyncio.ensure_future(asyncio.Event().wait())
        waiting.cancel()
        await waiting

    chain = load(engine, {"a": None, "b": None}, ["a b"])
    assert (await chain.run("x", on_node_completed=cancelled)).ok
    assert told == ["a", "b"]
    assert caplog.text.count("a callback of a run was cancelled") == 2


def test_an_event_loop_that_ends_ends_the_callbacks_of_exits(engine, caplog):
    chain = load(engine, {"a": None})

    async def main():
        began = asyncio.Event()

        async def forever(visit):
            began.set()
            await asyncio.Event().wait()

        running = asyncio.ensure_future(chain.run("x", on_node_completed=forever))
        await began.wait()
        return running

    assert asyncio.run(main()).cancelled()
    assert caplog.text == ""


async def test_a_visit_that_is_cut_off_is_told_with_the_reason(engine):
    async def slow(ctx, msg):
        await asyncio.sleep(30)

    told, exits = [], []
    chain = load(engine, {"a": slow})
    await chain.run(
        "x", timeout=10, debug=True, on_debug=lambda *event: told.append(event), on_node_completed=exits.append
    )
    reason = "processing cancelled: context deadline exceeded"
    assert [(event[1], event[4], event[5]) for event in told] == [("IN", "", None), ("OUT", "", reason)]
    assert [(visit.sent, visit.error) for visit in exits] == [([], reason)]


async def test_joins_are_debugged_too(engine):
    told = []
    chain = load(engine, {"a": None, "j": join(lambda ctx, arrivals: 1 / 0)}, ["a j"])
    await chain.run("x", debug=True, on_debug=lambda *event: told.append(event))
    assert flows(told) == ["IN a", "OUT a", "IN j", "OUT j"]


def test_callbacks_from_before_there_was_a_loop_are_awaited_in_it(engine):
    from tests.engine.runtime.kit import definition

    told = []

    async def late(*event):
        told.append(event)

    async def wait(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    written = definition({"a": None, "b": wait}, ["a b"], keys={"a": {"debugMode": True}})
    assert engine.load(written).run_sync("x", on_debug=late).ok
    assert flows(told) == ["IN a", "OUT a"]
