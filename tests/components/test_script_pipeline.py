"""A chain of script nodes: filter, transform and switch one after the other, on both engines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from catenary import Chain, Engine, Message
from catenary.defaults import ChainDefaults
from catenary.expr.script.engine import EngineName

NODES = {
    "hot": ("jsFilter", "return msg.temperature > global.limit;"),
    "enrich": (
        "jsTransform",
        """
        msg.readings.push(msg.temperature);
        metadata.level = msg.temperature > 90 ? 'critical' : 'warning';
        return {msg, metadata, msgType: 'alarm'};
        """,
    ),
    "route": ("jsSwitch", "return msgType === 'alarm' ? [metadata.level, 'Audit'] : [];"),
}
ENDS = ("critical", "warning", "audit", "cool", "failed")
CONNECTIONS = [
    ("hot", "True", "enrich"),
    ("hot", "False", "cool"),
    ("hot", "Failure", "failed"),
    ("enrich", "Success", "route"),
    ("enrich", "Failure", "failed"),
    ("route", "critical", "critical"),
    ("route", "Default", "warning"),
    ("route", "Audit", "audit"),
]


def load(engine: Engine, *, blocking: bool = False) -> Chain:
    nodes: list[dict[str, Any]] = [
        {"id": name, "type": kind, "configuration": {"jsScript": script, "blocking": blocking}}
        for name, (kind, script) in NODES.items()
    ]
    nodes += [{"id": name, "type": "fork", "configuration": {}} for name in ENDS]
    connections = [{"fromId": source, "type": way, "toId": target} for source, way, target in CONNECTIONS]
    return engine.load({"ruleChain": {"id": "pipeline"}, "metadata": {"nodes": nodes, "connections": connections}})


@pytest.mark.parametrize("script_engine", ["quickjs", "v8"])
@pytest.mark.parametrize(
    ("temperature", "ends"),
    [(95, ["audit", "critical"]), (60, ["audit", "warning"]), (20, ["cool"]), (None, ["cool"])],
)
async def test_messages_find_their_way_through_three_scripts(
    script_engine: EngineName, temperature: int | None, ends: list[str]
) -> None:
    message = Message({"temperature": temperature, "readings": [1]}, "reading", metadata={"site": "north"})
    async with Engine({"limit": "50"}, defaults=ChainDefaults(script_engine=script_engine)) as engine:
        outcome = await load(engine).run(message)
    assert sorted(end.node_id for end in outcome.ends) == ends
    if ends != ["cool"]:
        sent = outcome.ends[0].message
        assert sent.value == {"temperature": temperature, "readings": [1, temperature]}
        assert (sent.type, sent.metadata["site"]) == ("alarm", "north")
    assert message.value == {"temperature": temperature, "readings": [1]}


async def test_many_messages_at_once_do_not_mix(engine: Engine) -> None:
    chain = load(engine, blocking=True)
    outcomes = await asyncio.gather(
        *(chain.run({"temperature": 51 + number, "readings": [number]}) for number in range(40))
    )
    for number, outcome in enumerate(outcomes):
        assert outcome.ends[0].message.value["readings"] == [number, 51 + number]
    await engine.close()
