"""`for`: a part of the chain once for each item."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from tests.engine.runtime.stepping import stepped

from catenary import Chain, ChainInvalid, End, Engine, Message, fail

Load = Callable[..., Chain]


@pytest.fixture(autouse=True)
def functions(engine: Engine) -> None:
    engine.function("double")(lambda ctx, msg: ("Success", msg.with_data(msg.value * 2)))
    engine.function("mark")(lambda ctx, msg: ("Success", msg.put("seen", msg.metadata.get("seen", "") + msg.text)))
    engine.function("fail")(lambda ctx, msg: fail("too bad", msg))
    engine.function("late")(late)


async def late(ctx: Any, msg: Message) -> Any:
    await asyncio.sleep(0.01)
    return "Success", msg


def loop(load: Load, body: str, message: Any, **configuration: Any) -> End:
    """Run one loop over a body of one function; gives the only end."""
    configuration.setdefault("do", "body")
    nodes = [("f:for", configuration), ("body:functions", {"functionName": body})]
    (end,) = load(nodes).run_sync(message).ends
    return end


@pytest.mark.parametrize(
    ("mode", "data"), [(0, "[1,2,3]"), (1, "[2,4,6]"), (2, "8")], ids=["ignore", "merge", "replace"]
)
def test_the_mode_says_what_becomes_of_results(load: Load, mode: int, data: str) -> None:
    message = Message([1, 2, 3], "T", metadata={"k": "v"})
    end = loop(load, "double", message, range="msg", mode=mode)
    assert (end.relation, end.message.text, end.message.type, end.message.data_type) == ("Success", data, "T", "JSON")
    assert dict(end.message.metadata) == {"k": "v", "_loopIndex": "2", "_loopItem": "3"}


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_metadata_adds_up_over_the_rounds(load: Load, mode: int) -> None:
    assert loop(load, "mark", Message('["a","b"]'), range="msg", mode=mode).message.metadata["seen"][0] == "a"
    assert len(loop(load, "mark", Message('["a","b"]'), range="msg", mode=mode).message.metadata["seen"]) == 2


def test_a_map_is_gone_through_in_its_order_with_its_keys(load: Load, engine: Engine) -> None:
    engine.function("key")(
        lambda ctx, msg: ("Success", msg.with_data(msg.metadata["_loopKey"] + "=" + msg.text, "TEXT"))
    )
    end = loop(load, "key", Message('{"z": 1, "a": {"b": null}}'), range="msg", mode=1)
    assert json.loads(end.message.text) == ["z=1", 'a={"b":null}']
    assert dict(end.message.metadata) == {"_loopIndex": "1", "_loopItem": '{"b":null}', "_loopKey": "a"}


def test_without_settings_three_rounds_run_from_s3_and_results_do_not_count(load: Load) -> None:
    nodes = ["f:for", ("s3:exprTransform", {"expr": "msg * 2"})]
    (end,) = load(nodes).run_sync("7").ends
    assert (end.message.text, dict(end.message.metadata)) == ("7", {"_loopIndex": "2", "_loopItem": "3"})


@pytest.mark.parametrize(
    ("written", "items"), [("[10, 20]", [10, 20]), ("map(1..2, # * 10)", [10, 20]), ("keys({a: 1})", ["a"])]
)
def test_a_list_of_numbers_that_is_no_range_hands_out_its_numbers(load: Load, written: str, items: list[Any]) -> None:
    assert json.loads(loop(load, "mark", Message('"payload"'), range=written, mode=1).message.text) == items


@pytest.mark.parametrize(("mode", "type_of_result"), [(0, "T"), (1, "T"), (2, "Changed")])
def test_only_a_replaced_message_has_the_type_of_the_last_result(
    load: Load, engine: Engine, mode: int, type_of_result: str
) -> None:
    seen: list[str] = []

    def change(ctx: Any, msg: Message) -> Any:
        seen.append(msg.type)
        return "Success", msg.with_type("Changed")

    engine.function("change")(change)
    assert loop(load, "change", Message("[1,2]", "T"), range="msg", mode=mode).message.type == type_of_result
    assert seen == ["T", type_of_result]


@pytest.mark.parametrize("data_type", ["JSON", "TEXT", "BINARY"])
def test_the_body_gets_items_with_the_data_type_of_the_message(load: Load, engine: Engine, data_type: str) -> None:
    seen: list[Any] = []
    engine.function("see")(lambda ctx, msg: seen.append((msg.data_type, msg.text)) or "Success")
    loop(load, "see", Message('["a",{"b":1}]', data_type=data_type), range="")
    assert seen == [(data_type, "a"), (data_type, '{"b":1}')]


def test_a_range_of_other_options_than_those_it_has_is_a_warning_with_a_guess(engine: Engine) -> None:
    nodes = [{"id": "f", "type": "for", "configuration": {"rnge": "1..2", "do": "f"}}]
    (problem,) = engine.check({"metadata": {"nodes": nodes}})
    assert (problem.severity, problem.text) == ("warning", "node 'f' (for): the option 'rnge' is not known")
    assert problem.hint == "did you mean 'range'?"


@pytest.mark.parametrize(
    ("items", "results"),
    [
        ('["a", "1"]', ["a", 1]),
        ("[null, true, 1.0]", ["", True, 1]),
        ('[{"b": 1, "a": [2]}, []]', [{"a": [2], "b": 1}, []]),
        ("[{}]", [{}]),
    ],
)
def test_an_item_is_handed_out_as_text_and_listed_as_a_value(load: Load, items: str, results: list[Any]) -> None:
    assert json.loads(loop(load, "mark", Message(items), range="msg", mode=1).message.text) == results


def test_results_that_are_text_stay_text(load: Load) -> None:
    end = loop(load, "mark", Message('["1"]', data_type="TEXT"), range="", mode=1)
    assert (end.message.text, end.message.data_type) == ('["1"]', "JSON")


@pytest.mark.parametrize("written", ["1..3", "${1..3}", "(1..msg.n)"])
def test_a_range_of_numbers_hands_out_the_payload(load: Load, written: str) -> None:
    assert loop(load, "mark", Message('{"n":3}'), range=written, mode=1).message.text == '[{"n":3},{"n":3},{"n":3}]'
    assert loop(load, "mark", Message('{"n":3}'), range=written).message.metadata["_loopItem"] == "3"


def test_replaced_payloads_go_from_round_to_round(load: Load) -> None:
    assert loop(load, "double", Message("1"), range="1..10", mode=2).message.text == "1024"
    assert loop(load, "double", Message("[5,7,7]"), range="msg", mode=2).message.text == "40"


def test_a_blank_range_is_the_payload(load: Load) -> None:
    assert loop(load, "double", Message("[1,2]"), range=" ", mode=1).message.text == "[2,4]"


def test_the_parts_of_a_split_text_are_items(load: Load) -> None:
    assert loop(load, "mark", Message('"a,b"'), range="split(msg, ',')", mode=1).message.text == '["a","b"]'


@pytest.mark.parametrize("written", ["5", "'abc'", "nil", "metadata.absent", "true", ""])
@pytest.mark.parametrize("mode", [0, 3])
def test_what_is_no_list_is_a_failure(load: Load, written: str, mode: int) -> None:
    end = loop(load, "double", Message('"abc"', "T", data_type="TEXT"), range=written, mode=mode)
    assert (end.relation, end.message.text) == ("Failure", '"abc"')
    assert end.message.metadata["errorMsg"] == "must array slice or struct type"


def test_a_range_that_fails_is_a_failure(load: Load) -> None:
    assert loop(load, "double", Message("{}"), range="msg.a + 1").relation == "Failure"


@pytest.mark.parametrize(("mode", "data"), [(0, "[]"), (1, "[]"), (2, "[]"), (3, "[]")])
@pytest.mark.parametrize("items", ["[]", "{}"])
def test_nothing_to_go_through_runs_nothing(load: Load, mode: int, data: str, items: str) -> None:
    end = loop(load, "fail", Message(items), range="msg", mode=mode, do="absent")
    assert (end.relation, end.message.text) == ("Success", data if mode == 1 else items)
    assert dict(end.message.metadata) == {}


def test_each_branch_of_a_round_has_a_result(load: Load) -> None:
    nodes = [
        ("f:for", {"range": "msg", "do": "s", "mode": 1}),
        "s:fork",
        ("a:exprTransform", {"expr": "msg * 10"}),
        ("b:exprFilter", {"expr": "msg > 1"}),
    ]
    chain = load(nodes, "s Success a, s Success b")
    assert json.loads(chain.run_sync(Message("[1,2]")).message.text) == [10, 1, 20, 2]


def test_a_branch_that_sends_nothing_on_has_no_result(load: Load, engine: Engine) -> None:
    engine.function("odd")(lambda ctx, msg: "Success" if msg.value % 2 else None)
    assert loop(load, "odd", Message("[1,2,3]"), range="msg", mode=1).message.text == "[1,3]"


@pytest.mark.parametrize(("mode", "handed"), [(0, "b"), (1, "b"), (2, "a!")])
def test_a_body_that_fails_stops_the_loop_with_what_was_handed_out(
    load: Load, engine: Engine, mode: int, handed: str
) -> None:
    def check(ctx: Any, msg: Message) -> Any:
        if msg.metadata["_loopItem"] == "b":
            raise ValueError("no b")
        return "Success", msg.with_data(msg.text + "!").put("last", msg.text)

    engine.function("check")(check)
    end = loop(load, "check", Message('["a","b","c"]'), range="msg", mode=mode)
    assert (end.node_id, end.relation, end.message.text, str(end.error)) == ("f", "Failure", handed, "no b")
    assert dict(end.message.metadata) == {"_loopIndex": "1", "_loopItem": "b", "last": "a", "errorMsg": "no b"}


PAUSES = ["AwaitConfirm", "AwaitExternal"]


@pytest.mark.parametrize("relation", PAUSES)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_body_that_is_paused_stops_the_loop_with_its_message(
    load: Load, engine: Engine, mode: int, relation: str
) -> None:
    engine.function("ask")(lambda ctx, msg: (relation, msg.with_data("agree?")))
    loop = ("l:for", {"range": "1..3", "do": "a", "mode": mode})
    outcome = load([loop, ("a:functions", {"functionName": "ask"}), "z:comment"], "l Success z").run_sync("{}")
    (end,) = outcome.ends
    assert (outcome.status, end.node_id, end.relation) == ("paused", "l", relation)
    assert (end.message.data, end.message.metadata["_loopIndex"]) == ("agree?", "0")


def test_a_pause_that_the_body_takes_care_of_stops_nothing(load: Load, engine: Engine) -> None:
    engine.function("ask")(lambda ctx, msg: "AwaitConfirm")
    loop = ("l:for", {"range": "1..3", "do": "a", "mode": 1})
    nodes = [loop, ("a:functions", {"functionName": "ask"}), "b:comment"]
    outcome = load(nodes, "a AwaitConfirm b").run_sync("{}")
    assert (outcome.status, outcome.message.data) == ("completed", "[{},{},{}]")


def test_an_asynchronous_item_that_is_paused_leaves_by_its_relation(load: Load, engine: Engine) -> None:
    engine.function("ask")(lambda ctx, msg: "AwaitConfirm" if msg.metadata["_loopIndex"] == "1" else None)
    loop = ("l:for", {"range": "1..3", "do": "a", "mode": 3})
    outcome = load([loop, ("a:functions", {"functionName": "ask"})]).run_sync("{}")
    found = [(end.relation, end.message.metadata.get("_loopIndex")) for end in outcome.ends]
    assert (outcome.status, found) == ("paused", [("Success", None), ("AwaitConfirm", "1")])


def test_a_failure_that_the_body_takes_care_of_stops_nothing(load: Load) -> None:
    nodes = [("f:for", {"range": "msg", "do": "a", "mode": 1}), ("a:functions", {"functionName": "fail"}), "b:fork"]
    assert load(nodes, "a Failure b").run_sync(Message("[1,2]")).message.text == "[1,2]"


def test_a_plain_failure_without_an_error_stops_the_loop(load: Load, engine: Engine) -> None:
    engine.function("plain")(lambda ctx, msg: "Failure")
    end = loop(load, "plain", Message("[1]"), range="msg")
    assert (end.relation, str(end.error)) == ("Failure", "failed")


@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize(
    ("do", "text"), [("absent", "node id=absent not found"), ("chain:absent", "ruleChain id=absent not found")]
)
def test_a_body_that_is_not_there_is_a_failure(load: Load, do: str, text: str, mode: int) -> None:
    *_, end = load([("f:for", {"do": do, "mode": mode})]).run_sync(Message("{}")).ends
    assert (end.relation, end.message.text, end.message.metadata["errorMsg"]) == ("Failure", "{}", text)


def test_a_chain_may_be_the_body(load: Load) -> None:
    inner = load([("a:exprTransform", {"expr": "msg + 1"}), "b:fork"], "a Success b").id
    assert (
        load([("f:for", {"range": "msg", "do": f"chain:{inner}", "mode": 1})]).run_sync([1, 2]).message.text == "[2,3]"
    )


def test_of_a_chain_with_end_nodes_only_those_give_results(load: Load) -> None:
    inner = load([("a:exprFilter", {"expr": "msg > 1"}), "b:end"], "a True b").id
    assert load([("f:for", {"range": "msg", "do": f"chain:{inner}", "mode": 1})]).run_sync([1, 2]).message.text == "[2]"


def test_an_end_node_in_the_body_gates_the_end_of_the_loop(load: Load) -> None:
    nodes = [("f:for", {"range": "msg", "do": "d", "mode": 1}), ("d:exprTransform", {"expr": "msg + 1"}), "e:end"]
    (end,) = load(nodes, "d Success e").run_sync([1, 2]).ends
    assert (end.node_id, end.gated, end.message.text) == ("f", True, "[2,3]")


def test_an_end_node_behind_the_loop_does_not_silence_its_body(load: Load) -> None:
    nodes = [("f:for", {"range": "msg", "do": "node: d", "mode": 1}), ("d:exprTransform", {"expr": "msg + 1"}), "e:end"]
    assert load(nodes, "f Success e").run_sync([1, 2]).message.text == "[2,3]"


def test_loops_nest(load: Load) -> None:
    nodes = [
        ("f:for", {"range": "msg", "do": "g", "mode": 1}),
        ("g:for", {"range": "msg", "do": "d", "mode": 1}),
        ("d:exprTransform", {"expr": "msg * 2"}),
    ]
    assert load(nodes).run_sync([[1, 2], [3], []]).message.text == "[[2,4],[6],[]]"


def test_loops_in_branches_come_together_in_a_join(load: Load) -> None:
    nodes = [
        "s:fork",
        ("f:for", {"range": "msg", "do": "d", "mode": 1}),
        ("g:for", {"range": "msg", "do": "l", "mode": 1}),
        ("d:exprTransform", {"expr": "msg * 2"}),
        ("l:functions", {"functionName": "late"}),
        "j:join",
    ]
    (end,) = load(nodes, "s Success f, s Success g, f Success j, g Success j").run_sync([1, 2]).ends
    assert sorted(entry["msg"]["data"] for entry in json.loads(end.message.text)) == ["[1,2]", "[2,4]"]


def test_a_join_in_the_body_joins_once_a_round(load: Load) -> None:
    nodes = [("f:for", {"range": "msg", "do": "s", "mode": 1}), "s:fork", "a:fork", "b:fork", "j:join"]
    chain = load(nodes, "s Success a, s Success b, a Success j, b Success j")
    rounds = json.loads(chain.run_sync([1, 2]).message.text)
    assert [[entry["msg"]["data"] for entry in one] for one in rounds] == [["1", "1"], ["2", "2"]]


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_pieces_of_a_stream_go_on_at_once_and_are_no_results(load: Load, engine: Engine, mode: int) -> None:
    async def stream(ctx: Any, msg: Message) -> Any:
        await ctx.emit("Stream", msg.with_data("piece " + msg.text, "TEXT"))
        return "Success", msg

    engine.function("stream")(stream)
    nodes = [("f:for", {"range": "msg", "do": "b", "mode": mode}), ("b:functions", {"functionName": "stream"})]
    ends = load(nodes).run_sync(["x", "y"]).ends
    assert [end.relation for end in ends] == ["Stream", "Stream", "Success"]
    assert [end.message.text for end in ends[:2]] == ["piece x", "piece x" if mode == 2 else "piece y"]
    assert ends[2].message.text == {0: '["x","y"]', 1: '["x","y"]', 2: "x"}[mode]


def test_nodes_see_outputs_from_before_the_loop_and_out_of_its_body(load: Load) -> None:
    nodes = [
        ("a:exprTransform", {"expr": "msg * 2"}),
        ("f:for", {"range": "1..2", "do": "b", "mode": 0}),
        ("b:exprTransform", {"expr": "a.data + metadata._loopIndex"}),
        ("z:exprTransform", {"expr": "b.data"}),
    ]
    assert load(nodes, "a Success f, f Success z").run_sync("3").message.text == "61"


def test_an_asynchronous_loop_lets_the_message_go_on_at_once(load: Load, engine: Engine) -> None:
    order: list[str] = []

    async def work(ctx: Any, msg: Message) -> str:
        await asyncio.sleep(0.01)
        order.append(msg.text + msg.metadata["_loopIndex"])
        return "Success"

    engine.function("work")(work)
    engine.function("behind")(lambda ctx, msg: order.append("behind") or "Success")
    nodes = [
        ("f:for", {"range": "msg", "do": "b", "mode": 3}),
        ("b:functions", {"functionName": "work"}),
        ("n:functions", {"functionName": "behind"}),
    ]
    (end,) = load(nodes, "f Success n").run_sync(Message('["x","y"]', metadata={"k": "v"})).ends
    assert sorted(order[1:]) == ["x0", "y1"]
    assert order[0] == "behind"
    assert (end.message.text, dict(end.message.metadata)) == ('["x","y"]', {"k": "v"})


def test_an_asynchronous_item_that_fails_leaves_by_failure(load: Load, engine: Engine) -> None:
    done: list[str] = []
    engine.function("some")(lambda ctx, msg: fail("no b", msg) if msg.text == "b" else done.append(msg.text))
    nodes = [("f:for", {"range": "msg", "do": "b", "mode": 3}), ("b:functions", {"functionName": "some"})]
    outcome = load(nodes).run_sync(["a", "b", "c"])
    assert [(end.relation, end.message.text) for end in outcome.ends] == [
        ("Success", '["a","b","c"]'),
        ("Failure", "b"),
    ]
    assert (done, outcome.status) == (["a", "c"], "failed")


async def test_no_more_items_than_allowed_run_at_once(load: Load, engine: Engine) -> None:
    running = most = 0

    async def work(ctx: Any, msg: Message) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return "Success"

    engine.function("work")(work)
    nodes = [
        ("f:for", {"range": "1..20", "do": "b", "mode": 3, "concurrency": 4}),
        ("b:functions", {"functionName": "work"}),
    ]
    assert (await load(nodes).run("{}")).ok
    assert (running, most) == (0, 4)


@pytest.mark.parametrize("mode", [0, 3])
def test_cancelling_stops_loop_and_body(load: Load, engine: Engine, mode: int) -> None:
    begun: list[str] = []
    stopped: list[str] = []

    async def hang(ctx: Any, msg: Message) -> None:
        begun.append(msg.text)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(msg.text)

    engine.function("hang")(hang)
    nodes = [("f:for", {"range": "1..3", "do": "b", "mode": mode}), ("b:functions", {"functionName": "hang"})]
    outcome = stepped(load(nodes).run("{}", timeout=60))
    assert outcome.status == "cancelled"
    assert begun == stopped
    assert len(begun) == (3 if mode else 1)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
async def test_a_long_loop_lets_others_run(load: Load, mode: int) -> None:
    chain = load([("f:for", {"range": "1..3000", "do": "b", "mode": mode}), "b:fork"])
    task = asyncio.create_task(chain.run("{}"))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 5
    assert task.result().ok


@pytest.mark.parametrize("node_type", ["for", "while"])
def test_a_loop_that_never_waits_is_out_of_time_in_time(load: Load, node_type: str) -> None:
    settings = {"range": "1..100000", "condition": "true", "do": "b"}
    outcome = load([(f"l:{node_type}", settings), "b:fork"]).run_sync("{}", timeout=0.05)
    assert outcome.status == "cancelled"


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_a_loop_that_runs_itself_is_too_deep(load: Load, mode: int) -> None:
    outcome = load([("f:for", {"do": "f", "mode": mode})]).run_sync("{}")
    assert "nested 100 deep" in str(outcome.error)
    assert len(outcome.ends) <= 4


@pytest.mark.parametrize("mode", [1, 3])
def test_a_loop_in_its_own_body_walks_a_tree(load: Load, engine: Engine, mode: int) -> None:
    names: list[str] = []
    engine.function("leaf")(lambda ctx, msg: names.append(msg.value["name"]) or "Success")
    nodes = [
        ("s:exprFilter", {"expr": "len(msg.kids ?? []) > 0"}),
        ("f:for", {"range": "msg.kids", "do": "s", "mode": mode}),
        ("leaf:functions", {"functionName": "leaf"}),
    ]
    tree = {"kids": [{"name": "a"}, {"kids": [{"name": "b"}, {"name": "c"}]}]}
    assert load(nodes, "s True f, s False leaf").run_sync(tree).ok
    assert names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        ({"do": ""}, "do is empty"),
        ({"do": "a:b:c"}, "(?m)do has more than one colon in 'a:b:c'; write a node id, or a chain as chain:ID$"),
        ({"do": "chain:"}, "names no chain"),
        ({"do": "node: "}, "names no node"),
        ({"range": "1.."}, "range"),
        ({"mode": 4}, "mode must be at most 3"),
        ({"mode": -1}, "mode must be at least 0"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(load: Load, configuration: dict[str, Any], text: str) -> None:
    with pytest.raises(ChainInvalid, match=text):
        load([("f:for", configuration)])


def test_results_that_are_bytes_are_listed_as_hex(load: Load) -> None:
    nodes = [("f:for", {"range": "1..2", "do": "b", "mode": 1}), "b:fork"]
    assert load(nodes).run_sync(Message(b"\xff\x01", data_type="BINARY")).message.text == '["ff01","ff01"]'


def test_an_error_that_counts_as_false_stops_the_loop(load: Load, engine: Engine) -> None:
    class EmptyError(Exception):
        def __len__(self) -> int:
            return 0

    def run(ctx: Any, msg: Message) -> None:
        raise EmptyError("empty")

    engine.function("empty")(run)
    end = loop(load, "empty", Message("[1,2]"), range="msg")
    assert (end.relation, end.message.text, str(end.error)) == ("Failure", "1", "empty")


def test_ten_thousand_rounds_keep_nothing(load: Load) -> None:
    chain = load([("f:for", {"range": "1..10000", "do": "b"}), "b:fork"])
    chain.run_sync("{}")
    tracemalloc.start()
    chain.run_sync("{}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 10_000  # the list of numbers itself, and a little
