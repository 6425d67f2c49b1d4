"""`join`: the results of a split in one message."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from catenary import Message

SPLIT = "f Success a, f Success b, a Success j, b Success j"


@pytest.fixture
def join(load: Callable[..., Any]) -> Callable[..., Any]:
    """Run two branches with these expressions into a join; gives the end of the join."""

    def join(a: str, b: str, message: Message, connections: str = SPLIT, **configuration: Any) -> Any:
        nodes = [
            "f:fork",
            ("a:exprTransform", {"expr": a}),
            ("b:exprTransform", {"expr": b}),
            ("j:join", configuration),
        ]
        return next(end for end in load(nodes, connections).run_sync(message).ends if end.node_id == "j")

    return join


def test_all_branches_come_as_one_list(join: Callable[..., Any]) -> None:
    end = join("{x: 1}", "'text'", Message("{}", "T", "JSON", {"k": "v"}, "m1", 7))
    head = '"ts":7,"id":"m1","dataType":"JSON","type":"T"'
    assert end.message.data == (
        f'[{{"msg":{{{head},"data":"{{\\"x\\":1}}","metadata":{{}}}},"err":"","nodeId":"a"}},'
        f'{{"msg":{{{head},"data":"text","metadata":{{}}}},"err":"","nodeId":"b"}}]'
    )
    assert (end.relation, end.message.type, end.message.id, end.message.ts) == ("Success", "T", "m1", 7)
    assert dict(end.message.metadata) == {"k": "v"}


def test_bytes_are_listed_as_hex(load: Callable[..., Any]) -> None:
    (end,) = load(["f:fork", "j:join"], "f Success j").run_sync(Message(b"\x00\xff", data_type="BINARY")).ends
    assert end.message.data_type == "JSON"
    assert json.loads(end.message.data)[0]["msg"]["data"] == "00ff"


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        ("{x: 1, y: 1}", "{y: 2}", {"x": 1, "y": 2}),
        ("'hello'", "[{q: 1}]", {"a": "hello", "b": [{"q": 1}]}),
        ("5", "msg.absent", {"a": 5}),
    ],
)
def test_payloads_merge_into_one_object(join: Callable[..., Any], a: str, b: str, merged: Any) -> None:
    end = join(a, b, Message("{}"), mergeToMap=True)
    assert (end.relation, end.message.value, end.message.data_type) == ("Success", merged, "JSON")


def test_text_merges_under_the_node_it_came_from(join: Callable[..., Any]) -> None:
    end = join("'1'", "'2'", Message("x", data_type="TEXT"), mergeToMap=True)
    assert end.message.value == {"a": "1", "b": "2"}


def test_a_branch_that_failed_makes_the_result_fail(join: Callable[..., Any]) -> None:
    connections = "f Success a, f Success b, a Success j, b Failure j"
    end = join("{x: 1}", "msg.t + 1", Message("{}", metadata={"k": "v"}), connections)
    entries = json.loads(end.message.data)
    error = entries[1]["err"]
    assert end.relation == "Failure"
    assert (entries[0]["err"], [entry["nodeId"] for entry in entries]) == ("", ["a", "b"])
    assert error
    assert end.message.metadata["errorMsg"] == f"NodeId=b,Err={error} " == str(end.error)
    assert end.message.metadata["k"] == "v"


def test_all_errors_are_told(join: Callable[..., Any]) -> None:
    connections = "f Success a, f Success b, a Failure j, b Failure j"
    text = str(join("msg.t + 1", "msg.u + 1", Message("{}"), connections, mergeToMap=True).error)
    assert text.startswith("NodeId=a,Err=")
    assert "NodeId=b,Err=" in text


def test_a_failure_without_an_error_is_a_failure_too(load: Callable[..., Any], engine: Any) -> None:
    engine.function("plain")(lambda ctx, msg: "Failure")
    chain = load([("p:functions", {"functionName": "plain"}), "j:join"], "p Failure j")
    assert str(chain.run_sync(Message("{}")).ends[0].error) == "NodeId=p,Err=failed "


def test_metadata_of_all_branches_is_put_together(load: Callable[..., Any], engine: Any) -> None:
    engine.function("mark")(lambda ctx, msg: ("Success", msg.put(ctx.node_id, "1").put("last", ctx.node_id)))
    marks = [(f"{name}:functions", {"functionName": "mark"}) for name in "ab"]
    (end,) = load(["f:fork", *marks, "j:join"], SPLIT).run_sync(Message("{}")).ends
    assert dict(end.message.metadata) == {"a": "1", "b": "1", "last": "b"}


def test_a_branch_that_ends_early_is_missing(load: Callable[..., Any]) -> None:
    chain = load(
        ["f:fork", ("a:exprFilter", {"expr": "false"}), "b:fork", "j:join"],
        "f Success a, f Success b, a True j, b Success j",
    )
    end = next(end for end in chain.run_sync(Message("{}")).ends if end.node_id == "j")
    assert [entry["nodeId"] for entry in json.loads(end.message.data)] == ["b"]


def test_its_form_has_the_settings_with_their_defaults(engine: Any) -> None:
    form = engine.registry.form("join")
    assert (form["relationTypes"], form["category"]) == (["Success", "Failure"], "common")
    assert [(field["name"], field["type"], field["defaultValue"], field["unit"]) for field in form["fields"]] == [
        ("mergeToMap", "bool", False, ""),
        ("timeout", "float", 30.0, "seconds"),
        ("quorum", "int", 0, "branches"),
        ("stopRest", "bool", False, ""),
    ]
