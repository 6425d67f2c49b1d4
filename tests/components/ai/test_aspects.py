"""Aspects around an agent: its loop is a chain whose nodes are its phases."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from catenary import Aspect
from catenary.aspects import ConcurrencyLimit, Metrics, SkipFallback
from catenary.testing import calls, server_error
from catenary_components.ai.state import AgentState


@pytest.fixture
def tool(bench: Any):
    bench.engine.tool(lambda: "pong", name="ping")
    return {"tools": ["ping"]}


async def test_aspects_see_each_phase_with_the_state_of_the_agent(bench: Any, tool: Any):
    seen = []

    @bench.engine.around(types=["ai/*"], chains=["ai.*"])
    async def look(ctx, msg, proceed):
        before = len(ctx.scope[AgentState].messages)
        emission = await proceed(msg)
        seen.append((ctx.node_id, before, len(ctx.scope[AgentState].messages)))
        return emission

    bench.load(calls("ping"), "done", **tool)
    assert (await bench.say()).message.text == "done"
    assert [name for name, _, _ in seen] == ["begin", "reason", "act", "observe", "reason", "verify", "answer"]
    assert seen[0][1] == 1
    assert seen[-1][2] >= 3


async def test_an_aspect_changes_what_the_model_is_asked(bench: Any, tool: Any):
    @bench.engine.before(types=["ai/reason"])
    def hint(ctx, msg, relation):
        messages = ctx.scope[AgentState].messages
        messages.append(messages[0])

    bench.load("done", **tool)
    await bench.say()
    assert [message["content"] for message in bench.last] == ["hi", "hi"]


async def test_an_aspect_stands_in_for_a_phase(bench: Any, tool: Any):
    @bench.engine.around(nodes=["act"], chains=["ai.react"])
    async def refuse(ctx, msg, proceed):
        raise PermissionError("no tools today")

    bench.load(calls("ping"), "done", **tool)
    outcome = await bench.say()
    assert outcome.message.metadata["errorMsg"].endswith("no tools today")


async def test_an_agent_is_a_run_inside_a_run_with_a_beginning_and_an_end(bench: Any, tool: Any):
    told = []

    class Look(Aspect):
        def start(self, ctx, msg):
            told.append(f"start {ctx.chain_id}")

        def end(self, ctx, msg, relation, error):
            told.append(f"end {ctx.chain_id} {ctx.node_id} {relation}")

        def completed(self, ctx, msg, outcome):
            told.append(f"completed {ctx.chain_id}")

    bench.engine.add_aspect(Look())
    bench.load("done", **tool)
    await bench.say()
    assert [line for line in told if "ai.react" in line] == [
        "start ai.react",
        "end ai.react answer Success",
        "completed ai.react",
    ]
    assert (told[0], told[-1]) == ("start c", "completed c")


async def test_an_agent_goes_along_on_the_slot_of_the_chain_around_it(bench: Any, tool: Any):
    limit = ConcurrencyLimit(1, across="engine")
    bench.engine.add_aspect(limit)
    bench.load("one", **tool)
    assert (await bench.say()).message.text == "one"
    assert not limit.slots._taken


async def test_phases_are_counted_and_skipped_like_other_nodes(bench: Any):
    bench.engine.add_aspect(Metrics())
    bench.engine.add_aspect(SkipFallback(2, 60, types=["ai/reason"]))
    bench.load(server_error(), server_error(), maxRetries=0)
    texts = [(await bench.say()).message.metadata["errorMsg"] for _ in range(3)]
    assert texts[2].endswith("skip fallback error")
    assert len(bench.model.requests) == 2
    counted = bench.engine.metrics["chains"]["ai.react"]["nodes"]["reason"]
    assert (counted["total"], counted["failed"]) == (2, 2)


async def test_a_cancelled_agent_leaves_no_slot_behind(bench: Any, tool: Any):
    began = asyncio.Event()
    limit = ConcurrencyLimit(1, types=["ai/act"], across="engine")
    bench.engine.add_aspect(limit)

    async def slow() -> str:
        began.set()
        await asyncio.Event().wait()
        return ""

    bench.engine.tool(slow, name="slow")
    bench.load(calls("slow"), tools=["slow"])
    task = asyncio.create_task(bench.say())
    await began.wait()
    assert limit.slots.taken() == 1
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert limit.slots.taken() == 0
