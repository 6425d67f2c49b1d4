"""Arguments that are nested as deeply as no tool wants them."""

from __future__ import annotations

from typing import Any

import pytest

from catenary.testing import Reply, ToolCall, calls

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {}}}


@pytest.mark.parametrize("depth", [100, 200, 300, 600, 800, 900, 1_000, 1_020])
@pytest.mark.parametrize("kind", ["function", "rulechain"])
async def test_whatever_depth_arguments_have_the_agent_goes_on(bench: Any, depth: int, kind: str) -> None:
    bench.engine.tool(lambda a: "ran", name="echo")
    echo = {"id": "s", "type": "jsTransform", "configuration": {"jsScript": "return {msg: 'ran'}"}}
    bench.engine.load({"ruleChain": {"id": "below", "root": False}, "metadata": {"nodes": [echo], "connections": []}})
    tool = {"type": kind, "name": "echo", "targetId": "below", "parameters": SCHEMA}
    text = '{"a":' + "[" * depth + "]" * depth + "}"
    bench.load(Reply(tool_calls=[ToolCall("echo", text)]), calls("echo", a=1), "ok", tools=[tool], session="s")
    outcome = await bench.say(stream="true")
    assert outcome.ok, outcome.error
    assert (await bench.say("again")).status == "failed"  # the script is over
    results = [message["content"] for message in bench.last if message["role"] == "tool"]
    assert results[0] == "ran" or results[0].startswith("Error: ")
    assert results[1] == "ran"
