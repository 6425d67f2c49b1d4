"""Functions in a Python file as tools of agents, on the command line and in tests of chains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from catenary.cli.run import run
from catenary.cli.test import run_tests
from catenary.testing import ScriptedModel, calls, mock
from catenary_components.ai import Agent
from catenary_server.serve import serve

STOCK = 'def stock(item: str) -> int:\n    """Count an item."""\n    return 7\n'


def stock(item: str) -> int:
    """Count an item."""
    return 0


@pytest.fixture(autouse=True)
def _saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stock.py").write_text(STOCK)
    agent = Agent("Clerk", model="mock:clerk-file", tools=[stock], permission="listed")
    Path("clerk.json").write_text(json.dumps(agent.chain()))


def perform(command: object, *args: str) -> Result:
    with mock("clerk-file", ScriptedModel([calls("stock", item="bolt"), "Seven."])):
        return CliRunner().invoke(command, args, catch_exceptions=False)  # type: ignore[arg-type]


def test_a_chain_that_an_agent_was_saved_as_is_run_with_its_functions() -> None:
    result = perform(run, "clerk.json", "-d", "Bolts?", "--tools", "stock.py", "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)["ends"][-1]["message"]["data"]) == (0, "Seven.")


def test_who_forgets_the_functions_is_told_of_the_option() -> None:
    result = CliRunner().invoke(run, ["clerk.json", "-d", "Bolts?"])
    assert "function tool not found: stock; registered with engine.tool: none" in str(result.exception)
    assert "--tools FILE.py" in str(result.exception)


@pytest.mark.parametrize("way", ["option", "file"])
def test_a_test_of_a_chain_has_functions_as_tools(way: str) -> None:
    suite = {
        "allowExternal": True,
        "cases": [{"name": "it counts", "input": {"data": "Bolts?"}, "expect": {"data": "Seven."}}],
    }
    Path("clerk.test.json").write_text(json.dumps(suite if way == "option" else {**suite, "tools": ["stock.py"]}))
    result = perform(run_tests, "clerk.test.json", *(["--tools", "stock.py"] if way == "option" else []))
    assert result.exit_code == 0, result.output


def test_a_server_has_functions_as_tools() -> None:
    Path("empty.py").write_text("")
    result = perform(serve, ".", "--tools", "empty.py")
    assert (result.exit_code, "there are no functions in 'empty.py'" in result.stderr) == (2, True)
