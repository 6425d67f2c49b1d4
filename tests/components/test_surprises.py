"""What surprises people in engines of the field does not happen here: relations, joins, loading and data of a chain."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.components.surprising import boom, document, echo, load, ways
from tests.engine.runtime.stepping import stepped

from catenary import Aspect, ChainError, ChainInvalid, Engine, Message, OrElse
from catenary.secrets import encrypt

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine({"limit": "30"})
    engine.function("echo")(echo)
    yield engine
    engine.close_sync()


def problems(engine: Engine, chain: dict[str, Any]) -> dict[str, str]:
    return {problem.code: problem.text for problem in engine.check(chain)}


def rendered(template: str) -> dict[str, Any]:
    """Give a node whose output is a template, filled in."""
    return {"t": ("functions", {"functionName": "echo", "param": template})}


# Relations and ends


def test_a_relation_that_no_component_emits_is_a_warning(engine):
    chain = document({"a": ("exprFilter", {"expr": "true"}), "b": "fork"}, "a true b")
    assert any("'true'" in text for text in problems(engine, chain).values())


def test_an_outcome_tells_of_every_branch_also_of_those_that_an_end_node_gates(engine):
    outcome = load(engine, {"s": "fork", "a": "fork", "e": "end"}, "s a, s e").run_sync({})
    assert sorted(ways(outcome)) == ["a Success", "e Success"]
    assert {end.node_id: end.gated for end in outcome.ends} == {"a": True, "e": False}


def test_a_failure_is_never_gated_by_an_end_node(engine):
    outcome = load(engine, {"s": "fork", "a": boom, "e": "end"}, "s a, s e").run_sync({})
    assert not next(end for end in outcome.ends if end.node_id == "a").gated
    assert outcome.status == "failed"


def test_a_run_always_has_at_least_one_end(engine):
    def nothing(ctx, msg):
        return None

    assert len(load(engine, {"a": nothing, "e": "end"}).run_sync({}).ends) == 1


def test_a_node_that_raises_sends_its_message_by_failure(engine):
    def seen(ctx, msg):
        return "Success", msg.put("told", str(ctx.error))

    outcome = load(engine, {"a": boom, "b": seen}, "a Failure b").run_sync({"x": 1})
    assert outcome.ok
    assert outcome.message.value == {"x": 1}
    assert outcome.message.metadata == {"errorMsg": "broken", "told": "broken"}


async def test_a_node_that_returns_nothing_hangs_no_caller(engine):
    async def nothing(ctx, msg):
        await asyncio.sleep(0)

    chain = load(engine, {"a": nothing})
    assert ways(await asyncio.wait_for(chain.run({}), 15)) == ["a "]


async def test_a_node_that_sends_twice_with_a_pause_is_waited_for(engine):
    async def twice(ctx, msg):
        await ctx.emit("A", msg)
        await asyncio.sleep(0.01)
        await ctx.emit("B", msg)

    assert ways(await load(engine, {"a": twice}).run({})) == ["a A", "a B"]


def test_a_timeout_interrupts_a_node_at_work(engine):
    stopped = []

    async def long(ctx, msg):
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)

    outcome = stepped(load(engine, {"a": long, "b": "fork"}, "a Failure b").run({}, timeout=60))
    assert stopped == [True]
    assert ways(outcome) == ["a Failure"]
    assert str(outcome.error) == "processing cancelled: context deadline exceeded"


async def test_a_cancelled_run_tells_of_its_open_branch_and_takes_no_failure_relation(engine):
    begun, told = asyncio.Event(), []

    async def long(ctx, msg):
        begun.set()
        await asyncio.sleep(60)

    chain = load(engine, {"a": long, "b": "fork"}, "a Failure b")
    run = asyncio.create_task(
        chain.run({}, on_end=lambda info, msg, error, relation: told.append((info.node_id, relation)))
    )
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert told == [("a", "Failure")]


def test_the_error_goes_with_the_next_hop_only(engine):
    told = []

    def note(ctx, msg):
        told.append(ctx.error and str(ctx.error))
        return "Success"

    load(engine, {"a": boom, "b": note, "c": note}, "a Failure b, b c").run_sync({})
    assert told == ["broken", None]


def test_a_plain_failure_is_a_failure_with_a_reason(engine):
    def plain(ctx, msg):
        return "Failure"

    outcome = load(engine, {"a": plain}).run_sync({})
    assert outcome.status == "failed"
    assert outcome.ends[0].reason
    assert "'a'" in str(outcome.error)


def test_the_empty_relation_and_nothing_are_two_things(engine):
    def empty(ctx, msg):
        return ""

    def nothing(ctx, msg):
        return None

    nodes = {"a": empty, "b": nothing, "x": "fork"}
    chain = document(nodes)
    chain["metadata"]["connections"] = [{"fromId": source, "type": "", "toId": "x"} for source in "ab"]
    for function in (empty, nothing):
        engine.function(function.__name__)(function)
    engine.load(chain)
    assert ways(engine.run_sync("c", {}, start="a")) == ["x Success"]
    assert ways(engine.run_sync("c", {}, start="b")) == ["b "]


def test_the_next_node_sees_the_relation_that_was_taken_in_place_of_the_one_asked_for(engine):
    came = []

    class Seen(Aspect):
        nodes = ("b",)

        def before(self, ctx, msg, relation):
            came.append(relation)

    def asks(ctx, msg):
        return OrElse("Hot", "Default")

    engine.add_aspect(Seen())
    load(engine, {"a": asks, "b": "fork"}, "a Default b").run_sync({})
    assert came == ["Default"]
    assert ways(load(engine, {"a": asks}).run_sync({})) == ["a Hot"]


# Loading


def test_duplicate_missing_and_null_ids_are_told_apart(engine):
    twice = document({"a": "fork"})
    twice["metadata"]["nodes"] *= 2
    assert problems(engine, twice).keys() == {"chain.duplicate-id"}
    without = {"metadata": {"nodes": [{"type": "fork"}, {"type": "fork"}]}}
    assert {node.id for node in engine.load(without, id="n").definition.nodes} == {"node0", "node1"}
    null = {"metadata": {"nodes": [None, {"type": "fork"}]}}
    assert "chain.shape" in problems(engine, null)


def test_a_connection_to_a_node_that_does_not_exist_is_an_error(engine):
    with pytest.raises(ChainInvalid, match="'nobody'"):
        engine.load(document({"a": "fork"}, "a nobody"))


@pytest.mark.parametrize("index", [-1, 7])
def test_an_index_outside_the_nodes_is_told_at_load(engine, index):
    chain = document({"a": "fork"})
    chain["metadata"]["firstNodeIndex"] = index
    assert any("firstNodeIndex" in text for text in problems(engine, chain).values())


def test_another_chain_under_a_known_id_is_an_error(engine):
    engine.load(document({"a": "fork"}))
    with pytest.raises(ChainError, match=r"chain\.duplicate-id") as caught:
        engine.load(document({"b": "fork"}))
    assert "engine.reload" in caught.value.hint


# Joins


def test_nested_joins_lose_nothing(engine):
    edges = "s t, s p, t x, t y, x i, y i, i o, p o"
    nodes = {"s": "fork", "t": "fork", "p": "fork", "x": "fork", "y": "fork", "i": "join", "o": "join"}
    outcome = load(engine, nodes, edges).run_sync({"v": 1})
    assert {item["nodeId"] for item in outcome.message.value} == {"i", "p"}


def test_a_join_in_a_loop_fires_each_round(engine):
    rounds = []

    def again(ctx, msg):
        rounds.append(len(msg.value))
        return "Again" if len(rounds) < 3 else "Done"

    nodes = {"s": "fork", "a": "fork", "b": "fork", "j": "join", "r": again}
    chain = load(engine, nodes, "s a, s b, a j, b j, j r, r Again s", configuration={"allowCycle": True})
    assert ways(chain.run_sync({})) == ["r Done"]
    assert rounds == [2, 2, 2]


def test_a_join_that_nothing_leads_to_is_an_error_at_load(engine):
    assert problems(engine, document({"j": "join"})).keys() == {"chain.join-first"}


async def test_a_join_waits_for_what_a_run_began_with_and_for_nothing_else(engine):
    chain = load(engine, {"s": "fork", "a": "fork", "b": "fork", "j": "join"}, "s a, s b, a j, b j")
    for start, senders in (("a", ["a"]), (["a", "b"], ["a", "b"])):
        outcome = await asyncio.wait_for(chain.run({}, start=start), 15)
        assert [item["nodeId"] for item in outcome.message.value] == senders


def test_an_errored_arrival_fails_the_join_with_all_data_present(engine):
    nodes = {"s": "fork", "a": boom, "b": "fork", "j": "join"}
    outcome = load(engine, nodes, "s a, s b, a Failure j, b j").run_sync({"v": 1})
    assert ways(outcome) == ["j Failure"]
    assert outcome.ends[0].reason == "NodeId=a,Err=broken "
    assert {item["nodeId"] for item in outcome.message.value} == {"a", "b"}


def test_the_order_of_connections_decides_whose_type_a_join_keeps(engine):
    def kind(ctx, msg):
        return "Success", msg.with_type(ctx.node_id)

    def copy(ctx, msg):
        return "Success", msg.with_type("copy")

    outcome = load(engine, {"s": "fork", "a": kind, "b": copy, "j": "join"}, "s a, s b, a j, b j").run_sync({})
    assert outcome.message.type == "a"


# Sub-chains


async def test_an_edge_to_a_chain_brings_the_result_back(engine):
    engine.load(document({"x": ("exprTransform", {"expr": "msg.v * 2"})}, id="sub"))
    chain = document({"a": "fork"})
    chain["metadata"]["ruleChainConnections"] = [{"fromId": "a", "toId": "sub", "type": "Success"}]
    outcome = await asyncio.wait_for(engine.load(chain).run({"v": 21}), 15)
    assert outcome.message.value == 42


def test_a_merged_sub_chain_without_an_answer_gives_an_empty_list(engine):
    engine.load(document({"x": "fork", "e": "end"}, id="sub"))
    outcome = load(engine, {"f": ("flow", {"targetId": "sub"})}).run_sync({"v": 1})
    assert outcome.message.value == []


# Data


def test_empty_json_is_an_object_in_filters_and_text_in_transforms(engine):
    nodes = {
        "f": ("jsFilter", {"jsScript": "return typeof msg === 'object' && Object.keys(msg).length === 0;"}),
        "t": ("jsTransform", {"jsScript": "metadata.kind = typeof msg; return {msg, metadata, msgType};"}),
    }
    outcome = load(engine, nodes, "f True t").run_sync(Message(""))
    assert outcome.message.metadata["kind"] == "string"


def test_big_integers_keep_their_digits(engine):
    nodes = {"t": ("jsTransform", {"jsScript": "msg.seen = true; return {msg, metadata, msgType};"})}
    outcome = load(engine, nodes).run_sync(Message('{"n": 12345678901234567}'))
    assert outcome.message.value["n"] == 12345678901234567


def test_objects_keep_the_order_of_their_keys(engine):
    nodes = {"t": ("jsTransform", {"jsScript": "msg.a = 1; return {msg, metadata, msgType};"})}
    outcome = load(engine, nodes).run_sync(Message('{"z": 1, "m": {"y": 1, "b": 2}}'))
    assert [*outcome.message.value] == ["z", "m", "a"]
    assert [*outcome.message.value["m"]] == ["y", "b"]


def test_text_that_looks_like_hex_survives_json():
    message = Message("deadbeef", data_type="TEXT")
    assert Message.from_dict(message.to_dict()).text == "deadbeef"


@pytest.mark.parametrize("result", ["1", "'true'", "[]", "({})", "null"])
def test_filters_pass_on_true_only(engine, result):
    chain = load(engine, {"f": ("jsFilter", {"jsScript": f"return {result};"})})
    assert ways(chain.run_sync({})) == ["f False"]


def test_the_data_type_is_a_plain_text(engine):
    nodes = {"f": ("exprFilter", {"expr": "dataType == 'JSON'"}), **rendered("${dataType}")}
    outcome = load(engine, nodes, "f True t").run_sync({})
    assert outcome.message.text == "JSON"


def test_names_of_the_language_win_over_metadata(engine):
    nodes = {"t": ("exprTransform", {"expr": "msgType"})}
    outcome = load(engine, nodes).run_sync(Message({}, type="real", metadata={"msgType": "shadow"}))
    assert outcome.message.text.strip('"') == "real"


def test_a_part_of_a_template_that_fails_makes_the_node_fail_and_says_where(engine):
    outcome = load(engine, rendered("pre ${msg.no.deep} post")).run_sync({})
    assert outcome.status == "failed"
    assert "'t'" in str(outcome.error)
    assert "no.deep" in str(outcome.error)


def test_a_brace_inside_a_placeholder_does_not_end_it(engine):
    assert load(engine, rendered("${ {'k': msg.a + '}'}.k }!")).run_sync({"a": "x"}).message.text == "x}!"


def test_a_property_that_is_missing_is_told_at_load(engine):
    chain = document({"f": ("exprFilter", {"expr": "msg.t > ${global.nothing}"})})
    assert any("global.nothing" in text for text in problems(engine, chain).values())


def test_variables_that_are_objects_can_be_entered(engine):
    chain = load(engine, rendered("${vars.o.k}"), configuration={"vars": {"o": {"k": 12}}})
    assert chain.run_sync({}).message.text == "12"


def test_secrets_are_filled_in(engine):
    sealed = {"token": encrypt("door 1234", "mykey")}
    with Engine(secret_key="mykey") as keyed:
        keyed.function("echo")(echo)
        chain = load(keyed, rendered("${secrets.token}"), configuration={"secrets": sealed})
        assert chain.run_sync({}).message.text == "door 1234"


def test_the_type_of_another_node_s_output_is_there_by_itself(engine):
    def rename(ctx, msg):
        return "Success", msg.with_type("renamed")

    assert load(engine, {"a": rename, **rendered("${a.msgType}")}, "a t").run_sync({}).message.text == "renamed"


@pytest.mark.parametrize("data", [[72, 105], [], [300]])
def test_lists_of_small_numbers_stay_lists(engine, data):
    nodes = {"t": ("jsTransform", {"jsScript": "return {msg, metadata, msgType};"})}
    assert load(engine, nodes).run_sync(data).message.value == data


def test_scripts_in_filters_change_nothing_for_siblings(engine):
    nodes = {
        "s": "fork",
        "f": ("jsFilter", {"jsScript": "msg.a = 2; return true;"}),
        "g": ("exprFilter", {"expr": "msg.a == 1"}),
        "h": ("exprFilter", {"expr": "msg.a == 1"}),
    }
    outcome = load(engine, nodes, "s f, s g, f True h").run_sync({"a": 1})
    assert sorted(ways(outcome)) == ["g True", "h True"]


def test_a_chain_with_endpoints_needs_no_root(engine):
    chain = document({"a": "fork"})
    chain["metadata"]["endpoints"] = [{"id": "e", "type": "endpoint/http", "configuration": {}, "routers": []}]
    assert not any("sub rule chain" in text for text in problems(engine, chain).values())
    chain["ruleChain"]["root"] = False
    assert any("endpoint" in text for text in problems(engine, chain).values())


def test_a_chain_is_written_back_as_it_was_written(engine):
    engine.properties = {"host": "127.0.0.1:6398"}
    chain = document({"a": ("functions", {"functionName": "echo", "param": "${global.host}"})})
    chain["metadata"]["endpoints"] = [
        {"id": "e", "type": "endpoint/http", "configuration": {"server": "${global.host}"}, "routers": []}
    ]
    written = Engine({"host": "127.0.0.1:6398"}).load(chain).to_dict()
    assert "6398" not in json.dumps(written)
    assert "${global.host}" in json.dumps(written)
