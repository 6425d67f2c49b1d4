"""`fetchNodeOutput`: what an earlier node sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import ChainInvalid, End, Engine, Message

Load = Callable[..., Any]
FETCH = ("f:fetchNodeOutput", {"nodeId": "a"})


@pytest.fixture(autouse=True)
def functions(engine: Engine) -> None:
    """Register `mark`, which makes another message, and `pieces`, which sends two and ends."""

    @engine.function("mark")
    def mark(ctx: Any, msg: Message) -> Any:
        return "Success", Message("marked", "M", metadata={"by": "mark"}, data_type="TEXT")

    @engine.function("pieces")
    async def pieces(ctx: Any, msg: Message) -> None:
        await ctx.emit("Success", msg.with_data("1"))
        await ctx.emit("Success", msg.with_data("2"))


def test_the_whole_message_of_the_node_goes_on(load: Load) -> None:
    nodes = [("a:functions", {"functionName": "mark"}), ("b:exprTransform", {"expr": "{x: 1}"}), FETCH]
    (end,) = load(nodes, "a Success b, b Success f").run_sync(Message("{}", metadata={"k": "v"})).ends
    message = end.message
    assert (end.relation, message.data, message.type, message.data_type) == ("Success", "marked", "M", "TEXT")
    assert dict(message.metadata) == {"by": "mark"}


def test_the_last_of_several_messages_counts(load: Load) -> None:
    nodes = [("a:functions", {"functionName": "pieces"}), ("b:exprTransform", {"expr": "{x: 1}"}), FETCH]
    ends = load(nodes, "a Success b, b Success f").run_sync(Message("{}")).ends
    assert [end.message.data for end in ends] == ["1", "2"]


def test_an_output_that_is_not_there_is_a_failure_with_the_message_that_came(load: Load) -> None:
    chain = load([FETCH, "a:fork"], "f Success a")
    (end,) = chain.run_sync(Message('{"t": 1}')).ends
    assert (end.relation, str(end.error), end.message.data) == ("Failure", "node a output not found", '{"t": 1}')


def test_outputs_of_an_earlier_run_are_gone(load: Load) -> None:
    chain = load(["a:fork", FETCH], "a Success f")
    assert chain.run_sync(Message("{}")).ok
    assert chain.run_sync(Message("{}"), start="f").ends[0].relation == "Failure"


def test_a_node_that_does_not_exist_is_a_failure_and_a_warning(load: Load, engine: Engine) -> None:
    chain = load(["order:fork", ("f:fetchNodeOutput", {"nodeId": "ordr"})], "order Success f")
    assert chain.run_sync(Message("{}")).ends[0].message.metadata["errorMsg"] == "node ordr output not found"
    (problem,) = engine.check(chain.to_dict())
    assert (problem.code, problem.hint) == ("config.unknown-node", "did you mean 'order'?")


@pytest.mark.parametrize("configuration", [{}, {"nodeId": ""}, {"nodeId": " "}, {"nodeId": ["a"]}])
def test_a_node_is_needed(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    with pytest.raises(ChainInvalid, match="nodeId"):
        send("fetchNodeOutput", configuration)


def test_a_node_run_by_a_group_sees_what_was_sent_before(load: Load) -> None:
    nodes = [("a:functions", {"functionName": "mark"}), ("g:groupAction", {"nodeIds": "f", "mergeToMap": True}), FETCH]
    (end,) = load(nodes, "a Success g").run_sync(Message("{}")).ends
    assert (end.relation, end.message.data) == ("Success", '{"f":"marked"}')


def test_the_output_of_a_node_run_by_a_group_is_kept(load: Load) -> None:
    nodes = [("g:groupAction", {"nodeIds": "a"}), ("a:functions", {"functionName": "mark"}), FETCH]
    (end,) = load(nodes, "g Success f").run_sync(Message("{}")).ends
    assert (end.relation, end.message.data) == ("Success", "marked")
