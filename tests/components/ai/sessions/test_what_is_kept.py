"""What a session keeps besides the conversation, and what it keeps of that."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from catenary import Engine, Message
from catenary.testing import FakeClock, calls
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.sessions.memory import memory_of
from catenary_components.ai.tools.groups import switch

if TYPE_CHECKING:
    from pathlib import Path

    from catenary_components.ai.hooks.steps import AgentStep

SHOP: dict[str, Any] = {
    "tools": [{"name": "buy", "group": "shop"}],
    "toolGroups": [{"name": "shop"}],
    "session": "${metadata.who}",
}


def buy() -> str:
    """Buy."""
    return "bought"


def offered(bench: Any, place: int = -1) -> list[str]:
    return [tool["function"]["name"] for tool in bench.model.requests[place].body["tools"]]


async def test_a_group_that_a_session_switches_on_stays_on_there_and_nowhere_else(bench: Any) -> None:
    bench.engine.tool(buy)
    bench.load(calls("reset_equipped_tools", to_activate=["shop"]), "on", "of ann", "of bob", **SHOP)
    await bench.say("a", who="ann")
    await bench.say("b", who="ann")
    assert offered(bench) == ["buy", "reset_equipped_tools"]
    await bench.say("c", who="bob")
    assert offered(bench) == ["reset_equipped_tools"]


async def test_sessions_that_switch_groups_at_the_same_time_do_not_disturb_each_other(bench: Any) -> None:
    both = asyncio.Barrier(2)

    async def wait() -> str:
        async with asyncio.timeout(10):
            await both.wait()
        return "met"

    bench.engine.tool(buy)
    bench.engine.tool(wait)

    def reply(request: Any) -> Any:
        texts = [message["content"] for message in request.messages if message["role"] == "tool"]
        if not texts and request.messages[0]["content"] == "ann":
            return calls("reset_equipped_tools", to_activate=["shop"])
        return "done" if "met" in texts else calls("wait")

    settings = {**SHOP, "tools": [*SHOP["tools"], "wait"]}
    bench.load(*[reply] * 5, **settings)
    await asyncio.gather(bench.say("ann", who="ann"), bench.say("bob", who="bob"))
    last = {request.messages[0]["content"]: request for request in bench.model.requests}
    names = {who: [tool["function"]["name"] for tool in request.body["tools"]] for who, request in last.items()}
    assert names == {"ann": ["buy", "wait", "reset_equipped_tools"], "bob": ["wait", "reset_equipped_tools"]}


async def test_a_hook_switches_groups_that_the_model_may_not_switch(bench: Any) -> None:
    class ForAdmins(AgentHook):
        def before_agent(self, step: AgentStep) -> None:
            switch(step.setup.toolbox, step.state, on=["shop"] if step.message.metadata["who"] == "admin" else [])

    bench.engine.tool(buy)
    bench.engine.agent_hook(ForAdmins())
    bench.load("a", "b", **SHOP | {"toolGroups": [{"name": "shop", "switchedBy": "code"}]})
    await bench.say("a", who="admin")
    await bench.say("b", who="ann")
    assert offered(bench, 0) == ["buy"]
    assert "tools" not in bench.model.requests[1].body


async def test_groups_and_tasks_are_there_for_another_engine_with_the_same_store(bench: Any, tmp_path: Path) -> None:
    settings = {
        "url": f"{bench.url}/v1",
        "model": "m",
        "tools": [*SHOP["tools"], {"type": "builtin", "name": "todo"}],
        "toolGroups": SHOP["toolGroups"],
        "session": {"key": "ann", "store": "files:sessions"},
    }
    nodes = [{"id": "a", "type": "ai/agent", "configuration": settings}]
    chain = {"ruleChain": {"id": "c", "name": "C"}, "metadata": {"nodes": nodes, "connections": []}}
    bench.model.add(
        calls("reset_equipped_tools", to_activate=["shop"]), calls("todo", todos=[{"subject": "sweep"}]), "on", "off"
    )
    ids: list[str] = []
    for text in ("a", "b"):
        async with Engine({"data_dir": str(tmp_path)}, clock=FakeClock(auto=True)) as engine:
            engine.tool(buy)
            engine.load(chain)
            outcome = await engine.run("c", Message(text))
            assert outcome.ok, outcome.error
            (node,) = [one.component for one in engine.get("c").instances]
            state: Any = await node.sessions.read("ann")  # type: ignore[attr-defined]
            ids += [one["id"] for one in state.todos if one["subject"] == "sweep"]
    assert "buy" in offered(bench)
    assert len(ids) == 2
    assert ids[0] == ids[1]


async def test_a_result_that_went_to_a_file_is_short_in_the_session_too(bench: Any, tmp_path: Path) -> None:
    async with Engine({"data_dir": str(tmp_path)}, clock=bench.clock) as engine:
        bench.engine = engine
        engine.tool(lambda: "x" * 5_000, name="dump")
        hook = {"name": "eviction", "config": {"maxLength": 1_000, "preview": 100}}
        bench.load(calls("dump"), "done", tools=["dump"], hooks=[hook], session="${metadata.who}")
        await bench.say(who="ann")
        record: Any = await memory_of(engine).load("ann")
    (shown,) = [one["blocks"][0] for one in record.value["messages"] if one["role"] == "tool"]
    assert len(str(shown)) < 1_000
    assert "5000 characters" in str(shown)
