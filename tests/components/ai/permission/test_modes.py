"""What decides about a call: rules, the guard, dangerous places, the tool itself, and last the mode."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from catenary.testing import Reply, ToolCall
from catenary_components.ai.permission.gate import note
from catenary_components.ai.permission.guard import Guard
from catenary_components.ai.permission.subject import Subject
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.tool import Tool

if TYPE_CHECKING:
    from pathlib import Path

    from catenary import Outcome


@pytest.fixture
def ran(bench: Any) -> list[str]:
    """Tools `look`, which changes nothing, and `send`, which does; and which of them ran."""
    found: list[str] = []

    def look(at: str) -> str:
        found.append(f"look {at}")
        return "seen"

    def send(to: str) -> str:
        found.append(f"send {to}")
        return "sent"

    bench.engine.tool(look)
    bench.engine.tool(send)
    return found


TOOLS = [{"name": "look", "readOnly": True}, "send"]


async def ask(bench: Any, permission: Any, *asked: ToolCall, **options: Any) -> Outcome:
    """Have the model ask for calls; it says `done` when it is asked again."""
    bench.load(Reply(tool_calls=list(asked)), "done", tools=TOOLS, permission=permission, **options)
    return await bench.say()


def told(bench: Any) -> list[str]:
    """What the model was told of its calls."""
    return [str(message["content"]) for message in bench.last if message["role"] == "tool"]


LOOK, SEND = ToolCall("look", {"at": "x"}), ToolCall("send", {"to": "ann"})


@pytest.mark.parametrize("mode", ["listed", "bypass", "default", "accept_edits", "explore", "dont_ask"])
async def test_what_changes_nothing_runs_in_every_mode(bench: Any, ran: list[str], mode: str) -> None:
    assert (await ask(bench, mode, LOOK)).message.text == "done"
    assert ran == ["look x"]


@pytest.mark.parametrize("mode", ["listed", "bypass"])
async def test_what_is_listed_runs_in_these_modes(bench: Any, ran: list[str], mode: str) -> None:
    await ask(bench, mode, SEND)
    assert ran == ["send ann"]


@pytest.mark.parametrize("mode", ["default", "accept_edits"])
async def test_what_changes_something_is_asked_about_in_these(bench: Any, ran: list[str], mode: str) -> None:
    assert (await ask(bench, mode, SEND)).status == "paused"
    assert ran == []


@pytest.mark.parametrize("mode", ["explore", "dont_ask"])
async def test_what_changes_something_is_refused_in_these(bench: Any, ran: list[str], mode: str) -> None:
    assert (await ask(bench, mode, SEND)).message.text == "done"
    assert (ran, told(bench)) == ([], ["Permission denied by rules"])


@pytest.mark.parametrize("mode", ["listed", "bypass", "default", "dont_ask"])
async def test_a_deny_rule_holds_in_every_mode_and_against_every_allow_rule(
    bench: Any, ran: list[str], mode: str
) -> None:
    await ask(bench, {"mode": mode, "allow": ["send"], "deny": ["send"]}, SEND)
    assert (ran, told(bench)) == ([], ["Permission denied by rules"])


@pytest.mark.parametrize("mode", ["listed", "bypass", "default"])
async def test_an_ask_rule_holds_where_everything_else_would_run(bench: Any, ran: list[str], mode: str) -> None:
    assert (await ask(bench, {"mode": mode, "ask": ["se*"], "allow": ["send"]}, SEND)).status == "paused"
    assert ran == []


async def test_an_ask_rule_is_a_refusal_where_nobody_may_be_asked(bench: Any, ran: list[str]) -> None:
    assert (await ask(bench, {"mode": "dont_ask", "ask": ["send"], "allow": ["send"]}, SEND)).message.text == "done"
    assert ran == []


async def test_an_allow_rule_is_about_what_its_pattern_and_its_condition_say(bench: Any, ran: list[str]) -> None:
    allow = {"tool": "send", "when": "msg.to startsWith 'a'"}
    await ask(bench, {"mode": "default", "allow": [allow]}, SEND)
    assert ran == ["send ann"]
    bench.model.add(Reply(tool_calls=[ToolCall("send", {"to": "bob"})]))
    assert (await bench.say()).status == "paused"
    assert ran == ["send ann"]


async def test_nothing_of_a_reply_runs_while_one_of_its_calls_is_asked_about(bench: Any, ran: list[str]) -> None:
    assert (await ask(bench, "default", LOOK, SEND)).status == "paused"
    assert ran == []


def guard(expression: str) -> dict[str, Any]:
    node = {"id": "judge", "type": "exprTransform", "configuration": {"expr": expression}}
    return {"ruleChain": {"id": "guard", "root": False}, "metadata": {"nodes": [node]}}


@pytest.mark.parametrize(
    ("expression", "runs", "status"),
    [
        ('{"decision": "allow"}', ["send ann"], "completed"),
        ('{"decision": msg.arguments.to == "ann" ? "deny" : "allow", "reason": "not ann"}', [], "completed"),
        ('{"decision": "ask"}', [], "paused"),
        ('{"decision": "perhaps"}', [], "paused"),
        ("msg.no.such.thing + 1", [], "paused"),
    ],
)
async def test_a_chain_of_ones_own_guards_the_tools(
    bench: Any, ran: list[str], expression: str, runs: list[str], status: str
) -> None:
    bench.engine.load(guard(expression))
    outcome = await ask(bench, {"guard": "guard"}, SEND)
    assert (ran, outcome.status) == (runs, status)


async def test_a_guard_lets_nothing_pass_that_a_rule_stops(bench: Any, ran: list[str]) -> None:
    bench.engine.load(guard('{"decision": "allow"}'))
    await ask(bench, {"guard": "guard", "deny": ["send"]}, SEND)
    assert ran == []


async def test_what_a_guard_denies_is_not_asked_about(bench: Any, ran: list[str]) -> None:
    bench.engine.load(guard('{"decision": "deny", "reason": "never"}'))
    outcome = await ask(bench, {"guard": "guard", "ask": ["send"]}, SEND)
    assert (outcome.status, ran, told(bench)) == ("completed", [], ["Permission denied by rules"])


async def test_a_guard_that_cannot_be_run_has_the_call_asked_about() -> None:
    async def run_chain(*_: Any) -> Any:
        raise RecursionError("too deep")

    chain, ctx = SimpleNamespace(chain="guard"), SimpleNamespace(run_chain=run_chain)
    tool = Tool("send", "", {}, work=None)  # type: ignore[arg-type] - never run
    verdict = await Guard(chain).judge(ctx, AgentState(), Subject(tool, {}, "/"))  # type: ignore[arg-type]
    assert verdict == ("ask", "the guard failed: too deep")


async def test_in_the_mode_explore_no_allow_rule_lets_anything_be_changed(bench: Any, ran: list[str]) -> None:
    await ask(bench, {"mode": "explore", "allow": ["send", "look"]}, SEND, LOOK)
    assert ran == ["look x"]


async def test_a_rule_that_was_accepted_goes_before_a_rule_that_asks(bench: Any, ran: list[str]) -> None:
    paused = await ask(bench, {"mode": "listed", "ask": ["send"]}, SEND, session="s")
    (shown,) = json.loads(paused.message.text)["toolCalls"]
    answer = {"toolCallId": shown["id"], "decision": "approve", "acceptRules": [{"tool": "send", "match": "*ann*"}]}
    await bench.engine.answer(paused.run_id, "agent", data=[answer])
    bench.model.add(Reply(tool_calls=[SEND]), "again", Reply(tool_calls=[ToolCall("send", {"to": "bob"})]))
    assert (await bench.say()).message.text == "again"
    assert (await bench.say()).status == "paused"
    assert ran == ["send ann", "send ann"]


async def test_an_accepted_rule_that_is_damaged_has_every_call_asked_about(bench: Any, ran: list[str]) -> None:
    bench.load("hello", Reply(tool_calls=[SEND]), tools=TOOLS, permission="listed", session="s")
    await bench.say()
    sessions = bench.engine.chains["c"].compiled.by_id["agent"].component.sessions
    async with sessions.hold("s") as slot:
        slot.state.permissions["rules"] = [{"tool": "send", "behavior": "perhaps"}]
        await slot.save()
    assert (await bench.say()).status == "paused"
    assert ran == []


def test_the_log_of_decisions_keeps_the_last_200() -> None:
    state = AgentState()
    for number in range(203):
        note(state, {"n": number})
    log = cast("list[dict[str, int]]", state.permissions["log"])
    assert (len(log), log[0], log[-1]) == (200, {"n": 3}, {"n": 202})


async def test_a_dangerous_file_is_asked_about_though_all_else_runs(bench: Any, tmp_path: Path) -> None:
    write = {"type": "builtin", "name": "write", "config": {"workDir": str(tmp_path)}}
    calls = [ToolCall("write", {"path": ".env", "content": "x"})]
    node = {"url": f"{bench.url}/v1", "model": "m", "tools": [write], "permission": "bypass"}
    chain = tmp_path / "chain.json"
    nodes = [{"id": "agent", "type": "ai/agent", "configuration": node}]
    chain.write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes}}))
    bench.model.add(Reply(tool_calls=calls), "done")
    bench.engine.load(chain)
    assert (await bench.say()).status == "paused"
    assert not (tmp_path / ".env").exists()


async def test_every_decision_is_told(bench: Any, ran: list[str]) -> None:
    bench.load(Reply(tool_calls=[LOOK, SEND]), "done", tools=TOOLS, permission={"deny": ["send"]})
    seen = [event.data async for event in bench.engine.stream("c", "hi") if event.name == "permission.decided"]
    assert [(one["toolName"], one["decision"]) for one in seen] == [("look", "allow"), ("send", "deny")]


async def test_after_a_denial_the_agent_may_end(bench: Any, ran: list[str]) -> None:
    paused = await ask(bench, "default", SEND, afterDenial="end")
    (shown,) = json.loads(paused.message.text)["toolCalls"]
    answer = [{"toolCallId": shown["id"], "decision": "deny"}]
    outcome = await bench.engine.answer(paused.run_id, "agent", data=answer)
    assert (ran, outcome.message.metadata["finish_reason"]) == ([], "all_tools_denied")
    assert len(bench.model.requests) == 1


async def test_a_part_of_the_answers_runs_nothing_that_is_still_asked_about(bench: Any, ran: list[str]) -> None:
    calls = [ToolCall("send", {"to": "ann"}, "c1"), ToolCall("send", {"to": "bob"}, "c2")]
    paused = await ask(bench, "default", *calls)
    first = await bench.engine.answer(paused.run_id, "agent", data=[{"toolCallId": "c1", "decision": "approve"}])
    assert first.status == "paused"
    assert [one["id"] for one in json.loads(first.message.text)["toolCalls"]] == ["c2"]
    assert ran == []
    done = await bench.engine.answer(first.run_id, "agent", data=[{"toolCallId": "c2", "decision": "approve"}])
    assert (done.message.text, sorted(ran)) == ("done", ["send ann", "send bob"])


async def test_a_rule_that_is_accepted_lets_later_calls_pass(bench: Any, ran: list[str]) -> None:
    paused = await ask(bench, "default", SEND, session="s")
    (shown,) = json.loads(paused.message.text)["toolCalls"]
    answer = {"toolCallId": shown["id"], "decision": "approve", "acceptRules": shown["suggestedRules"]}
    await bench.engine.answer(paused.run_id, "agent", data=[answer])
    bench.model.add(Reply(tool_calls=[SEND]), "again")
    assert (await bench.say()).message.text == "again"
    assert ran == ["send ann", "send ann"]


async def test_a_question_that_is_cancelled_runs_nothing(bench: Any, ran: list[str]) -> None:
    paused = await ask(bench, "default", SEND)
    outcome = await bench.engine.answer(paused.run_id, "agent", data={"cancel": True})
    assert ran == []
    assert outcome.status != "paused"


async def test_a_rule_whose_tool_is_misspelled_is_told(
    bench: Any, ran: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    await ask(bench, {"deny": ["sned(all)", "bash", "s*d"], "allow": ["look"]}, ToolCall("look", {"at": "a"}))
    told = [record.getMessage() for record in caplog.records if "rule" in record.getMessage()]
    assert told == ["a rule of permission is about no tool of the agent: sned(all); did you mean 'send'?"]
