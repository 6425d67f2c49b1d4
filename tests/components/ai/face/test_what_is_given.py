"""What an agent is given when it is made, and what becomes of that afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from catenary.errors import CatenaryError, EngineError
from catenary.testing import ScriptedModel, calls, mock
from catenary_components.ai import Agent, AgentHook, tool


@tool(read_only=True)
def look(at: str) -> str:
    """Look at something."""
    return f"seen {at}"


@tool(read_only=True)
def listen() -> str:
    """Listen."""
    return "heard"


async def test_a_list_of_tools_that_is_changed_later_changes_no_agent() -> None:
    script = ScriptedModel(["one", "two"])
    given: list[Any] = [look]
    with mock("given", script):
        async with Agent("A", model="mock:given", tools=given) as agent:
            given.append(listen)
            await agent.call("a")
            given.clear()
            await agent.call("b")
    assert [request.tools for request in script.requests] == [["look"], ["look"]]


async def test_what_a_caller_does_to_its_messages_later_is_not_in_the_conversation() -> None:
    from catenary_components.ai.messages import ChatMessage, user_message

    script = ScriptedModel(["one", "two"])
    said: list[ChatMessage] = [user_message("first")]
    with mock("said", script):
        async with Agent("A", model="mock:said") as agent:
            await agent.call(said)
            said.append(user_message("never said"))
            await agent.call("second")
    assert [message["content"] for message in script.requests[-1].messages] == ["first", "one", "second"]


@pytest.mark.parametrize("tools", ["calculator", {"type": "builtin", "name": "calculator"}])
async def test_one_tool_needs_no_list(tools: Any) -> None:
    with mock("face-given-one", ScriptedModel([calls("calculator", expression="3 * 4"), "12"])):
        async with Agent("A", model="mock:face-given-one", tools=tools) as agent:
            reply = await agent.call("hi")
    assert [result.text for message in reply.state.messages for result in message.results] == ["12"]


@pytest.mark.parametrize(
    ("tool", "meant"),
    [
        ("reed", "function tool not found: reed; .*did you mean 'read'"),
        ("raed", "did you mean 'read'"),
        ({"name": "read"}, r"the one that comes with agents is \{type: builtin, name: read\}"),
    ],
)
async def test_a_tool_that_is_misspelt_is_told_with_what_was_meant(tool: Any, meant: str) -> None:
    async with Agent("A", model="mock:none", tools=[tool]) as agent:
        with pytest.raises(CatenaryError, match=meant):
            await agent.call("hi")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"scope": Path("here")}, r"scope is a list of values .*: scope=\[PosixPath\(...\)\]"),
        ({"scope": "ann"}, r"scope=\[str\(...\)\]"),
        ({"attributes": ["shop"]}, r"attributes are texts by name, .* not \['shop'\]"),
    ],
)
async def test_what_a_call_cannot_carry_is_told_with_what_it_can(options: dict[str, Any], told: str) -> None:
    async with Agent("A", model="mock:none") as agent:
        with pytest.raises(TypeError, match=told):
            await agent.call("hi", **options)
        with pytest.raises(TypeError, match=told):
            [event async for event in agent.stream("hi", **options)]


class Polite(AgentHook):
    """A hook that is given as a class."""

    def before_system_prompt(self, step: Any) -> None:
        step.prompt = "Be polite."


@pytest.mark.parametrize("hooks", [Polite, [Polite], Polite(), [Polite()]])
async def test_a_hook_may_be_given_as_a_class_and_alone(hooks: Any) -> None:
    script = ScriptedModel(["Good day."])
    with mock("face-given-hook", script):
        async with Agent("A", model="mock:face-given-hook", hooks=hooks) as agent:
            await agent.call("hi")
    assert script.requests[0].system_text == "Be polite."


@pytest.mark.parametrize("hook", [len, 5, Path])
def test_what_is_no_hook_is_refused_with_what_is_one(hook: Any) -> None:
    with pytest.raises(EngineError, match="is no hook") as raised:
        Agent("A", model="mock:none", hooks=[hook])
    assert "give an AgentHook" in raised.value.hint


async def test_the_schema_of_an_answer_may_be_a_class() -> None:
    class Urgency(BaseModel):
        level: int

    params = {"response_format": "json_schema", "json_schema": Urgency}
    with mock("face-given-schema", ScriptedModel(['{"level": "high"}', '{"level": 2}'])):
        async with Agent("A", model="mock:face-given-schema", params=params) as agent:
            assert (await agent.call("hi")).value == {"level": 2}
            assert json.loads(json.dumps(agent.chain()))
