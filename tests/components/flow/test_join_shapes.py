"""`join`: nested, in loops, behind conditions, wide, with branches that fail, and in runs that begin elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from catenary import Chain, ChainInvalid, Message, Outcome
from catenary_components.flow import _shared

Load = Callable[..., Chain]
MERGE = {"mergeToMap": True}
SPLIT = "f Success a, f Success b, a Success j, b Success j"


def put(name: str, expression: str) -> tuple[str, dict[str, Any]]:
    """Give a node whose payload is the value of an expression."""
    return f"{name}:exprTransform", {"expr": expression}


def senders(outcome: Outcome, node_id: str = "j") -> list[str]:
    """Give the nodes in the list of the one join that ended a branch."""
    (end,) = (end for end in outcome.ends if end.node_id == node_id)
    return [entry["nodeId"] for entry in json.loads(end.message.text)]


# Nested


def test_an_outer_join_gets_what_the_inner_one_sends_under_its_id(load: Load) -> None:
    nodes: list[Any] = ["f:fork", "g:fork", put("x", "1"), put("y", "2"), "i:join", put("p", "3"), "j:join"]
    ways = "f Success g, g Success x, g Success y, x Success i, y Success i, i Success j, f Success p, p Success j"
    outcome = load(nodes, ways).run_sync(Message("{}"))
    (end,) = outcome.ends
    entries = json.loads(end.message.text)
    assert {entry["nodeId"] for entry in entries} == {"i", "p"}
    inner = next(entry for entry in entries if entry["nodeId"] == "i")
    assert [entry["nodeId"] for entry in json.loads(inner["msg"]["data"])] == ["x", "y"]


def test_two_inner_joins_both_reach_the_outer_one(load: Load) -> None:
    nodes: list[Any] = [
        "f:fork",
        *(f"g{n}:fork" for n in "12"),
        *(put(f"{name}{n}", f"{{{name}{n}: 1}}") for n in "12" for name in "xy"),
    ]
    nodes += [("i1:join", MERGE), ("i2:join", MERGE), ("j:join", MERGE)]
    ways = ", ".join(
        f"f Success g{n}, g{n} Success x{n}, g{n} Success y{n}, x{n} Success i{n}, y{n} Success i{n}, i{n} Success j"
        for n in "12"
    )
    (end,) = load(nodes, ways).run_sync(Message("{}")).ends
    assert (end.node_id, end.message.value) == ("j", {"x1": 1, "x2": 1, "y1": 1, "y2": 1})


def test_a_failure_of_an_inner_join_is_an_errored_arrival_at_the_outer_one(load: Load) -> None:
    nodes: list[Any] = ["f:fork", put("x", "msg.n + 1"), "i:join", put("p", "3"), "j:join"]
    ways = "f Success x, x Failure i, i Failure j, f Success p, p Success j"
    (end,) = load(nodes, ways).run_sync(Message("{}")).ends
    assert str(end.error).startswith("NodeId=i,Err=NodeId=x,Err=expression 'msg.n + 1'")


# Loops


def test_a_join_in_the_body_of_a_for_joins_once_an_item(load: Load) -> None:
    nodes: list[Any] = [("l:for", {"range": "1..3", "do": "f", "mode": 1}), "f:fork"]
    nodes += [put("a", "{i: metadata._loopIndex}"), put("b", "{n: msg.n}"), ("j:join", MERGE)]
    (end,) = load(nodes, SPLIT).run_sync(Message({"n": 7})).ends
    assert end.message.value == [{"i": str(index), "n": 7} for index in range(3)]


def test_a_join_on_a_cycle_joins_once_a_round(load: Load) -> None:
    nodes: list[Any] = [("s:switch", {"cases": [{"case": "msg.n < 3", "then": "More"}]}), "f:fork"]
    nodes += [put("a", "{n: msg.n + 1}"), put("b", "{m: msg.n}"), ("j:join", MERGE)]
    ways = f"s More f, {SPLIT}, j Success s"
    outcome = load(nodes, ways, configuration={"allowCycle": True}).run_sync(Message({"n": 0}))
    assert [(end.node_id, end.relation) for end in outcome.ends] == [("s", "Default")]
    assert outcome.message.value == {"m": 2, "n": 3}


# Conditions


@pytest.mark.parametrize(
    ("t", "expected"), [(60, ["hot", "warm"]), (30, ["warm"]), (10, ["cold"])], ids=["both", "one", "default"]
)
def test_a_join_behind_conditions_waits_for_the_ways_that_were_taken(load: Load, t: int, expected: list[str]) -> None:
    cases = [{"case": "msg.t > 50", "then": "Hot"}, {"case": "msg.t > 20", "then": "Warm"}]
    nodes: list[Any] = [("i:inclusive", {"cases": cases}), "hot:log", "warm:log", "cold:log", "j:join"]
    ways = "i Hot hot, i Warm warm, i Default cold, hot Success j, warm Success j, cold Success j"
    assert senders(load(nodes, ways).run_sync(Message({"t": t}))) == expected


def test_both_ways_of_a_filter_may_lead_to_the_join(load: Load) -> None:
    nodes: list[Any] = ["f:fork", ("a:exprFilter", {"expr": "true"}), ("b:exprFilter", {"expr": "false"}), "j:join"]
    outcome = load(nodes, "f Success a, f Success b, a True j, a False j, b True j, b False j").run_sync(Message("{}"))
    assert (senders(outcome), outcome.ok) == (["a", "b"], True)


def test_a_join_that_nothing_arrives_at_does_not_run(load: Load) -> None:
    nodes: list[Any] = ["f:fork", *((f"{name}:exprFilter", {"expr": "false"}) for name in "ab"), "j:join"]
    outcome = load(nodes, "f Success a, f Success b, a True j, b True j").run_sync(Message("{}"))
    assert {(end.node_id, str(end.relation)) for end in outcome.ends} == {("a", "False"), ("b", "False")}


def test_the_sender_is_the_last_node_of_a_branch(load: Load) -> None:
    nodes: list[Any] = ["f:fork", "a:log", "z:log", "j:join"]
    outcome = load(nodes, "f Success a, a Success z, z Success j, f Success j").run_sync(Message("{}"))
    assert senders(outcome) == ["f", "z"]


# Failures


def test_a_branch_that_fails_unconnected_is_missing_and_fails_the_run(load: Load) -> None:
    outcome = load(["f:fork", put("a", "msg.n + 1"), "b:log", "j:join"], SPLIT).run_sync(Message("{}"))
    assert senders(outcome) == ["b"]
    assert (outcome.status, {end.node_id: str(end.relation) for end in outcome.ends}) == (
        "failed",
        {"a": "Failure", "j": "Success"},
    )


def test_a_branch_that_recovered_is_no_errored_arrival(load: Load) -> None:
    nodes: list[Any] = ["f:fork", put("a", "msg.n + 1"), "r:log", "b:log", "j:join"]
    outcome = load(nodes, "f Success a, f Success b, a Failure r, r Success j, b Success j").run_sync(Message("{}"))
    assert outcome.ok
    assert [entry["err"] for entry in json.loads(outcome.message.text)] == ["", ""]
    assert "msg.n + 1" in outcome.message.metadata["errorMsg"]


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        ("f Success a, f Success m, a Success j, m Success b, b Failure j", {"h": "1", "k": "a"}),
        ("f Success m, f Success a, a Success j, m Success b, b Failure j", {"h": "1", "k": "a", "z": "1"}),
    ],
    ids=["second", "first"],
)
def test_metadata_of_a_branch_that_failed_counts_only_as_that_of_the_first_arrival(
    load: Load, ways: str, expected: dict[str, str]
) -> None:
    nodes: list[Any] = ["f:fork", ("a:metadataTransform", {"mapping": {"k": "'a'"}})]
    nodes += [("m:metadataTransform", {"mapping": {"k": "'b'", "z": "1"}}), put("b", "msg.n + 1"), "j:join"]
    (end,) = load(nodes, ways).run_sync(Message("{}", metadata={"h": "1"})).ends
    assert {key: text for key, text in end.message.metadata.items() if key != "errorMsg"} == expected


def test_all_errors_stand_one_after_the_other_each_with_a_blank_behind(load: Load, engine: Any) -> None:
    engine.function("fails")(lambda ctx, msg: (_ for _ in ()).throw(ValueError(f"no {ctx.node_id}")))
    nodes: list[Any] = ["f:fork", *((f"{name}:functions", {"functionName": "fails"}) for name in "ab"), "j:join"]
    (end,) = load(nodes, "f Success a, f Success b, a Failure j, b Failure j").run_sync(Message("{}")).ends
    assert end.message.metadata["errorMsg"] == str(end.error) == "NodeId=a,Err=no a NodeId=b,Err=no b "
    assert [entry["err"] for entry in json.loads(end.message.text)] == ["no a", "no b"]


# What comes out


def test_type_id_and_time_are_those_of_the_first_arrival(load: Load, engine: Any) -> None:
    engine.function("late")(lambda ctx, msg: ("Success", Message("late", "Late", "TEXT", {}, "m2", 8)))
    nodes: list[Any] = [
        "f:fork",
        ("d:delay", {"delayMs": 1}),
        ("a:functions", {"functionName": "late"}),
        "b:log",
        "j:join",
    ]
    ways = "f Success d, d Success a, f Success b, a Success j, b Success j"
    outcome = load(nodes, ways).run_sync(Message("{}", "First", "JSON", {}, "m1", 7))
    message = outcome.message
    assert senders(outcome) == ["b", "a"]
    assert (message.type, message.id, message.ts, message.data_type) == ("First", "m1", 7, "JSON")
    second = json.loads(message.text)[1]["msg"]
    assert (second["type"], second["id"], second["ts"], second["dataType"]) == ("Late", "m2", 8, "TEXT")


@pytest.mark.parametrize(
    ("sent", "merged"),
    [
        (Message("{bad"), {"a": "{bad"}),
        (Message("null"), {"a": None}),
        (Message("[1]"), {"a": [1]}),
        (Message('{"z":1,"b":{"c":2}}'), {"b": {"c": 2}, "z": 1}),
        (Message('{"z":1}', data_type="TEXT"), {"a": '{"z":1}'}),
        (Message(b"\x00\xff", data_type="BINARY"), {"a": "00ff"}),
        (Message(""), {}),
    ],
    ids=["broken", "null", "list", "object", "text", "bytes", "empty"],
)
def test_what_is_no_json_object_stands_under_its_sender(load: Load, sent: Message, merged: Any) -> None:
    (end,) = load(["a:fork", ("j:join", MERGE)], "a Success j").run_sync(sent).ends
    assert (end.relation, end.message.value, end.message.data_type) == ("Success", merged, "JSON")


def test_payloads_that_are_too_large_together_are_a_failure_with_the_first_message(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_shared, "MAX_TOGETHER", 10)
    (end,) = load(["f:fork", "j:join"], "f Success j, f Success j").run_sync(Message('"1234"')).ends
    assert str(end.error).startswith("the results have 12 characters together, and at most 10 can be listed")
    assert (end.relation, end.message.text) == ("Failure", '"1234"')


async def test_a_thousand_branches_meet(load: Load) -> None:
    nodes: list[Any] = [
        "f:fork",
        *(put(f"n{index}", f"{{k{index}: {index}}}") for index in range(1000)),
        ("j:join", MERGE),
    ]
    ways = ", ".join(f"f Success n{index}, n{index} Success j" for index in range(1000))
    (end,) = (await load(nodes, ways).run("{}")).ends
    assert end.message.value == {f"k{index}": index for index in range(1000)}


def test_ends_that_a_sub_chain_sends_on_arrive_one_by_one(load: Load) -> None:
    inner = load(["f:fork", put("x", "1"), put("y", "2")], "f Success x, f Success y")
    chain = load([("c:flow", {"targetId": inner.id, "extend": True}), "j:join"], "c Success j")
    outcome = chain.run_sync(Message("{}"))
    assert senders(outcome) == ["c", "c"]
    assert [entry["msg"]["data"] for entry in json.loads(outcome.message.text)] == ["1", "2"]


# Loading


@pytest.mark.parametrize(
    ("ways", "codes"),
    [
        ("f Success a, a Success j, x Success j", ["chain.unreachable-node"]),
        ("f Success a, x Success j", ["chain.unreachable-node", "chain.unreachable-join"]),
        ("f Success a", ["chain.unreachable-node", "chain.unreachable-join"]),
        ("f Success a, a Success j, f Success x, x Success j", []),
    ],
)
def test_a_join_that_no_branch_can_reach_is_told_at_load(engine: Any, ways: str, codes: list[str]) -> None:
    kinds = {"f": "fork", "a": "log", "x": "log", "j": "join"}
    connections = [dict(zip(("fromId", "type", "toId"), way.split(), strict=True)) for way in ways.split(",")]
    nodes = [{"id": name, "type": kind} for name, kind in kinds.items()]
    source: Any = {"ruleChain": {"id": "x"}, "metadata": {"nodes": nodes, "connections": connections}}
    assert [problem.code for problem in engine.check(source)] == codes


def test_a_join_cannot_be_the_first_node(load: Load) -> None:
    with pytest.raises(ChainInvalid, match=r"node 'j' \(join\): a join cannot be the first node"):
        load(["j:join", "f:fork"], "f Success j")


# Runs that begin elsewhere


@pytest.mark.parametrize(
    ("start", "expected"), [("a", ["a"]), (["a", "b"], ["a", "b"]), (["b", "a"], ["b", "a"]), ("f", ["a", "b"])]
)
def test_a_run_that_begins_at_some_branches_waits_for_these_only(load: Load, start: Any, expected: list[str]) -> None:
    chain = load(["f:fork", "a:log", "b:log", "j:join"], SPLIT)
    assert senders(chain.run_sync(Message("{}"), start=start)) == expected


def test_a_node_alone_runs_its_join_by_a_reference(load: Load) -> None:
    nodes: list[Any] = ["f:fork", ("r:ref", {"targetId": "a", "tellChain": True}), "a:log", ("j:join", MERGE)]
    outcome = load(nodes, "f Success r, a Success j").run_sync(Message({"n": 1}))
    assert [(end.node_id, end.message.value) for end in outcome.ends] == [("r", {"n": 1})]


# Cancelled


async def test_a_run_that_is_out_of_time_ends_without_the_join(load: Load) -> None:
    nodes: list[Any] = ["f:fork", "a:log", ("b:delay", {"delayMs": 3_600_000}), "j:join", "e:log"]
    outcome = await load(nodes, f"{SPLIT}, j Success e, j Failure e").run("{}", timeout=0.02)
    assert outcome.status == "cancelled"
    assert "e" not in {end.node_id for end in outcome.ends}
    assert {str(end.error) for end in outcome.ends} == {"processing cancelled: context deadline exceeded"}
