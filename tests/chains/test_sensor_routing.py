"""The sensor routing, from the command line and in a program."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from catenary import Engine, Message, Outcome
from catenary.cli import main
from catenary.testing import FakeClock

FILE = Path(__file__).parents[2] / "chains" / "sensor-routing.yaml"
HOT = {"temperature": 181.4, "unit": "F", "samples": [181.42, None]}


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["run", str(FILE), "-m", "deviceId=boiler-7", *args], catch_exceptions=False)


def of(outcome: Outcome) -> tuple[str, Any, dict[str, Any]]:
    (end,) = outcome.ends
    assert end.node_id == "answer"
    return str(end.relation), end.message.value, dict(end.message.metadata)


async def send(data: Any, type_: str, **metadata: str) -> tuple[str, Any, dict[str, Any]]:
    async with Engine(clock=FakeClock(auto=True)) as engine:
        return of(await engine.load(FILE).run(Message(data, type_, metadata=metadata)))


def test_a_hot_reading_becomes_an_alarm() -> None:
    result = run("-f", str(FILE.with_suffix(".input.json")), "--type", "TELEMETRY")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {"alarm": "device boiler-7", "celsius": 83}


async def test_a_reading_is_completed_and_marked() -> None:
    relation, payload, metadata = await send(
        {"temperature": 20.5, "unit": "c"}, "TELEMETRY", deviceId="a", site="north"
    )
    assert (relation, payload) == ("False", {"celsius": 20.5, "samples": []})
    assert metadata == {"deviceId": "a", "site": "north", "level": "usual", "samples": "0"}


@pytest.mark.parametrize(
    ("data", "metadata"), [({"temperature": 20}, {"deviceId": "a"}), ({"temperature": 20, "unit": "F"}, {})]
)
async def test_a_reading_that_lacks_something_just_passes(data: dict[str, Any], metadata: dict[str, str]) -> None:
    assert await send(data, "TELEMETRY", **metadata) == ("False", data, metadata)


async def test_a_bad_sample_keeps_a_hot_reading_from_being_an_alarm() -> None:
    relation, payload, metadata = await send({**HOT, "samples": [-1]}, "TELEMETRY", deviceId="a")
    assert (relation, payload["celsius"], metadata["level"]) == ("False", 83, "hot")


@pytest.mark.parametrize("type_", ["", "telemetry", "STATUS"])
async def test_other_types_just_pass(type_: str) -> None:
    assert await send({"a": 1}, type_) == ("Default", {"a": 1}, {})


async def test_of_a_burst_of_alarms_the_latest_goes_on() -> None:
    clock = FakeClock()
    async with Engine(clock=clock) as engine:
        chain = engine.load(FILE)
        metadata = {"deviceId": "a"}
        tasks: list[asyncio.Task[Outcome]] = []
        for celsius in (70, 80, 90):
            tasks.append(asyncio.create_task(chain.run(Message({"celsius": celsius}, "ALARM", metadata=metadata))))
            for _ in range(200):  # by which it waits for company: nothing on its way takes time
                await asyncio.sleep(0)
        clock.advance(0.2)
        *replaced, latest = await asyncio.gather(*tasks)
    assert of(latest)[1] == {"alarm": "device a", "celsius": 90}
    assert [[(end.node_id, end.relation, end.gated) for end in outcome.ends] for outcome in replaced] == [
        [("calm", "", True)]
    ] * 2
