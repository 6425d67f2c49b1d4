"""Aspects around runs: start, end and completed."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import END, Kind, load, ways
from tests.engine.runtime.stepping import STEPPING

from catenary import FAILURE, Aspect, Engine, fail
from catenary.aspects import when_over
from catenary.errors import EngineError


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


class Logging(Aspect):
    """Logs each join point of a run under a name."""

    def __init__(self, name, order, log):
        self.name, self.order, self.log = name, order, log

    def start(self, ctx, msg):
        self.log.append(f"start {self.name} {ctx.node_id}")

    def end(self, ctx, msg, relation, error):
        self.log.append(f"end {self.name} {ctx.node_id} {relation}")

    def completed(self, ctx, msg, outcome):
        self.log.append(f"completed {self.name} {msg.text} {outcome.status}")


class Marking(Aspect):
    """Marks the message at each join point of a run."""

    def start(self, ctx, msg):
        return msg.with_data(f"{msg.text}s", "TEXT")

    def end(self, ctx, msg, relation, error):
        return msg.with_data(f"{msg.text}e", "TEXT")

    def completed(self, ctx, msg, outcome):
        return msg.with_data(f"{msg.text}c", "TEXT")


class AwaitedMarking(Marking):
    """Marks the message after a wait."""

    async def start(self, ctx, msg):
        await asyncio.sleep(0)
        return super().start(ctx, msg)

    async def end(self, ctx, msg, relation, error):
        await asyncio.sleep(0)
        return super().end(ctx, msg, relation, error)

    async def completed(self, ctx, msg, outcome):
        await asyncio.sleep(0)
        return super().completed(ctx, msg, outcome)


def test_join_points_come_in_order_and_each_in_ascending_order():
    log = []
    engine = Engine(aspects=[Logging("b", 2, log), Logging("a", 1, log)])
    load(engine, {"x": None, "y": None}, ["x y"]).run_sync("m")
    assert log == [
        *("start a x", "start b x"),
        *("end a y Success", "end b y Success"),
        *("completed a m completed", "completed b m completed"),
    ]


@pytest.mark.parametrize("aspect", [Marking(), AwaitedMarking()], ids=["def", "async def"])
@pytest.mark.parametrize("kind", ["t/def", "t/async"])
async def test_the_messages_they_return_are_the_ones_that_count(aspect, kind):
    got, told = [], []

    def look(ctx, msg):
        got.append(msg.text)
        return "Success"

    chain = load(Engine(aspects=[aspect]), {"x": Kind(kind, look)})
    outcome = await chain.run("m", on_end=lambda info, msg, error, relation: told.append(msg.text))
    assert got == ["ms"]
    assert told == ["mse"]
    assert [end.message.text for end in outcome.ends] == ["mse"]
    assert outcome.message.text == "msec"


@pytest.mark.parametrize("aspect", [Marking(), AwaitedMarking()], ids=["def", "async def"])
def test_they_work_where_no_event_loop_runs(aspect):
    with Engine(aspects=[aspect]) as engine:
        assert load(engine, {"x": None}).run_sync("m").message.text == "msec"


async def test_the_branch_ended_event_shows_what_end_made_of_it():
    events = []
    await load(Engine(aspects=[Marking()]), {"x": None}).run("m", listener=events.append)
    assert [event.message.text for event in events if event.type == "branch.end"] == ["mse"]


@pytest.mark.parametrize("wait", [False, True])
async def test_an_error_of_start_ends_the_run_before_it_begins(wait):
    log, told = [], []

    class Refusing(Aspect):
        order = 50

        def start(self, ctx, msg):
            raise ValueError("not today")

    class AwaitedRefusing(Refusing):
        async def start(self, ctx, msg):
            await asyncio.sleep(0)
            super().start(ctx, msg)

    refusing = AwaitedRefusing() if wait else Refusing()
    engine = Engine(aspects=[Logging("a", 1, log), refusing, Logging("z", 99, log)])
    chain = load(engine, {"x": lambda ctx, msg: log.append("node")})
    outcome = await chain.run(
        "m",
        on_end=lambda info, msg, error, relation: told.append((relation, str(error))),
        on_all_completed=lambda: told.append("all"),
    )
    assert log == ["start a x"]
    assert (outcome.status, str(outcome.error)) == ("failed", "not today")
    assert outcome.ends[0].message.metadata["errorMsg"] == "not today"
    assert told == [(FAILURE, "not today"), "all"]


def test_a_chain_without_nodes_and_an_unknown_start_do_not_reach_start():
    log = []
    engine = Engine(aspects=[Logging("a", 1, log)])
    empty = engine.load({"ruleChain": {"id": "e"}, "metadata": {"nodes": []}})
    assert not empty.run_sync("m").ok
    assert not load(engine, {"x": None}).run_sync("m", start="y").ok
    assert log == []


def test_the_context_of_start_is_that_of_the_node_the_run_begins_at():
    log = []
    load(Engine(aspects=[Logging("a", 1, log)]), {"x": None, "y": None}, ["x y"]).run_sync("m", start="y")
    assert log[0] == "start a y"


def test_end_sees_each_branch_at_its_own_node():
    log = []
    nodes = {"s": None, "x": None, "y": lambda ctx, msg: fail("bad", msg)}
    load(Engine(aspects=[Logging("a", 1, log)]), nodes, ["s x", "s y"]).run_sync("m")
    assert log[1:3] == ["end a x Success", "end a y Failure"]


def test_ends_that_are_gated_are_left_out_and_failures_are_not():
    log = []
    nodes = {"s": None, "x": None, "y": lambda ctx, msg: fail("bad", msg), "e": END}
    outcome = load(Engine(aspects=[Logging("a", 1, log)]), nodes, ["s x", "s y", "s e"]).run_sync("m")
    assert ways(outcome) == ["x Success", "y Failure", "e Success"]
    assert [entry for entry in log if entry.startswith("end")] == ["end a y Failure", "end a e Success"]


def test_an_error_of_end_makes_the_branch_fail():
    class Strict(Aspect):
        def end(self, ctx, msg, relation, error):
            raise ValueError("not like this")

    outcome = load(Engine(aspects=[Strict()]), {"x": None}).run_sync("m")
    assert ways(outcome) == ["x Failure"]
    assert outcome.message.metadata["errorMsg"] == "not like this"


def test_an_error_of_completed_is_logged_and_changes_nothing(caplog):
    class Clumsy(Marking):
        def completed(self, ctx, msg, outcome):
            raise ValueError("oh")

    outcome = load(Engine(aspects=[Clumsy()]), {"x": None}).run_sync("m")
    assert (outcome.ok, outcome.message.text) == (True, "mse")
    assert "completed of an aspect raised" in caplog.text


def test_completed_gets_the_final_message_and_the_outcome():
    seen = []

    class Looking(Aspect):
        def completed(self, ctx, msg, outcome):
            seen.append((msg.text, [end.node_id for end in outcome.ends]))

    load(Engine(aspects=[Looking()]), {"x": lambda ctx, msg: ("Success", msg.with_data("final"))}).run_sync("m")
    assert seen == [("final", ["x"])]


async def test_completed_sees_branches_that_were_cut_off():
    log = []

    async def slow(ctx, msg):
        await asyncio.sleep(600)

    outcome = await load(Engine(aspects=[Logging("a", 1, log)]), {"x": slow}).run("m", timeout=60)
    assert outcome.status == "cancelled"
    assert log == ["start a x", "end a x Failure", "completed a m cancelled"]


async def test_a_run_that_is_stopped_while_start_waits_keeps_its_message():
    class Waiting(Aspect):
        async def start(self, ctx, msg):
            await asyncio.sleep(600)

    outcome = await load(Engine(aspects=[Waiting()]), {"x": None}).run("m", timeout=60)
    assert outcome.status == "cancelled"
    assert [end.message.text for end in outcome.ends] == ["m"]


async def test_sub_runs_of_chains_have_their_own_start_end_and_completed():
    log = []
    engine = Engine(aspects=[Logging("a", 1, log), Marking()])

    async def calling(ctx, msg):
        ends = await ctx.run_chain("inner", msg)
        return "Success", ends[0].message

    load(engine, {"i": None}, id="inner")
    outcome = await load(engine, {"x": calling}).run("m")
    assert log == [
        *("start a x", "start a i", "end a i Success", "completed a msse completed"),
        *("end a x Success", "completed a mssece completed"),
    ]
    assert outcome.message.text == "mssecec"


async def test_a_sub_run_that_start_refuses_ends_as_failure():
    class Refusing(Aspect):
        chains = ("inner",)

        def start(self, ctx, msg):
            raise ValueError("not today")

    async def calling(ctx, msg):
        ends = await ctx.run_chain("inner", msg)
        return [(end.relation, end.message) for end in ends]

    engine = Engine(aspects=[Refusing()])
    load(engine, {"i": None}, id="inner")
    outcome = await load(engine, {"x": calling}).run("m")
    assert outcome.message.metadata["errorMsg"] == "not today"


@pytest.mark.parametrize("written", [{"nodes": {}}, {"nodes": {"i": None}, "start": "z"}], ids=["no nodes", "no start"])
async def test_aspects_see_nothing_of_a_sub_run_that_cannot_begin(written):
    log, found = [], []
    inner, start = written["nodes"], written.get("start")

    async def calling(ctx, msg):
        try:
            found.extend(await ctx.run_chain("inner", msg, start=start))
        except EngineError as error:
            found.append(error)
        return "Success"

    engine = Engine(aspects=[Logging("a", 1, log)])
    load(engine, inner, id="inner")
    await load(engine, {"x": calling}).run("m")
    (end,) = found
    if inner:
        assert str(end) == "SetExecuteNodes node id=z not found"
    else:
        assert (end.relation, end.message.text, str(end.error)) == ("Failure", "m", "the rule chain has no nodes")
    assert log == ["start a x", "end a x Success", "completed a m completed"], "of the run around it only"


async def test_a_node_that_is_run_by_a_node_is_no_run_of_its_own():
    log = []

    async def calling(ctx, msg):
        await ctx.run_node("y", msg)
        return "Success"

    engine = Engine(aspects=[Logging("a", 1, log)])
    await load(engine, {"x": calling, "y": None}, ["x Never y"]).run("m")
    assert log == ["start a x", "end a x Success", "completed a m completed"]


def test_a_point_cut_holds_for_runs_too():
    log = []

    class Picky(Logging):
        def point_cut(self, ctx, msg, relation):
            return msg.text == "yes"

    chain = load(Engine(aspects=[Picky("p", 1, log)]), {"x": None})
    chain.run_sync("no")
    assert log == []
    chain.run_sync("yes")
    assert [entry.split()[0] for entry in log] == ["start", "end", "completed"]


def test_end_looks_at_the_nodes_that_the_cuts_let_in():
    log = []
    aspect = Logging("a", 1, log)
    aspect.nodes = ["x"]
    load(Engine(aspects=[aspect]), {"s": None, "x": None, "y": None}, ["s x", "s y"]).run_sync("m")
    assert [entry for entry in log if entry.startswith("end")] == ["end a x Success"]


@pytest.mark.parametrize("later", ["refuses", "runs", "fails"])
async def test_what_start_took_is_given_back_however_the_run_ends(later):
    taken = []

    class Taking(Aspect):
        order = 1

        def start(self, ctx, msg):
            taken.append("taken")
            when_over(ctx, lambda: taken.append("given back"))

    class Refusing(Aspect):
        def start(self, ctx, msg):
            if later == "refuses":
                raise ValueError("no")

    def node(ctx, msg):
        return fail("bad", msg) if later == "fails" else "Success"

    await load(Engine(aspects=[Taking(), Refusing()]), {"x": node}).run("m")
    assert taken == ["taken", "given back"]


async def test_what_start_took_is_given_back_when_the_caller_is_cancelled():
    taken = []

    class Taking(Aspect):
        def start(self, ctx, msg):
            when_over(ctx, lambda: taken.append("given back"))

    async def slow(ctx, msg):
        await asyncio.sleep(600)

    task = asyncio.create_task(load(Engine(aspects=[Taking()]), {"x": slow}).run("m"))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert taken == ["given back"]


def test_when_over_is_for_start():
    outcome = load(Engine(), {"x": lambda ctx, msg: when_over(ctx, print)}).run_sync("m")
    assert "when_over() is for the start of an aspect" in str(outcome.error)
    assert isinstance(outcome.ends[0].error, EngineError)


def test_runs_of_chains_that_no_aspect_looks_at_know_nothing_of_aspects():
    class Elsewhere(Marking):
        chains = ("other",)

    chain = load(Engine(aspects=[Elsewhere()]), {"x": None})
    assert chain.run_aspects is None
    assert chain.run_sync("m").message.text == "m"
