"""`groupAction`: several nodes at once."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.engine.runtime.stepping import stepped
from tests.programs import eventually

from catenary import Component, Config, End, Engine, Message, Relation, register
from catenary.component import Context
from catenary.events import Event, NodeStarted

Load = Callable[..., Any]


@register("t/groupSlow", category="test")
class Slow(Component[Config]):
    """Keeps its thread for a while."""

    begun = 0

    def run(self, ctx: Context, msg: Message) -> Relation | str:
        Slow.begun += 1
        time.sleep(0.01)
        return "Success"


@pytest.fixture
def seen(engine: Engine) -> list[str]:
    """Register the functions that members are made of; gives what they tell."""
    seen: list[str] = []

    @engine.function("double")
    def double(ctx: Any, msg: Message) -> Any:
        return "Success", msg.with_data({"double": msg.value["t"] * 2}).put("by", ctx.node_id).put(ctx.node_id, "1")

    @engine.function("slow")
    async def slow(ctx: Any, msg: Message) -> Any:
        seen.append(f"{ctx.node_id} begins")
        try:
            await (asyncio.Event().wait() if msg.metadata.get("wait") == "long" else asyncio.sleep(0.03))
        except asyncio.CancelledError:
            seen.append(f"{ctx.node_id} stopped")
            raise
        seen.append(f"{ctx.node_id} ends")
        return "Success", msg.with_data({"slow": True})

    @engine.function("broken")
    def broken(ctx: Any, msg: Message) -> Any:
        raise ValueError(f"{ctx.node_id} is broken")

    @engine.function("text")
    def text(ctx: Any, msg: Message) -> Any:
        return "Success", Message("plain", data_type="TEXT")

    @engine.function("listed")
    def listed(ctx: Any, msg: Message) -> Any:
        return "Success", msg.with_data([ctx.node_id])

    @engine.function("nothing")
    def nothing(ctx: Any, msg: Message) -> None:
        seen.append(f"{ctx.node_id} is silent")

    @engine.function("several")
    def several(ctx: Any, msg: Message) -> Any:
        return [("Success", msg.with_data('"first"')), ("Other", msg.with_data('"second"'))]

    @engine.function("pieces")
    async def pieces(ctx: Any, msg: Message) -> Any:
        await ctx.emit("Success", msg.with_data('"all"'))
        await ctx.emit("Stream", msg.with_data('"piece"'))

    return seen


def group(load: Load, members: str, configuration: dict[str, Any], message: Message) -> End:
    """Run a group; `members` is `"a:double, b:slow"`. It runs all of them when it names none itself."""
    pairs = [member.strip().split(":") for member in members.split(",")]
    nodes: list[Any] = [("g:groupAction", {"nodeIds": [name for name, _ in pairs], **configuration})]
    nodes += [(f"{name}:functions", {"functionName": function}) for name, function in pairs]
    (end,) = load(nodes).run_sync(message).ends
    return end


def entries(end: End) -> list[tuple[str, str, str]]:
    return [(one["nodeId"], one["err"], one["msg"]["data"]) for one in json.loads(end.message.data)]


MESSAGE = Message('{"t":1}', "T", metadata={"k": "v"})


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize("node_ids", ["b,a", " b , a ", ["b", "a"], [" b", "a "], "b,,a,"])
def test_results_are_listed_in_the_order_configured(load: Load, node_ids: Any) -> None:
    end = group(load, "a:double, b:slow", {"nodeIds": node_ids}, MESSAGE)
    assert end.relation == "Success"
    assert entries(end) == [("b", "", '{"slow":true}'), ("a", "", '{"double":2}')]


@pytest.mark.usefixtures("seen")
def test_an_entry_has_the_wire_form_without_metadata(load: Load) -> None:
    end = group(load, "a:double", {}, MESSAGE)
    (entry,) = json.loads(end.message.data)
    assert list(entry) == ["msg", "err", "nodeId"]
    assert list(entry["msg"]) == ["ts", "id", "dataType", "type", "data", "metadata"]
    assert entry["msg"]["metadata"] == {}


@pytest.mark.usefixtures("seen")
def test_metadata_of_members_is_merged_and_a_later_one_wins(load: Load) -> None:
    for merge in (True, False):
        end = group(load, "a:double, b:double", {"mergeToMap": merge}, MESSAGE)
        assert dict(end.message.metadata) == {"k": "v", "by": "b", "a": "1", "b": "1"}


@pytest.mark.usefixtures("seen")
def test_type_and_data_type_stay_for_a_list(load: Load) -> None:
    end = group(load, "a:text", {}, Message("x", "T", data_type="TEXT"))
    assert (end.message.type, end.message.data_type) == ("T", "TEXT")


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize(
    ("data_type", "merged"),
    [("JSON", {"slow": True, "b": "plain"}), ("TEXT", {"a": '{"slow":true}', "b": "plain"})],
)
def test_merged_payloads_are_one_json_object(load: Load, data_type: str, merged: dict[str, Any]) -> None:
    message = MESSAGE.with_data_type(data_type)
    end = group(load, "a:slow, b:text, c:nothing", {"mergeToMap": True, "nodeIds": "a,b,c,absent"}, message)
    assert (end.relation, end.message.data_type) == ("Failure", "JSON")
    assert json.loads(end.message.data) == merged


@pytest.mark.usefixtures("seen")
def test_of_merged_keys_the_later_node_wins_and_a_list_stands_under_its_node(load: Load) -> None:
    members = "a:slow, b:double, c:listed, d:text"
    merged = json.loads(group(load, members, {"mergeToMap": True, "nodeIds": "a,b,c,d,b"}, MESSAGE).message.text)
    assert merged == {"slow": True, "double": 2, "c": ["c"], "d": "plain"}


def test_merged_is_in_the_order_configured_and_not_in_that_of_the_results(load: Load, engine: Engine) -> None:
    async def late(ctx: Any, msg: Message) -> Any:
        await asyncio.sleep(0.005)
        return "Success", msg.with_data({"by": "late"})

    engine.function("late")(late)
    engine.function("soon")(lambda ctx, msg: ("Success", msg.with_data({"by": "soon"})))
    end = group(load, "a:late, b:soon", {"mergeToMap": True}, MESSAGE)
    assert end.message.text == '{"by":"soon"}'


def test_nodes_behind_a_group_see_what_its_members_sent(load: Load) -> None:
    nodes = [("g:groupAction", {"nodeIds": "a"}), ("a:exprTransform", {"expr": "msg * 2"})]
    nodes.append(("z:exprTransform", {"expr": "a.data + 'x'"}))
    assert load(nodes, "g Success z").run_sync("4").message.text == "8x"


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize(
    ("members", "configuration", "relation"),
    [
        ("a:double, b:broken", {}, "Failure"),
        ("a:double, b:broken", {"matchNum": 1}, "Success"),
        ("a:double, b:broken", {"matchNum": 2}, "Failure"),
        ("a:double, b:double", {"matchNum": 2}, "Success"),
        ("a:double, b:broken", {"matchNum": -1}, "Failure"),
        ("a:double, b:double", {"matchNum": 9}, "Success"),
        ("a:double, b:broken", {"matchNum": 1, "matchRelationType": "Failure"}, "Success"),
        ("a:double", {"matchRelationType": "success"}, "Failure"),
        ("a:double", {"matchRelationType": " "}, "Success"),
        ("a:broken", {"matchRelationType": ""}, "Failure"),
        ("a:several", {"matchRelationType": "Other"}, "Success"),
        ("a:several", {"matchRelationType": "Success"}, "Success"),
        ("a:pieces", {}, "Success"),
        ("a:nothing", {}, "Failure"),
    ],
)
def test_enough_members_must_end_by_the_relation(
    load: Load, members: str, configuration: dict[str, Any], relation: str
) -> None:
    assert group(load, members, configuration, MESSAGE).relation == relation


@pytest.mark.usefixtures("seen")
def test_too_few_members_are_a_failure_without_an_error(load: Load) -> None:
    end = group(load, "a:double, b:broken", {}, MESSAGE)
    assert (end.error, "errorMsg" in end.message.metadata) == (None, False)
    assert entries(end) == [("a", "", '{"double":2}'), ("b", "b is broken", '{"t":1}')]


def test_once_enough_are_done_the_others_are_stopped(load: Load, seen: list[str]) -> None:
    message = MESSAGE.put("wait", "long")
    end = group(load, "a:slow, b:double", {"matchNum": 1}, message)
    assert (end.relation, entries(end)) == ("Success", [("b", "", '{"double":2}')])
    assert seen == ["a begins", "a stopped"]


def test_members_that_are_enough_at_once_let_the_rest_not_begin(
    load: Load, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catenary.runtime.run.SLICE_S", 600.0)  # nor gives the run way to them before
    assert group(load, "b:double, a:slow", {"matchNum": 1}, MESSAGE).relation == "Success"
    assert seen == []


def test_members_run_at_the_same_time(load: Load, seen: list[str]) -> None:
    assert group(load, "a:slow, b:slow", {}, MESSAGE).relation == "Success"
    assert sorted(seen[:2]) == ["a begins", "b begins"]


@pytest.mark.usefixtures("seen")
def test_an_id_that_does_not_exist_has_an_entry_of_the_group(load: Load) -> None:
    end = group(load, "a:double", {"nodeIds": "a,x", "matchNum": 2}, MESSAGE)
    assert end.relation == "Failure"
    assert entries(end) == [("a", "", '{"double":2}'), ("g", "node id=x not found", '{"t":1}')]


@pytest.mark.parametrize("configuration", [{}, {"nodeIds": ""}, {"nodeIds": []}, {"nodeIds": " , "}, {"nodeIds": None}])
def test_no_ids_are_a_failure(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    end = send("groupAction", configuration, '{"t": 1}')
    assert (end.relation, str(end.error), end.message.data) == ("Failure", "nodeIds is empty", '{"t": 1}')


def test_when_the_time_is_over_the_input_fails_and_nothing_runs_on(load: Load, seen: list[str]) -> None:
    message = MESSAGE.put("wait", "long")
    end = group(load, "a:slow, b:double", {"timeout": 0.05}, message)
    assert (end.relation, str(end.error)) == ("Failure", "context deadline exceeded")
    assert end.message.metadata["errorMsg"] == "context deadline exceeded"
    assert end.message.data == MESSAGE.data
    assert seen == ["a begins", "a stopped"]


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize("timeout", [0, -1, "0"])
def test_no_time_is_the_usual_time(load: Load, timeout: Any) -> None:
    assert group(load, "a:slow", {"timeout": timeout}, MESSAGE).relation == "Success"


def test_what_members_are_connected_to_does_not_run(load: Load, seen: list[str]) -> None:
    nodes = [("g:groupAction", {"nodeIds": "a"}), ("a:functions", {"functionName": "double"})]
    nodes.append(("z:functions", {"functionName": "nothing"}))
    (end,) = load(nodes, "a Success z").run_sync(MESSAGE).ends
    assert (end.node_id, end.relation, seen) == ("g", "Success", [])


async def test_a_cancelled_run_leaves_no_task(load: Load, engine: Engine, seen: list[str]) -> None:
    nodes: list[Any] = [("g:groupAction", {"nodeIds": "a,b"})]
    nodes += [(f"{name}:functions", {"functionName": "slow"}) for name in "ab"]
    chain = load(nodes)
    before = asyncio.all_tasks()
    running = asyncio.create_task(chain.run(MESSAGE.put("wait", "long")))
    await eventually(lambda: len(seen) == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(seen[2:]) == ["a stopped", "b stopped"]
    assert asyncio.all_tasks() == before
    await engine.close()


def test_the_time_of_the_run_stops_the_members(load: Load, engine: Engine, seen: list[str]) -> None:
    nodes: list[Any] = [("g:groupAction", {"nodeIds": "a"}), ("a:functions", {"functionName": "slow"})]

    async def out_of_time() -> str:
        before = asyncio.all_tasks()
        outcome = await load(nodes).run(MESSAGE.put("wait", "long"), timeout=20)  # sooner than the group's 30 s
        assert asyncio.all_tasks() == before
        return outcome.status

    assert (stepped(out_of_time()), seen) == ("cancelled", ["a begins", "a stopped"])


async def test_visits_of_members_belong_to_the_visit_of_the_group(load: Load, engine: Engine, seen: list[str]) -> None:
    nodes: list[Any] = [("g:groupAction", {"nodeIds": "a,b"})]
    nodes += [(f"{name}:functions", {"functionName": "slow"}) for name in "ab"]
    events: list[Event] = []
    await load(nodes).run(MESSAGE, listener=events.append)
    started = [(one.node_id, one.visit, one.parent) for one in events if isinstance(one, NodeStarted)]
    assert started == [("g", 1, 0), ("a", 2, 1), ("b", 3, 1)]
    assert len(seen) == 4
    await engine.close()


@pytest.mark.usefixtures("seen")
def test_a_join_may_be_a_member(load: Load) -> None:
    nodes = ["f:fork", ("g:groupAction", {"nodeIds": "j", "mergeToMap": True}), ("j:join", {"mergeToMap": True})]
    ends = load(nodes, "f Success g, f Success j").run_sync(MESSAGE).ends
    assert [(end.node_id, end.relation, end.message.data) for end in ends][-1] == ("g", "Success", '{"t":1}')


def test_a_group_may_run_a_group(load: Load, seen: list[str]) -> None:
    nodes: list[Any] = [("g:groupAction", {"nodeIds": "h"}), ("h:groupAction", {"nodeIds": "a"})]
    nodes.append(("a:functions", {"functionName": "slow"}))
    (end,) = load(nodes).run_sync(MESSAGE).ends
    assert (end.relation, seen) == ("Success", ["a begins", "a ends"])


def test_a_group_that_is_nested_too_deeply_fails_with_that_error(load: Load) -> None:
    inner = load([("g:groupAction", {"nodeIds": "a"}), "a:fork"]).id
    outer = load([("f:flow", {"targetId": inner, "extend": True})], configuration={"maxDepth": 1})
    (end,) = outer.run_sync(MESSAGE).ends
    assert (end.relation, end.message.data) == ("Failure", MESSAGE.data)
    assert "nested 1 deep" in end.message.metadata["errorMsg"]


def test_a_chain_that_runs_itself_in_a_group_comes_to_an_end(load: Load) -> None:
    nodes: list[Any] = [("g:groupAction", {"nodeIds": "f"}), ("f:flow", {"targetId": "itself", "extend": True})]
    (end,) = load(nodes, id="itself").run_sync(MESSAGE).ends
    assert end.relation == "Failure"


@pytest.mark.parametrize("node_ids", [{}, {"a": 1}, True, [["a"]], [None]])
def test_what_is_no_list_of_ids_is_refused(engine: Engine, node_ids: Any) -> None:
    node = {"id": "g", "type": "groupAction", "configuration": {"nodeIds": node_ids}}
    (problem,) = engine.check({"metadata": {"nodes": [node]}})
    assert problem.code == "config.invalid"
    assert "nodeIds must be a list of node ids, or a text such as 'a,b'" in problem.text


def test_an_id_that_does_not_exist_is_a_warning_at_its_place(engine: Engine) -> None:
    text = """
