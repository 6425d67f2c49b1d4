"""Where messages go: relations, splits, failures, ends, the end gate."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import END, Kind, join, line, load, ways

from catenary import FAILURE, STREAM, SUCCESS, Message, NodeFailure, Relation, fail
from catenary.errors import NodeError


class Odd(str):
    """A text of its own kind."""

    __slots__ = ()


class SilentError(Exception):
    """An error whose text cannot be had."""

    def __str__(self):
        raise RuntimeError("no text")


class Shy:
    """A thing that cannot be shown."""

    def __repr__(self):
        raise RuntimeError("no repr")


def test_message_goes_on_unchanged_by_a_bare_relation(engine):
    message = Message("x")
    outcome = load(engine, {"a": None, "b": lambda ctx, msg: "Mine"}, ["a b"]).run_sync(message)
    assert ways(outcome) == ["b Mine"]
    assert outcome.message is message


@pytest.mark.parametrize("relation", ["Mine", Relation("Mine"), Odd("Mine")], ids=["text", "relation", "own kind"])
@pytest.mark.parametrize("shape", [lambda r, m: r, lambda r, m: (r, m), lambda r, m: [r], lambda r, m: [(r, m)]])
def test_relation_may_be_given_in_any_shape(engine, relation, shape):
    chain = load(engine, {"a": lambda ctx, msg: shape(relation, msg), "b": None}, ["a Mine b"])
    assert ways(chain.run_sync("")) == ["b Success"]


def test_relations_are_compared_exactly(engine):
    assert ways(load(engine, {"a": lambda ctx, msg: "success", "b": None}, ["a b"]).run_sync("")) == ["a success"]


def test_empty_relation_can_be_connected(engine):
    definition = {
        "ruleChain": {"id": "c"},
        "metadata": {
            "nodes": [{"id": "a", "type": "t/def", "configuration": {"key": -1}}, {"id": "b", "type": "t/def"}],
            "connections": [{"fromId": "a", "toId": "b", "type": ""}],
        },
    }
    chain = engine.load(definition)
    chain.compiled.steps[0].run = lambda ctx, msg: ""
    assert ways(chain.run_sync("")) == ["b Success"]


def test_all_targets_of_a_relation_run_in_the_order_written(engine):
    chain = load(engine, {"a": None, "x": None, "y": None, "z": None}, ["a y", "a x", "a z"])
    assert ways(chain.run_sync("")) == ["y Success", "x Success", "z Success"]


def test_list_is_sent_in_order(engine):
    chain = load(engine, {"a": lambda ctx, msg: ["B", "A", "B"], "x": None, "y": None}, ["a A x", "a B y"])
    assert ways(chain.run_sync("")) == ["y Success", "x Success", "y Success"]


def test_unconnected_relation_of_a_list_ends_by_itself(engine):
    chain = load(engine, {"a": lambda ctx, msg: ["A", "B"], "x": None}, ["a A x"])
    assert sorted(ways(chain.run_sync(""))) == ["a B", "x Success"]


def test_siblings_share_the_message(engine):
    outcome = load(engine, {"a": None, "x": None, "y": None}, ["a x", "a y"]).run_sync({"n": 1})
    assert outcome.ends[0].message is outcome.ends[1].message


def test_what_one_branch_writes_the_other_does_not_see(engine):
    nodes = {"a": None, "x": lambda ctx, msg: (SUCCESS, msg.put("k", "x")), "y": None}
    outcome = load(engine, nodes, ["a x", "a y"]).run_sync("")
    assert [dict(end.message.metadata) for end in outcome.ends] == [{"k": "x"}, {}]


def test_node_with_two_ways_in_runs_for_each(engine):
    chain = load(engine, {"a": None, "x": None, "y": None, "z": None}, ["a x", "a y", "x z", "y z"])
    assert ways(chain.run_sync("")) == ["z Success", "z Success"]


def test_raising_is_failure_with_the_text_in_metadata(engine):
    def bad(ctx, msg):
        raise ValueError("broken")

    seen = []

    def next_one(ctx, msg):
        seen.append((ctx.relation, ctx.sender, str(ctx.error)))
        return SUCCESS

    chain = load(engine, {"a": bad, "b": next_one, "c": None}, ["a Failure b", "b c"])
    outcome = chain.run_sync("x")
    assert outcome.ok
    assert outcome.message.metadata["errorMsg"] == "broken"
    assert seen == [("Failure", "a", "broken")]


def test_error_is_seen_by_the_next_node_only(engine):
    seen = []

    def note(ctx, msg):
        seen.append(ctx.error)
        return SUCCESS

    load(engine, {"a": lambda ctx, msg: 1 / 0, "b": note, "c": note}, ["a Failure b", "b c"]).run_sync("")
    assert isinstance(seen[0], ZeroDivisionError)
    assert seen[1] is None


def test_unconnected_failure_fails_the_run_and_others_go_on(engine):
    def bad(ctx, msg):
        raise ValueError("first")

    def worse(ctx, msg):
        raise ValueError("second")

    outcome = load(engine, {"s": None, "a": bad, "b": worse, "c": None}, ["s a", "s b", "s c"]).run_sync("")
    assert ways(outcome) == ["a Failure", "b Failure", "c Success"]
    assert outcome.status == "failed"
    assert isinstance(outcome.error, NodeError)
    assert str(outcome.error) == "node 'a' (t/def): first"
    assert str(outcome.error.cause) == "first"


def test_node_failure_may_bring_another_message(engine):
    def bad(ctx, msg):
        raise NodeFailure("no", Message("other"))

    outcome = load(engine, {"a": bad}).run_sync("x")
    assert (outcome.message.text, outcome.message.metadata["errorMsg"]) == ("other", "no")


def test_node_failure_with_something_else_for_a_message_keeps_the_message(engine):
    def bad(ctx, msg):
        raise NodeFailure("no", "text")  # type: ignore[arg-type]

    assert load(engine, {"a": bad}).run_sync("x").message.text == "x"


def test_an_error_without_a_text_is_told_by_its_name(engine):
    def slow(ctx, msg):
        raise TimeoutError

    outcome = load(engine, {"a": slow}).run_sync("x")
    assert str(outcome.error) == "node 'a' (t/def): TimeoutError"


def test_failure_by_name_has_no_error(engine):
    outcome = load(engine, {"a": lambda ctx, msg: FAILURE}).run_sync("")
    assert outcome.ends[0].error is None
    assert str(outcome.error) == "node 'a' (t/def): ended as Failure"


def test_fail_gives_error_and_message(engine):
    outcome = load(engine, {"a": lambda ctx, msg: fail("told", msg.with_data("y"))}).run_sync("x")
    assert (str(outcome.ends[0].error), outcome.message.text) == ("told", "y")


def test_error_without_a_text_is_named_by_its_type(engine):
    def bad(ctx, msg):
        raise KeyError

    assert load(engine, {"a": bad}).run_sync("").message.metadata["errorMsg"] == "KeyError"


def test_error_whose_text_cannot_be_had_is_a_failure(engine):
    def bad(ctx, msg):
        raise SilentError

    events = []
    outcome = load(engine, {"a": bad}).run_sync("", listener=events.append)
    assert outcome.message.metadata["errorMsg"] == "SilentError"
    assert "SilentError" in str(outcome.error)
    assert outcome.to_dict()["status"] == "failed"


async def test_cancelled_error_out_of_a_node_is_a_failure(engine):
    def bad(ctx, msg):
        raise asyncio.CancelledError

    async def bad_too(ctx, msg):
        raise asyncio.CancelledError("mine")

    outcome = await load(engine, {"s": None, "a": bad, "b": bad_too}, ["s a", "s b"]).run("")
    assert [end.message.metadata["errorMsg"] for end in outcome.ends] == ["CancelledError", "mine"]
    assert outcome.status == "failed"


@pytest.mark.parametrize("kind", [None, "t/async", "t/flow", "t/blocking"])
@pytest.mark.parametrize(
    "emission",
    [
        3,
        (),
        ("Success",),
        ("Success", "text"),
        ("Success", Message(), 1),
        (3, Message("")),
        [("Success", 3)],
        ["Success", 3],
        [None],
        [["Success"]],
        {"Success": 1},
        {"Success"},
        b"Success",
        Message(),
        True,
        Shy(),
        range(3),
        "x" and (x for x in ()),
        list(range(1000)),
    ],
    ids=lambda emission: type(emission).__name__,
)
async def test_malformed_emission_is_failure(engine, kind, emission):
    node = (lambda ctx, msg: emission) if kind is None else Kind(kind, lambda ctx, msg: emission)
    chain = load(engine, {"a": node})
    for listener in (None, lambda event: None):
        outcome = await chain.run("x", listener=listener)
        assert ways(outcome) == ["a Failure"]
        text = outcome.message.metadata["errorMsg"]
        assert "which is no emission" in text
        assert len(text) < 250
        assert outcome.message.text == "x"


@pytest.mark.parametrize("emission", [(), ("Success", 3), [("Success", 3)], 3, [], None])
def test_retry_and_kept_output_leave_malformed_emissions_to_the_kernel(engine, emission):
    node = {"retry": {"maxRetries": 1, "delay": 0}}
    outcome = load(engine, {"a": lambda ctx, msg: emission}, keys={"a": node}).run_sync("x")
    if emission in ([], None):
        assert ways(outcome) == ["a "]
    else:
        assert ways(outcome) == ["a Failure"]
        assert "which is no emission" in outcome.message.metadata["errorMsg"]


def test_none_and_an_empty_list_end_the_branch(engine):
    for emission in (None, []):
        chain = load(engine, {"a": lambda ctx, msg, emission=emission: emission, "b": None}, ["a b"], id=str(emission))
        outcome = chain.run_sync("x")
        assert outcome.ok
        assert "b Success" not in ways(outcome)


def test_end_node_gates_ordinary_ends(engine):
    nodes = {"s": None, "a": None, "b": None, "c": lambda ctx, msg: 1 / 0, "e": END}
    outcome = load(engine, nodes, ["s a", "s b", "s c", "a e"]).run_sync("x")
    assert [(end.node_id, end.relation, end.gated) for end in outcome.ends] == [
        ("e", "Success", False),
        ("b", "Success", True),
        ("c", "Failure", False),
    ]


def test_end_node_tells_the_relation_and_error_that_led_there(engine):
    outcome = load(engine, {"a": lambda ctx, msg: 1 / 0, "e": END}, ["a Failure e"]).run_sync("x")
    (end,) = outcome.ends
    assert (end.node_id, end.relation) == ("e", "Failure")
    assert isinstance(end.error, ZeroDivisionError)
    assert outcome.status == "failed"


def test_unconnected_end_node_gates_as_well(engine):
    outcome = load(engine, {"a": None, "e": END}).run_sync("x")
    assert [end.gated for end in outcome.ends] == [True]
    assert outcome.message.text == "x"


def test_connections_of_an_end_node_are_ignored(engine):
    chain = load(engine, {"e": END, "a": None}, ["e a"])
    assert ways(chain.run_sync("")) == ["e "]


def test_message_of_an_outcome_is_that_of_the_answer(engine):
    def stream(ctx, msg):
        return [(SUCCESS, msg.with_data("whole")), (STREAM, msg.with_data("piece"))]

    assert load(engine, {"a": stream}).run_sync("").message.text == "whole"


def test_run_may_start_elsewhere(engine):
    chain = load(engine, {"a": None, "b": None, "c": None}, line("a", "b", "c"))
    assert ways(chain.run_sync("", start="c")) == ["c Success"]
    assert ways(chain.run_sync("", start=["b", "c"])) == ["c Success", "c Success"]
    assert ways(chain.run_sync("", start=iter(["c"]))) == ["c Success"]


def test_join_fires_for_branches_started_apart(engine):
    chain = load(engine, {"s": None, "a": None, "b": None, "j": join()}, ["s a", "s b", "a j", "b j"])
    outcome = chain.run_sync(Message("x", "", "TEXT"), start=["a", "b"])
    assert [end.message.text for end in outcome.ends] == ["x+x"]


@pytest.mark.parametrize(
    ("start", "text"),
    [
        ("z", "SetExecuteNodes node id=z not found"),
        ("", "SetExecuteNodes node id= not found"),
        ([""], "SetExecuteNodes node id= not found"),
        (["a", "z"], "restore parent node id=z not found"),
    ],
)
def test_run_that_cannot_begin_fails_with_its_message(engine, start, text):
    outcome = load(engine, {"a": None}).run_sync({"n": 1}, start=start)
    assert (outcome.status, str(outcome.error)) == ("failed", text)
    assert (outcome.message.value, outcome.message.metadata["errorMsg"]) == ({"n": 1}, text)


def test_chain_without_nodes_fails(engine):
    events = []
    outcome = load(engine, {}).run_sync("x", listener=events.append)
    assert outcome.status == "failed"
    assert outcome.message.metadata["errorMsg"] == "the rule chain has no nodes"
    assert [event.name for event in events] == ["run.start", "branch.end", "run.error"]


def test_first_node_sees_itself_as_sender_and_no_relation(engine):
    seen = []

    def note(ctx, msg):
        seen.append((ctx.sender, ctx.relation, ctx.error))
        return SUCCESS

    load(engine, {"a": note}).run_sync("")
    assert seen == [("a", "", None)]


def test_data_that_is_no_message_becomes_one(engine):
    assert load(engine, {"a": None}).run_sync({"n": 1}).message.value == {"n": 1}


def test_declared_relation_is_the_object_that_routes(engine):
    chain = load(engine, {"a": None, "b": None}, ["a b", "a Own b"])
    keys = list(chain.compiled.steps[0].routes)
    assert keys[0] is SUCCESS
    assert isinstance(keys[1], Relation)
    assert repr(chain.compiled.steps[0]) == "Step('a')"
