"""What a run came to."""

from __future__ import annotations

import json

import pytest
from tests.engine.runtime.kit import END, load

from catenary import FAILURE, STREAM, SUCCESS, Message
from catenary.errors import EngineError, NodeError, RunTimeout
from catenary.masking import MASK


def run(engine, *emissions, **more):
    return load(engine, {"a": lambda ctx, msg: list(emissions)}, **more).run_sync(Message("x", id="i", ts=5))


@pytest.mark.parametrize(
    ("emissions", "status"),
    [
        ([SUCCESS], "completed"),
        ([], "completed"),
        (["Anything"], "completed"),
        ([FAILURE], "failed"),
        ([SUCCESS, "Failure"], "failed"),
        (["AwaitConfirm"], "paused"),
        ([SUCCESS, "AwaitExternal"], "paused"),
        (["AwaitConfirm", FAILURE], "failed"),
    ],
)
def test_status_is_the_worst_of_what_happened(engine, emissions, status):
    outcome = run(engine, *emissions)
    assert outcome.status == status
    assert outcome.ok == (status == "completed")
    assert (outcome.error is None) == (status in {"completed", "paused"})


def test_connected_pause_is_no_pause(engine):
    chain = load(engine, {"a": lambda ctx, msg: "AwaitConfirm", "b": None}, ["a AwaitConfirm b"])
    assert chain.run_sync("").ok


def test_end_nodes_gate_no_pause(engine):
    told = []
    chain = load(engine, {"s": None, "a": lambda ctx, msg: "AwaitConfirm", "e": END}, ["s a", "s e"])
    outcome = chain.run_sync("x", on_end=lambda info, msg, error, relation: told.append((info.node_id, relation)))
    assert (outcome.status, told) == ("paused", [("a", "AwaitConfirm"), ("e", SUCCESS)])


def test_message_is_that_of_the_last_whole_answer(engine):
    one, two, piece = Message("1"), Message("2"), Message("p")
    assert run(engine, (SUCCESS, one), (SUCCESS, two), (STREAM, piece)).message is two


def test_message_of_a_stream_alone_is_its_last_piece(engine):
    assert run(engine, (STREAM, Message("1")), (STREAM, Message("2"))).message.text == "2"


def test_message_without_any_end_is_the_first_one(engine):
    assert run(engine).message.text == "x"


def test_message_of_a_branch_that_sent_nothing_on_is_no_answer_where_there_is_another(engine):
    nodes = {"s": None, "a": lambda ctx, msg: (SUCCESS, msg.with_data("answer")), "b": lambda ctx, msg: None}
    outcome = load(engine, nodes, ["s a", "s b"]).run_sync("x")
    assert [(end.node_id, end.is_silent) for end in outcome.ends] == [("a", False), ("b", True)]
    assert outcome.message.text == "answer"


def test_message_of_a_gated_chain_is_that_of_its_end_nodes(engine):
    nodes = {"s": None, "a": lambda ctx, msg: (SUCCESS, msg.with_data("answer")), "e": END, "b": None}
    assert load(engine, nodes, ["s a", "s b", "a e"]).run_sync("x").message.text == "answer"


def test_json_form(engine):
    outcome = run(engine, SUCCESS, ("Failure", Message("y", "T", "TEXT", {"errorMsg": "bad"}, "j", 6)))
    written = json.loads(json.dumps(outcome.to_dict()))
    assert written == {
        "runId": outcome.run_id,
        "status": "failed",
        "ok": False,
        "error": "node 'a' (t/def): bad",
        "ends": [
            {
                "nodeId": "a",
                "relation": "Success",
                "error": None,
                "gated": False,
                "message": {"ts": 5, "id": "i", "dataType": "JSON", "type": "", "data": "x", "metadata": {}},
            },
            {
                "nodeId": "a",
                "relation": "Failure",
                "error": None,
                "gated": False,
                "message": {
                    "ts": 6,
                    "id": "j",
                    "dataType": "TEXT",
                    "type": "T",
                    "data": "y",
                    "metadata": {"errorMsg": "bad"},
                },
            },
        ],
    }


def test_error_of_a_node_names_it_and_chains_its_cause(engine):
    outcome = load(engine, {"a": lambda ctx, msg: 1 / 0}).run_sync("")
    error = outcome.error
    assert isinstance(error, NodeError)
    assert (error.node_id, error.node_type, error.run_id) == ("a", "t/def", outcome.run_id)
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.cause is error.__cause__
    assert outcome.to_dict()["ends"][0]["error"] == "division by zero"
    with pytest.raises(NodeError):
        outcome.raise_for_error()


def test_raise_for_error_gives_the_outcome_when_there_is_none(engine):
    outcome = run(engine, SUCCESS)
    assert outcome.raise_for_error() is outcome
    paused = run(engine, "AwaitConfirm", id="d")
    assert paused.raise_for_error() is paused


def test_error_of_a_chain_without_nodes(engine):
    outcome = load(engine, {}).run_sync("")
    assert "the rule chain has no nodes" in str(outcome.error)
    assert outcome.ends[0].node_id == ""


def test_run_out_of_time_is_cancelled(engine):
    outcome = load(engine, {"a": None}).run_sync("", timeout=0)
    assert outcome.status == "cancelled"
    assert isinstance(outcome.error, RunTimeout)
    assert outcome.to_dict()["error"] == "processing cancelled: context deadline exceeded"


def test_outcome_is_shown_shortly(engine):
    assert repr(run(engine, SUCCESS, "B")) == "Outcome(completed, ends=[a-Success, a-B])"


def test_run_id_is_kept(engine):
    outcome = run(engine, SUCCESS)
    assert outcome.run_id == outcome.run_id
    assert outcome.run_id != run(engine, SUCCESS, id="d").run_id


def test_a_chain_without_nodes_fails_at_no_node(engine):
    outcome = engine.load({"ruleChain": {"id": "none"}, "metadata": {"nodes": []}}).run_sync("x")
    assert str(outcome.error) == "the rule chain has no nodes"


def test_the_error_of_a_node_has_the_hint_of_its_cause_with_secrets_masked(engine):
    engine.masker.add("topsecret")

    def refuse(ctx, msg):
        raise EngineError("no such place", hint="places: here, topsecret")

    error = load(engine, {"a": refuse}).run_sync("").error
    assert error.hint == f"places: here, {MASK}"