metadata:
  nodes:
    - {id: g, type: groupAction, configuration: {nodeIds: "first, secnd"}}
    - {id: first, type: fork}
    - {id: second, type: fork}
  connections: [{fromId: g, type: Success, toId: second}]
"""
    (problem,) = engine.check(text)
    assert (problem.code, problem.line, problem.column) == ("config.unknown-node", 4, 59)
    assert problem.text == "node 'g' (groupAction): nodeIds names no node: 'secnd' does not exist"
    assert problem.hint == "did you mean 'second'?"


@pytest.mark.parametrize(("group", "relation"), [("groupAction", "Success"), ("groupFilter", "True")])
def test_members_that_never_wait_need_no_event_loop(load: Load, engine: Engine, group: str, relation: str) -> None:
    nodes = [(f"g:{group}", {"nodeIds": "a,absent,b", "matchNum": 1}), "a:comment", ("b:exprFilter", {"expr": "true"})]
    (end,) = load(nodes).run_sync(MESSAGE).ends
    assert (end.node_id, end.relation) == ("g", relation)
    assert not engine.loops._idle


def test_after_the_time_no_further_member_that_never_waits_begins(load: Load) -> None:
    members = [f"m{number}" for number in range(500)]
    nodes = [("g:groupAction", {"nodeIds": members, "timeout": 0.02}), *(f"{one}:t/groupSlow" for one in members)]
    Slow.begun = 0
    (end,) = load(nodes).run_sync(MESSAGE).ends
    assert (end.relation, str(end.error)) == ("Failure", "context deadline exceeded")
    assert Slow.begun <= 2  # each takes half the time at least
