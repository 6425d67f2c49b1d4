"""One call of a tool: found, checked, run, and told when it went wrong."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.runtime.scope import Scope
from catenary_components.ai.messages import ToolCall
from catenary_components.ai.setup import AgentSetup
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.batch import prepare, run_batch
from catenary_components.ai.tools.execute import CallResult, truncated
from catenary_components.ai.tools.functions import function_tool
from catenary_components.ai.tools.tool import Toolbox


async def call(function: Any, arguments: str = "{}", *, name: str = "", **options: Any) -> CallResult:
    tool = function_tool(function, **options)
    setup = AgentSetup(None, Toolbox([tool]))  # type: ignore[arg-type]
    visit = SimpleNamespace(scope=Scope([]))
    prepared = prepare(setup, AgentState(), ToolCall("c1", name or tool.name, arguments))

    async def tell(place: int, result: CallResult) -> None: ...

    return (await run_batch(visit, setup, [prepared], tell))[0]  # type: ignore[arg-type]


def stock(sku: str) -> dict[str, str]:
    return {"sku": sku}


def ping() -> str:
    return "pong"


async def test_a_result_is_text_or_compact_json() -> None:
    assert (await call(ping)).text == "pong"
    assert (await call(stock, '{"sku": "bolt"}')).text == '{"sku":"bolt"}'
    assert (await call(lambda: "", name="<lambda>")).text == ""


async def test_nothing_is_null_and_what_never_gives_anything_is_done() -> None:
    def save() -> None: ...

    assert (await call(lambda: None, name="<lambda>")).text == "null"
    assert (await call(save)).text == "Done"


async def test_an_unknown_tool_is_told_to_the_letter() -> None:
    result = await call(ping, name="pong")
    assert result.text == "Error: Unknown tool 'pong', please use registered tools."
    assert result.error == "Unknown tool 'pong', please use registered tools."


async def test_a_call_without_a_name_has_a_text_of_its_own() -> None:
    assert (await call(ping, name=" ")).text == "Error: The tool call has no name, please use registered tools."


@pytest.mark.parametrize("arguments", ["", "null", " ", "{}"])
async def test_nothing_is_fine_for_a_tool_that_needs_nothing(arguments: str) -> None:
    assert (await call(ping, arguments)).text == "pong"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("", "there are none, but sku is required"),
        ("null", "there are none, but sku is required"),
        ("[1]", "they must be a JSON object, not [1]"),
        ("{}", "sku is required"),
        ('{"sku": 1}', "sku: Input should be a valid string"),
    ],
)
async def test_a_tool_is_not_run_with_arguments_that_do_not_fit(arguments: str, why: str) -> None:
    result = await call(stock, arguments)
    assert result.text == f"Error: blocked_invalid_arguments - invalid or empty arguments for tool stock: {why}"
    assert result.error == why


async def test_arguments_that_do_not_parse_are_refused() -> None:
    assert "they are not valid JSON (" in (await call(stock, '{"sku": ')).text


async def test_a_failing_tool_is_told() -> None:
    def fail() -> None:
        raise ValueError("out of stock")

    def crash() -> None:
        raise KeyError

    assert (await call(fail)).text == "Error: Tool execution failed: out of stock"
    assert (await call(crash)).text == "Error: Tool execution failed: KeyError"


async def test_a_tool_that_takes_too_long_is_told() -> None:
    async def sleep() -> None:
        await asyncio.Event().wait()

    result = await call(sleep, timeout_s=0.02)
    assert result.text == "Error: Tool execution failed: the tool took longer than 0.02 s"


async def test_a_timeout_of_the_tools_own_keeps_its_text() -> None:
    async def sleep() -> None:
        raise TimeoutError("the printer is slow")

    assert (await call(sleep)).error == "the printer is slow"


async def test_a_tool_that_cancels_itself_has_failed() -> None:
    async def give_up() -> None:
        raise asyncio.CancelledError

    assert (await call(give_up)).text == "Error: Tool execution failed: the tool was cancelled"


async def test_cancelling_reaches_the_tool() -> None:
    begun = asyncio.Event()
    seen: list[str] = []

    async def sleep() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            seen.append("closed")

    task = asyncio.create_task(call(sleep))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["closed"]


async def test_a_tool_may_give_the_answer() -> None:
    assert (await call(ping, returns_direct=True)).is_direct


def test_a_long_result_is_cut_at_characters_and_measured_in_bytes() -> None:
    assert truncated("äöü", 2) == "äö...(truncated, original: 6 bytes)"
    assert truncated("äöü", 3) == "äöü"


def test_an_error_is_never_cut() -> None:
    failed = CallResult(ToolCall("c", "t"), "Error: long", "long")
    assert failed.text_for_model(3) == "Error: long"
    assert CallResult(ToolCall("c", "t"), "long").text_for_model(3) == "lon...(truncated, original: 4 bytes)"


@given(st.text(), st.integers(1, 20))
def test_cutting_keeps_the_beginning(text: str, length: int) -> None:
    cut = truncated(text, length)
    assert cut.startswith(text[:length])
    assert (cut == text) == (len(text) <= length)


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_tool_that_ends_the_program_ends_nothing(kind: str) -> None:
    def leave() -> None:
        raise SystemExit(3)

    async def leave_async() -> None:
        leave()

    result = await call(leave if kind == "plain" else leave_async)
    assert result.text == "Error: Tool execution failed: the tool tried to end the program, with 3"
