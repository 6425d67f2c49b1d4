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
