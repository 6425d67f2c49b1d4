"""`flow`: another chain as one step."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from catenary import ChainInvalid, End, Engine, Message
from catenary_components.flow import _shared

Load = Callable[..., Any]
CASES = [{"case": "msg.t > 50", "then": "Hot"}, {"case": "msg.t < 0", "then": "Failure"}]


@pytest.fixture
def target(load: Load, engine: Engine) -> str:
    """A chain with two branches: a switch, and a function that marks the metadata."""
    engine.function("mark")(lambda ctx, msg: ("Success", msg.put("marked", "yes").with_type("Other")))
    return load(
        ["f:fork", ("s:switch", {"cases": CASES}), ("m:functions", {"functionName": "mark"})],
        "f Success s, f Success m",
    ).id


def run(load: Load, configuration: dict[str, Any], message: Message) -> list[End]:
    return load([("n:flow", configuration)]).run_sync(message).ends


def test_all_ends_come_back_as_one_list(load: Load, target: str) -> None:
    (end,) = run(load, {"targetId": target}, Message({"t": 60}, "T", metadata={"k": "v"}))
    entries = json.loads(end.message.data)
    assert [(entry["nodeId"], entry["err"], entry["msg"]["metadata"]) for entry in entries] == [
        ("s", "", {}),
        ("m", "", {}),
    ]
    assert (end.relation, end.message.type, end.message.data_type) == ("Success", "T", "JSON")
    assert dict(end.message.metadata) == {"k": "v", "marked": "yes"}


def test_a_failed_end_fails_the_list(load: Load) -> None:
    inner = load(["f:fork", ("a:exprTransform", {"expr": "msg.t + 1"}), "b:fork"], "f Success a, f Success b").id
    (end,) = run(load, {"targetId": inner}, Message("{}"))
    entries = json.loads(end.message.data)
    assert end.relation == "Failure"
    assert str(end.error) == entries[0]["err"] == end.message.metadata["errorMsg"]
    assert [entry["nodeId"] for entry in entries] == ["a", "b"]


def test_a_failure_without_an_error_fails_the_list_too(load: Load, engine: Engine) -> None:
    engine.function("plain")(lambda ctx, msg: "Failure")
    inner = load([("a:functions", {"functionName": "plain"})]).id
    (end,) = run(load, {"targetId": inner}, Message("{}"))
    assert (end.relation, str(end.error)) == ("Failure", "failed")


def test_extended_every_end_goes_on_by_its_own_relation(load: Load, target: str) -> None:
    ends = run(load, {"targetId": target, "extend": True}, Message({"t": 60}, "T"))
    assert [(end.node_id, end.relation, end.message.type) for end in ends] == [
        ("n", "Hot", "T"),
        ("n", "Success", "Other"),
    ]


def test_extended_a_failed_end_keeps_its_error(load: Load) -> None:
    inner = load([("a:exprTransform", {"expr": "msg.t + 1"})]).id
    (end,) = run(load, {"targetId": inner, "extend": True}, Message("{}"))
    assert (end.node_id, end.relation) == ("n", "Failure")
    assert str(end.error) == end.message.metadata["errorMsg"]


@pytest.mark.parametrize(("extend", "relation", "data"), [(True, "", "{}"), (False, "Success", "[]")])
def test_gated_ends_are_left_out(load: Load, extend: bool, relation: str, data: str) -> None:
    inner = load(["f:fork", "e:end"]).id
    (end,) = run(load, {"targetId": inner, "extend": extend}, Message("{}"))
    assert (end.relation, end.message.data) == (relation, data)


@pytest.mark.parametrize("extend", [True, False])
def test_a_missing_chain_is_a_failure_with_the_input(load: Load, extend: bool) -> None:
    (end,) = run(load, {"targetId": "absent", "extend": extend}, Message('{"t": 1}'))
    assert (end.relation, end.message.data) == ("Failure", '{"t": 1}')
    assert end.message.metadata["errorMsg"] == "ruleChain id=absent not found"


def test_the_chain_is_looked_up_for_each_message(load: Load, engine: Engine) -> None:
    inner = load(["f:fork"]).id
    outer = load([("n:flow", {"targetId": inner, "extend": True})])
    engine.remove(inner)
    assert outer.run_sync(Message("{}")).ends[0].relation == "Failure"


async def test_it_runs_in_an_event_loop_as_well(load: Load, engine: Engine, target: str) -> None:
    outer = load([("n:flow", {"targetId": target})])
    assert (await engine.run(outer.id, Message({"t": 60}))).ok


@pytest.mark.parametrize("configuration", [{}, {"targetId": ""}])
def test_a_target_is_needed(load: Load, configuration: dict[str, Any]) -> None:
    with pytest.raises(ChainInvalid, match="targetId"):
        load([("n:flow", configuration)])


def test_a_chain_that_runs_itself_fails_and_fills_no_memory(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_shared, "MAX_TOGETHER", 10_000)
    (end,) = load([("n:flow", {"targetId": "itself"})], id="itself").run_sync(Message("{}")).ends
    assert end.relation == "Failure"
    assert len(end.message.data) < 100_000
