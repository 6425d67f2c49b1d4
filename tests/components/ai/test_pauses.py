"""Agents that ask: approvals, results from outside, and going on in another process."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Engine
from catenary.errors import PauseError
from catenary.pauses import Answer
from catenary.testing import Reply, ToolCall
from catenary_components.ai.sessions import Sessions
from catenary_components.ai.sessions.memory import memory_of

if TYPE_CHECKING:
    from pathlib import Path

    from catenary import Outcome


@pytest.fixture
def sent(bench: Any) -> list[str]:
    """A tool `send` that is asked about, and what it was run with."""
    found: list[str] = []

    def send(to: str) -> str:
        """Send a letter."""
        found.append(to)
        return f"sent to {to}"

    bench.engine.tool(send)
    return found


def wants(**places: str) -> Reply:
    """A reply that asks to send letters, by the ids of the calls."""
    return Reply(tool_calls=[ToolCall("send", {"to": to}, call_id) for call_id, to in places.items()])


def question(outcome: Outcome) -> dict[str, Any]:
    return json.loads(outcome.message.text)


def approve(call_id: str, **members: Any) -> dict[str, Any]:
    return {"toolCallId": call_id, "decision": "approve", **members}


def deny(call_id: str, **members: Any) -> dict[str, Any]:
    return {"toolCallId": call_id, "decision": "deny", **members}


async def test_a_call_that_is_asked_about_waits_and_runs_once_it_is_approved(bench: Any, sent: Any) -> None:
    bench.load(wants(c1="ann"), "done", tools=["send"], permission="default")
    paused = await bench.say()
    assert (paused.status, paused.ends[-1].relation, sent) == ("paused", "AwaitConfirm", [])
    (shown,) = question(paused)["toolCalls"]
    assert (shown["id"], shown["name"], shown["input"], shown["state"]) == ("c1", "send", {"to": "ann"}, "asking")
    assert shown["suggestedRules"] == [
        {"tool": "send", "match": '{"to":"ann"}', "behavior": "allow", "source": "suggested"}
    ]
    outcome = await bench.engine.answer(paused.run_id, "agent", data=[approve("c1")])
    assert (outcome.status, outcome.message.text, sent) == ("completed", "done", ["ann"])
    assert bench.last[-1]["content"] == "sent to ann"


async def test_another_process_goes_on_with_the_answer_to_a_question_in_a_file(
    bench: Any, sent: Any, outlet: Any, tmp_path: Path
) -> None:
    bench.engine.pauses.keep_in(tmp_path / "records.db")
    bench.load(wants(c1="ann", c2="bob"), "done", tools=["send"], permission="default", maxStep=2, stepHint=0)
    paused = await bench.say("write to them")
    await bench.engine.close()
    done: list[str] = []
    async with Engine(clock=bench.clock) as other:
        other.tool(lambda to: done.append(to) or "ok", name="send")
        other.pauses.keep_in(tmp_path / "records.db")
        outcome = await other.answer(paused.run_id, "agent", data=[approve("c1"), deny("c2", note="not him")])
    assert (outcome.status, outcome.message.text, done, sent) == ("completed", "done", ["ann"], [])
    assert outcome.message.metadata["steps"] == "2"
    told = {one["tool_call_id"]: one["content"] for one in bench.last if one["role"] == "tool"}
    assert told == {"c1": "ok", "c2": "Permission denied by user: not him"}


async def test_a_session_in_memory_that_ended_with_its_process_goes_on_whole(
    bench: Any, sent: Any, tmp_path: Path
) -> None:
    bench.engine.pauses.keep_in(tmp_path / "records.db")
    bench.load(
        "Hello.", wants(c1="ann"), "done", tools=["send"], permission="default", session={"key": "s", "window": 1}
    )
    await bench.say("first")
    paused = await bench.say("second")
    await bench.engine.close()
    async with Engine(clock=bench.clock) as other:
        other.tool(lambda to: "ok", name="send")
        other.pauses.keep_in(tmp_path / "records.db")
        outcome = await other.answer(paused.run_id, "agent", data=[approve("c1")])
        kept = await Sessions(memory_of(other), bench.clock).read("s")
    assert (outcome.message.text, kept.pending) == ("done", ())
    assert [one.text for one in kept.messages if one.role == "user"] == ["first", "second"]


async def test_a_session_in_memory_that_is_there_is_not_put_back(bench: Any, sent: Any) -> None:
    bench.load(wants(c1="ann"), "done", "more", tools=["send"], permission="default", session="s")
    paused = await bench.say()
    await bench.say({"answers": [deny("c1")]}, "JSON")
    with pytest.raises(PauseError, match="was answered already"):
        await bench.engine.answer(paused.run_id, "agent", data=[approve("c1")])
    await bench.say("and?")
    assert (sent, len(bench.last)) == ([], 5)


async def test_an_answer_counts_once(bench: Any, sent: Any, tmp_path: Path) -> None:
    bench.engine.pauses.keep_in(tmp_path / "records.db")
    bench.load(wants(c1="ann"), "done", tools=["send"], permission="default")
    paused = await bench.say()
    await bench.engine.answer(paused.run_id, "agent", data=[approve("c1")])
    with pytest.raises(PauseError, match="was answered already"):
        await bench.engine.answer(paused.run_id, "agent", data=[approve("c1")])
    async with Engine(clock=bench.clock) as other:
        other.pauses.keep_in(tmp_path / "records.db")
        with pytest.raises(PauseError, match="was answered already"):
            await other.answer(paused.run_id, "agent", data=[approve("c1")])
    assert sent == ["ann"]


async def test_what_is_said_to_a_session_that_waits_for_an_answer_is_refused(bench: Any, sent: Any) -> None:
    bench.load(wants(c1="ann"), "done", tools=["send"], permission="default", session="s")
    await bench.say()
    refused = await bench.say("hello?")
    assert "waits for answers about the calls c1 (send)" in refused.message.text
    outcome = await bench.say({"answers": [approve("c1", input={"to": "eve"})], "text": "to eve, please"}, "JSON")
    assert (outcome.message.text, sent) == ("done", ["eve"])
    assert [one["content"] for one in bench.last[-2:]] == ["sent to eve", "to eve, please"]


async def test_of_several_calls_none_runs_before_all_are_answered(bench: Any, sent: Any) -> None:
    bench.load(wants(c1="ann", c2="bob"), "done", tools=["send"], permission="default")
    paused = await bench.say()
    again = await bench.engine.answer(paused.run_id, "agent", data=[approve("c1")])
    assert (again.status, sent) == ("paused", [])
    assert [call["id"] for call in question(again)["toolCalls"]] == ["c2"]
    outcome = await bench.engine.answer(again.run_id, "agent", data=[approve("c2")])
    assert (outcome.message.text, sorted(sent)) == ("done", ["ann", "bob"])


async def test_an_edited_call_that_a_rule_denies_is_not_run(bench: Any, sent: Any) -> None:
    rules = {"mode": "default", "deny": [{"tool": "send", "when": "msg.to == 'eve'"}]}
    bench.load(wants(c1="ann"), "done", tools=["send"], permission=rules)
    paused = await bench.say()
    outcome = await bench.engine.answer(paused.run_id, "agent", data=[approve("c1", input={"to": "eve"})])
    assert (outcome.message.text, sent) == ("done", [])
    assert bench.last[-1]["content"] == "Permission denied by rules"


async def test_an_accepted_rule_lets_the_same_call_pass_later(bench: Any, sent: Any) -> None:
    bench.load(wants(c1="ann"), wants(c2="ann"), "done", tools=["send"], permission="default")
    paused = await bench.say()
    (shown,) = question(paused)["toolCalls"]
    answer = approve("c1", acceptRules=shown["suggestedRules"])
    outcome = await bench.engine.answer(paused.run_id, "agent", data=[answer])
    assert (outcome.status, sent) == ("completed", ["ann", "ann"])


@pytest.mark.parametrize(
    "entry",
    [
        "send",
        {"type": "rulechain", "name": "send", "targetId": "absent", "description": "?"},
        {"type": "external", "name": "send", "description": "?"},
        {"type": "frontend", "name": "send", "description": "?"},
    ],
)
async def test_no_kind_of_tool_goes_around_the_gate(bench: Any, sent: Any, entry: Any) -> None:
    bench.load(wants(c1="ann"), "done", tools=[entry], permission={"mode": "bypass", "deny": ["send"]})
    assert (await bench.say()).message.text == "done"
    assert (bench.last[-1]["content"], sent) == ("Permission denied by rules", [])


async def test_an_agent_inside_another_chain_waits_there(bench: Any, sent: Any) -> None:
    bench.load(wants(c1="ann"), "done", tools=["send"], permission="default")
    flow = {"id": "f", "type": "flow", "configuration": {"targetId": "c"}}
    bench.engine.load({"ruleChain": {"id": "outer"}, "metadata": {"nodes": [flow], "connections": []}})
    bench.engine.pauses.on_open(
        lambda pause: bench.engine.pauses.answer(
            pause.run_id, pause.node_id, None, Answer(relation="Answers", data=[approve("c1")])
        )
    )
    outcome = await bench.engine.run("outer", "hi")
    assert (outcome.status, sent) == ("completed", ["ann"])


async def answered_at(bench, event_name: str, answers: list[dict[str, Any]], **metadata: str) -> tuple[Outcome, Any]:
    """Run one message, and answer as soon as an event is heard; give both outcomes."""
    given: list[asyncio.Task[Any]] = []

    def hear(event: Any) -> None:
        if event.name == event_name and not given:
            given.append(asyncio.create_task(bench.engine.answer(event.run_id, "agent", data=answers)))

    bench.engine.subscribe(hear)
    paused = await bench.say(**metadata)
    return paused, await given[0]


async def test_an_answer_that_comes_before_the_agent_waits_is_taken(bench: Any, sent: Any) -> None:
    bench.load(wants(c1="ann"), "done", tools=["send"], permission="default", session="s")
    paused, outcome = await answered_at(bench, "approval.request", [approve("c1")])
    assert outcome.ok, outcome.error
    assert (paused.status, sent) == ("paused", ["ann"])


async def test_the_result_of_a_frontend_may_come_while_the_model_still_writes(bench: Any) -> None:
    pick = {"type": "frontend", "name": "pick"}
    bench.load(Reply(tool_calls=[ToolCall("pick", {"of": "many things"}, "c1")]), "done", tools=[pick])
    output = {"toolCallId": "c1", "output": "blue"}
    paused, outcome = await answered_at(bench, "tool.start", [output], stream="true")
    assert (paused.status, outcome.status, bench.last[-1]["content"]) == ("paused", "completed", "blue")


async def test_an_early_answer_to_an_agent_that_never_asks_is_refused(bench: Any, sent: Any) -> None:
    bench.load(
        Reply(tool_calls=[ToolCall("pick", {}, "c1")], drop_after=3),
        tools=[{"type": "frontend", "name": "pick"}],
        params={"maxRetries": 0},
    )
    with pytest.raises(PauseError, match="does not wait"):
        await answered_at(bench, "tool.start", [{"toolCallId": "c1", "output": "blue"}], stream="true")
