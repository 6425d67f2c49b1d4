"""The hook that reminds a model of its tasks."""

from __future__ import annotations

from typing import Any

from catenary.testing import calls
from catenary_components.ai.hooks.builtin.task_reminder import GROUNDING
from catenary_components.ai.sessions.memory import memory_of

TODO: dict[str, Any] = {"type": "builtin", "name": "todo"}
DONE, OPEN = {"subject": "sweep", "status": "completed"}, {"subject": "wash", "status": "in_progress"}


async def test_open_tasks_are_shown_before_each_step_and_are_no_part_of_the_conversation(bench: Any) -> None:
    script = [calls("todo", todos=[DONE, OPEN]), "begun", "on it"]
    bench.load(*script, tools=[TODO], hooks=["task_reminder"], systemPrompt="Be short.", session="ann")
    await bench.say("clean up")
    await bench.say("how far?")
    first, second, third = bench.model.requests
    assert "<system-reminder>" not in str(first.messages)
    for request in (second, third):
        shown = request.messages[-1]
        assert shown["role"] == "user"
        assert "- sweep: completed\n- wash: in progress\n" in shown["content"]
        assert str(request.messages).count("<system-reminder>") == 1
    assert first.system_text == f"Be short.\n\n{GROUNDING}"
    record: Any = await memory_of(bench.engine).load("ann")
    assert "<system-reminder>" not in str(record.value)


async def test_when_all_is_done_nothing_is_said(bench: Any) -> None:
    bench.load(calls("todo", todos=[DONE]), "done", tools=[TODO], hooks=["task_reminder"])
    await bench.say()
    assert "<system-reminder>" not in str(bench.last)


async def test_at_the_limit_the_model_is_not_reminded_of_what_it_cannot_do_any_more(bench: Any) -> None:
    script = [calls("todo", todos=[OPEN]), "so far"]
    bench.load(*script, tools=[TODO], hooks=["task_reminder"], maxRounds=1, onLimit="answer")
    assert (await bench.say()).message.text == "so far"
    assert "<system-reminder>" not in str(bench.last)


async def test_an_agent_without_the_list_is_told_nothing_of_it(bench: Any) -> None:
    bench.load("hello", hooks=["task_reminder"])
    await bench.say()
    assert bench.last == [{"role": "user", "content": "hi"}]
