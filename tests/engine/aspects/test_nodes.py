"""Aspects around nodes: order, messages that go on, refusals, and every kind of node."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import Kind, blocking, flow, join, line, load, ways
from tests.engine.runtime.stepping import STEPPING

from catenary import FAILURE, SUCCESS, Aspect, Engine, Message, fail
from catenary.aspects import error_of
from catenary.errors import EngineError
from catenary.relation import NodeFailure
from catenary.testing import FakeClock


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


class Logging(Aspect):
    """Logs each join point of a node under a name."""

    def __init__(self, name, order, log):
        self.name, self.order, self.log = name, order, log

    def before(self, ctx, msg, relation):
        self.log.append(f"before {self.name}")

    def around(self, ctx, msg, proceed):
        self.log.append(f"in {self.name}")
        emission = proceed(msg)
        self.log.append(f"out {self.name}")
        return emission

    def after(self, ctx, msg, relation, error):
        self.log.append(f"after {self.name}")


def test_a_lower_order_is_outer_and_ties_go_by_registration():
    log = []
    engine = Engine(aspects=[Logging("b", 2, log), Logging("c", 2, log), Logging("a", 1, log)])
    load(engine, {"n": lambda ctx, msg: log.append("node") or SUCCESS}).run_sync("x")
    assert log == [
        *("before a", "before b", "before c"),
        *("in a", "in b", "in c", "node", "out c", "out b", "out a"),
        *("after a", "after b", "after c"),
    ]


def marked(msg, mark):
    return msg.with_data(msg.text + mark, "TEXT")


KINDS = {
    "def": lambda ctx, msg: SUCCESS,
    "awaited": Kind("t/async", lambda ctx, msg: SUCCESS),
    "blocking": blocking(lambda ctx, msg: SUCCESS),
    "flow": flow(lambda ctx, msg: SUCCESS),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["def", "async def"])
async def test_the_messages_that_aspects_return_are_the_ones_that_go_on(kind, way):
    engine = Engine()
    if way == "def":
        engine.before(lambda ctx, msg, relation: marked(msg, "b"))
        engine.around(lambda ctx, msg, proceed: proceed(marked(msg, "p")))
        engine.after(lambda ctx, msg, relation, error: marked(msg, "a"))
    else:

        @engine.before
        async def before(ctx, msg, relation):
            await asyncio.sleep(0)
            return marked(msg, "b")

        @engine.around
        async def around(ctx, msg, proceed):
            return await proceed(marked(msg, "p"))

        @engine.after
        async def after(ctx, msg, relation, error):
            await asyncio.sleep(0)
            return marked(msg, "a")

    chain = load(engine, {"n": KINDS[kind]})
    assert (await chain.run("")).message.text == "bpa"


@pytest.mark.parametrize("kind", KINDS)
async def test_what_returns_nothing_changes_nothing(kind):
    engine = Engine()
    engine.before(lambda ctx, msg, relation: None)
    engine.after(lambda ctx, msg, relation, error: None)
    outcome = await load(engine, {"n": KINDS[kind]}).run("x")
    assert (outcome.message.text, ways(outcome)) == ("x", ["n Success"])


def test_the_node_gets_what_the_last_before_gave():
    got = []
    engine = Engine()
    engine.before(lambda ctx, msg, relation: marked(msg, "1"))
    engine.before(lambda ctx, msg, relation: marked(msg, "2"))
    load(engine, {"n": lambda ctx, msg: got.append(msg.text) or SUCCESS}).run_sync("")
    assert got == ["12"]


def test_before_sees_the_relation_by_which_the_message_came():
    seen = []
    engine = Engine()
    engine.before(lambda ctx, msg, relation: seen.append((ctx.node_id, str(relation))))
    load(engine, {"a": lambda ctx, msg: "Odd", "b": None}, ["a Odd b"]).run_sync("x")
    assert seen == [("a", ""), ("b", "Odd")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Other", ["n Other"]),
        (SUCCESS, ["n Success"]),
        (None, ["n "]),
        (fail("no", Message("y")), ["n Failure"]),
        ([SUCCESS, "Second"], ["n Success", "n Second"]),
    ],
)
async def test_who_does_not_proceed_answers_for_the_node(kind, answer, expected):
    engine = Engine()
    engine.around(lambda ctx, msg, proceed: answer)
    assert ways(await load(engine, {"n": KINDS[kind]}).run("x")) == expected


def test_an_inner_around_is_not_called_when_an_outer_one_refuses():
    log = []
    engine = Engine()
    engine.around(order=1)(lambda ctx, msg, proceed: "Refused")
    engine.around(order=2)(lambda ctx, msg, proceed: log.append("inner") or proceed(msg))
    assert ways(load(engine, {"n": None}).run_sync("x")) == ["n Refused"]
    assert log == []


async def test_around_may_proceed_several_times_and_sees_what_comes_back():
    tries = []

    def flaky(ctx, msg):
        tries.append(1)
        return SUCCESS if len(tries) == 3 else (FAILURE, msg)

    engine = Engine()

    @engine.around
    def insist(ctx, msg, proceed):
        while error_of(emission := proceed(msg)) is not None:
            pass
        return emission

    assert load(engine, {"n": flaky}).run_sync("x").ok
    assert len(tries) == 3


def test_proceed_raises_what_the_node_raises():
    def broken(ctx, msg):
        raise KeyError("k")

    engine = Engine()

    @engine.around
    def rescue(ctx, msg, proceed):
        try:
            return proceed(msg)
        except KeyError:
            return "Rescued"

    assert ways(load(engine, {"n": broken}).run_sync("x")) == ["n Rescued"]


def test_what_an_aspect_raises_is_the_failure_of_the_node():
    engine = Engine()

    @engine.before
    def check(ctx, msg, relation):
        raise ValueError("not so")

    outcome = load(engine, {"n": None, "m": None}, ["n Failure m"]).run_sync("x")
    assert ways(outcome) == ["m Failure"]
    assert outcome.message.metadata["errorMsg"] == "not so"


@pytest.mark.parametrize("kind", KINDS)
async def test_what_after_raises_is_the_failure_of_that_message(kind):
    engine = Engine()

    @engine.after
    def check(ctx, msg, relation, error):
        raise ValueError("not so")

    outcome = await load(engine, {"n": KINDS[kind]}).run("x")
    assert ways(outcome) == ["n Failure"]
    assert outcome.message.metadata["errorMsg"] == "not so"


def test_what_is_no_message_is_a_failure_that_says_so():
    engine = Engine()
    engine.before(lambda ctx, msg, relation: "text")
    outcome = load(engine, {"n": None}).run_sync("x")
    assert "an aspect gave a str where a message is asked for" in str(outcome.error)


@pytest.mark.parametrize("kind", ["t/def", "t/async"])
async def test_after_sees_each_message_with_its_relation_and_error(kind):
    seen = []
    engine = Engine()

    @engine.after
    def look(ctx, msg, relation, error):
        seen.append((str(relation), msg.text, str(error)))
        return marked(msg, "!")

    def several(ctx, msg):
        return ["One", ("Two", msg.with_data("y", "TEXT")), fail("bad", msg)]

    outcome = await load(engine, {"n": Kind(kind, several)}).run("x")
    assert seen == [("One", "x", "None"), ("Two", "y", "None"), ("Failure", "x", "bad")]
    assert [end.message.text for end in outcome.ends] == ["x!", "y!", "x!"]
    assert isinstance(outcome.ends[2].error, NodeFailure)


@pytest.mark.parametrize("kind", ["t/def", "t/async"])
async def test_after_sees_the_failure_of_a_node_that_raises_on_behalf_of_that_node(kind):
    seen = []
    engine = Engine()
    engine.after(lambda ctx, msg, relation, error: seen.append((ctx.node_id, str(relation), repr(error))))

    def broken(ctx, msg):
        raise ValueError("x")

    await load(engine, {"a": None, "n": Kind(kind, broken)}, ["a n"]).run("x")
    assert seen == [("a", "Success", "None"), ("n", "Failure", "ValueError('x')")]


async def test_after_changes_what_is_sent_on_the_way():
    got = []

    async def emitting(ctx, msg):
        await ctx.emit("Stream", marked(msg, "1"))
        await ctx.emit("Stream", marked(msg, "2"))

    engine = Engine()
    engine.after(nodes=["n"])(lambda ctx, msg, relation, error: marked(msg, "!"))
    nodes = {"n": emitting, "m": lambda ctx, msg: got.append(msg.text)}
    outcome = await load(engine, nodes, ["n Stream m"]).run("")
    assert got == ["1!", "2!"]
    assert outcome.ok


async def test_what_after_raises_on_the_way_reaches_the_node_that_emits():
    async def emitting(ctx, msg):
        try:
            await ctx.emit("Stream", msg)
        except ValueError:
            return "Noticed"

    engine = Engine()

    @engine.after
    def check(ctx, msg, relation, error):
        if relation == "Stream":
            raise ValueError("not so")

    assert ways(await load(engine, {"n": emitting}).run("")) == ["n Noticed"]


# Joins


@pytest.mark.parametrize("is_async", [False, True])
async def test_at_a_join_aspects_see_the_first_arrival_and_may_replace_it(is_async):
    seen = []

    def texts(ctx, arrivals):
        return SUCCESS, arrivals[0].message.with_data("+".join(a.message.text for a in arrivals), "TEXT")

    async def awaited(ctx, arrivals):
        await asyncio.sleep(0)
        return texts(ctx, arrivals)

    engine = Engine()

    @engine.around(nodes=["j"])
    def look(ctx, msg, proceed):
        seen.append(msg.text)
        return proceed(marked(msg, "!"))

    nodes = {
        "s": None,
        "a": lambda ctx, msg: (SUCCESS, marked(msg, "a")),
        "b": lambda ctx, msg: (SUCCESS, marked(msg, "b")),
        "j": join(awaited if is_async else texts),
    }
    outcome = await load(engine, nodes, ["s a", "s b", "a j", "b j"]).run("x")
    assert seen == ["xa"]
    assert outcome.message.text == "xa!+xb"


async def test_a_join_that_gives_a_bare_relation_goes_on_with_the_message_it_got():
    engine = Engine()
    engine.before(nodes=["j"])(lambda ctx, msg, relation: marked(msg, "!"))
    nodes = {"s": None, "a": None, "b": None, "j": join(lambda ctx, arrivals: SUCCESS)}
    outcome = await load(engine, nodes, ["s a", "s b", "a j", "b j"]).run("x")
    assert outcome.message.text == "x!"


def test_who_refuses_at_a_join_goes_on_with_the_first_arrival():
    engine = Engine()
    engine.around(nodes=["j"])(lambda ctx, msg, proceed: "Refused")
    nodes = {"s": None, "a": None, "b": None, "j": join(), "m": None}
    outcome = load(engine, nodes, ["s a", "s b", "a j", "b j", "j Refused m"]).run_sync("x")
    assert (ways(outcome), outcome.message.text) == (["m Success"], "x")


# Cuts


class Counting(Aspect):
    """Counts the nodes that it is woven at."""

    def __init__(self, **cut):
        self.place(cut)
        self.seen = []

    def before(self, ctx, msg, relation):
        self.seen.append(ctx.node_id)


@pytest.mark.parametrize(
    ("cut", "seen"),
    [
        ({}, ["a", "b", "c"]),
        ({"nodes": ["a", "c"]}, ["a", "c"]),
        ({"nodes": "b"}, ["b"]),
        ({"types": ["t/async"]}, ["b"]),
        ({"types": ["t/*"], "nodes": ["b"]}, ["b"]),
        ({"types": ["t/nothing"]}, []),
        ({"chains": ["c"]}, ["a", "b", "c"]),
        ({"chains": ["other*"]}, []),
    ],
)
async def test_cuts_choose_nodes(cut, seen):
    aspect = Counting(**cut)
    await load(Engine(aspects=[aspect]), {"a": None, "b": Kind("t/async"), "c": None}, line("a", "b", "c")).run("x")
    assert aspect.seen == seen


def test_a_type_is_known_by_its_aliases_too():
    aspect = Counting(types=["restApiCall", "ai/*"])
    names = [("http/rest", ["restApiCall"]), ("ai/x", []), ("log", [])]
    from types import SimpleNamespace

    from catenary.aspects.base import covers

    found = [
        covers(
            aspect, SimpleNamespace(id="n", type=name), SimpleNamespace(info=SimpleNamespace(type=name, aliases=also))
        )
        for name, also in names
    ]
    assert found == [True, True, False]


def test_a_node_that_the_cuts_leave_out_calls_its_component_directly():
    chain = load(Engine(aspects=[Counting(nodes=["a"])]), {"a": None, "b": None}, ["a b"])
    steps = chain.compiled.by_id
    assert steps["b"].run == steps["b"].component.run
    assert steps["a"].run != steps["a"].component.run


def test_a_point_cut_decides_for_each_message():
    class Picky(Logging):
        def point_cut(self, ctx, msg, relation):
            return msg.text == "yes"

    log = []
    chain = load(Engine(aspects=[Picky("p", 1, log)]), {"n": None})
    chain.run_sync("no")
    assert log == []
    chain.run_sync("yes")
    assert log == ["before p", "in p", "out p", "after p"]


async def test_a_point_cut_holds_for_async_aspects_too():
    class Picky(Aspect):
        def point_cut(self, ctx, msg, relation):
            return relation == "Chosen"

        async def before(self, ctx, msg, relation):
            return marked(msg, "b")

        async def after(self, ctx, msg, relation, error):
            return marked(msg, "a")

    nodes = {"n": lambda ctx, msg: "Chosen", "m": None}
    outcome = await load(Engine(aspects=[Picky()]), nodes, ["n Chosen m"]).run("")
    assert outcome.message.text == "ab"


def test_for_node_gives_each_node_an_aspect_of_its_own():
    class Own(Aspect):
        def for_node(self, chain, node, component):
            return None if node.id == "b" else Logging(node.id, 1, log)

    log = []
    load(Engine(aspects=[Own()]), {"a": None, "b": None, "c": None}, line("a", "b", "c")).run_sync("x")
    assert [entry for entry in log if entry.startswith("before")] == ["before a", "before c"]


# Kinds of aspects and nodes


def test_plain_aspects_leave_a_chain_of_plain_nodes_without_an_event_loop():
    engine = Engine()
    engine.around(lambda ctx, msg, proceed: proceed(msg))
    chain = load(engine, {"n": None})
    assert chain.run_sync("x").ok
    assert not engine.loops.are_kept


def test_an_async_aspect_makes_a_node_an_awaited_one():
    engine = Engine()

    @engine.around
    async def around(ctx, msg, proceed):
        await asyncio.sleep(0)
        return await proceed(msg)

    with engine:
        assert load(engine, {"n": None}).run_sync("x").ok
        assert engine.loops.are_kept


async def test_a_plain_around_may_pass_on_what_an_awaited_node_gives():
    engine = Engine()
    engine.around(lambda ctx, msg, proceed: proceed(msg) if msg.text == "x" else "Refused")
    chain = load(engine, {"n": Kind("t/async", lambda ctx, msg: SUCCESS)})
    assert ways(await chain.run("x")) == ["n Success"]
    assert ways(await chain.run("y")) == ["n Refused"]


async def test_around_awaited_is_what_awaited_nodes_get():
    class Both(Aspect):
        def around(self, ctx, msg, proceed):
            log.append(("def", proceed(msg)))
            return SUCCESS

        async def around_awaited(self, ctx, msg, proceed):
            log.append(("async", await proceed(msg)))
            return SUCCESS

    log = []
    nodes = {"a": None, "b": Kind("t/async", lambda ctx, msg: "Odd")}
    await load(Engine(aspects=[Both()]), nodes, ["a b"]).run("x")
    assert log == [("def", SUCCESS), ("async", "Odd")]


async def test_aspects_see_one_visit_with_its_retries_and_its_timeout_inside():
    log = []

    async def slow(ctx, msg):
        await asyncio.sleep(600)

    engine = Engine(clock=FakeClock(auto=True))

    @engine.around
    async def around(ctx, msg, proceed):
        emission = await proceed(msg)
        log.append(str(error_of(emission)))
        return emission

    keys = {"n": {"timeout": "20s", "retry": 2}}
    outcome = await load(engine, {"n": slow}, keys=keys).run("x")
    assert ways(outcome) == ["n Failure"]
    assert log == ["took longer than its timeout of 20 s"]


async def test_aspects_hold_in_sub_runs():
    seen = []
    engine = Engine()
    engine.before(lambda ctx, msg, relation: seen.append(ctx.node_id))

    async def calling(ctx, msg):
        await ctx.run_node("b", msg)
        await ctx.run_chain("inner", msg)
        return SUCCESS

    load(engine, {"i": None}, id="inner")
    nodes = {"a": calling, "b": None}
    await load(engine, nodes, ["b Never b"], allowCycle=True).run("x")
    assert seen == ["a", "b", "i"]


async def test_what_others_read_of_a_node_is_what_after_made_of_it():
    engine = Engine()
    engine.after(nodes=["one"])(lambda ctx, msg, relation, error: msg.with_data({"a": 2}))
    chain = engine.load(
        {
            "ruleChain": {"id": "kept"},
            "metadata": {
                "nodes": [
                    {"id": "one", "type": "jsTransform", "configuration": {"jsScript": "return {msg: {a: 1}}"}},
                    {"id": "two", "type": "exprTransform", "configuration": {"expr": "one.msg.a"}},
                ],
                "connections": [{"fromId": "one", "toId": "two", "type": "Success"}],
            },
        }
    )
    assert (await chain.run({})).message.value == 2


async def test_a_cancelled_node_is_not_looked_at_by_after():
    seen = []
    engine = Engine()

    @engine.after
    async def look(ctx, msg, relation, error):
        seen.append(relation)

    async def slow(ctx, msg):
        await asyncio.sleep(600)

    outcome = await load(engine, {"n": slow}).run("x", timeout=60)
    assert outcome.status == "cancelled"
    assert seen == []


async def test_events_show_what_came_and_what_went_on():
    events = []
    engine = Engine()
    engine.before(lambda ctx, msg, relation: marked(msg, "b"))
    engine.after(lambda ctx, msg, relation, error: marked(msg, "a"))
    await load(engine, {"n": None}).run("x", listener=events.append)
    started = next(event for event in events if event.type == "node.start")
    finished = next(event for event in events if event.type == "node.end")
    assert started.message.text == "x"
    assert [message.text for message in finished.messages] == ["xba"]


# Registration


def test_aspects_hold_for_chains_loaded_afterwards():
    log = []
    engine = Engine()
    early = load(engine, {"n": None}, id="early")
    engine.add_aspect(Logging("x", 1, log))
    early.run_sync("x")
    assert log == []
    load(engine, {"n": None}, id="late").run_sync("x")
    assert log[0] == "before x"


@pytest.mark.parametrize("given", [Aspect, "text", None])
def test_what_is_no_aspect_is_refused(given):
    with pytest.raises(EngineError, match="no aspect"):
        Engine(aspects=[given])


def test_what_cannot_be_called_is_refused():
    with pytest.raises(EngineError, match="cannot be called"):
        Engine().around(order=1)("text")


@pytest.mark.parametrize("point", ["created", "chain_before_init", "point_cut"])
def test_what_is_asked_at_load_cannot_wait(point):
    async def waiting(self, *arguments):
        pass

    aspect = type("Waiting", (Aspect,), {point: waiting})()
    with pytest.raises(EngineError, match=f"Waiting.{point} is an async def"):
        Engine(aspects=[aspect])


@pytest.mark.parametrize("is_awaited", [False, True])
async def test_a_failure_of_an_after_goes_on_with_what_those_before_it_made(is_awaited):
    engine = Engine()

    @engine.after(order=1)
    def mark(ctx, msg, relation, error):
        return msg.put("mark", "1")

    @engine.after(order=2)
    def refuse(ctx, msg, relation, error):
        raise ValueError("no")

    async def node(ctx, msg):
        return "Success"

    outcome = await load(engine, {"n": node if is_awaited else None}).run("x")
    assert (ways(outcome), outcome.message.metadata["mark"]) == (["n Failure"], "1")
