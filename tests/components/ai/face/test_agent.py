"""`Agent`: an agent in a few lines of Python."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.programs import eventually

import catenary_components.ai
from catenary import Engine, Message
from catenary.errors import CatenaryError, EngineError
from catenary.events import Event, NodeEvent
from catenary.testing import FakeClock, Reply, ScriptedModel, calls, mock, server_error
from catenary_components.ai import Agent, tool
from catenary_components.ai.budget import BudgetExceeded
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.hooks.steps import ModelStep
from catenary_components.ai.messages import AudioPart, DataPart, ImagePart, TextPart, assistant_message, user_message
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.runtime_context import RuntimeContext
from catenary_components.ai.sessions.store import SessionBusy
from catenary_components.ai.state import FinishReason
from catenary_components.ai.status import AgentStatus

MODEL = "mock:face"


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    scripted = ScriptedModel()
    with mock("face", scripted):
        yield scripted


@tool(read_only=True)
def look(at: str) -> str:
    """Look at something."""
    return f"seen {at}"


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def sizes_in(folder: Path) -> list[int]:
    return [file.stat().st_size for file in folder.rglob("*") if file.is_file()]


async def test_it_answers_with_the_message_and_what_it_took(model: ScriptedModel) -> None:
    model.add(calls("look", at="a"), "It is there.")
    async with Agent("Watcher", system_prompt="Be short.", model=MODEL, tools=[look]) as agent:
        reply = await agent.call("Is it there?", user="ann")
    assert (str(reply), reply.message.role, reply.finish_reason) == ("It is there.", "assistant", FinishReason.NORMAL)
    assert reply.usage.total > 0
    assert reply.state.user_id == "ann"
    assert model.requests[0].system_text == "Be short."


async def test_it_remembers_what_was_said_in_each_session(model: ScriptedModel) -> None:
    model.add("one", "two", "other")
    async with Agent("A", model=MODEL) as agent:
        await agent.call("a")
        await agent.call("b")
        await agent.call("c", session="second")
        assert [message.text for message in (await agent.state()).messages] == ["a", "one", "b", "two"]
        assert [message.text for message in (await agent.state("second")).messages] == ["c", "other"]


async def test_without_a_store_each_call_begins_anew(model: ScriptedModel) -> None:
    model.add("one", "two")
    async with Agent("A", model=MODEL, store=None) as agent:
        assert (await agent.call("a")).session == ""
        await agent.call("b")
        with pytest.raises(EngineError, match="does not remember"):
            await agent.observe("x")
    assert len(model.requests[-1].messages) == 1


async def test_what_it_observes_is_in_the_conversation_and_no_model_is_asked(model: ScriptedModel) -> None:
    model.add("ok")
    async with Agent("A", model=MODEL) as agent:
        await agent.observe(["The door is open.", {"role": "assistant", "content": "I see."}])
        assert model.requests == []
        await agent.call("And?")
        await agent.clear()
        assert (await agent.state()).messages == []
    assert [message["content"] for message in model.requests[0].messages] == ["The door is open.", "I see.", "And?"]


async def test_what_it_observes_has_the_time_of_the_engines_clock(model: ScriptedModel) -> None:
    clock = FakeClock()
    async with Engine(clock=clock) as engine, Agent("A", model=MODEL, engine=engine) as agent:
        await agent.observe("The door is open.")
        assert [message.time_ms for message in (await agent.state()).messages] == [clock.time_ms()]


async def test_messages_of_all_kinds_arrive_as_they_are(model: ScriptedModel) -> None:
    model.add("ok")
    parts = (TextPart("see"), ImagePart("https://x/p.png", "low"), AudioPart("https://x/a.mp3"))
    said = [
        user_message(parts),
        assistant_message("yes"),
        user_message([DataPart("https://x/d.pdf", "application/pdf")]),
    ]
    async with Agent("A", model=MODEL) as agent:
        reply = await agent.call(said)
    assert reply.state.messages[:3] == said


@pytest.mark.parametrize("said", [[3], None, 3, [None]])
async def test_what_is_no_message_is_refused(said: Any) -> None:
    async with Agent("A", model=MODEL) as agent:
        with pytest.raises(TypeError, match="nothing that can be said"):
            await agent.call(said)


async def test_an_option_that_calls_do_not_have_is_refused_and_the_session_is_free(model: ScriptedModel) -> None:
    model.add("ok")
    wrong: Any = {"vocabulary": "words"}
    async with Agent("A", model=MODEL) as agent:
        stream: Any = agent.stream
        with pytest.raises(TypeError, match="a call of an agent has no 'temperature'"):
            await anext(agent.stream("a", temperature=1))
        with pytest.raises(TypeError, match="there is no vocabulary 'words'"):
            await anext(stream("a", **wrong))
        assert (await agent.call("a")).text == "ok"


async def test_the_session_of_a_call_is_what_the_call_says_whatever_its_attributes_are(model: ScriptedModel) -> None:
    model.add("ok")
    async with Agent("A", model=MODEL) as agent:
        await agent.call("a", session="s", attributes={"sessionKey": "other", "stream": "true"})
        assert len((await agent.state("s")).messages) == 2
        assert (await agent.state("other")).messages == []


async def test_after_ten_rounds_it_answers_without_tools(model: ScriptedModel) -> None:
    model.add(*[calls("look", at=str(n)) for n in range(10)], "What I know.")
    async with Agent("A", model=MODEL, tools=[look]) as agent:
        reply = await agent.call("Go on.")
    assert (reply.text, reply.finish_reason) == ("What I know.", FinishReason.MAX_ITERATIONS)
    assert len(model.requests) == 11
    assert "tools" not in model.requests[-1].body


async def test_more_rounds_may_be_allowed_than_a_node_has_steps(model: ScriptedModel) -> None:
    settings: Any = Agent("A", model=MODEL, max_iters=200).chain()["metadata"]
    assert settings["nodes"][0]["configuration"]["maxStep"] > 1000


async def test_a_second_caller_fails_at_once(model: ScriptedModel) -> None:
    go = asyncio.Event()

    @tool(read_only=True)
    async def wait() -> str:
        await go.wait()
        return "done"

    model.add(calls("wait"), "first")
    async with Agent("A", model=MODEL, tools=[wait]) as agent:
        first = asyncio.create_task(agent.call("a"))
        await eventually(lambda: agent.status is AgentStatus.EXECUTING)
        with pytest.raises(SessionBusy):
            await agent.call("b")
        go.set()
        assert (await first).text == "first"


async def test_or_waits_when_it_is_told_so(model: ScriptedModel) -> None:
    model.add("first", "second")
    async with Agent("A", model=MODEL, check_running=False) as agent:
        replies = await asyncio.gather(agent.call("a"), agent.call("b"))
    assert [reply.text for reply in replies] == ["first", "second"]


async def test_two_sessions_run_beside_each_other(model: ScriptedModel) -> None:
    both = asyncio.Barrier(2)

    @tool(read_only=True)
    async def meet() -> str:
        """Wait for the other one."""
        await both.wait()
        return "met"

    model.add(calls("meet"), calls("meet"), "done", "done")
    async with Agent("A", model=MODEL, tools=[meet]) as agent:
        calling = [agent.call("a", session=session) for session in ("s", "t")]
        replies = await asyncio.wait_for(asyncio.gather(*calling), 15)
    assert [(reply.text, reply.session) for reply in replies] == [("done", "s"), ("done", "t")]


async def test_a_failure_raises_the_error_of_the_model(model: ScriptedModel) -> None:
    model.add(server_error(501))
    async with Agent("A", model=MODEL) as agent:
        with pytest.raises(ModelError):
            await agent.call("a")
        assert agent.status is AgentStatus.ERROR
        model.add("ok")
        await agent.call("b")
        assert agent.status is AgentStatus.IDLE


async def test_its_own_limit_makes_it_failed(model: ScriptedModel) -> None:
    model.add(calls("look", at="a"))
    async with Agent("A", model=MODEL, tools=[look], on_limit="fail", budget={"model_calls": 1}) as agent:
        with pytest.raises(BudgetExceeded):
            await agent.call("a")
        assert agent.status is AgentStatus.FAILED


def test_it_can_be_called_without_an_event_loop(model: ScriptedModel) -> None:
    model.add("ok", "again")
    agent = Agent("A", model=MODEL)
    assert agent.call_sync("a").text == "ok"
    assert agent.call_sync("b", attributes={"x": "1"}).text == "again"
    with pytest.raises(TypeError, match="has no 'temperature'"):
        agent.call_sync("c", temperature=1)
    agent.engine.close_sync()


async def test_inside_an_event_loop_it_says_what_to_write_and_leaves_the_session_free(model: ScriptedModel) -> None:
    model.add("ok")
    async with Agent("A", model=MODEL) as agent:
        with pytest.raises(EngineError, match="inside a running event loop") as refused:
            agent.call_sync("a")
        assert refused.value.hint == "write await agent.call(...) there"
        assert model.requests == []
        assert (await agent.call("a")).text == "ok"


async def test_to_execute_a_goal_is_to_call(model: ScriptedModel) -> None:
    model.add("done")
    async with Agent("A", model=MODEL) as agent:
        assert (await agent.execute("Do it.", session="s")).session == "s"


async def test_attributes_and_values_of_a_call_reach_its_tools(model: ScriptedModel) -> None:
    @tool(read_only=True)
    async def where(ctx: Any) -> str:
        """Say where."""
        return str(ctx.scope[Desk].town)

    model.add(calls("where"), "ok")
    async with Agent("A", system_prompt="For ${metadata.firm}.", model=MODEL, tools=[where]) as agent:
        reply = await agent.call("?", scope=[Desk()], attributes={"firm": "Smith"})
    assert reply.state.messages[2].results[0].text == "Hull"
    assert model.requests[0].system_text == "For Smith."


async def test_a_call_may_name_another_model(model: ScriptedModel) -> None:
    other = ScriptedModel(["from the other"])
    with mock("face-other", other):
        async with Agent("A", model=MODEL) as agent:
            assert (await agent.call("a", model="mock:face-other")).text == "from the other"


async def test_a_session_may_have_a_model_of_its_own(model: ScriptedModel) -> None:
    other = ScriptedModel(["from the other"])
    model.add("a", "b")
    with mock("face-kept", other):
        async with Agent("A", model=MODEL) as agent:
            await agent.choose_model("mock:face-kept", session="ann")
            assert (await agent.call("x", session="ann")).text == "from the other"
            assert (await agent.call("x", session="bob")).text == "a"
            await agent.choose_model("", session="ann")
            assert (await agent.call("x", session="ann")).text == "b"


# Interruption


async def test_an_interrupted_stream_keeps_what_it_has_said_and_what_the_user_says(model: ScriptedModel) -> None:
    model.add(Reply(pieces=["One ", "two ", *["more "] * 1000, "five"], piece_delay_s=0.01), "after")
    async with Agent("A", model=MODEL) as agent:
        said = ""
        async for event in agent.stream("Count."):
            if event.name == "content.delta":
                said += str(event.data["delta"])  # type: ignore[attr-defined]
                assert agent.interrupt("Stop, that will do.")
        state = await agent.state()
        assert [message.text for message in state.messages] == ["Count.", said, "Stop, that will do."]
        assert said.startswith("One ")
        assert "five" not in said
        assert (await agent.call("Go on.")).text == "after"


async def test_a_call_that_waits_for_its_model_is_interrupted_at_once(model: ScriptedModel) -> None:
    model.add(Reply(text="late", delay_s=60))
    async with Agent("A", model=MODEL) as agent:
        call = asyncio.create_task(agent.call("a"))
        await eventually(lambda: bool(model.requests))
        assert agent.interrupt()
        reply = await asyncio.wait_for(call, 15)
    assert (reply.text, reply.finish_reason) == ("", FinishReason.STOPPED)


async def test_so_is_one_that_waits_to_try_again(model: ScriptedModel) -> None:
    model.add(server_error(), "never")
    clock = FakeClock()
    async with Engine(clock=clock) as engine, Agent("A", model=MODEL, engine=engine) as agent:
        call = asyncio.create_task(agent.call("a"))
        await eventually(lambda: bool(clock.slept))
        agent.interrupt()
        assert (await asyncio.wait_for(call, 15)).finish_reason is FinishReason.STOPPED


async def test_a_tool_that_runs_is_cancelled_and_its_call_gets_a_result(model: ScriptedModel) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    async def hang() -> str:
        begun.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    both = [*calls("look", at="a").tool_calls, *calls("hang").tool_calls]
    model.add(Reply(tool_calls=both))
    async with Agent("A", model=MODEL, tools=[look, hang]) as agent:
        call = asyncio.create_task(agent.call("a"))
        results: list[str] = []
        agent.engine.subscribe(lambda event: results.append(event.name) if event.name == "tool.result" else None)
        await eventually(lambda: bool(results) and begun.is_set())
        agent.interrupt()
        reply = await asyncio.wait_for(call, 15)
        assert cancelled.is_set()
        state = await agent.state()
    assert reply.finish_reason is FinishReason.STOPPED
    assert state.pending == ()
    shown = [result.text for message in state.messages for result in message.results]
    assert shown == ["seen a", "[ERROR] Tool execution was interrupted. Tool: hang"]


async def test_another_thread_may_interrupt_and_one_session_is_not_another(model: ScriptedModel) -> None:
    model.add(Reply(text="late", delay_s=60))
    async with Agent("A", model=MODEL) as agent:
        assert not agent.interrupt()
        call = asyncio.create_task(agent.call("a", session="s"))
        await eventually(lambda: bool(model.requests))
        assert not agent.interrupt(session="t")
        thread = threading.Thread(target=agent.interrupt)
        thread.start()
        assert (await asyncio.wait_for(call, 15)).finish_reason is FinishReason.STOPPED
        thread.join()


async def test_a_call_that_waits_for_its_turn_is_not_interrupted(model: ScriptedModel) -> None:
    model.add(Reply(text="late", delay_s=60), "second")
    async with Agent("A", model=MODEL, check_running=False) as agent:
        calls_made = [asyncio.create_task(agent.call(text, session="s")) for text in ("a", "b")]
        await eventually(lambda: bool(model.requests))
        assert agent.interrupt()
        first, second = await asyncio.wait_for(asyncio.gather(*calls_made), 15)
    assert first.finish_reason is FinishReason.STOPPED
    assert (second.text, second.finish_reason) == ("second", FinishReason.NORMAL)


async def test_a_call_that_is_cancelled_leaves_no_status_behind(model: ScriptedModel) -> None:
    model.add(Reply(text="late", delay_s=60), "ok")
    async with Agent("A", model=MODEL) as agent:
        told: list[str] = []
        agent.engine.subscribe(lambda event: told.append(status_in(event)))
        call = asyncio.create_task(agent.call("a"))
        await eventually(lambda: bool(model.requests))
        assert agent.status is AgentStatus.RUNNING
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert agent.status is AgentStatus.IDLE
        assert [status for status in told if status] == ["running", "idle"]
        assert (await agent.call("b")).text == "ok"


async def test_an_agent_below_that_waits_for_an_answer_is_interrupted_too(model: ScriptedModel) -> None:
    def change() -> str:
        """Change something."""
        return "changed"

    inner = {"id": "inner", "type": "ai/agent", "configuration": {"model": MODEL, "tools": ["change"]}}
    inner["configuration"]["permission"] = "default"  # type: ignore[index]
    helper = {"type": "rulechain", "name": "helper", "targetId": "helper", "description": "helps", "readOnly": True}
    model.add(calls("helper", q="?"), calls("change"))
    async with Agent("A", model=MODEL, tools=[helper]) as agent:
        agent.engine.tool(change)
        agent.engine.load({"ruleChain": {"id": "helper"}, "metadata": {"nodes": [inner]}})
        call = asyncio.create_task(agent.call("a"))
        await eventually(lambda: len(agent.engine.pauses) == 1)
        agent.interrupt()
        reply = await asyncio.wait_for(call, 15)
        assert reply.finish_reason is FinishReason.STOPPED
        assert (await agent.state()).pending == ()


def status_in(event: Event) -> str:
    return str(event.data["status"]) if isinstance(event, NodeEvent) and event.name == "agent.status" else ""


# The chain


def shapes(requests: list[Any]) -> list[Any]:
    """Give the bodies of requests without the ids of calls, which are made anew in each run."""
    return json.loads(re.sub(r'"(call_)?id": "[^"]*"|"tool_call_id": "[^"]*"', '"id": ""', json.dumps(requests)))


async def test_its_chain_does_the_same_as_a_file(model: ScriptedModel, tmp_path: Path) -> None:
    script = [calls("look", at="a"), calls("look", at="b"), "It is there."]
    said = ["Is it there?", "Thank you."]
    options: dict[str, Any] = {"fold_repeats": False, "params": {"temperature": 0}, "max_iters": 2}
    async with Agent("My Watcher", system_prompt="Be short.", model=MODEL, tools=[look], **options) as agent:
        model.add(*script, "Gladly.")
        replies = [(await agent.call(text)).text for text in said]
        file = tmp_path / "watcher.json"
        file.write_text(json.dumps(agent.chain()))
    first = shapes([request.body for request in model.requests])
    model.add(*script, "Gladly.")
    async with Engine() as engine:
        engine.tool(look)
        assert engine.load(file).id == "my-watcher"
        outcomes = [await engine.run("my-watcher", Message(text, data_type="TEXT")) for text in said]
    again = shapes([request.body for request in model.requests[len(first) :]])
    assert [outcome.message.text for outcome in outcomes] == replies
    assert again == [{**body, "stream": False} if "stream" in body else body for body in first]


def test_what_is_done_to_its_definition_is_not_done_to_the_agent() -> None:
    agent = Agent("A", model=MODEL)
    given: Any = agent.chain()
    given["metadata"]["nodes"][0]["configuration"]["session"]["store"] = "elsewhere"
    assert agent.chain() != given


def test_functions_are_named_in_its_chain_and_builtin_tools_are_told_by_name() -> None:
    agent = Agent("A", model=MODEL, tools=[look, "calculator", "other", {"type": "builtin", "name": "datetime"}])
    node: Any = agent.chain()["metadata"]
    assert node["nodes"][0]["configuration"]["tools"] == [
        "look",
        {"type": "builtin", "name": "calculator"},
        "other",
        {"type": "builtin", "name": "datetime"},
    ]


def test_an_option_that_is_not_there_is_refused_with_a_near_one() -> None:
    with pytest.raises(TypeError, match="did you mean 'max_retries'"):
        Agent("A", model=MODEL, max_retrys=3)


@pytest.mark.parametrize(
    ("given", "said"), [(3, "is no tool"), (lambda: 1, "has no name"), (functools.partial(look, "a"), "has no name")]
)
def test_something_that_is_no_tool_is_refused(given: Any, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        Agent("A", model=MODEL, tools=[given])


async def test_two_tools_of_one_name_are_refused() -> None:
    def other() -> str:
        """Look elsewhere."""
        return ""

    other.__name__ = "look"
    with pytest.raises(EngineError, match="two tools are called 'look'"):
        Agent("A", model=MODEL, tools=[look, other])


@pytest.mark.parametrize("given", [0, -1])
def test_a_number_of_rounds_that_is_none_is_refused(given: int) -> None:
    with pytest.raises(ValueError, match="max_iters must be at least 1"):
        Agent("A", model=MODEL, max_iters=given)


def test_a_preset_that_is_not_there_is_refused_with_a_near_one() -> None:
    wrong: Any = "pyton"
    with pytest.raises(TypeError, match="did you mean 'python'"):
        Agent("A", model=MODEL, preset=wrong)


async def test_in_an_engine_that_is_given_only_its_chain_goes(model: ScriptedModel) -> None:
    model.add("ok", "two")
    async with Engine() as engine:
        async with Agent("A", model=MODEL, engine=engine) as agent:
            await agent.call("a")
            assert "a" in engine.chains
        assert "a" not in engine.chains
        async with Agent("A", model=MODEL, engine=engine) as agent:
            assert (await agent.call("b")).text == "two"


async def test_a_wrong_setting_is_told_when_it_is_first_called() -> None:
    async with Agent("A", model="nobody:x") as agent:
        with pytest.raises(CatenaryError, match="URL is missing"):
            await agent.call("a")


async def test_long_results_go_to_its_folder_or_are_cut(model: ScriptedModel, tmp_path: Path) -> None:
    @tool(read_only=True)
    async def shout() -> str:
        """Shout."""
        return "a" * 100_000

    for folder, length in ((str(tmp_path), 4_000), ("", 80_100)):
        model.add(calls("shout"), "ok")
        async with Agent("A", model=MODEL, tools=[shout], folder=folder) as agent:
            reply = await agent.call("Shout.")
        assert len(reply.state.messages[2].results[0].text) < length
    assert max(sizes_in(tmp_path)) >= 100_000


async def test_texts_of_a_call_are_in_its_runtime_context(model: ScriptedModel) -> None:
    @tool(read_only=True)
    async def who(context: RuntimeContext) -> str:
        """Say who."""
        return f"{context.user_id} of {context['firm']} in {context.session_id}"

    model.add(calls("who"), "ok")
    async with Agent("A", model=MODEL, tools=[who]) as agent:
        reply = await agent.call("?", user="ann", session="s", attributes={"firm": "Smith"})
    assert reply.state.messages[2].results[0].text == "ann of Smith in s"


async def test_it_pauses_for_an_approval_and_goes_on_with_the_answer(model: ScriptedModel) -> None:
    model.add(calls("look", at="a"), "It is there.")
    async with Agent("A", model=MODEL, tools=[look], permission={"ask": ["look"]}) as agent:
        paused = await agent.call("Is it there?")
        assert paused.finish_reason is FinishReason.AWAIT_CONFIRM
        assert agent.status is AgentStatus.WAITING_USER_INPUT
        waiting = [call.id for call in paused.pending]
        reply = await agent.resume([{"toolCallId": waiting[0], "decision": "approve"}])
    assert reply.text == "It is there."
    assert reply.state.messages[2].results[0].text == "seen a"


# Presets, and who says yes


async def test_a_tool_that_may_change_something_is_asked_about_and_what_was_said_before_it_is_the_text(
    model: ScriptedModel,
) -> None:
    def change() -> str:
        """Change something."""
        return "changed"

    model.add(Reply(text="I change it.", tool_calls=calls("change").tool_calls), "Done.")
    async with Agent("A", model=MODEL, tools=[change]) as agent:
        paused = await agent.call("Change it.")
        assert (paused.finish_reason, paused.text) == (FinishReason.AWAIT_CONFIRM, "I change it.")
        reply = await agent.resume([{"toolCallId": paused.pending[0].id, "decision": "approve"}])
    assert reply.text == "Done."


async def test_another_preset_has_its_own_limit_and_lets_run_what_is_listed(model: ScriptedModel) -> None:
    def change(to: str) -> str:
        """Change something."""
        return f"changed to {to}"

    model.add(*[calls("change", to=str(n)) for n in range(6)], "Six.")
    async with Agent("A", model=MODEL, tools=[change], preset="gateway") as agent:
        assert (await agent.call("?")).text == "Six."


async def test_what_a_session_is_told_is_added_to_the_agents_own(model: ScriptedModel) -> None:
    model.add("one", "two", "three")
    async with Agent("A", model=MODEL, session={"window": 1}) as agent:
        for said in "abc":
            await agent.call(said)
        assert len((await agent.state()).messages) == 6
    assert [message["content"] for message in model.requests[-1].messages] == ["b", "two", "c"]


async def test_the_folder_of_the_agent_api_takes_results_above_8000(model: ScriptedModel, tmp_path: Path) -> None:
    @tool(read_only=True)
    def shout() -> str:
        """Shout."""
        return "a" * 9_000

    model.add(calls("shout"), "ok")
    async with Agent("A", model=MODEL, tools=[shout], folder=str(tmp_path), preset="agent_api") as agent:
        await agent.call("Shout.")
    assert sizes_in(tmp_path) == [9_000]


# What goes on after a pause, and what is given along


async def test_a_budget_goes_on_after_a_pause_and_begins_anew_with_the_next_call(model: ScriptedModel) -> None:
    def change(to: str) -> str:
        """Change something."""
        return f"changed to {to}"

    model.add(calls("change", to="a"), calls("change", to="b"), "Anew.")
    settings: dict[str, Any] = {"on_limit": "fail", "budget": {"model_calls": 2}}
    async with Agent("A", model=MODEL, tools=[change], **settings) as agent:
        first = await agent.call("go")
        second = await agent.resume([{"toolCallId": first.pending[0].id, "decision": "approve"}])
        assert (second.state.spent["model_calls"], second.state.spent["tool_calls"]) == (2, 2)
        with pytest.raises(BudgetExceeded, match="2 of 2 model calls"):
            await agent.resume([{"toolCallId": second.pending[0].id, "decision": "approve"}])
        assert (await agent.call("anew")).text == "Anew."


async def test_rounds_go_on_counting_after_a_pause(model: ScriptedModel) -> None:
    def change(to: str) -> str:
        """Change something."""
        return f"changed to {to}"

    model.add(*[calls("change", to=to) for to in "ab"], "What I know.")
    async with Agent("A", model=MODEL, tools=[change], max_iters=2) as agent:
        reply = await agent.call("go")
        for _ in range(2):
            reply = await agent.resume([{"toolCallId": reply.pending[0].id, "decision": "approve"}])
    assert (reply.text, reply.finish_reason) == ("What I know.", FinishReason.MAX_ITERATIONS)


class Desk:
    """Something that a program gives its tools."""

    town = "Hull"


async def test_hooks_tools_and_agents_below_see_one_context_and_nothing_of_it_is_kept(model: ScriptedModel) -> None:
    seen: list[RuntimeContext] = []

    class Looker(AgentHook):
        async def before_reasoning(self, step: ModelStep) -> None:
            assert step.context is not None
            seen.append(step.context)

    @tool(read_only=True)
    async def where(context: RuntimeContext, desk: Desk, secret: Desk | None = None) -> str:
        """Say where."""
        seen.append(context)
        return desk.town

    inner = {"id": "inner", "type": "ai/agent", "configuration": {"model": MODEL, "tools": ["where"]}}
    helper = {"type": "rulechain", "name": "helper", "targetId": "helper", "description": "helps", "readOnly": True}
    model.add(calls("helper", q="?"), calls("where"), "Hull", "In Hull.")
    async with Engine() as engine:
        engine.agent_hook(Looker())
        engine.tool(where)
        engine.load({"ruleChain": {"id": "helper"}, "metadata": {"nodes": [inner]}})
        async with Agent("A", model=MODEL, tools=[helper], engine=engine) as agent:
            given = RuntimeContext(Desk(), firm="Smith-and-sons")
            reply = await agent.call("?", scope=[given, Desk()], user="ann")
            assert reply.text == "In Hull."
            assert len(seen) == 5
            assert all(one is given for one in seen)
            assert (given.user_id, given.session_id) == ("ann", "A")
            assert "Smith" not in (await agent.state()).to_json()


def test_a_program_ends_though_a_tool_ignores_that_its_time_is_over(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catenary_components.ai.tools.execute.GRACE_S", 0.01)

    @tool(read_only=True, timeout=20)
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def program() -> str:
        async with Agent("A", model=MODEL, tools=[stubborn]) as agent:
            return (await agent.call("hi")).text

    model.add(calls("stubborn"), "ok")
    assert asyncio.run(program()) == "ok"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budget": {"token": 5}}, "budget: the option 'token' is not known; did you mean 'tokens'?"),
        ({"params": {"temprature": 1}}, "params: the option 'temprature' is not known; did you mean 'temperature'?"),
        ({"tools": [{"type": "rulechain", "targt_id": "x"}]}, "tools.0: the option 'targt_id' is not known"),
    ],
)
def test_a_name_that_nobody_knows_inside_of_an_option_is_told_at_once(options: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        Agent("A", model=MODEL, **options)


def test_an_agent_is_used_and_closed_without_an_event_loop(model: ScriptedModel) -> None:
    model.add("one", "two")
    with Agent("A", model=MODEL) as agent:
        assert [agent.call_sync("a").text, agent.call_sync("b").text] == ["one", "two"]
    with pytest.raises(EngineError, match="the engine is closed"):
        agent.call_sync("c")
    with Engine() as engine:
        with Agent("A", model=MODEL, engine=engine) as guest:
            guest.permissions()  # loads its chain
            assert list(engine.chains) == ["a"]
        assert list(engine.chains) == []


@pytest.mark.parametrize("name", dir(catenary_components.ai))
def test_what_programs_need_is_in_one_place(name: str) -> None:
    assert getattr(catenary_components.ai, name) is not None
    assert name in catenary_components.ai.__all__


@pytest.mark.parametrize("store", ["files:talks", "sqlite:///talks.db", "files:{}/far", "sqlite:///{}/far.db"])
async def test_sessions_are_kept_in_the_file_that_the_program_names(
    model: ScriptedModel, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    model.add("one", "two")
    for text in ("a", "b"):
        async with Agent("A", model=MODEL, store=store.format(tmp_path)) as agent:
            await agent.call(text, session="ann")
    assert [message["content"] for message in model.requests[1].messages] == ["a", "one", "b"]
    assert names_in(tmp_path if "{}" in store else tmp_path / "here") & {"far", "far.db", "talks", "talks.db"}


async def test_a_store_that_a_chain_names_stays_in_the_folders_of_the_chain(
    model: ScriptedModel, tmp_path: Path
) -> None:
    saved = Agent("A", model=MODEL, store=f"files:{tmp_path}/far").chain()
    async with Engine() as engine:
        with pytest.raises(CatenaryError, match="no folder is allowed"):
            engine.load(saved)


async def test_prices_are_read_from_the_file_that_the_program_names(model: ScriptedModel, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models: {'*': {input: 1000, output: 1000}}")
    model.add("one")
    async with Agent("A", model=MODEL, prices=str(prices)) as agent:
        reply = await agent.call("a")
    assert reply.cost == pytest.approx(0.011)
    with pytest.raises(CatenaryError, match="there is no file of prices"):
        await Agent("A", model=MODEL, prices=str(tmp_path / "gone")).call("a")


async def test_who_wants_tools_for_files_is_told_to_give_a_folder(model: ScriptedModel, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("bolts")
    with pytest.raises(CatenaryError, match="no folder may be used; give an `Agent` its `folder`"):
        await Agent("A", model=MODEL, tools=["read"]).call("hi")
    model.add(calls("read", path="a.txt"), "ok")
    async with Agent("A", model=MODEL, tools=["read"], folder=str(tmp_path)) as agent:
        await agent.call("hi")
    assert "bolts" in str(model.requests[1].messages[-1]["content"])


class Counting(AgentHook):
    """Counts steps of reasoning."""

    def __init__(self) -> None:
        self.steps = 0

    def before_reasoning(self, step: ModelStep) -> None:
        self.steps += 1


def hooks_of(agent: Agent) -> Any:
    chain: Any = agent.chain()
    return chain["metadata"]["nodes"][0]["configuration"]["hooks"]


async def test_hooks_are_given_as_objects_each_to_its_agent(model: ScriptedModel) -> None:
    model.add("one", "two", "three")
    mine, other = Counting(), Counting()
    async with Engine() as engine:
        agent = Agent("A", model=MODEL, hooks=[mine, "loop_guard"], engine=engine)
        both = Agent("B", model=MODEL, hooks=[mine, other], engine=engine)
        alone = Agent("C", model=MODEL, hooks=other, engine=engine)
        guarded = Agent("D", model=MODEL, hooks="loop_guard")
        assert [hooks_of(one) for one in (agent, guarded)] == [["Counting", "loop_guard"], ["loop_guard"]]
        for one in (agent, both, alone):
            await one.call("hi")
    assert (mine.steps, other.steps) == (2, 2)


async def test_a_model_that_cannot_be_asked_is_not_chosen(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    model.add("one", "two")
    async with Agent("A", model=MODEL, allowed_models=["mock:*", "deepseek:*"]) as agent:
        await agent.call("a", session="ann")
        for name, said in (("openai:gpt-4o", "is not allowed here"), ("deepseek:chat", "DEEPSEEK_API_KEY")):
            with pytest.raises(EngineError, match=said):
                await agent.choose_model(name, session="ann")
        assert (await agent.call("b", session="ann")).text == "two"
