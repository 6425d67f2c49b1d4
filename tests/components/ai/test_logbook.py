"""What an agent writes to the log on the level `DEBUG`."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from catenary.testing import calls


@pytest.fixture
def lines(bench: Any, caplog: pytest.LogCaptureFixture) -> Any:
    bench.engine.tool(lambda to="": f"pong {to}", name="ping")

    async def lines(**settings: Any) -> list[str]:
        bench.load(calls("ping", to="sk-1234567890abcdef"), "The answer.", tools=["ping"], **settings)
        await bench.say("The question?")
        return [record.getMessage() for record in caplog.records if record.name == "catenary.agent"]

    return lines


async def test_the_log_shows_statuses_decisions_verdicts_and_results(lines: Any, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG, "catenary.agent")
    assert await lines(maxRounds=10) == [
        "the agent is running",
        "Iteration 0/10, model call 1: reason goes on by ToolCalls",
        "tool ping: allow (allowed by the mode listed)",
        "the agent is executing",
        "tool ping: success, 24 characters",
        "the agent is running",
        "Iteration 1/10, model call 1: observe goes on by Continue",
        "Iteration 1/10, model call 2: reason goes on by Answer",
        "the agent is done",
        "the agent is idle",
    ]
    assert all((record.node, record.chain) for record in caplog.records if record.name == "catenary.agent")


async def test_a_denial_is_in_the_log_and_no_text_of_the_conversation(lines: Any, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG, "catenary.agent")
    written = await lines(permission={"mode": "bypass", "deny": ["ping"]})
    assert "tool ping: deny (denied by the rule ping)" in written
    assert "Iteration 1, model call 2: reason goes on by Answer" in written
    assert not any(word in line for line in written for word in ("question", "The answer", "sk-12345", "pong"))


async def test_nothing_is_written_where_nobody_asked_for_it(lines: Any, caplog: Any) -> None:
    caplog.set_level(logging.INFO, "catenary.agent")
    assert await lines() == []
