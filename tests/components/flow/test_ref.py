"""`ref`: a node that stands elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from catenary import Chain, ChainInvalid, Engine, Message, fail

Load = Callable[..., Chain]


def test_the_node_runs_alone_and_its_answer_leaves_from_here(load: Load) -> None:
    nodes = [("r:ref", {"targetId": "f"}), ("f:exprFilter", {"expr": "msg > 1"}), "no:break", "yes:fork"]
    ends = load(nodes, "f True no, r True yes").run_sync("2").ends
    assert [(end.node_id, end.relation, dict(end.message.metadata)) for end in ends] == [("yes", "Success", {})]


def test_a_node_of_another_chain_runs(load: Load) -> None:
    other = load(["a:fork", ("d:exprTransform", {"expr": "msg * 2"})]).id
    (end,) = load([("r:ref", {"targetId": f"{other}: d"})]).run_sync("21").ends
    assert (end.node_id, end.relation, end.message.text) == ("r", "Success", "42")


def test_told_on_each_end_of_the_path_leaves_from_here(load: Load) -> None:
    nodes = [
        ("r:ref", {"targetId": "s", "tellChain": True}),
        "s:fork",
        "a:break",
        ("b:exprFilter", {"expr": "msg > 5"}),
    ]
    ends = load(nodes, "s Success a, s Success b").run_sync("2").ends
    assert [(end.node_id, end.relation) for end in ends] == [("r", "Success"), ("r", "False")]


def test_a_path_of_another_chain_runs_to_its_ends(load: Load) -> None:
    other = load(
        ["x:break", ("d:exprTransform", {"expr": "msg * 2"}), ("e:exprFilter", {"expr": "msg > 5"})], "d Success e"
    ).id
    (end,) = load([("r:ref", {"targetId": f"{other}:d", "tellChain": True})]).run_sync("21").ends
    assert (end.node_id, end.relation, end.message.text, dict(end.message.metadata)) == ("r", "True", "42", {})


def test_nodes_behind_see_what_the_target_sent(load: Load) -> None:
    nodes = [
        ("r:ref", {"targetId": "d"}),
        ("d:exprTransform", {"expr": "msg * 2"}),
        ("z:exprTransform", {"expr": "d.data + 'x'"}),
    ]
    assert load(nodes, "r Success z").run_sync("4").message.text == "8x"


async def test_another_chain_is_looked_up_for_each_message(load: Load, engine: Engine) -> None:
    other = load([("d:exprTransform", {"expr": "msg * 2"})])
    chain = load([("r:ref", {"targetId": f"{other.id}:d"})])
    changed: Any = other.to_dict()
    changed["metadata"]["nodes"][0]["configuration"]["expr"] = "msg * 3"
    engine.reload(changed)
    assert (await chain.run("2")).message.text == "6"
    engine.remove(other.id)
    (end,) = (await chain.run("2")).ends
    assert end.message.metadata["errorMsg"] == f"ruleChain id={other.id} not found"


def test_told_on_only_end_nodes_of_the_path_count_if_there_are_any(load: Load) -> None:
    nodes = [("r:ref", {"targetId": "s", "tellChain": True}), "s:fork", "a:fork", "e:end", "after:end"]
    ends = load(nodes, "s Success a, s Success e, r Success after").run_sync("2").ends
    assert [(end.node_id, end.relation) for end in ends] == [("after", "Success")]


@pytest.mark.parametrize("tell_chain", [True, False])
def test_a_target_that_fails_leaves_the_message_as_it_came(load: Load, engine: Engine, tell_chain: bool) -> None:
    engine.function("fail")(lambda ctx, msg: fail("broken", msg.with_data("other").put("x", "y")))
    nodes = [("r:ref", {"targetId": "f", "tellChain": tell_chain}), ("f:functions", {"functionName": "fail"})]
    (end,) = load(nodes).run_sync("2").ends
    assert (end.node_id, end.relation, end.message.text, str(end.error)) == ("r", "Failure", "2", "broken")
    assert dict(end.message.metadata) == {"errorMsg": "broken"}


@pytest.mark.parametrize(
    ("target", "text"), [("absent", "node id=absent not found"), ("absent:a", "ruleChain id=absent not found")]
)
def test_a_missing_target_is_a_failure(load: Load, target: str, text: str) -> None:
    (end,) = load([("r:ref", {"targetId": target})]).run_sync('{"a": 1}').ends
    assert (end.relation, end.message.text, end.message.metadata["errorMsg"]) == ("Failure", '{"a": 1}', text)


def test_pieces_of_a_stream_go_on_before_the_rest(load: Load, engine: Engine) -> None:
    order: list[str] = []

    async def stream(ctx: Any, msg: Message) -> Any:
        for number in range(2):
            await ctx.emit("Stream", msg.with_data(str(number)))
            order.append(f"sent {number}")
        return "Success", msg

    engine.function("stream")(stream)
    engine.function("got")(lambda ctx, msg: order.append(f"got {msg.text}"))
    nodes = [
        ("r:ref", {"targetId": "s"}),
        ("s:functions", {"functionName": "stream"}),
        ("g:functions", {"functionName": "got"}),
    ]
    assert load(nodes, "r Stream g").run_sync("x").ok
    assert order == ["got 0", "sent 0", "got 1", "sent 1"]


def test_a_target_that_sends_nothing_on_ends_the_branch(load: Load, engine: Engine) -> None:
    engine.function("nothing")(lambda ctx, msg: None)
    (end,) = load([("r:ref", {"targetId": "n"}), ("n:functions", {"functionName": "nothing"})]).run_sync("1").ends
    assert (end.node_id, end.is_silent) == ("r", True)


def test_a_thousand_rounds_over_a_reference_nest_nothing(load: Load) -> None:
    nodes = [
        ("r:ref", {"targetId": "up"}),
        ("c:exprFilter", {"expr": "msg < 1000"}),
        ("up:exprTransform", {"expr": "msg + 1"}),
    ]
    chain = load(nodes, "r Success c, c True r", configuration={"allowCycle": True})
    assert chain.run_sync("0").message.text == "1000"


@pytest.mark.parametrize("tell_chain", [True, False])
def test_a_reference_to_itself_is_refused(load: Load, tell_chain: bool) -> None:
    with pytest.raises(ChainInvalid, match=r"the node runs itself: r -> r"):
        load([("r:ref", {"targetId": "r", "tellChain": tell_chain})])


def test_references_to_each_other_are_refused(load: Load) -> None:
    with pytest.raises(ChainInvalid, match=r"the node runs itself: a -> b -> a"):
        load([("a:ref", {"targetId": "b"}), ("b:ref", {"targetId": "a"})])


def test_a_path_that_leads_back_to_its_reference_may_end(load: Load) -> None:
    nodes = [
        ("r:ref", {"targetId": "up", "tellChain": True}),
        ("up:exprTransform", {"expr": "msg + 1"}),
        ("c:exprFilter", {"expr": "msg < 5"}),
    ]
    (end,) = load(nodes, "up Success c, c True r").run_sync("0").ends
    assert (end.node_id, end.relation, end.message.text) == ("r", "False", "5")


def test_a_reference_to_itself_by_way_of_its_chain_is_too_deep(load: Load) -> None:
    (end,) = load([("r:ref", {"targetId": "c:r"})], id="c").run_sync("0").ends
    assert "nested 100 deep" in end.message.metadata["errorMsg"]


async def test_a_target_may_wait(load: Load, engine: Engine) -> None:
    async def late(ctx: Any, msg: Message) -> str:
        await asyncio.sleep(0.001)
        return "Late"

    engine.function("late")(late)
    outcome = await load([("r:ref", {"targetId": "l"}), ("l:functions", {"functionName": "late"})]).run("1")
    assert [end.relation for end in outcome.ends] == ["Late"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("", "targetId is empty"),
        ("a:", "names no node after the colon"),
        (":a", "names no chain before the colon"),
        (":", "names no node after the colon"),
        ("a:b:c", "(?m)targetId has more than one colon in 'a:b:c'; write a node id, or CHAIN:NODE for .*chain$"),
    ],
)
def test_a_target_has_to_name_a_node(load: Load, target: str, text: str) -> None:
    with pytest.raises(ChainInvalid, match=text):
        load([("r:ref", {"targetId": target})])
