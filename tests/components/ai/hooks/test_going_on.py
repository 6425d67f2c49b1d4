"""What hooks leave behind: calls that stay open, answers of their own, system messages, tools."""

from __future__ import annotations

from typing import Any

import pytest

from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.messages import assistant_message, system_message, user_message
from catenary_components.ai.state import FinishReason


@pytest.fixture
def ping(bench: Any) -> list[str]:
    ran: list[str] = []

    def ping(to: str = "all") -> str:
        ran.append(to)
        return f"pong {to}"

    bench.engine.tool(ping)
    return ran


def stop_once(bench, at: str, **how: Any) -> None:
    asked: list[bool] = []

    @bench.engine.agent_hook(at=at)
    def stop(step: Any) -> None:
        if not asked:
            asked.append(True)
            step.stop("enough", **how)


def roles(request: Any) -> list[Any]:
    return [message["role"] for message in request.messages]


# Stops


async def test_a_call_that_says_nothing_runs_the_calls_that_a_stop_left_open(bench: Any, ping: Any) -> None:
    stop_once(bench, "after_reasoning", reason=FinishReason.INCOMPLETE)
    bench.load(Reply(text="let me see", tool_calls=[ToolCall("ping")]), "done", tools=["ping"], session="s")
    first = await bench.say("go")
    assert (first.message.text, first.message.metadata["finish_reason"], ping) == ("let me see", "incomplete", [])
    second = await bench.say("")
    assert (second.message.text, ping) == ("done", ["all"])
    assert roles(bench.model.requests[-1]) == ["user", "assistant", "tool"]


async def test_a_call_that_says_nothing_goes_on_with_the_results_that_a_stop_left(bench: Any, ping: Any) -> None:
    stop_once(bench, "after_acting")
    bench.load(calls("ping"), "done", tools=["ping"], session="s")
    await bench.say("go")
    assert len(bench.model.requests) == 1
    assert (await bench.say("  ")).message.text == "done"
    assert roles(bench.model.requests[-1]) == ["user", "assistant", "tool"]
    assert ping == ["all"]


async def test_new_words_close_the_calls_that_a_stop_left_open_and_count_anew(bench: Any, ping: Any) -> None:
    stop_once(bench, "after_reasoning")
    bench.load(calls("ping"), "done", tools=["ping"], session="s")
    await bench.say("go")
    outcome = await bench.say("never mind")
    assert (outcome.message.text, outcome.message.metadata["steps"], ping) == ("done", "1", [])
    assert "failed or was interrupted" in bench.last[-2]["content"]


async def test_what_is_said_of_a_stop_goes_to_those_who_follow_and_not_into_the_conversation(
    bench: Any, ping: Any
) -> None:
    stop_once(bench, "after_acting")
    told: list[Any] = []
    bench.engine.subscribe(lambda event: told.append(event.data["message"]) if event.name == "hook.stop" else None)
    bench.load(calls("ping"), "done", tools=["ping"], session="s")
    await bench.say("go")
    await bench.say("")
    assert told == ["enough"]
    assert "enough" not in str(bench.last)


async def test_a_stop_asked_for_at_the_first_of_two_tools_counts(bench: Any, ping: Any) -> None:
    stop_once(bench, "after_tool")
    bench.load(Reply(tool_calls=[ToolCall("ping"), ToolCall("ping", {"to": "b"})]), tools=["ping"])
    outcome = await bench.say()
    assert outcome.message.metadata["finish_reason"] == "stopped"
    assert len(bench.model.requests) == 1


async def test_a_hook_that_stops_an_agent_does_not_stop_the_one_that_called_it(bench: Any) -> None:
    from catenary_components.ai.calling import AgentCall

    class Stops(AgentHook):
        chains = ("helper",)

        def after_reasoning(self, step: Any) -> None:
            step.stop()

    bench.engine.agent_hook(Stops())
    settings = {"url": f"{bench.url}/v1", "key": "k", "model": "m"}
    node = {"id": "inner", "type": "ai/agent", "configuration": settings}
    bench.engine.load({"ruleChain": {"id": "helper", "root": False}, "metadata": {"nodes": [node]}})
    tool = {"type": "rulechain", "name": "helper", "description": "Helps.", "targetId": "helper"}
    bench.load(calls("helper", input="?"), "from inside", "from outside", tools=[tool])
    outcome = await bench.engine.run("c", "hi", scope=[AgentCall()])
    assert outcome.message.text == "from outside"
    assert outcome.message.metadata["finish_reason"] == "normal"


