"""The sensor alarm, against an HTTP API on a real socket."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from catenary import Engine
from catenary.cli import main
from catenary.load import read
from catenary.testing import Answer, RecordingApi, serve

if TYPE_CHECKING:
    from collections.abc import Generator

FOLDER = Path(__file__).parents[2] / "chains"
FILE = FOLDER / "sensor-alarm.yaml"
PATIENT = ("--config", "report.readTimeoutMs=15000")
HOT = '{"deviceId": "boiler-7", "temperature": 82.5}'


@pytest.fixture
def api() -> Generator[tuple[RecordingApi, str]]:
    api = RecordingApi(default={"accepted": True})
    with serve(api) as server:
        yield api, f"{server.url}/alarms"


def run(url: str, *args: str) -> Result:
    return CliRunner().invoke(
        main, ["run", str(FILE), "--config", f"report.url={url}", *PATIENT, *args], catch_exceptions=False
    )


def test_a_hot_reading_is_reported_and_logged(api: tuple[RecordingApi, str]) -> None:
    recorded, url = api
    result = run(url, "-f", str(FILE.with_suffix(".input.json")))
    assert result.exit_code == 0, result.stderr
    (request,) = recorded.requests
    assert (request.method, request.path) == ("POST", "/alarms")
    assert request.json == json.loads((FOLDER / "sensor-alarm.input.json").read_text())
    assert request.headers["x-device"] == "boiler-7"
    assert result.stderr == "info note: alarm of boiler-7, 82.5 degrees\n"
    branches = json.loads(result.stdout)
    assert {branch["nodeId"] for branch in branches} == {"report", "note"}


def test_other_readings_just_pass(api: tuple[RecordingApi, str]) -> None:
    result = run(api[1], "--lines", "-d", '{"temperature": 20}\n{"temperature": 60}')
    assert (result.exit_code, result.stdout) == (0, '{"temperature": 20}\n{"temperature": 60}\n')
    assert api[0].requests == []


def test_a_report_that_fails_makes_the_run_fail_and_is_logged_all_the_same(api: tuple[RecordingApi, str]) -> None:
    api[0]._default = Answer(status=500, body="no")
    result = run(api[1], "-d", HOT)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "NodeId=report" in result.stderr
    assert "alarm of boiler-7" in result.stderr


async def test_it_runs_in_a_program_too(api: tuple[RecordingApi, str], caplog: pytest.LogCaptureFixture) -> None:
    chain: Any = read(FILE).value
    chain["ruleChain"]["configuration"]["vars"]["alarm_url"] = api[1]
    async with Engine() as engine:
        engine.load(chain)
        with caplog.at_level(logging.INFO, "catenary.log"):
            outcome = await engine.run("sensor-alarm", HOT)
    assert outcome.ok
    assert [end.node_id for end in outcome.ends] == ["answer"]
    assert "alarm of boiler-7" in caplog.text
