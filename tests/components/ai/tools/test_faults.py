"""Tools and calls that go wrong: the agent goes on, and the other calls of the reply are not touched."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.hooks.base import AgentHook


class _Mute(Exception):  # noqa: N818 - it is about what it does
    def __str__(self) -> str:
        raise RuntimeError("no words")


async def test_an_error_that_cannot_say_what_it_is_fails_its_call_alone(bench: Any) -> None:
    def mute() -> None:
        raise _Mute

    def interrupt() -> None:
        raise KeyboardInterrupt

    for function in (mute, interrupt):
        bench.engine.tool(function)
    bench.engine.tool(lambda: "pong", name="ping")
    names = ("mute", "ping", "interrupt")
    bench.load(Reply(tool_calls=[ToolCall(name) for name in names]), "ok", tools=list(names))
    assert (await bench.say()).ok
    assert [message["content"] for message in bench.last if message["role"] == "tool"] == [
        "Error: Tool execution failed: _Mute",
        "pong",
        "Error: Tool execution failed: KeyboardInterrupt",
    ]


def _group() -> None:
    raise BaseExceptionGroup("both", [ValueError("one"), KeyboardInterrupt("two")])


async def _group_of_tasks() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(_fail))


def _fail() -> None:
    raise ValueError("one")


async def _closing() -> None:
    raise GeneratorExit


def _end() -> Iterator[int]:
    raise StopIteration
    yield 1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (_group, "both: one; two"),
        (_group_of_tasks, "unhandled errors in a TaskGroup: one"),
        (_closing, "GeneratorExit"),
        (_end, "generator raised StopIteration"),
    ],
)
@pytest.mark.parametrize("names", [["odd"], ["odd", "ping"]])
async def test_whatever_a_tool_raises_its_call_ends(bench: Any, function: Any, told: str, names: list[str]) -> None:
    bench.engine.tool(function, name="odd")
    bench.engine.tool(lambda: "pong", name="ping")
    bench.load(Reply(tool_calls=[ToolCall(name) for name in names]), "ok", tools=["odd", "ping"])
    assert (await bench.say()).message.text == "ok"
    results = [message["content"] for message in bench.last if message["role"] == "tool"]
    assert results == [f"Error: Tool execution failed: {told}", "pong"][: len(names)]


async def test_a_hook_that_raises_more_than_an_error_ends_the_run_and_nobody_waits(bench: Any) -> None:
    class Odd(AgentHook):
        async def around_tool(self, step: Any, proceed: Any) -> None:
            raise BaseExceptionGroup("both", [KeyboardInterrupt()])

    bench.engine.agent_hook(Odd())
    bench.engine.tool(lambda: "pong", name="ping")
    bench.load(calls("ping"), "ok", tools=["ping"])
    with pytest.raises(BaseExceptionGroup, match="both"):
        await bench.say()


async def test_a_generator_without_end_ends_with_the_time_of_its_tool(bench: Any) -> None:
    made: list[int] = []
    closed = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                made.append(1)
                yield 1
        finally:
            closed.set()

    bench.engine.tool(endless)
    bench.load(calls("endless"), "ok", tools=[{"type": "function", "name": "endless", "timeout": 50}])
    assert (await bench.say()).ok
    assert bench.last[-1]["content"] == "Error: Tool execution failed: the tool took longer than 0.05 s"
    assert await asyncio.to_thread(closed.wait, 10)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (float("nan"), "Error: Tool execution failed: Out of range float values"),
        (b"\xff", "Error: Tool execution failed: 'utf-8' codec can't decode"),
        ("a\ud800b", "a"),
        ({"x": "a\ud800b"}, '{"x":"a'),
        (2**80, "1208925819614629174706176"),
        ({(1, 2): 3}, '{"1,2":3}'),
    ],
)
async def test_whatever_a_tool_gives_the_agent_goes_on(bench: Any, value: Any, told: str) -> None:
    bench.engine.tool(lambda: value, name="odd")
    bench.load(calls("odd"), "ok", tools=["odd"])
    assert (await bench.say()).message.text == "ok"
    assert bench.last[-1]["content"].startswith(told)


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 300 + "]" * 300,
        '{"a":' + "[" * 3000 + "]" * 3000 + "}",
        '{"a":NaN}',
        '{"a":"\\ud800"}',
        '{"a":1}{"a":2}',
        '"x"',
    ],
)
async def test_arguments_of_any_text_are_refused_and_the_agent_goes_on(bench: Any, text: str, stream: str) -> None:
    bench.engine.tool(lambda a: "ran", name="echo")
    bench.load(Reply(tool_calls=[ToolCall("echo", text)]), "ok", tools=["echo"])
    outcome = await bench.say(stream=stream)
    assert outcome.ok, outcome.error
    assert bench.last[-1]["content"].startswith(
        "Error: blocked_invalid_arguments - invalid or empty arguments for tool"
    )
