"""The session of a call in the hands of its tools and hooks."""

from __future__ import annotations

from typing import Any

from catenary.testing import calls
from catenary_components.ai.messages import user_message
from catenary_components.ai.runtime_context import RuntimeContext
from catenary_components.ai.sessions import Slot
from catenary_components.ai.sessions.memory import memory_of


async def test_a_tool_finds_the_session_of_its_call_with_what_the_model_does_not_see(bench: Any) -> None:
    @bench.engine.tool
    def recall(word: str, slot: Slot) -> list[str]:
        """Look through all that was said."""
        return [slot.key, *(message.text for message in slot.messages if word in message.text)]

    bench.load("1", "2", calls("recall", word="first"), "done", tools=["recall"], session={"key": "ann", "window": 1})
    for text in ("the first word", "another", "what was it?"):
        await bench.say(text)
    assert bench.last[-1]["content"] == '["ann","the first word"]'
    assert "the first word" not in str(bench.last[:-1])


async def test_a_tool_has_the_session_by_the_scope_too_and_none_without_one(bench: Any) -> None:
    seen: list[Any] = []
    bench.engine.tool(lambda ctx: seen.append(ctx.scope.get(Slot)), name="look")
    bench.load(calls("look"), "done", tools=["look"])
    await bench.say()
    assert seen == [None]


async def test_an_agent_without_a_session_does_not_see_that_of_its_caller(bench: Any) -> None:
    seen: list[Any] = []

    @bench.engine.agent_hook(at="before_reasoning")
    def look(step: Any) -> None:
        seen.append((step.ctx.chain_id, step.session and step.session.key, step.ctx.scope.get(Slot) is step.session))

    settings = {"url": f"{bench.url}/v1", "key": "k", "model": "m"}
    node = {"id": "a", "type": "ai/agent", "configuration": settings}
    bench.engine.load({"ruleChain": {"id": "below", "root": False}, "metadata": {"nodes": [node]}})
    tool = {"type": "rulechain", "name": "below", "description": "Helps.", "targetId": "below"}
    bench.load(calls("below", input="?"), "inside", "outside", tools=[tool], session="ann")
    await bench.say()
    assert [one[1] for one in seen] == ["ann", None, "ann"]
    assert all(one[2] for one in seen)


async def test_what_a_tool_saves_is_there_while_the_call_goes_on_and_the_end_is_saved_on_top(bench: Any) -> None:
    versions: list[Any] = []

    @bench.engine.tool
    async def note(slot: Slot) -> str:
        """Write it down."""
        await slot.save()
        versions.append((await memory_of(bench.engine).load("ann")).version)
        return "written"

    bench.load(calls("note"), "done", tools=["note"], session="ann")
    assert (await bench.say()).ok
    record: Any = await memory_of(bench.engine).load("ann")
    assert (versions, record.version) == ([2], 3)
    assert [message["role"] for message in record.value["messages"]] == ["user", "assistant", "tool", "assistant"]


async def test_a_tool_that_empties_the_session_leaves_no_result_without_its_call_in_requests(bench: Any) -> None:
    @bench.engine.tool
    def forget(slot: Slot) -> str:
        """Forget all of it."""
        slot.clear()
        return "forgotten"

    bench.load("1", calls("forget"), "done", "2", tools=["forget"], session="ann")
    for text in ("a secret", "forget it", "what was it?"):
        await bench.say(text)
    assert "secret" not in str(bench.last)
    assert "tool" not in [message["role"] for message in bench.last]


async def test_a_hook_may_add_to_the_session_and_it_is_kept(bench: Any) -> None:
    @bench.engine.agent_hook(at="after_agent")
    def add(step: Any) -> None:
        step.session.take([user_message("P.S.")])

    bench.load("1", "2", session="ann")
    await bench.say("a")
    await bench.say("b")
    assert [message["content"] for message in bench.last] == ["a", "1", "P.S.", "b"]


async def test_the_session_of_the_callers_context_does_not_move_where_it_is_kept(bench: Any) -> None:
    bench.load("1", session="ann")
    await bench.engine.run("c", "hi", scope=[RuntimeContext(session_id="somebody else")])
    assert await memory_of(bench.engine).keys() == ["ann"]
