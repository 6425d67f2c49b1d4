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


def test_the_node_cannot_be_named_by_the_message(load: Load, engine: Engine) -> None:
    chain = load(["a:fork", ("f:fetchNodeOutput", {"nodeId": "${metadata.node}"})], "a Success f")
    assert [problem.code for problem in engine.check(chain.to_dict())] == ["config.unknown-node"]
    (end,) = chain.run_sync(Message("{}", metadata={"node": "a"})).ends
    assert str(end.error) == "node ${metadata.node} output not found"


def test_a_variable_may_name_the_node(load: Load) -> None:
    nodes = ["a:fork", ("b:exprTransform", {"expr": "1"}), ("f:fetchNodeOutput", {"NODEID": " ${vars.node} "})]
    chain = load(nodes, "a Success b, b Success f", configuration={"vars": {"node": "a"}})
    assert chain.run_sync(Message('{"t": 1}')).message.data == '{"t": 1}'


def test_what_a_node_sent_by_failure_counts_with_its_error_text(load: Load) -> None:
    nodes = [("a:exprTransform", {"expr": "msg.x + 1"}), ("b:exprTransform", {"expr": "1"}), FETCH]
    (end,) = load(nodes, "a Failure b, b Success f").run_sync(Message('{"t": 1}')).ends
    assert (end.relation, end.message.data) == ("Success", '{"t": 1}')
    assert "msg.x + 1" in end.message.metadata["errorMsg"]


def test_in_a_loop_the_output_of_the_last_round_counts(load: Load) -> None:
    nodes = [
        ("s:switch", {"cases": [{"case": "msg.n < 3", "then": "More"}]}),
        ("a:exprTransform", {"expr": "{n: msg.n + 1}"}),
    ]
    nodes += [("b:exprTransform", {"expr": "'done'"}), FETCH]
    ways = "s More a, a Success s, s Default b, b Success f"
    outcome = load(nodes, ways, configuration={"allowCycle": True}).run_sync(Message({"n": 0}))
    assert outcome.message.value == {"n": 3}


def test_a_branch_beside_does_not_hold_it_up(load: Load) -> None:
    nodes = ["s:fork", FETCH, ("d:delay", {"delayMs": 1}), "a:log", "z:log"]
    ends = load(nodes, "s Success f, s Success d, d Success a, a Success z").run_sync(Message("{}")).ends
    assert [(end.node_id, str(end.relation)) for end in ends] == [("f", "Failure"), ("z", "Success")]


def test_a_sub_chain_has_outputs_of_its_own(load: Load) -> None:
    inner = load([FETCH, "a:fork"], "f Success a")
    outcome = load(["a:fork", ("c:flow", {"targetId": inner.id, "extend": True})], "a Success c").run_sync(
        Message("{}")
    )
    assert "node a output not found" in str(outcome.error)


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        ({}, "the option 'nodeId' is required"),
        ({"nodeId": None}, "the option 'nodeId' is required"),
        ({"nodeId": " "}, "nodeId must be the id of a node, not ' '"),
        ({"nodeId": ["a"]}, "nodeId must be the id of a node, not ['a']"),
    ],
)
def test_a_missing_name_is_told_at_load(send: Callable[..., End], configuration: dict[str, Any], text: str) -> None:
    with pytest.raises(ChainInvalid) as caught:
        send("fetchNodeOutput", configuration)
    assert [problem.text for problem in caught.value.problems] == [f"node 'node' (fetchNodeOutput): {text}"]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (("a:join", {"mergeToMap": True}), {"n": 1}),
        (("a:switch", {"cases": []}), {"n": 1}),
        (("a:for", {"range": "1..2", "do": "d", "mode": 1}), [{"n": 1}, {"n": 1}]),
        (("a:groupAction", {"nodeIds": "d", "mergeToMap": True}), {"n": 1}),
        ("a:comment", {"n": 1}),
    ],
    ids=lambda value: str(value)[:12],
)
def test_what_any_kind_of_node_sent_can_be_fetched(load: Load, node: Any, expected: Any) -> None:
    nodes = ["s:fork", node, "d:log", ("b:exprTransform", {"expr": "0"}), FETCH]
    ways = "s Success a, a Success b, a Default b, b Success f"
    outcome = load(nodes, ways).run_sync(Message({"n": 1}))
    assert [(end.node_id, end.message.value) for end in outcome.ends] == [("f", expected)]


def test_its_form_asks_for_the_node(engine: Engine) -> None:
    form: Any = engine.registry.form("fetchNodeOutput")
    assert (form["relationTypes"], form["category"]) == (["Success", "Failure"], "action")
    assert [(field["name"], field["required"]) for field in form["fields"]] == [("nodeId", True)]
