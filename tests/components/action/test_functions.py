"""`functions`: the host's functions choose the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from catenary import Context, End, Engine, EngineError, Message, Relation


@pytest.fixture(autouse=True)
def functions(engine: Engine) -> None:
    @engine.function("double")
    def double(ctx: Context, msg: Message) -> Any:
        return "Success", msg.with_data(msg.value * 2)

    @engine.function("name")
    def name(ctx: Context, msg: Message) -> Any:
        return Relation("Mine")

    @engine.function("slow")
    async def slow(ctx: Context, msg: Message) -> Any:
        await asyncio.sleep(0)
        return "Slow"

    @engine.function("raises")
    def raises(ctx: Context, msg: Message) -> Any:
        raise ValueError("no good")

    @engine.function("nothing")
    def nothing(ctx: Context, msg: Message) -> Any:
        return None


@pytest.mark.parametrize(
    ("name", "relation", "data"), [("double", "Success", "42"), ("name", "Mine", "21"), ("slow", "Slow", "21")]
)
def test_the_function_chooses_relation_and_message(
    send: Callable[..., End], name: str, relation: str, data: str
) -> None:
    end = send("functions", {"functionName": name}, "21")
    assert (end.relation, end.message.data) == (relation, data)


async def test_an_async_function_is_awaited_in_a_running_loop(engine: Engine, load: Callable[..., Any]) -> None:
    chain = load([("f:functions", {"functionName": "slow"})])
    assert (await engine.run(chain.id, Message("21"))).ends[0].relation == "Slow"


def test_name_and_payload_may_be_templates(send: Callable[..., End]) -> None:
    configuration = {"functionName": "${metadata.task}", "param": "${msg.n}"}
    assert send("functions", configuration, {"n": 4}, metadata={"task": "double"}).message.data == "8"


@pytest.mark.parametrize(
    ("param", "payload"),
    [
        (None, "21"),
        ("", "21"),
        ("${msg}", "21"),
        ("${msg}0", "210"),
        (0, "0"),
        ("${metadata.absent}", ""),
        ("${ {'b': 1.0, 'a': true} }", '{"a":true,"b":1}'),
        (" ", " "),
    ],
)
def test_a_configured_param_in_text_form_is_the_payload(send: Callable[..., End], param: Any, payload: str) -> None:
    assert send("functions", {"functionName": "name", "param": param}, "21").message.data == payload


def test_each_relation_of_a_list_sends_the_message_that_the_function_got(
    load: Callable[..., Any], engine: Engine
) -> None:
    engine.function("both")(lambda ctx, msg: ["A", ("B", msg.with_data("b"))])
    chain = load([("f:functions", {"functionName": "both", "param": "p"})])
    assert [(end.relation, end.message.data) for end in chain.run_sync("21").ends] == [("A", "p"), ("B", "b")]


def test_names_are_listed_in_the_order_in_which_they_were_registered(engine: Engine) -> None:
    first = engine.functions["double"]
    engine.function("double")(lambda ctx, msg: "Again")
    assert list(engine.functions)[:2] == ["double", "name"]  # one that is registered anew keeps its place
    del engine.functions["double"]
    engine.function("double")(first)
    assert list(engine.functions)[-1] == "double"


def test_without_a_name_the_function_is_called_test(send: Callable[..., End], engine: Engine) -> None:
    assert send("functions", {}).message.metadata["errorMsg"] == "can not found the function=test"
    engine.function("test")(lambda ctx, msg: "Found")
    assert send("functions", {}).relation == "Found"


def test_what_a_function_raises_is_a_failure_with_the_input(send: Callable[..., End]) -> None:
    end = send("functions", {"functionName": "raises", "param": "other"}, "21")
    assert (end.relation, end.message.data, end.message.metadata["errorMsg"]) == ("Failure", "21", "no good")


def test_an_unknown_name_is_a_failure_with_the_input(send: Callable[..., End]) -> None:
    end = send("functions", {"functionName": "absent", "param": "other"}, "21")
    assert (end.relation, end.message.data) == ("Failure", "21")
    assert end.message.metadata["errorMsg"] == "can not found the function=absent"


def test_a_function_that_returns_nothing_ends_the_branch(load: Callable[..., Any]) -> None:
    (end,) = load([("f:functions", {"functionName": "nothing"})]).run_sync(Message("21")).ends
    assert (end.relation, end.message.data) == ("", "21")


async def test_an_async_function_that_cannot_be_awaited_leaves_no_warning(
    engine: Engine, load: Callable[..., Any]
) -> None:
    chain = load([("f:functions", {"functionName": "slow"})])
    with pytest.raises(EngineError, match="inside a running event loop"):
        chain.run_sync("21")  # warnings are errors here


def test_a_template_that_fails_names_node_field_expression_and_position(send) -> None:
    end = send("functions", {"functionName": "a\n${msg.a.b.c}"}, Message({"a": {}}))
    text = "functionName: expression 'msg.a.b.c', line 2, column 3: cannot fetch c from nil"
    assert end.message.metadata["errorMsg"].startswith(f"node 'node': {text}")
    assert str(end.error).startswith(text)