async def test_whoever_stops_from_outside_closes_the_calls_whatever_a_hook_has_asked(bench: Any, ping: Any) -> None:
    from catenary_components.ai.calling import AgentCall

    call = AgentCall()
    stop_once(bench, "after_reasoning")
    bench.engine.agent_hook(lambda step: call.stop.set("leave it"), at="after_reasoning")
    bench.load(calls("ping"), tools=["ping"])
    await bench.engine.run("c", "hi", scope=[call])
    assert call.state is not None
    assert [message.role for message in call.state.messages] == ["user", "assistant", "tool", "user"]
    assert call.state.messages[-1].text == "leave it"


# Answers of hooks


async def test_the_answer_of_a_hook_stands_in_the_conversation_that_is_kept(bench: Any) -> None:
    class Answers(AgentHook):
        async def around_agent(self, step: Any, proceed: Any) -> None:
            if step.messages[-1].text == "hi":
                step.answer = step.message.with_data("hello from here", "TEXT")
            else:
                await proceed()

    bench.engine.agent_hook(Answers())
    bench.load("done", session="s")
    await bench.say("hi")
    await bench.say("and then?")
    assert [message["content"] for message in bench.last] == ["hi", "hello from here", "and then?"]


async def test_the_answer_to_a_command_is_not_kept(bench: Any) -> None:
    @bench.engine.agent_hook(at="before_agent")
    def command(step: Any) -> None:
        if step.messages[-1].text == "/help":
            step.answer = step.message.with_data("ask me", "TEXT").put("_isCommandResponse", "true")

    bench.load("done", session="s")
    assert (await bench.say("/help")).message.text == "ask me"
    await bench.say("well")
    assert "ask me" not in str(bench.last)


# The conversation and the prompt


async def test_a_system_message_that_a_hook_puts_in_is_the_prompt_of_an_agent_without_one(bench: Any) -> None:
    bench.engine.agent_hook(lambda step: step.messages.insert(0, system_message("Be kind.")), at="before_agent")
    bench.load("done")
    await bench.say()
    assert [(message["role"], message["content"]) for message in bench.last] == [("system", "Be kind."), ("user", "hi")]


async def test_a_system_message_beside_a_prompt_is_an_error_that_names_the_right_place(bench: Any) -> None:
    bench.engine.agent_hook(lambda step: step.messages.append(system_message("Be kind.")), at="before_agent")
    bench.load(systemPrompt="S.")
    outcome = await bench.say()
    assert outcome.status == "failed"
    assert "a hook has put a system message into the conversation" in outcome.message.text
    assert bench.model.requests == []


async def test_the_call_for_a_summary_is_no_reasoning_and_has_a_prompt_of_its_own(bench: Any) -> None:
    purposes: list[tuple[str, str]] = []
    for point in ("reasoning", "model_call"):
        bench.engine.agent_hook(lambda step, point=point: purposes.append((point, step.purpose)), at=f"before_{point}")
    bench.engine.agent_hook(lambda step: setattr(step, "prompt", "Changed."), at="before_system_prompt")
    words = [message for n in range(3) for message in (user_message(f"{n} " * 300), assistant_message("yes"))]

    @bench.engine.agent_hook(at="before_agent")
    def begin(step: Any) -> None:
        step.messages = [*words, *step.messages]

    bench.load("sum", "done", compaction={"triggerMessages": 5, "keepMessages": 1})
    assert (await bench.say()).message.text == "done"
    assert purposes == [("model_call", "compaction"), ("reasoning", "reasoning"), ("model_call", "reasoning")]
    assert [request.system_text == "Changed." for request in bench.model.requests] == [False, True]


# Tools of hooks


class Clock(AgentHook):
    """Brings a tool along."""

    def tell_time(self, zone: str = "UTC") -> str:
        """Tell the time."""
        return f"noon in {zone}"

    @property
    def tools(self) -> Any:
        return [self.tell_time]


async def test_a_hook_may_bring_its_own_tools(bench: Any) -> None:
    bench.engine.agent_hook(Clock())
    bench.load(calls("tell_time", zone="Hull"), "done")
    await bench.say()
    assert bench.model.requests[0].tools == ["tell_time"]
    assert bench.last[-1]["content"] == "noon in Hull"


async def test_only_agents_with_the_hook_have_its_tools(bench: Any) -> None:
    bench.engine.agent_hook(Clock(), name="clock")
    bench.load("done")
    await bench.say()
    assert bench.model.requests[0].tools == []
