"""`flow`: another chain as one step."""

from __future__ import annotations

import asyncio
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


def test_extended_a_node_that_sends_nothing_on_opens_no_way(load: Load, engine: Engine) -> None:
    engine.function("nothing")(lambda ctx, msg: None)
    inner = load(["f:fork", ("a:functions", {"functionName": "nothing"}), "b:fork"], "f Success a, f Success b").id
    document: Any = load(
        [("n:flow", {"targetId": inner, "extend": True}), "c:comment", "d:comment"], "n Success c, n empty d"
    ).to_dict()
    document["metadata"]["connections"][1]["type"] = ""
    outer = engine.reload(document)
    assert [(end.node_id, end.relation) for end in outer.run_sync("{}").ends] == [("c", "Success")]


def test_extended_a_chain_that_sends_nothing_on_at_all_ends_the_branch(load: Load, engine: Engine) -> None:
    engine.function("nothing")(lambda ctx, msg: None)
    inner = load([("a:functions", {"functionName": "nothing"})]).id
    (end,) = load([("n:flow", {"targetId": inner, "extend": True}), "c:comment"], "n Success c").run_sync([1]).ends
    assert (end.node_id, end.is_silent, end.message.data) == ("n", True, "[1]")


@pytest.mark.parametrize(("other", "relation"), [("comment", "AwaitConfirm"), ("exprTransform", "Failure")])
def test_a_list_with_a_pause_in_it_is_paused_unless_it_failed(
    load: Load, engine: Engine, other: str, relation: str
) -> None:
    engine.function("ask")(lambda ctx, msg: ("AwaitConfirm", msg.put("asked", "yes")))
    nodes = ["f:fork", ("a:functions", {"functionName": "ask"}), (f"b:{other}", {"expr": "msg.t + 1"}), "e:end"]
    inner = load(nodes, "f Success a, f Success b, b Success e").id
    (end,) = run(load, {"targetId": inner}, Message("{}"))
    assert end.relation == relation
    assert json.loads(end.message.data)[0]["nodeId"] == "a"
    assert end.message.metadata["asked"] == "yes"


def test_extended_ends_go_on_as_they_come(load: Load, engine: Engine) -> None:
    order: list[str] = []
    for name in "ab":
        engine.function(name)(lambda ctx, msg, name=name: order.append(name) or ("Success", msg))
    nodes = ["f:fork", ("a:functions", {"functionName": "a"}), ("b:functions", {"functionName": "a"})]
    inner = load(nodes, "f Success a, f Success b").id
    flow = ("n:flow", {"targetId": inner, "extend": True})
    outer = load([flow, ("c:functions", {"functionName": "b"})], "n Success c")
    assert outer.run_sync("{}").ok
    assert order == ["a", "b", "a", "b"]


async def test_a_chain_that_is_reloaded_meanwhile_goes_on_as_it_began(load: Load, engine: Engine) -> None:
    begun, going_on = asyncio.Event(), asyncio.Event()

    @engine.function("hold")
    async def hold(ctx: Any, msg: Message) -> tuple[str, Message]:
        begun.set()
        await going_on.wait()
        return "Success", msg

    inner = load([("a:functions", {"functionName": "hold"}), ("b:exprTransform", {"expr": "1"})], "a Success b")
    outer = load([("n:flow", {"targetId": inner.id, "extend": True})])
    running = asyncio.create_task(outer.run("{}"))
    await begun.wait()
    changed: Any = inner.to_dict()
    changed["metadata"]["nodes"][1]["configuration"]["expr"] = "2"
    engine.reload(changed)
    later = asyncio.create_task(outer.run("{}"))
    going_on.set()
    assert [(await one).message.value for one in (running, later)] == [1, 2]


def test_a_disabled_chain_is_not_found(load: Load, engine: Engine) -> None:
    with pytest.raises(ChainInvalid, match="the rule chain has been disabled"):
        load(["a:comment"], id="off", disabled=True)
    (end,) = run(load, {"targetId": "off"}, Message("{}"))
    assert (end.relation, end.message.metadata["errorMsg"]) == ("Failure", "ruleChain id=off not found")


def test_a_chain_may_be_named_by_its_alias(load: Load, engine: Engine) -> None:
    document = {"ruleChain": {"id": "own"}, "metadata": {"nodes": [{"id": "a", "type": "comment"}]}}
    engine.load(document, id="other")
    (end,) = run(load, {"targetId": "own", "extend": True}, Message("{}"))
    assert (end.node_id, end.relation) == ("n", "Success")


@pytest.mark.parametrize(
    ("head", "options", "seen"),
    [
        ({}, {}, []),
        ({"debugMode": True}, {}, ["a", "a"]),
        ({}, {"debug": True}, ["a", "a"]),
        ({"debugMode": True}, {"debug": False}, []),
    ],
)
def test_debug_mode_is_passed_on(load: Load, head: Any, options: Any, seen: list[str]) -> None:
    told: list[str] = []
    inner = load(["a:comment"]).id
    outer = load([("n:flow", {"targetId": inner})], **head)
    outer.run_sync("{}", on_debug=lambda chain, flow, node, *_: told.append(node), **options)
    assert [node for node in told if node == "a"] == seen


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
