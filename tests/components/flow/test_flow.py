"""`flow`: another chain as one step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from catenary import ChainInvalid, End, Engine, Message, fail
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


def test_the_list_has_the_id_and_the_time_of_the_message_that_came(load: Load, engine: Engine) -> None:
    engine.function("other")(lambda ctx, msg: ("Success", Message("x", "Other", id="other", ts=9)))
    inner = load([("a:functions", {"functionName": "other"})]).id
    (end,) = run(load, {"targetId": inner}, Message("{}", "T", id="mine", ts=5))
    assert (end.message.id, end.message.ts, end.message.type) == ("mine", 5, "T")
    assert json.loads(end.message.text)[0]["msg"]["id"] == "other"


async def test_ends_are_listed_as_they_come_and_metadata_of_a_later_one_wins_but_for_that_of_failed_ones(
    load: Load, engine: Engine
) -> None:
    is_lost = asyncio.Event()

    async def late(ctx: Any, msg: Message) -> Any:
        await is_lost.wait()
        return "Success", msg.put("by", "late")

    def lost(ctx: Any, msg: Message) -> Any:
        is_lost.set()
        return fail("lost", msg.put("lost", "yes"))

    engine.function("late")(late)
    engine.function("soon")(lambda ctx, msg: ("Success", msg.put("by", "soon")))
    engine.function("lost")(lost)
    nodes = ["f:fork", *((f"{one}:functions", {"functionName": one}) for one in ("late", "soon", "lost"))]
    inner = load(nodes, "f Success late, f Success soon, f Success lost").id
    outer = load([("n:flow", {"targetId": inner})])
    (end,) = (await outer.run(Message("{}", metadata={"k": "v"}))).ends
    assert [(one["nodeId"], one["err"]) for one in json.loads(end.message.text)] == [
        ("soon", ""),
        ("lost", "lost"),
        ("late", ""),
    ]
    assert (end.relation, dict(end.message.metadata)) == ("Failure", {"k": "v", "by": "late", "errorMsg": "lost"})


def test_the_last_of_several_errors_is_that_of_the_list(load: Load, engine: Engine) -> None:
    engine.function("lost")(lambda ctx, msg: fail(f"{ctx.node_id} is lost", msg))
    nodes = ["f:fork", *((f"{one}:functions", {"functionName": "lost"}) for one in "ab")]
    (end,) = run(load, {"targetId": load(nodes, "f Success a, f Success b").id}, Message("{}"))
    assert (end.relation, str(end.error)) == ("Failure", "b is lost")


def test_the_chain_has_variables_of_its_own(load: Load) -> None:
    inner = load([("a:exprTransform", {"expr": "vars.x"})], configuration={"vars": {"x": "inner"}}).id
    outer = load([("n:flow", {"targetId": inner, "extend": True})], configuration={"vars": {"x": "outer"}})
    assert outer.run_sync("{}").message.text == "inner"


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


def test_what_listed_ends_cannot_leave_by_is_a_warning_and_nothing_is_known_of_extended_ones(engine: Engine) -> None:
    def texts(extend: bool) -> list[str]:
        nodes = [
            {"id": "n", "type": "flow", "configuration": {"targetId": "elsewhere", "extend": extend}},
            {"id": "z", "type": "comment"},
        ]
        ways = [{"fromId": "n", "type": name, "toId": "z"} for name in ("True", "Success", "Failure", "AwaitConfirm")]
        return [one.text for one in engine.check({"metadata": {"nodes": nodes, "connections": ways}})]

    known = "Success, AwaitConfirm, AwaitExternal, Failure"
    assert texts(extend=False) == [f"node 'n' (flow): relation 'True' is not one of {known}"]
    assert texts(extend=True) == []


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


def test_blanks_around_the_id_of_the_chain_do_not_count(load: Load, target: str) -> None:
    (end,) = run(load, {"targetId": f" {target} "}, Message({"t": 60}))
    assert end.relation == "Success"


@pytest.mark.parametrize(
    ("configuration", "text"),
    [({}, "the option 'targetId' is required"), ({"targetId": ""}, "is empty"), ({"targetId": " "}, "is empty")],
)
def test_a_target_is_needed(load: Load, configuration: dict[str, Any], text: str) -> None:
    with pytest.raises(ChainInvalid, match=text):
        load([("n:flow", configuration)])


def test_a_chain_that_runs_itself_fails_and_fills_no_memory(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_shared, "MAX_TOGETHER", 10_000)
    (end,) = load([("n:flow", {"targetId": "itself"})], id="itself").run_sync(Message("{}")).ends
    assert end.relation == "Failure"
    assert len(end.message.data) < 100_000
