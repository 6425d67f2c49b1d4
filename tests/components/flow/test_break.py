"""`break`: the loop around stops after its round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import Chain, Engine, Message

Load = Callable[..., Chain]

AT_TWO = [("c:exprFilter", {"expr": "msg >= 2"}), "x:break"]


@pytest.mark.parametrize(("mode", "data"), [(0, "[1,2,3]"), (1, "[1,2]"), (2, "2")])
def test_a_loop_stops_after_the_round(load: Load, mode: int, data: str) -> None:
    nodes = [("f:for", {"range": "msg", "do": "c", "mode": mode}), *AT_TWO]
    message = load(nodes, "c True x").run_sync([1, 2, 3] if mode < 2 else [2, 3, 4]).message
    assert message.text == data
    assert "_break" not in message.metadata


def test_a_while_stops_with_the_number_of_the_round(load: Load) -> None:
    nodes = [("w:while", {"condition": "true", "do": "b"}), ("b:exprTransform", {"expr": "msg + 1"}), *AT_TWO]
    message = load(nodes, "b Success c, c True x").run_sync("0").message
    assert (message.text, dict(message.metadata)) == ("2", {"_loopIndex": "1"})


def test_the_rest_of_the_round_still_runs(load: Load) -> None:
    nodes = [("f:for", {"range": "1..5", "do": "x", "mode": 2}), "x:break", ("d:exprTransform", {"expr": "msg * 2"})]
    assert load(nodes, "x Success d").run_sync("1").message.text == "2"


def test_metadata_of_any_branch_breaks_the_loop(load: Load, engine: Engine) -> None:
    engine.function("stop")(lambda ctx, msg: ("Success", msg.put("_break", "1")))
    nodes = [("f:for", {"range": "msg", "do": "b", "mode": 1}), ("b:functions", {"functionName": "stop"})]
    message = load(nodes).run_sync([1, 2, 3]).message
    assert (message.text, "_break" in message.metadata) == ("[1]", False)


@pytest.mark.parametrize("extend", [True, False])
def test_a_break_in_a_sub_chain_of_the_body_counts(load: Load, extend: bool) -> None:
    inner = load(["x:break", ("m:metadataTransform", {"mapping": {"only": "'this'"}, "isNew": True})], "x Success m").id
    nodes = [("f:for", {"range": "msg", "do": "i", "mode": 2}), ("i:flow", {"targetId": inner, "extend": extend})]
    assert load(nodes).run_sync([1, 2, 3]).message.metadata["_loopIndex"] == "0"


def test_a_break_in_a_group_or_behind_a_reference_counts(load: Load) -> None:
    for runs in (("i:groupAction", {"nodeIds": "x"}), ("i:ref", {"targetId": "x"})):
        nodes = [("f:for", {"range": "1..5", "do": "i"}), runs, "x:break"]
        message = load(nodes).run_sync("1").message
        assert dict(message.metadata) == {"_loopIndex": "0", "_loopItem": "1"}


def test_only_the_inner_loop_stops(load: Load) -> None:
    nodes = [
        ("f:for", {"range": "msg", "do": "g", "mode": 1}),
        ("g:for", {"range": "msg", "do": "c", "mode": 1}),
        *AT_TWO,
    ]
    assert load(nodes, "c True x").run_sync([[1, 2, 3], [4, 5], [1]]).message.text == "[[1,2],[4],[1]]"


@pytest.mark.parametrize("breaker", [("x:break", {}), ("x:functions", {"functionName": "stop"})])
def test_a_break_before_an_inner_loop_is_meant_for_the_outer_one(load: Load, engine: Engine, breaker: Any) -> None:
    engine.function("stop")(lambda ctx, msg: ("Success", msg.put("_break", "1")))
    nodes = [
        ("f:for", {"range": "1..9", "do": "x", "mode": 1}),
        breaker,
        ("g:for", {"range": "msg", "do": "d", "mode": 1}),
        ("d:exprTransform", {"expr": "msg * 2"}),
    ]
    assert load(nodes, "x Success g").run_sync([1, 2]).message.text == "[[2,4]]"


def test_no_more_items_are_handed_out_beside_the_message(load: Load, engine: Engine) -> None:
    seen: list[str] = []
    engine.function("see")(lambda ctx, msg: seen.append(msg.text) or "Success")
    settings = {"range": "msg", "do": "s", "mode": 3, "concurrency": 1}
    nodes = [("f:for", settings), ("s:functions", {"functionName": "see"}), *AT_TWO]
    assert load(nodes, "s Success c, c True x").run_sync([1, 2, 3, 4]).ok
    assert seen == ["1", "2"]


def test_outside_of_loops_the_key_stays_and_later_loops_run(load: Load) -> None:
    assert load(["x:break"]).run_sync(Message("{}")).message.metadata["_break"] == "1"
    nodes = ["x:break", ("f:for", {"range": "msg", "do": "d", "mode": 1}), "d:fork"]
    assert load(nodes, "x Success f").run_sync([1, 2]).message.text == "[1,2]"
