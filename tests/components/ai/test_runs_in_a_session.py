"""What a run tells of where the agent is, and what the next run of a session begins with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catenary.testing import Reply, ToolCall, calls, server_error


@pytest.fixture
def statuses(bench: Any) -> list[str]:
    """The statuses of the agent that were told."""
    told: list[str] = []
    heard = bench.engine.subscribe

    def note(event: Any) -> None:
        if event.name == "agent.status":
            told.append(event.data["status"])

    heard(note)
    return told


async def test_an_agent_that_asks_waits_for_the_user_and_goes_on(bench: Any, statuses: list[str]) -> None:
    bench.engine.tool(lambda: "sent", name="send")
    bench.load(calls("send"), "done", tools=["send"], permission="default")
    paused = await bench.say()
    assert statuses == ["running", "executing", "running", "waiting_user_input"]
    statuses.clear()
    (call,) = json.loads(paused.message.text)["toolCalls"]
    await bench.engine.answer(paused.run_id, "agent", data=[{"toolCallId": call["id"], "decision": "approve"}])
    assert statuses[-3:] == ["running", "done", "idle"]


@pytest.mark.parametrize(
    ("replies", "settings", "last"),
    [
        ([calls("look")], {"maxStep": 1}, "failed"),
        ([calls("look")] * 2, {"sameRounds": 2}, "failed"),
        ([calls("look")], {"budget": {"modelCalls": 1}}, "failed"),
        ([server_error()], {"maxRetries": 0}, "error"),
    ],
)
async def test_a_limit_of_its_own_and_an_error_are_told_apart(
    bench: Any, statuses: list[str], replies: list[Any], settings: dict[str, Any], last: str
) -> None:
    bench.engine.tool(lambda: "seen", name="look")
    bench.load(*replies, tools=["look"], **settings)
    assert not (await bench.say()).ok
    assert statuses[-1] == last
    bench.model.add("well")
    assert (await bench.say()).ok
    assert statuses[-3:] == ["running", "done", "idle"]


async def test_each_run_of_a_session_has_its_own_counters_and_its_own_budget(bench: Any) -> None:
    bench.engine.tool(lambda: "seen", name="look")
    settings = {"maxStep": 2, "maxRounds": 1, "onLimit": "answer", "budget": {"modelCalls": 2, "toolCalls": 1}}
    bench.load(*[calls("look"), "done"] * 3, tools=["look"], session="s", **settings)
    for _ in range(3):
        outcome = await bench.say()
        told = outcome.message.metadata
        assert (outcome.message.data, told["steps"], told["tool_calls"]) == ("done", "2", "1")


async def test_what_the_user_says_beside_a_part_of_the_answers_comes_behind_all_results(bench: Any) -> None:
    bench.engine.tool(lambda to: f"sent to {to}", name="send")
    asks = Reply(tool_calls=[ToolCall("send", {"to": to}, to) for to in ("ann", "bob")])
    bench.load(asks, "done", tools=["send"], permission="default")
    paused = await bench.say()
    first = {"answers": [{"toolCallId": "ann", "decision": "deny"}], "text": "and hurry"}
    again = await bench.engine.answer(paused.run_id, "agent", data=first)
    assert again.status == "paused"
    done = await bench.engine.answer(again.run_id, "agent", data=[{"toolCallId": "bob", "decision": "approve"}])
    assert done.message.data == "done"
    assert [message["role"] for message in bench.last] == ["user", "assistant", "tool", "tool", "user"]
    assert bench.last[-1]["content"] == "and hurry"


async def test_calls_that_are_refused_by_a_loop_have_the_text_of_its_node(bench: Any) -> None:
    nodes = [
        {"id": "reason", "type": "ai/reason"},
        {"id": "refuse", "type": "ai/refuse", "configuration": {"text": "not in ${metadata.town}"}},
        {"id": "observe", "type": "ai/observe"},
        {"id": "answer", "type": "ai/answer"},
    ]
    ways = [("reason", "ToolCalls", "refuse"), ("refuse", "Success", "observe"), ("observe", "Continue", "reason")]
    links = [{"fromId": a, "type": way, "toId": b} for a, way, b in (*ways, ("reason", "Answer", "answer"))]
    settings = {"id": "refusing", "root": False, "configuration": {"allowCycle": True}}
    bench.engine.load({"ruleChain": settings, "metadata": {"nodes": nodes, "connections": links}})
    bench.engine.tool(lambda: "seen", name="look")
    bench.load(calls("look"), "done", tools=["look"], mode="refusing")
    assert (await bench.say(town="Hull")).message.data == "done"
    assert bench.last[-1]["content"] == "not in Hull"
