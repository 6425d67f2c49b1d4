"""Script nodes with `blocking`: a slow script holds up nobody but its own message."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from time import process_time, thread_time
from typing import Any

import pytest

from catenary import Chain, Engine
from catenary.defaults import ChainDefaults

LIMIT_S = 0.3
SCRIPT_NODES = ["jsFilter", "jsSwitch", "jsTransform", "log"]


@pytest.fixture
async def engine() -> AsyncGenerator[Engine]:
    async with Engine(defaults=ChainDefaults(script_timeout_s=LIMIT_S)) as made:
        yield made


def load(engine: Engine, chain_id: str, node_type: str, script: str, **settings: Any) -> Chain:
    node = {"id": "node", "type": node_type, "configuration": {"jsScript": script, **settings}}
    return engine.load({"ruleChain": {"id": chain_id}, "metadata": {"nodes": [node]}})


class Ticks:
    """Runs of another chain on the same event loop, one after the other, and the longest pause between two."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.longest_s = 0.0
        self.runs = 0

    async def go_on(self) -> None:
        while True:
            began = thread_time()
            outcome = await self.chain.run({"temperature": 60})
            await asyncio.sleep(0)
            self.longest_s = max(self.longest_s, thread_time() - began)
            self.runs += 1
            assert outcome.ok

    async def beyond(self, more: int) -> None:
        """Wait for so many more."""
        enough = self.runs + more
        async with asyncio.timeout(15):
            while self.runs < enough:  # noqa: ASYNC110 - they tell nobody
                await asyncio.sleep(0)


async def beside(slow: Chain) -> tuple[Any, Ticks, float]:
    """Run a chain while another one ticks; give its outcome, the ticks and its processor time in seconds."""
    async with Engine() as other:  # with the usual limit of time
        ticks = Ticks(load(other, "ticks", "jsFilter", "return msg.temperature > 50;"))
        ticking = asyncio.create_task(ticks.go_on())
        await ticks.beyond(20)
        began = process_time()
        outcome = await slow.run({"a": 1})
        took_s = process_time() - began
        await ticks.beyond(20)
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
    return outcome, ticks, took_s


@pytest.mark.parametrize("node_type", SCRIPT_NODES)
async def test_a_blocking_loop_fails_at_its_limit_while_other_runs_go_on(engine: Engine, node_type: str) -> None:
    slow = load(engine, "slow", node_type, "while (true) {}", blocking=True)
    outcome, ticks, took_s = await beside(slow)
    (end,) = outcome.ends
    assert end.relation == "Failure"
    assert end.message.metadata["errorMsg"].startswith("execution timeout")
    assert took_s < 10 * LIMIT_S
    assert ticks.longest_s < LIMIT_S / 2


@pytest.mark.parametrize("node_type", SCRIPT_NODES)
async def test_others_run_on_the_event_loop_while_a_blocking_script_is_at_work(node_type: str) -> None:
    async with Engine(defaults=ChainDefaults(script_timeout_s=15, script_host_calls=10**6)) as engine:
        is_enough = threading.Event()
        engine.host_function("isEnough")(lambda: is_enough.wait(0.01))
        slow = load(engine, "slow", node_type, "while (!isEnough()) {} return true;", blocking=True)
        running = asyncio.create_task(slow.run({"a": 1}))
        quick = load(engine, "quick", "jsFilter", "return msg.temperature > 50;")
        for _ in range(20):
            assert (await quick.run({"temperature": 60})).ok
        assert not running.done()
        is_enough.set()
        assert (await running).ends


@pytest.mark.parametrize("node_type", SCRIPT_NODES)
async def test_without_blocking_the_loop_is_held_for_the_limit_and_no_longer(engine: Engine, node_type: str) -> None:
    outcome, ticks, _ = await beside(load(engine, "slow", node_type, "while (true) {}"))
    (end,) = outcome.ends
    assert end.message.metadata["errorMsg"].startswith("execution timeout")
    assert LIMIT_S / 2 < ticks.longest_s < 10 * LIMIT_S


@pytest.mark.parametrize(
    ("node_type", "script", "relation"),
    [
        ("jsFilter", "return msg.a === 1;", "True"),
        ("jsSwitch", "return [msgType + msg.a];", "1"),
        ("jsTransform", "return {msg: {a: 2}};", "Success"),
        ("log", "return 'a is ' + msg.a;", "Success"),
    ],
)
async def test_a_blocking_script_does_the_same(engine: Engine, node_type: str, script: str, relation: str) -> None:
    inline = await load(engine, "inline", node_type, script).run({"a": 1})
    threaded = await load(engine, "threaded", node_type, script, blocking=True).run({"a": 1})
    assert [end.relation for end in inline.ends] == [end.relation for end in threaded.ends] == [relation]
    assert inline.message.data == threaded.message.data


def test_a_blocking_script_runs_without_an_event_loop_too() -> None:
    with Engine() as made:
        assert load(made, "c", "jsFilter", "return true;", blocking=True).run_sync("{}").ends[0].relation == "True"


async def test_each_node_decides_for_itself_whether_it_blocks(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}
    component: Any = engine.registry.get("jsFilter")
    run = component.run

    def watched(self: Any, ctx: Any, msg: Any) -> Any:
        seen[ctx.node_id] = threading.get_ident()
        return run(self, ctx, msg)

    monkeypatch.setattr(component, "run", watched)
    nodes = [
        {"id": "inline", "type": "jsFilter", "configuration": {"jsScript": "return true;"}},
        {"id": "thread", "type": "jsFilter", "configuration": {"jsScript": "return true;", "blocking": True}},
    ]
    connections = [{"fromId": "inline", "type": "True", "toId": "thread"}]
    await engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": connections}}).run("{}")
    assert seen["inline"] == threading.get_ident() != seen["thread"]
