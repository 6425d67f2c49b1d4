"""`catenary agent`: what an agent is made of, and in which order its hooks are called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from catenary_components.chat.explain import agent

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

PROGRAM = '''
from catenary_components.ai import Agent
from catenary_components.ai.hooks.base import AgentHook

def look(word: str) -> str:
    """Look something up."""
    return word

class Careful(AgentHook):
    order = 20
    def before_tool(self, step): ...
    async def around_tool(self, step, proceed): await proceed()

clerk = Agent("Clerk", model="openai:gpt-4o", tools=[look], store=None)
clerk.engine.agent_hook(lambda step: None, at="before_tool", order=10)
clerk.engine.agent_hook(Careful())
'''


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def explain(*args: str) -> Result:
    return CliRunner().invoke(agent, args, catch_exceptions=False)


def chain_file(path: Path, **settings: Any) -> str:
    node = {"id": "clerk", "type": "ai/agent", "configuration": {"model": "openai:gpt-4o", **settings}}
    path.write_text(json.dumps({"ruleChain": {"id": "desk"}, "metadata": {"nodes": [node]}}))
    return str(path)


def test_hooks_are_told_in_the_order_in_which_they_are_called(tmp_path: Path) -> None:
    file = chain_file(tmp_path / "desk.json", hooks=["logging", {"name": "loop_guard", "order": 5}], tools=[])
    result = explain(file)
    assert result.exit_code == 0, result.output
    assert "clerk of desk (mode react)" in result.stdout
    assert result.stdout.index("5  LoopGuard") < result.stdout.index("200  Logging")
    assert "Tools: none" in result.stdout


def test_the_hooks_of_a_program_are_told_too(tmp_path: Path) -> None:
    (tmp_path / "support.py").write_text(PROGRAM)
    found = json.loads(explain("support.py:clerk", "--format", "json").stdout)
    assert [(one["tools"], [hook["order"] for hook in one["hooks"]]) for one in found] == [(["look"], [10, 20])]
    assert found[0]["points"] == [
        {"at": "before_tool", "hooks": ["<lambda>", "Careful"]},
        {"at": "around_tool", "hooks": ["Careful"]},
    ]


def test_an_agent_without_hooks_says_so(tmp_path: Path) -> None:
    assert "Hooks: none" in explain(chain_file(tmp_path / "desk.json")).stdout


def test_a_chain_without_an_agent_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none.json").write_text('{"ruleChain": {"id": "n"}, "metadata": {"nodes": []}}')
    with pytest.raises(Exception, match="has no agent"):
        explain("none.json")


def test_a_file_that_is_not_there_is_wrong_usage() -> None:
    assert explain("nowhere.json").exit_code == 2


def test_the_hooks_of_a_program_take_part_in_a_talk(tmp_path: Path) -> None:
    from catenary_components.chat.command import chat

    program = PROGRAM.replace("class Careful", "class Shouts(AgentHook):\n"
        "    def after_agent(self, step): step.answer = step.answer.with_data(step.answer.text.upper())\n\n"
        "class Careful").replace("agent_hook(Careful())", "agent_hook(Shouts())")  # fmt: skip
    (tmp_path / "support.py").write_text(program)
    result = CliRunner().invoke(chat, ["support.py:clerk", "--model", "mock:chat"], input="hello\n")
    assert "I AM A MOCK MODEL" in result.stdout
