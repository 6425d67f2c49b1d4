"""What is told of calls of tools, and what happens when they cannot be run."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Message
from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.phases import act

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

MAP = {"type": "action", "name": "open_map"}


async def events(bench: Any, family: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (event.name, dict(event.data))
        async for event in bench.engine.stream("c", "hi")
        if event.name.startswith(family)
    ]


async def test_every_call_that_starts_ends_and_has_a_result(bench: Any) -> None:
    def fail() -> None:
        raise ValueError("no")

    bench.engine.tool(lambda: "pong", name="ping")
    bench.engine.tool(fail)
    many = [ToolCall("ping"), ToolCall("nobody"), ToolCall("fail"), ToolCall("ping", "[1]"), ToolCall("ping", "")]
    bench.load(Reply(tool_calls=many), "ok", tools=["ping", "fail"])
    seen = await events(bench, "tool.")
    assert Counter(name for name, _ in seen) == {
        "tool.start": 5, "tool.args": 4, "tool.run": 3, "tool.end": 5, "tool.result": 5,
    }  # fmt: skip
    assert len({data["toolId"] for _, data in seen}) == 5
    for call_id in {data["toolId"] for _, data in seen}:
        order = [name for name, data in seen if data["toolId"] == call_id and name not in ("tool.args", "tool.run")]
        assert order == ["tool.start", "tool.end", "tool.result"]


async def test_an_action_has_events_of_its_own(bench: Any) -> None:
    bench.load(calls("open_map", city="Hull"), "ok", tools=[MAP])
    seen = await events(bench, "action.")
    assert [name for name, _ in seen] == ["action.start", "action.args", "action.run", "action.end", "action.result"]
    assert (seen[0][1]["actionName"], seen[1][1]["delta"], seen[4][1]["result"]) == (
        "open_map",
        '{"city":"Hull"}',
        "OK",
    )
    assert "actionId" in seen[0][1]


async def test_a_batch_that_cannot_be_run_is_told_for_every_call(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr(act, "run_batch", broken)
    bench.engine.tool(lambda: "pong", name="ping")
    bench.load(Reply(tool_calls=[ToolCall("ping"), ToolCall("ping")]), "ok", tools=["ping"])
    assert (await bench.say()).message.data == "ok"
    texts = [message["content"] for message in bench.last if message["role"] == "tool"]
    assert texts == ["[ERROR] Tool execution failed: no room"] * 2


async def test_a_run_that_is_cancelled_leaves_no_call_open(bench: Any) -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.sleep(30)

    bench.engine.tool(wait)
    bench.load(calls("wait"), "ok", tools=["wait"])
    names: list[str] = []
    bench.engine.subscribe(lambda event: names.append(event.name))
    task = asyncio.create_task(bench.engine.run("c", Message("hi", data_type="TEXT")))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [name for name in names if name.startswith("tool.")] == [
        "tool.start",
        "tool.args",
        "tool.run",
        "tool.end",
        "tool.result",
    ]


async def test_pieces_of_a_streaming_tool_are_shown_and_its_last_is_the_result(bench: Any) -> None:
    async def climb() -> AsyncGenerator[Any]:
        yield "half way"
        yield {"at": "the top"}

    bench.engine.tool(climb)
    bench.load(calls("climb"), "ok", tools=["climb"])
    seen = await events(bench, "tool.")
    assert [name for name, _ in seen] == [
        "tool.start",
        "tool.args",
        "tool.run",
        "tool.delta",
        "tool.delta",
        "tool.end",
        "tool.result",
    ]
    assert [data["delta"] for name, data in seen if name == "tool.delta"] == ["half way", '{"at":"the top"}']
    assert seen[-1][1]["result"] == '{"at":"the top"}'
    assert bench.last[-1]["content"] == '{"at":"the top"}'


async def test_pieces_of_a_tool_go_out_by_stream(bench: Any) -> None:
    async def climb() -> AsyncGenerator[str]:
        yield "half way"
        yield "there"

    bench.engine.tool(climb)
    bench.load(calls("climb"), "ok", tools=["climb"])
    outcome = await bench.say(stream="true")
    kinds = [
        json.loads(end.message.text)["type"] for end in outcome.ends if end.message.metadata.get("tool_call") == "true"
    ]
    assert kinds == ["TOOL_CALL_START", "TOOL_CALL_DELTA", "TOOL_CALL_DELTA", "TOOL_CALL_RESULT"]


async def test_a_streaming_tool_that_says_nothing_has_failed(bench: Any) -> None:
    async def climb() -> AsyncGenerator[str]:
        return
        yield ""

    bench.engine.tool(climb)
    bench.load(calls("climb"), "ok", tools=["climb"])
    await bench.say()
    assert bench.last[-1]["content"] == "Error: Tool execution failed: the tool gave no result"
