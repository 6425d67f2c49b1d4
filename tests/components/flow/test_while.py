"""`while`: a part of the chain for as long as a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import Chain, ChainDefaults, ChainInvalid, Engine, Message, Outcome, fail

Load = Callable[..., Chain]

COUNT = ("b:exprTransform", {"mapping": {"n": "msg.n + 1"}})


def loop(load: Load, message: Any, **configuration: Any) -> Outcome:
    return load([("w:while", {"condition": "msg.n < 3", "do": "b", **configuration}), COUNT]).run_sync(message)


@pytest.mark.parametrize(
    ("mode", "data", "metadata"),
    [
        (0, '{"n":0}', {"k": "v"}),
        (1, '[{"n":1},{"n":2},{"n":3}]', {"k": "v", "_loopIndex": "3"}),
        (2, '{"n":3}', {"k": "v", "_loopIndex": "3"}),
    ],
    ids=["ignore", "merge", "replace"],
)
def test_the_mode_says_what_becomes_of_results(load: Load, mode: int, data: str, metadata: dict[str, str]) -> None:
    (end,) = loop(load, Message({"n": 0}, "T", metadata={"k": "v"}), mode=mode).ends
    assert (end.relation, end.message.text, end.message.type) == ("Success", data, "T")
    assert dict(end.message.metadata) == metadata


@pytest.mark.parametrize(("mode", "data"), [(0, '{"n":9}'), (1, "[]"), (2, '{"n":9}')])
def test_without_a_round_the_message_goes_on(load: Load, mode: int, data: str) -> None:
    message = loop(load, {"n": 9}, mode=mode).message
    assert message.text == data
    assert dict(message.metadata) == ({"_loopIndex": "0"} if mode else {})


@pytest.mark.parametrize(
    ("value", "rounds"),
    [("true", 1), ('"TRUE"', 1), ("7", 1), ("-1", 1), ("0.5", 1)]
    + [(value, 0) for value in ("false", "0", "0.0", '"yes"', '"1"', "null", "[1]", "{}")],
)
def test_a_condition_holds_by_its_value(load: Load, value: str, rounds: int) -> None:
    nodes = [("w:while", {"condition": "msg", "do": "b"}), ("b:exprTransform", {"expr": "false"})]
    assert load(nodes).run_sync(Message(value)).message.metadata["_loopIndex"] == str(rounds)


def test_the_condition_sees_the_number_of_the_round(load: Load) -> None:
    assert loop(load, {"n": 0}, condition="int(metadata._loopIndex) < 5").message.text == '{"n":5}'


def test_the_branch_that_ends_last_gives_the_next_round(load: Load) -> None:
    nodes = [
        ("w:while", {"condition": "msg.n < 2", "do": "s", "mode": 1}),
        "s:fork",
        ("a:exprTransform", {"mapping": {"n": "msg.n + 10"}}),
        ("b:exprTransform", {"mapping": {"n": "msg.n + 1"}}),
    ]
    message = load(nodes, "s Success a, s Success b").run_sync({"n": 0}).message
    assert message.text == '[{"n":10},{"n":1},{"n":11},{"n":2}]'


def test_a_body_that_fails_stops_the_loop_with_its_message(load: Load, engine: Engine) -> None:
    def up(ctx: Any, msg: Message) -> Any:
        number = msg.value["n"]
        return fail("enough", msg.with_data("?")) if number == 2 else ("Success", msg.with_data({"n": number + 1}))

    engine.function("up")(up)
    nodes = [("w:while", {"condition": "true", "do": "b"}), ("b:functions", {"functionName": "up"})]
    (end,) = load(nodes).run_sync({"n": 0}).ends
    assert (end.relation, end.message.text, str(end.error)) == ("Failure", '{"n":2}', "enough")
    assert dict(end.message.metadata) == {"_loopIndex": "2", "errorMsg": "enough"}


def test_a_body_that_is_paused_stops_the_loop_with_its_message(load: Load, engine: Engine) -> None:
    engine.function("ask")(lambda ctx, msg: ("AwaitExternal", msg.with_data("result?")))
    nodes = [("l:while", {"condition": "true", "do": "a"}), ("a:functions", {"functionName": "ask"})]
    outcome = load(nodes).run_sync("{}")
    (end,) = outcome.ends
    assert (outcome.status, end.node_id, end.relation, end.message.data) == ("paused", "l", "AwaitExternal", "result?")


def test_a_condition_that_fails_is_a_failure(load: Load) -> None:
    assert loop(load, "{}", condition="msg.n + 1 > 2").ends[0].relation == "Failure"


def test_more_rounds_than_allowed_are_a_failure(load: Load) -> None:
    assert loop(load, {"n": 0}, maxRounds=3).ok
    (end,) = loop(load, {"n": 0}, maxRounds=2).ends
    assert (end.relation, end.message.text) == ("Failure", '{"n":2}')
    assert end.message.metadata["errorMsg"] == "the condition still holds after 2 rounds, which is maxRounds"


def test_ten_thousand_rounds_are_no_trouble(load: Load) -> None:
    assert loop(load, {"n": 0}, condition="msg.n < 20000", mode=0).ok


@pytest.mark.parametrize(
    ("do", "text"), [("absent", "node id=absent not found"), ("chain:absent", "ruleChain id=absent not found")]
)
def test_a_missing_body_is_a_failure(load: Load, do: str, text: str) -> None:
    (end,) = loop(load, {"n": 0}, do=do).ends
    assert (end.relation, end.message.text, end.message.metadata["errorMsg"]) == ("Failure", '{"n":0}', text)


def test_a_chain_may_be_the_body(load: Load) -> None:
    inner = load([COUNT]).id
    assert loop(load, {"n": 0}, do=f"chain:{inner}").message.text == '{"n":3}'


def test_without_settings_it_counts_to_three_and_replaces_the_message(load: Load) -> None:
    nodes = [("w:while", {"do": "b"}), ("b:exprTransform", {"mapping": {"count": "(msg.count ?? 0) + 1"}})]
    assert load(nodes).run_sync("{}").message.text == '{"count":3}'


def test_a_round_without_a_result_leaves_the_message_of_the_next_as_it_was(load: Load, engine: Engine) -> None:
    engine.function("odd")(lambda ctx, msg: None if ctx_index(msg) else ("Success", msg.with_data({"n": 1})))
    nodes = [("w:while", {"condition": "int(metadata._loopIndex) < 3", "do": "b", "mode": 1})]
    message = load([*nodes, ("b:functions", {"functionName": "odd"})]).run_sync("{}").message
    assert (message.text, dict(message.metadata)) == ('[{"n":1}]', {"_loopIndex": "3"})


def ctx_index(message: Message) -> int:
    return int(message.metadata["_loopIndex"])


def test_pieces_of_a_stream_go_on_at_once_and_are_no_results(load: Load, engine: Engine) -> None:
    async def stream(ctx: Any, msg: Message) -> Any:
        await ctx.emit("Stream", msg.with_data("piece"))
        return "Success", msg.with_data({"n": msg.value["n"] + 1})

    engine.function("stream")(stream)
    nodes = [("w:while", {"condition": "msg.n < 2", "do": "b", "mode": 1}), ("b:functions", {"functionName": "stream"})]
    ends = load(nodes).run_sync({"n": 0}).ends
    assert [(end.relation, end.message.text) for end in ends] == [
        ("Stream", "piece"),
        ("Stream", "piece"),
        ("Success", '[{"n":1},{"n":2}]'),
    ]


def test_loops_nest_in_a_chain_of_their_own(load: Load) -> None:
    inner = load([("w:while", {"condition": "msg.n % 10 != 0", "do": "b"}), COUNT]).id
    nodes = [
        ("w:while", {"condition": "msg.n < 25", "do": "b"}),
        COUNT,
        ("i:flow", {"targetId": inner, "extend": True}),
    ]
    assert load(nodes, "b Success i").run_sync({"n": 0}).message.text == '{"n":30}'


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        ({}, "the option 'do' is required"),
        ({"do": " "}, "do is empty"),
        ({"do": "b", "condition": " "}, "the expression is empty"),
        ({"do": "b", "mode": 3}, "mode must be at most 2"),
        ({"do": "b", "maxRounds": -1}, "maxRounds must be at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(load: Load, configuration: dict[str, Any], text: str) -> None:
    with pytest.raises(ChainInvalid, match=text):
        load([("w:while", configuration)])


@pytest.mark.parametrize(
    ("defaults", "chain", "node", "rounds"),
    [(3, None, None, 3), (3, 2, None, 2), (3, 2, 4, 4), (3, 2, 0, 6), (3, 0, None, 6), (0, None, None, 6)],
)
def test_the_limit_of_rounds_is_that_of_the_node_else_of_the_chain_else_of_the_engine(defaults, chain, node, rounds):
    definition = {
        "ruleChain": {"id": "c", "configuration": {} if chain is None else {"maxRounds": chain}},
        "metadata": {
            "nodes": [
                {
                    "id": "w",
                    "type": "while",
                    "configuration": {"condition": "msg < 6", "do": "b", "maxRounds": node},
                },
                {"id": "b", "type": "exprTransform", "configuration": {"expr": "msg + 1"}},
            ],
            "connections": [],
        },
    }
    engine = Engine(defaults=ChainDefaults(max_rounds=defaults))
    outcome = engine.load(definition).run_sync(0)
    assert outcome.message.value == rounds
    assert outcome.ok == (rounds == 6)
