"""An agent in Python that asks: what it tells then, and how it goes on with answers."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.components.ai.face.streaming import assert_balanced, blocks, listed, of_type, types

from catenary.errors import CatenaryError
from catenary.testing import Reply, ScriptedModel, calls, mock
from catenary_components.ai import Agent, BlockEvent
from catenary_components.ai.state import AgentState, FinishReason

MODEL = "mock:face-questions"
WEATHER: dict[str, Any] = {"type": "external", "name": "weather", "description": "Weather.", "readOnly": True}


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    scripted = ScriptedModel()
    with mock("face-questions", scripted):
        yield scripted


@pytest.fixture
def sent() -> list[str]:
    return []


@pytest.fixture
def send(sent: list[str]) -> Any:
    def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        return f"sent to {to}"

    return send


def both(*people: str) -> Reply:
    return Reply(tool_calls=[call for to in people for call in calls("send", to=to).tool_calls])


async def answered(agent: Agent, answers: list[dict[str, Any]]) -> list[BlockEvent]:
    return await listed(agent.resume_stream(answers, vocabulary="blocks"))


async def pending(agent: Agent) -> list[str]:
    return [call.id for call in (await agent.state()).pending]


async def test_the_question_has_the_calls_their_input_their_state_and_rules_that_would_let_them_pass(
    model: ScriptedModel, send: Any
) -> None:
    model.add(both("ann"))
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        events = await blocks(agent)
        waiting = await pending(agent)
    (asked,) = of_type(events, "REQUIRE_USER_CONFIRM")
    (call,) = asked["toolCalls"]
    assert (call["id"], call["name"], call["input"], call["state"]) == (waiting[0], "send", {"to": "ann"}, "asking")
    assert call["suggestedRules"][0]["tool"] == "send"
    assert asked["requestId"]
    assert types(events)[-4:] == ["REQUIRE_USER_CONFIRM", "REQUEST_STOP", "AGENT_RESULT", "AGENT_END"]
    assert of_type(events, "REQUEST_STOP")[0]["generateReason"] == "PERMISSION_ASKING"
    assert of_type(events, "AGENT_RESULT")[0]["result"]["generateReason"] == "PERMISSION_ASKING"
    assert of_type(events, "AGENT_END") == [{"status": "paused"}]
    assert_balanced(events)


async def test_the_stream_of_an_answer_begins_with_it_and_runs_what_was_approved(
    model: ScriptedModel, send: Any, sent: list[str]
) -> None:
    model.add(both("ann"), "Done.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        (asked,) = of_type(await blocks(agent), "REQUIRE_USER_CONFIRM")
        edited = {"toolCallId": (await pending(agent))[0], "decision": "approve", "input": {"to": "bob"}}
        events = await answered(agent, [edited])
    assert types(events) == [
        *("AGENT_START", "USER_CONFIRM_RESULT"),
        *("TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"),
        *("MODEL_CALL_START", "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END", "MODEL_CALL_END"),
        *("AGENT_RESULT", "AGENT_END"),
    ]
    (told,) = of_type(events, "USER_CONFIRM_RESULT")
    assert told["requestId"] == asked["requestId"]
    assert told["confirmResults"] == [{**edited, "note": ""}]
    assert sent == ["bob"]
    assert_balanced(events)


async def test_the_stream_of_an_answer_is_also_one_of_events(model: ScriptedModel, send: Any) -> None:
    model.add(both("ann"), "Done.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        await agent.call("go")
        answer = {"toolCallId": (await pending(agent))[0], "decision": "approve"}
        names = [event.name async for event in agent.resume_stream([answer])]
    assert names.index("approval.resolved") < names.index("tool.start") < names.index("content.delta")
    assert names[-1] == "run.complete"


async def test_a_call_that_is_denied_is_seen_to_close_and_the_model_is_told_why(
    model: ScriptedModel, send: Any, sent: list[str]
) -> None:
    model.add(both("ann"), "As you like.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        await agent.call("go")
        denial = {"toolCallId": (await pending(agent))[0], "decision": "deny", "note": "not today"}
        events = await answered(agent, [denial])
    assert of_type(events, "TOOL_RESULT_END")[0]["state"] == "denied"
    assert of_type(events, "TOOL_RESULT_TEXT_DELTA")[0]["delta"] == "Permission denied by user: not today"
    assert model.requests[-1].messages[-1]["content"] == "Permission denied by user: not today"
    assert sent == []
    assert_balanced(events)


async def test_a_part_of_the_answers_leaves_the_rest_open(model: ScriptedModel, send: Any, sent: list[str]) -> None:
    model.add(both("ann", "bob"), "Done.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        first = of_type(await blocks(agent), "REQUIRE_USER_CONFIRM")[0]
        ids = await pending(agent)
        events = await answered(agent, [{"toolCallId": ids[0], "decision": "approve"}])
        (again,) = of_type(events, "REQUIRE_USER_CONFIRM")
        assert ([call["id"] for call in again["toolCalls"]], sent) == ([ids[1]], [])
        assert again["requestId"] != first["requestId"]
        assert (await agent.resume([{"toolCallId": ids[1], "decision": "approve"}])).text == "Done."
    assert sorted(sent) == ["ann", "bob"]


async def test_text_along_with_an_answer_follows_the_results(model: ScriptedModel, send: Any) -> None:
    model.add(both("ann"), "Done.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        await agent.call("go")
        answer = {"toolCallId": (await pending(agent))[0], "decision": "approve"}
        await agent.resume([answer], text="And hurry.")
    assert [message["content"] for message in model.requests[-1].messages[-2:]] == ["sent to ann", "And hurry."]


async def test_a_question_can_be_taken_back(model: ScriptedModel, send: Any, sent: list[str]) -> None:
    model.add(both("ann"), "Hello again.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        await agent.call("go")
        reply = await agent.resume(cancel=True)
        assert (reply.finish_reason, reply.pending, sent) == (FinishReason.STOPPED, (), [])
        assert (await agent.call("hello")).text == "Hello again."


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"decision": "approve"}, "names no call"),
        ({"toolCallId": "nobody", "decision": "approve"}, "there is no call nobody that waits"),
        ({"toolCallId": "ID", "decision": "perhaps"}, "approve or deny, not 'perhaps'"),
        ({"toolCallId": "ID", "decision": "approve", "input": {"to": 3, "x": 1}}, "input"),
        ({"toolCallId": "ID", "decision": "approve", "confirmed": True}, "'confirmed' is no member"),
    ],
)
async def test_a_wrong_answer_changes_nothing(
    model: ScriptedModel, send: Any, sent: list[str], answer: dict[str, Any], said: str
) -> None:
    model.add(both("ann"), "Done.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        await agent.call("go")
        (waiting,) = await pending(agent)
        given = {**answer, "toolCallId": waiting} if answer.get("toolCallId") == "ID" else answer
        with pytest.raises(CatenaryError, match=said):
            await agent.resume([given])
        assert await pending(agent) == [waiting]
        assert (await agent.resume([{"toolCallId": waiting, "decision": "approve"}])).text == "Done."
    assert sent == ["ann"]


async def test_an_answer_given_twice_has_no_second_effect(model: ScriptedModel, send: Any, sent: list[str]) -> None:
    model.add(both("ann"), "Done.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        await agent.call("go")
        answer = {"toolCallId": (await pending(agent))[0], "decision": "approve"}
        await agent.resume([answer])
        with pytest.raises(CatenaryError, match="was answered already; its state is success"):
            await agent.resume([answer])
    assert sent == ["ann"]


async def test_a_rule_that_is_accepted_lets_the_same_call_pass_in_this_session(
    model: ScriptedModel, send: Any, sent: list[str]
) -> None:
    model.add(both("ann"), "Once.", both("ann"), "Twice.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        call = of_type(await blocks(agent), "REQUIRE_USER_CONFIRM")[0]["toolCalls"][0]
        answer = {"toolCallId": call["id"], "decision": "approve", "acceptRules": call["suggestedRules"]}
        await agent.resume([answer])
        assert (await agent.call("again")).text == "Twice."
    assert sent == ["ann", "ann"]


# Calls that are done outside


async def test_a_call_done_outside_waits_and_its_result_goes_on(model: ScriptedModel) -> None:
    model.add(calls("weather"), "It rains.")
    async with Agent("A", model=MODEL, tools=[WEATHER]) as agent:
        events = await blocks(agent)
        order = types(events)
        assert order.index("TOOL_RESULT_END") < order.index("REQUIRE_EXTERNAL_EXECUTION")
        assert of_type(events, "TOOL_RESULT_END")[0]["state"] == "running"
        assert of_type(events, "AGENT_RESULT")[0]["result"]["generateReason"] == "TOOL_SUSPENDED"
        (waiting,) = await pending(agent)
        after = await answered(agent, [{"toolCallId": waiting, "output": "rain"}])
        reply = await agent.state()
    assert of_type(after, "EXTERNAL_EXECUTION_RESULT")[0]["toolResults"] == [
        {"toolCallId": waiting, "decision": "result", "note": "", "output": "rain", "isError": False}
    ]
    assert types(after)[:2] == ["AGENT_START", "EXTERNAL_EXECUTION_RESULT"]
    assert reply.messages[2].results[0].text == "rain"
    assert_balanced(events)
    assert_balanced(after)


# Rules that deny


async def test_when_all_calls_are_denied_by_rules_that_is_told(model: ScriptedModel, send: Any) -> None:
    model.add(both("ann", "bob"), "I may not.")
    async with Agent("A", model=MODEL, tools=[send], permission={"deny": ["send"]}) as agent:
        events = await blocks(agent)
    assert [data["state"] for data in of_type(events, "TOOL_RESULT_END")] == ["denied", "denied"]
    (told,) = of_type(events, "ALL_TOOLS_DENIED")
    assert [call["toolCallName"] for call in told["deniedToolCalls"]] == ["send", "send"]
    assert events[-1].data["status"] == "completed"


async def test_when_one_is_asked_about_it_is_not(model: ScriptedModel, send: Any) -> None:
    model.add(both("ann", "bob"))
    async with Agent("A", model=MODEL, tools=[send], permission={"deny": ['send({"to":"ann"})']}) as agent:
        events = await blocks(agent)
    assert "ALL_TOOLS_DENIED" not in types(events)
    assert [data["state"] for data in of_type(events, "TOOL_RESULT_END")] == ["denied"]


# Other processes


async def test_another_program_goes_on_with_what_is_in_a_store(
    model: ScriptedModel, send: Any, sent: list[str], tmp_path: Path
) -> None:
    model.add(both("ann"), "Done.")
    store = f"files:{tmp_path}"

    def made() -> Agent:
        from catenary import Engine

        return Agent("A", model=MODEL, tools=[send], store=store, engine=Engine(roots=[tmp_path]))

    first = made()
    paused = await first.call("go")
    await first.close()
    await first.engine.close()
    second = made()
    reply = await second.resume([{"toolCallId": paused.pending[0].id, "decision": "approve"}])
    await second.close()
    await second.engine.close()
    assert (reply.text, sent) == ("Done.", ["ann"])


async def test_its_record_is_json_that_can_be_read_back(model: ScriptedModel, send: Any) -> None:
    model.add(both("ann"))
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        await agent.call("go", session="s")
        state = await agent.state("s")
    written = json.loads(state.to_json())
    again = AgentState.from_json(json.dumps(written))
    assert [call.state for call in again.pending] == ["asking"]
    assert (again.messages, again.session_id) == (state.messages, "s")


async def test_what_is_said_with_a_question_taken_back_stays_in_the_conversation(
    model: ScriptedModel, send: Any
) -> None:
    model.add(both("ann"), "Hello again.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        await agent.call("go")
        await agent.resume(cancel=True, text="Forget it.")
        await agent.call("hello")
    assert "Forget it." in [message["content"] for message in model.requests[-1].messages]


@pytest.mark.parametrize("answers", ["approve", ["approve"], True, None, [("toolCallId", "c")]])
async def test_what_is_no_answer_is_refused_with_the_form_of_one(model: ScriptedModel, send: Any, answers: Any) -> None:
    model.add(both("ann"))
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        await agent.call("go")
        with pytest.raises(TypeError, match=r"is no answer: give objects such as \{'toolCallId'"):
            await agent.resume(answers)
        assert len(await pending(agent)) == 1


async def test_one_answer_needs_no_list(model: ScriptedModel, send: Any, sent: list[str]) -> None:
    model.add(both("ann"), "Done.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        reply = await agent.call("go")
        assert (await agent.resume({"toolCallId": reply.pending[0].id, "decision": "approve"})).text == "Done."
    assert sent == ["ann"]


async def test_a_reply_has_the_question_and_its_value_is_what_was_said(model: ScriptedModel, send: Any) -> None:
    model.add(Reply(text="I write.", tool_calls=both("ann").tool_calls), "Done.")
    async with Agent("A", model=MODEL, tools=[send]) as agent:
        reply = await agent.call("go")
        (asked,) = reply.question["toolCalls"]
        assert (reply.question["kind"], asked["name"], reply.value) == ("confirm", "send", "I write.")
        answer = {"toolCallId": asked["id"], "decision": "approve", "acceptRules": asked["suggestedRules"]}
        assert (await agent.resume(answer)).question == {}
