"""Joins: when they fire, in which order, and with what."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import END, Kind, flow, join, line, load, ways

from catenary import FAILURE, SUCCESS, Message, NodeFailure, fail


def noting(seen, name):
    """Give a join that notes who sent what, and ends the branch."""

    def run(ctx, arrivals):
        seen.append((name, sorted(arrival.sender for arrival in arrivals)))

    return join(run)


def test_all_that_arrived_goes_in_as_one_list(engine):
    seen = []

    def run(ctx, arrivals):
        seen.extend((one.message.text, one.sender, one.error, one.relation) for one in arrivals)

    def split(ctx, msg):
        return [(SUCCESS, msg.with_data("x", "TEXT")), ("A", msg.with_data("y", "TEXT"))]

    load(engine, {"a": split, "j": join(run)}, ["a j", "a A j"]).run_sync("")
    assert seen == [("x", "a", None, "Success"), ("y", "a", None, "A")]


def test_error_of_an_arrival_is_that_of_its_last_hop_only(engine):
    seen = {}

    def run(ctx, arrivals):
        seen.update({one.sender: one.error and str(one.error) for one in arrivals})

    def bad(ctx, msg):
        raise ValueError("broken")

    edges = ["s x", "s y", "x Failure j", "y Failure z", "z j"]
    load(engine, {"s": None, "x": bad, "y": bad, "z": None, "j": join(run)}, edges).run_sync("")
    assert seen == {"x": "broken", "z": None}


def test_nothing_arrived_then_the_join_does_not_run(engine):
    seen = []
    load(engine, {"a": lambda ctx, msg: "A", "j": noting(seen, "j")}, ["a j"]).run_sync("")
    assert seen == []


@pytest.mark.parametrize("early", [lambda ctx, msg: None, lambda ctx, msg: "Other", lambda ctx, msg: 1 / 0])
def test_branch_that_ends_early_does_not_hold_up(engine, early):
    seen = []
    edges = ["s x", "s y", "x j", "y j"]
    load(engine, {"s": None, "x": None, "y": early, "j": noting(seen, "j")}, edges).run_sync("")
    assert seen == [("j", ["x"])]


async def test_outer_join_waits_for_what_the_inner_one_sends_on(engine):
    seen = []

    async def slow(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    nodes = {"s": None, "t": slow, "x": slow, "y": None, "i": join(), "p": None, "o": noting(seen, "o")}
    chain = load(engine, nodes, ["s t", "s p", "t x", "t y", "x i", "y i", "i o", "p o"])
    await chain.run("")
    assert seen == [("o", ["i", "p"])]


def test_join_in_a_loop_fires_once_a_round(engine):
    seen = []

    def again(ctx, msg):
        seen.append(msg.text)
        return (SUCCESS, msg.with_data("r", "TEXT")) if len(seen) < 4 else None

    nodes = {"s": None, "x": None, "y": None, "j": join(), "k": again}
    load(engine, nodes, ["s x", "s y", "x j", "y j", "j k", "k s"], allowCycle=True).run_sync(Message("0", "", "TEXT"))
    assert seen == ["0+0", "r+r", "r+r", "r+r"]


def test_joins_on_a_cycle_are_ordered_by_connections_as_written(engine):
    # The walk meets q before j, for that connection stands first, whatever its relation: so q goes first.
    seen = []

    def to_both(ctx, msg):
        return ["A", "B"]

    def on(ctx, arrivals):
        seen.append((ctx.node_id, sorted(one.sender for one in arrivals)))
        return SUCCESS if ctx.node_id == "q" else None

    nodes = {"a": to_both, "p": lambda ctx, msg: None, "j": join(on), "q": join(on)}
    load(engine, nodes, ["a A p", "a B q", "a A j", "j q", "q j"], allowCycle=True).run_sync("")
    assert seen == [("q", ["a"]), ("j", ["a", "q"])]


def test_joins_that_only_a_cycle_relates_fire_together(engine):
    seen = []

    def note(ctx, arrivals):
        seen.append((ctx.node_id, sorted(one.sender for one in arrivals)))
        return SUCCESS if len(seen) < 3 else None

    nodes = {"s": None, "j": join(note), "k": join(note), "b": None}
    load(engine, nodes, ["s j", "s k", "j b", "k b", "b s"], allowCycle=True).run_sync("")
    assert sorted(seen[:2]) == [("j", ["s"]), ("k", ["s"])]


def test_join_that_raises_goes_on_with_the_first_message(engine):
    def bad(ctx, arrivals):
        raise ValueError("no")

    outcome = load(engine, {"a": None, "j": join(bad), "e": None}, ["a j", "j Failure e"]).run_sync("payload")
    assert ways(outcome) == ["e Success"]
    assert outcome.message.text == "payload"
    assert outcome.message.metadata["errorMsg"] == "no"


def test_join_that_raises_a_node_failure_goes_on_with_its_message(engine):
    def bad(ctx, arrivals):
        raise NodeFailure("no", Message("other"))

    outcome = load(engine, {"a": None, "j": join(bad)}, ["a j"]).run_sync("payload")
    assert (ways(outcome), outcome.message.text) == (["j Failure"], "other")


@pytest.mark.parametrize(
    "emission",
    [3, (), ("Success",), ("Success", 3), (3, Message("")), [("Success", 3)], [3], {}, object(), b"Success", Message()],
)
def test_malformed_emission_of_a_join_is_its_failure(engine, emission):
    outcome = load(engine, {"a": None, "j": join(lambda ctx, msg: emission)}, ["a j"]).run_sync("payload")
    assert ways(outcome) == ["j Failure"]
    assert "which is no emission" in outcome.message.metadata["errorMsg"]
    assert outcome.message.text == "payload"


def test_bare_relations_of_a_join_carry_the_first_message(engine):
    outcome = load(engine, {"a": None, "j": join(lambda ctx, msg: ["A", "B"])}, ["a j"]).run_sync("payload")
    assert [(end.relation, end.message.text) for end in outcome.ends] == [("A", "payload"), ("B", "payload")]


def test_join_may_end_the_branch(engine):
    assert load(engine, {"a": None, "j": join(lambda ctx, msg: [])}, ["a j"]).run_sync("").ok


async def test_join_may_be_awaited(engine):
    async def run(ctx, arrivals):
        await asyncio.sleep(0)
        return SUCCESS

    outcome = await load(engine, {"a": None, "b": None, "j": join(run)}, ["a j", "a b", "b j"]).run("x")
    assert ways(outcome) == ["j Success"]


async def test_what_is_emitted_into_a_join_is_gathered(engine):
    seen = []

    async def emitter(ctx, msg):
        for text in "abc":
            await ctx.emit("Item", msg.with_data(text, "TEXT"))
            seen.append(text)
        return

    def run(ctx, arrivals):
        seen.append([one.message.text for one in arrivals])

    await load(engine, {"a": emitter, "j": join(run)}, ["a Item j"]).run("")
    assert seen == ["a", "b", "c", ["a", "b", "c"]]


async def test_join_waits_for_an_emitter_upstream_that_goes_on(engine):
    seen = []

    async def emitter(ctx, msg):
        await ctx.emit("Item", msg)
        await asyncio.sleep(0)
        return "Item"

    nodes = {"a": emitter, "b": None, "j": noting(seen, "j")}
    await load(engine, nodes, ["a Item b", "b j"]).run("")
    assert seen == [("j", ["b", "b"])]


def test_the_same_connection_twice_arrives_twice(engine):
    seen = []
    load(engine, {"a": None, "j": noting(seen, "j")}, ["a j", "a j"]).run_sync("")
    assert seen == [("j", ["a", "a"])]


async def test_join_of_a_thousand_branches(engine):
    async def wait(ctx, msg):
        await asyncio.sleep(0)
        return SUCCESS

    names = [f"n{number}" for number in range(1000)]
    sizes = []
    nodes = {"s": None, **dict.fromkeys(names), "j": join(lambda ctx, arrivals: sizes.append(len(arrivals)))}
    nodes.update(dict.fromkeys(names[::2], wait))
    chain = load(engine, nodes, [f"s {name}" for name in names] + [f"{name} j" for name in names])
    await chain.run("")
    assert sizes == [1000]


def test_starting_at_a_join_and_before_it_arrives_at_both(engine):
    seen = []

    def note(ctx, arrivals):
        seen.extend(sorted((one.sender, str(one.relation)) for one in arrivals))

    load(engine, {"a": None, "j": join(note)}, ["a j"]).run_sync("", start=["a", "j"])
    assert seen == [("", ""), ("a", "Success")]


def test_starting_at_a_join_alone_fires_it(engine):
    outcome = load(engine, {"a": None, "j": join()}, ["a j"]).run_sync(Message("x", "", "TEXT"), start="j")
    assert (ways(outcome), outcome.message.text) == (["j Success"], "x")


async def test_sub_runs_have_joins_of_their_own(engine):
    seen = []
    load(engine, {"s": None, "x": None, "y": None, "j": noting(seen, "j")}, ["s x", "s y", "x j", "y j"], id="sub")

    async def twice(ctx, msg):
        await ctx.run_chain("sub", msg)
        await ctx.run_chain("sub", msg)

    await load(engine, {"a": twice}).run("")
    assert seen == [("j", ["x", "y"])] * 2


def test_joins_in_a_row_each_fire_once(engine):
    names = [f"j{number}" for number in range(50)]
    nodes = {"s": None, **{name: join() for name in names}}
    outcome = load(engine, nodes, line("s", *names) + [f"s {name}" for name in names[1:]]).run_sync(
        Message("m", "", "TEXT")
    )
    assert ways(outcome) == ["j49 Success"]
    assert outcome.message.text.count("m") == 50


def test_join_and_end_node(engine):
    outcome = load(engine, {"a": None, "j": join(), "e": END}, ["a j", "j e"]).run_sync("x")
    assert ways(outcome) == ["e Success"]


def test_arrival_may_come_by_a_failure_told_by_name(engine):
    seen = []

    def note(ctx, arrivals):
        seen.extend((str(one.relation), one.error) for one in arrivals)

    load(engine, {"a": lambda ctx, msg: FAILURE, "j": join(note)}, ["a Failure j"]).run_sync("")
    assert seen == [("Failure", None)]


def test_failure_returned_with_fail_carries_its_error(engine):
    seen = []

    def note(ctx, arrivals):
        seen.extend(str(one.error) for one in arrivals)

    load(engine, {"a": lambda ctx, msg: fail("told", msg), "j": join(note)}, ["a Failure j"]).run_sync("")
    assert seen == ["told"]


def test_flow_like_join_needs_no_loop(engine):
    async def run(ctx, arrivals):
        return SUCCESS, arrivals[0].message

    nodes = {"a": None, "b": flow(run), "j": Kind("t/flowJoin", run)}
    nodes["b"] = None
    assert load(engine, nodes, ["a b", "a j", "b j"]).run_sync("").ok
    assert not engine.loops._idle
