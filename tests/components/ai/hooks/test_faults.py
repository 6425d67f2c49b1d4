"""Hooks that do what hooks should not: what they break is no more than what they stand at."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from catenary.testing import Reply, ScriptedModel, ToolCall, mock, server_error
from catenary_components.ai import Agent, HookError
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.hooks.functions import FunctionHook
from catenary_components.ai.messages import ToolCall as ModelsCall


class _Mute(Exception):  # noqa: N818 - it is about what it does
    def __str__(self) -> str:
        raise RuntimeError("no words")


async def _wait_for_what_is_cancelled(*_: Any) -> None:
    waited_for = asyncio.get_running_loop().create_future()
    waited_for.cancel()
    await waited_for


def _raise(*_: Any) -> None:
    raise _Mute


def _put(name: str, value: Any) -> Any:
    return lambda step, *_: setattr(step, name, value)


def _put_and_go_on(name: str, value: Any) -> Any:
    async def around(step: Any, proceed: Any) -> None:
        setattr(step, name, value)
        await proceed()
        setattr(step, name, value)

    return around


WAITED = "it waited for something that was cancelled"
NO_RESULT = "Error: Tool execution failed: step.result is a str, not a CallResult"
NO_CALL = "Tool call blocked by hook: step.call is a str, not a ToolCall"
OTHER_ID = "Tool call blocked by hook: step.call has the id 'other', not that of the call, 'call_"


@pytest.mark.parametrize(
    ("point", "method", "told"),
    [
        ("before_tool", _raise, "Tool call blocked by hook: _Mute"),
        ("before_tool", _wait_for_what_is_cancelled, f"Tool call blocked by hook: {WAITED}"),
        ("around_tool", _wait_for_what_is_cancelled, f"Error: Tool execution failed: {WAITED}"),
        ("after_tool", _wait_for_what_is_cancelled, "pong"),
        ("before_acting", _wait_for_what_is_cancelled, f"[ERROR] Tool execution failed: {WAITED}"),
        ("after_acting", _raise, "[ERROR] Tool execution failed: _Mute"),
        ("completed", _wait_for_what_is_cancelled, "pong"),
        ("before_tool", _put("result", "text"), "Tool call blocked by hook: step.result is a str, not a CallResult"),
        ("before_tool", _put("call", "text"), NO_CALL),
        ("before_tool", _put("call", None), NO_CALL.replace("a str", "None")),
        ("before_tool", _put("call", ModelsCall("other", "ping")), OTHER_ID),
        ("before_tool", _put("arguments", [1]), "Tool call blocked by hook: step.arguments is a list, not a dict"),
        ("after_tool", _put("result", "text"), NO_RESULT),
        ("around_tool", _put_and_go_on("result", 5), NO_RESULT.replace("a str", "an int")),
        (
            "chunk_acting",
            lambda step, result: "text",
            "Error: Tool execution failed: it gave a str in place of a CallR",
        ),
        ("before_acting", _put("calls", "text"), "[ERROR] Tool execution failed: step.calls is a str, not a list"),
        ("before_acting", _put("calls", [5]), "[ERROR] Tool execution failed: step.calls[0] is an int, not a ToolCall"),
        ("around_acting", _put_and_go_on("calls", None), "[ERROR] Tool execution failed: step.calls is None, not a l"),
        ("after_acting", _put("results", ["a"]), "[ERROR] Tool execution failed: step.results[0] is a str, not a Ca"),
        ("after_acting", _put("results", None), "[ERROR] Tool execution failed: step.results is None, not a list"),
        ("before_tool", _put("arguments", {"a": {1}}), "Tool call blocked by hook: Object of type set is not"),
        ("after_acting", _put("results", []), "Tool call blocked by hook: its result was taken out"),
    ],
)
async def test_at_tools_a_hook_fails_calls_and_not_the_run(bench: Any, point: str, method: Any, told: str) -> None:
    class _Odd(AgentHook): ...

    hook = _Odd()
    setattr(hook, point, method)
    bench.engine.agent_hook(hook)
    bench.engine.tool(lambda a=0: "pong", name="ping")
    bench.load(Reply(tool_calls=[ToolCall("ping"), ToolCall("ping", '{"a":1}')]), "done", tools=["ping"])
    outcome = await bench.say()
    assert (outcome.status, outcome.message.data) == ("completed", "done")
    results = [message["content"] for message in bench.last if message["role"] == "tool"]
    assert len(results) == 2
    assert all(result.startswith(told) for result in results)


@pytest.mark.parametrize("point", ["before_agent", "before_reasoning", "around_model_call", "after_reasoning"])
async def test_a_hook_that_waits_for_what_is_cancelled_fails_the_run_and_is_named(bench: Any, point: str) -> None:
    class _Odd(AgentHook): ...

    hook = _Odd()
    setattr(hook, point, _wait_for_what_is_cancelled)
    bench.engine.agent_hook(hook)
    bench.load("done")
    outcome = await bench.say()
    assert (outcome.status, outcome.message.data) == ("failed", f"hook _Odd at {point} of agent c/agent: {WAITED}")


async def test_a_hook_that_is_cancelled_from_outside_lets_that_pass(bench: Any) -> None:
    begun = asyncio.Event()

    class Slow(AgentHook):
        async def before_tool(self, step: Any) -> None:
            begun.set()
            await asyncio.sleep(60)

    bench.engine.agent_hook(Slow())
    bench.engine.tool(lambda: "pong", name="ping")
    bench.load(Reply(tool_calls=[ToolCall("ping")]), "done", tools=["ping"])
    task = asyncio.create_task(bench.say())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("point", "name", "value", "wrong"),
    [
        ("before_agent", "answer", "hello", "step.answer is a str, not a Message"),
        ("after_agent", "answer", {"a": 1}, "step.answer is a dict, not a Message"),
        ("around_agent", "answer", "hello", "step.answer is a str, not a Message"),
        ("before_agent", "messages", "hello", "step.messages[0] is a str, not a ChatMessage"),
        ("before_agent", "system_prompt", None, "step.system_prompt is None, not a str"),
        ("before_agent", "message", "hello", "step.message is a str, not a Message"),
        ("before_reasoning", "messages", None, "step.messages is None, not a list"),
        ("before_reasoning", "messages", [{"role": "user"}], "step.messages[0] is a dict, not a ChatMessage"),
        ("before_reasoning", "options", [], "step.options is a list, not a mapping"),
        ("before_reasoning", "tools", ["ping"], "step.tools[0] is a str, not a ToolSpec"),
        ("before_model_call", "reply", "hello", "step.reply is a str, not a Reply"),
        ("after_model_call", "reply", "hello", "step.reply is a str, not a Reply"),
        ("around_reasoning", "tool_choice", 5, "step.tool_choice is an int, not a str"),
        ("before_system_prompt", "prompt", 5, "step.prompt is an int, not a str"),
    ],
)
async def test_what_a_hook_sets_to_nonsense_is_told_with_its_name(
    bench: Any, point: str, name: str, value: Any, wrong: str
) -> None:
    class _Odd(AgentHook): ...

    hook = _Odd()
    setattr(hook, point, (_put_and_go_on if point.startswith("around") else _put)(name, value))
    bench.engine.agent_hook(hook)
    bench.load("done")
    outcome = await bench.say()
    assert outcome.status == "failed"
    assert outcome.message.data == f"hook _Odd at {point} of agent c/agent: {wrong}"


@pytest.mark.parametrize(("at", "kind"), [("reasoning", "a Piece"), ("agent", "a Message"), ("system_prompt", "a str")])
async def test_what_is_no_piece_is_told_with_the_hook_that_gave_it(bench: Any, at: str, kind: str) -> None:
    bench.engine.agent_hook(lambda step, piece: 5, at=f"chunk_{at}")
    bench.load("done")
    outcome = await bench.say(stream="true")
    assert outcome.message.data == f"hook <lambda> at chunk_{at} of agent c/agent: it gave an int in place of {kind}"


@pytest.mark.parametrize("of_a_hook", [False, True])
async def test_errors_of_a_model_and_of_hooks_within_pass_through_others_as_they_are(
    bench: Any, of_a_hook: bool
) -> None:
    seen: list[BaseException] = []

    class _Outer(AgentHook):
        order = 1

        async def around_reasoning(self, step: Any, proceed: Any) -> None:
            try:
                await proceed()
            except Exception as error:
                seen.append(error)
                raise

    async def fail(step: Any, proceed: Any) -> None:
        raise LookupError("mine")

    bench.engine.agent_hook(_Outer())
    if of_a_hook:
        bench.engine.agent_hook(fail, at="around_model_call")
    bench.load(server_error(), maxRetries=0)
    outcome = await bench.say()
    if of_a_hook:
        assert outcome.message.data == "hook fail at around_model_call of agent c/agent: mine"
        assert isinstance(seen[0].__cause__, LookupError)
    else:
        assert (type(seen[0]).__name__, outcome.message.metadata["status"]) == ("ModelError", "500")


async def test_the_log_of_a_batch_that_a_hook_failed_names_the_hook(bench: Any) -> None:
    def clumsy(step: Any) -> None:
        step.calls[0] = step.calls[0].missing

    told: list[Any] = []
    bench.engine.subscribe(lambda event: told.append(event.data) if event.name == "hook.error" else None)
    bench.engine.agent_hook(clumsy, at="before_acting")
    bench.engine.tool(lambda a=0: "pong", name="ping")
    bench.load(Reply(tool_calls=[ToolCall("ping")]), "done", tools=["ping"])
    await bench.say()
    assert [(data["point"], data["hook"]) for data in told] == [("acting", "clumsy")]


async def test_an_agent_in_python_raises_the_error_of_its_hook(bench: Any) -> None:
    def careful(step: Any) -> None:
        raise PermissionError("not on Sundays")

    with mock("odd", ScriptedModel(["never"])):
        async with Agent("Clerk", model="mock:odd", hooks=[FunctionHook("before_agent", careful)]) as agent:
            with pytest.raises(
                HookError, match="hook careful at before_agent of agent clerk/agent: not on S"
            ) as raised:
                await agent.call("hi")
    error = raised.value
    assert (error.hook, error.at, error.reason) == ("careful", "before_agent", "not on Sundays")
    assert isinstance(error.__cause__, PermissionError)


async def test_a_hook_that_forgets_to_await_proceed_is_told(bench: Any) -> None:
    async def forgets(step: Any, proceed: Any) -> None:
        proceed()

    bench.engine.agent_hook(forgets, at="around_reasoning")
    bench.load("done")
    outcome = await bench.say()
    told = "it called proceed() and did not await it"
    assert outcome.message.data == f"hook forgets at around_reasoning of agent c/agent: {told}"


async def test_a_method_of_a_hook_that_nothing_calls_is_told_in_the_log(bench: Any, caplog: Any) -> None:
    class _Odd(AgentHook):
        def before_reason(self, step: Any) -> None: ...
        def after_lunch(self) -> None: ...
        def count(self) -> None: ...

    bench.engine.agent_hook(_Odd())
    bench.load("done")
    await bench.say()
    told = [record.getMessage() for record in caplog.records]
    assert told[0].startswith("the hook _Odd of agent c/agent has a method after_lunch, which nothing calls; ")
    assert told[1].endswith("has a method before_reason, which nothing calls; did you mean 'before_reasoning'?")
    assert len(told) == 2
