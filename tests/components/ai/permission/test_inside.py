"""Agents that ask inside of something else: of a chain that another agent calls, of a run that is stopped."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.components.ai.permission.asking import approve, wants
from tests.programs import eventually

from catenary import Engine, Message
from catenary.errors import AnswerInvalid, PauseError
from catenary.pauses import Answer
from catenary.testing import FakeClock, Reply, ScriptedModel, ToolCall

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from catenary.pauses import Pause


@pytest.fixture
async def desk(outlet: Any) -> AsyncGenerator[tuple[Engine, FakeClock, list[str]]]:
    """An agent `boss` whose tool `post` is a chain with the agent `clerk`, who asks before it sends."""
    outlet.app = ScriptedModel([Reply(tool_calls=[ToolCall("post", {}, "p1")]), wants(c1="ann"), "posted", "done"])
    sent: list[str] = []
    clock = FakeClock(start_ms=time.time_ns() // 1_000_000)
    model = {"url": f"{outlet.url}/v1", "key": "k", "model": "m"}
    async with Engine(clock=clock) as engine:

        def send(to: str) -> str:
            sent.append(to)
            return "sent"

        engine.tool(send)
        clerk = {**model, "tools": ["send"], "permission": "default", "approvalTimeout": 3_600_000}
        post = {"type": "rulechain", "name": "post", "targetId": "clerk", "description": "Post.", "timeout": 60_000}
        for chain_id, settings in (("clerk", clerk), ("boss", {**model, "tools": [post]})):
            node = {"id": chain_id, "type": "ai/agent", "configuration": settings}
            engine.load({"ruleChain": {"id": chain_id}, "metadata": {"nodes": [node]}})
        yield engine, clock, sent


async def waiting(engine: Engine) -> Pause:
    await eventually(lambda: len(engine.pauses) == 1)
    return next(iter(engine.pauses))


async def test_the_time_of_a_tool_stands_still_while_somebody_is_asked_in_it(
    desk: tuple[Engine, FakeClock, list[str]],
) -> None:
    engine, clock, sent = desk
    run = asyncio.create_task(engine.run("boss", Message("write", data_type="TEXT")))
    pause = await waiting(engine)
    clock.advance(600)
    engine.pauses.answer(pause.run_id, pause.node_id, None, Answer(relation="Answers", data=[approve("c1")]))
    assert (await run).message.text == "done"
    assert sent == ["ann"]


async def test_a_wrong_answer_of_another_process_is_refused_for_whoever_gave_it(
    desk: tuple[Engine, FakeClock, list[str]], tmp_path: Path
) -> None:
    engine, _, sent = desk
    engine.pauses.keep_in(tmp_path / "records.db")
    run = asyncio.create_task(engine.run("boss", Message("write", data_type="TEXT")))
    pause = await waiting(engine)
    async with Engine() as other:
        other.pauses.keep_in(tmp_path / "records.db")
        for wrong, why in [
            ([approve("c9")], "c9"),
            ([approve("c1", input={"to": 7})], "to"),
            ([{"toolCallId": "c1", "decision": "maybe"}], "maybe"),
        ]:
            with pytest.raises(AnswerInvalid, match=why):
                await other.answer(pause.run_id, pause.node_id, relation="Answers", data=wrong)
        assert (len(engine.pauses), sent) == (1, [])
        assert await other.answer(pause.run_id, pause.node_id, relation="Answers", data=[approve("c1")]) is None
        with pytest.raises(PauseError, match="was answered already"):
            await other.answer(pause.run_id, pause.node_id, relation="Answers", data=[approve("c9")])
    assert (await run).message.text == "done"
    assert sent == ["ann"]


async def test_a_run_that_is_stopped_while_somebody_is_asked_runs_nothing(
    desk: tuple[Engine, FakeClock, list[str]],
) -> None:
    engine, _, sent = desk
    run = asyncio.create_task(engine.run("boss", Message("write", data_type="TEXT")))
    await waiting(engine)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert (list(engine.pauses), sent) == ([], [])


async def test_a_chain_in_which_nobody_is_asked_has_the_time_of_a_tool(outlet: Any) -> None:
    model = outlet.app = ScriptedModel([Reply(tool_calls=[ToolCall("nap", {}, "n1")]), "done"])
    clock, begun = FakeClock(), asyncio.Event()
    async with Engine(clock=clock) as engine:
        nap = {"id": "nap", "type": "delay", "configuration": {"periodInSeconds": 3600}}
        engine.load({"ruleChain": {"id": "nap", "root": False}, "metadata": {"nodes": [nap]}})
        tool = {"type": "rulechain", "name": "nap", "targetId": "nap", "description": "Sleep.", "timeout": 60_000}
        settings = {"url": f"{outlet.url}/v1", "key": "k", "model": "m", "tools": [tool]}
        node = {"id": "agent", "type": "ai/agent", "configuration": settings}
        engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})
        engine.subscribe(lambda event: begun.set() if getattr(event, "node_id", "") == "nap" else None)
        run = asyncio.create_task(engine.run("c", Message("go", data_type="TEXT")))
        await begun.wait()
        clock.advance(61)
        assert (await run).message.text == "done"
    told = model.requests[-1].messages[-1]["content"]
    assert told == "Error: Tool execution failed: the tool took longer than 60 s"
