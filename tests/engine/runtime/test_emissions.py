"""What `run` may return besides relations: a way with another one behind it, an end right here, the node again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from tests.engine.runtime.kit import END, Kind, Repeating, load, ways
from tests.engine.runtime.stepping import STEPPING

from catenary import DEFAULT, FAILURE, SUCCESS, Again, EndHere, Message, OrElse, register

WORD = Message("x", "", "TEXT")


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


def noting(seen):
    def run(ctx, msg):
        seen.append((ctx.node_id, str(ctx.relation)))
        return SUCCESS

    return run


# Or else


@pytest.mark.parametrize(
    ("edges", "seen", "end"),
    [
        (["a Hot h", "a Default d"], [("h", "Hot")], "h Success"),
        (["a Default d"], [("d", "Default")], "d Success"),
        ([], [], "a Hot"),
    ],
)
@pytest.mark.parametrize("emission", [OrElse("Hot", DEFAULT), (OrElse("Hot", DEFAULT), WORD), [OrElse("Hot", DEFAULT)]])
def test_or_else_takes_the_default_where_the_relation_is_not_connected(engine, edges, seen, end, emission):
    visited = []
    nodes = {"a": lambda ctx, msg: emission, "h": noting(visited), "d": noting(visited)}
    outcome = load(engine, nodes, edges).run_sync(WORD)
    assert (visited, ways(outcome)) == (seen, [end])


async def test_or_else_on_the_way(engine):
    visited = []

    async def emitter(ctx, msg):
        await ctx.emit(OrElse("Hot", "Default"), msg)
        return SUCCESS

    outcome = await load(engine, {"a": emitter, "d": noting(visited)}, ["a Default d"]).run(WORD)
    assert (visited, ways(outcome)) == ([("d", "Default")], ["d Success", "a Success"])


# The end right here


@pytest.mark.parametrize("emission", [EndHere("Stop"), (EndHere("Stop"), WORD), [EndHere("Stop")]])
def test_branch_ends_right_here_whatever_is_connected(engine, emission):
    visited = []
    nodes = {"a": lambda ctx, msg: emission, "b": noting(visited), "e": END}
    outcome = load(engine, nodes, ["a Stop b", "b e"]).run_sync(WORD)
    assert (visited, ways(outcome)) == ([], ["a Stop"])
    assert not outcome.ends[0].gated, "it is an answer, also where there are end nodes"
    assert outcome.ends[0].relation == "Stop"


def test_end_by_failure_carries_its_error(engine):
    outcome = load(engine, {"a": lambda ctx, msg: EndHere("Failure", "no stock"), "b": None}, ["a Failure b"]).run_sync(
        WORD
    )
    assert (outcome.status, ways(outcome)) == ("failed", ["a Failure"])
    assert outcome.message.metadata["errorMsg"] == "no stock"
    assert str(outcome.error.cause) == "no stock"


def test_ends_right_here_beside_other_ways(engine):
    nodes = {"a": lambda ctx, msg: [SUCCESS, EndHere("Stop")], "b": None}
    assert sorted(ways(load(engine, nodes, ["a b"]).run_sync(WORD))) == ["a Stop", "b Success"]


def test_end_right_here_equals_no_name():
    end = EndHere("Stop")
    assert end != "Stop"
    assert (end == end, end in {"Stop": 1}, str(end)) == (True, False, "Stop")


# Several ways


def test_relation_that_is_named_twice_is_taken_twice(engine):
    visited = []
    nodes = {"a": lambda ctx, msg: ["A", "A", "B"], "x": noting(visited)}
    outcome = load(engine, nodes, ["a A x"]).run_sync(WORD)
    assert visited == [("x", "A"), ("x", "A")]
    assert sorted(ways(outcome)) == ["a B", "x Success", "x Success"]


# Again


@dataclass
class Polling:
    """Asks for another call until it was called often enough."""

    times: int
    delay_s: float = 0.0
    calls: int = 0

    def __call__(self, ctx, msg):
        self.calls += 1
        if self.calls < self.times:
            return Again(msg.with_data(f"{msg.text}{self.calls}", "TEXT"), delay_s=self.delay_s)
        return SUCCESS


@pytest.mark.parametrize("kind", ["t/again", "t/againBlocking"])
def test_node_runs_again_in_the_same_visit(engine, kind):
    events = []
    chain = load(engine, {"a": Kind(kind, Polling(4)), "b": None}, ["a b"])
    outcome = chain.run_sync(WORD, listener=events.append)
    assert outcome.message.text == "x123"
    assert [event.node_id for event in events if event.name == "node.start"] == ["a", "b"]


async def test_async_node_runs_again(engine):
    polling = Polling(3)

    async def wait(ctx, msg):
        await asyncio.sleep(0)
        return polling(ctx, msg)

    assert (await load(engine, {"a": Kind("t/againAsync", wait)}).run(WORD)).message.text == "x12"


def test_node_that_asks_again_without_a_message_gets_the_same_one(engine):
    got = []

    def run(ctx, msg):
        got.append(msg)
        return SUCCESS if len(got) == 4 else Again(msg.with_data("y", "TEXT") if len(got) == 2 else None)

    outcome = load(engine, {"a": Kind("t/again", run)}).run_sync(WORD)
    assert [msg.text for msg in got] == ["x", "x", "y", "y"]
    assert got[1] is got[0]
    assert got[3] is got[2]
    assert outcome.message.text == "y", "a bare relation sends on what the last call got"


@register("t/againJoin", category="test")
class RepeatingJoin(Repeating):
    """Calls a plain function with all arrivals, which may ask to be called again."""

    collects = True


@pytest.mark.parametrize("message", [None, Message("y", "", "TEXT")])
def test_join_that_asks_again_gets_its_list_again(engine, message):
    got = []

    def run(ctx, arrivals):
        got.append([arrival.message.text for arrival in arrivals])
        return Again(message) if len(got) < 3 else SUCCESS

    outcome = load(engine, {"s": None, "a": None, "j": Kind("t/againJoin", run)}, ["s a", "s j", "a j"]).run_sync(WORD)
    assert got == [["x", "x"]] * 3
    assert [(end.node_id, end.message.text) for end in outcome.ends] == [("j", "x")]


def test_node_that_never_asks_again_needs_no_loop(engine):
    load(engine, {"a": Kind("t/again", Polling(1))}).run_sync(WORD)
    assert not engine.loops.are_kept


def test_thousands_of_calls_do_not_go_deep(engine):
    polling = Polling(5000)
    chain = load(engine, {"a": Kind("t/again", lambda ctx, msg: polling(ctx, WORD))})
    assert (chain.run_sync(WORD).ok, polling.calls) == (True, 5000)


async def test_waiting_to_run_again_can_be_cancelled(engine):
    outcome = await load(engine, {"a": Kind("t/again", Polling(2, delay_s=60))}).run(WORD, timeout=30)
    assert ways(outcome) == ["a Failure"]


async def test_timeout_of_the_node_counts_for_all_calls(engine):
    nodes = {"a": Kind("t/again", Polling(100, delay_s=10)), "f": None}
    outcome = await load(engine, nodes, ["a Failure f"], keys={"a": {"timeout": 35}}).run(WORD)
    assert ways(outcome) == ["f Success"]
    assert "timeout" in outcome.message.metadata["errorMsg"]


async def test_joins_wait_for_a_node_that_runs_again(engine):
    from tests.engine.runtime.kit import join

    nodes = {"s": None, "a": Kind("t/again", Polling(3, delay_s=5)), "b": None, "j": join()}
    outcome = await load(engine, nodes, ["s a", "s b", "a j", "b j"]).run(WORD)
    assert outcome.message.text == "x+x12"


def test_again_of_a_component_that_does_not_declare_it_is_told(engine):
    outcome = load(engine, {"a": lambda ctx, msg: Again(), "f": None}, ["a Failure f"]).run_sync(WORD)
    assert "repeats = True" in outcome.message.metadata["errorMsg"]


# The order in which siblings start


@pytest.mark.parametrize("count", [2, 3, 7])
async def test_siblings_that_wait_start_in_the_order_written(engine, count):
    started = []

    async def note(ctx, msg):
        started.append(ctx.node_id)
        await asyncio.sleep(0)
        return FAILURE if ctx.node_id == "never" else SUCCESS

    names = [f"n{number}" for number in range(count)]
    nodes = {"s": None, **dict.fromkeys(names, note)}
    await load(engine, nodes, [f"s {name}" for name in names]).run(WORD)
    assert started == names
