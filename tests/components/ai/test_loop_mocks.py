"""Tests of chains that stand in for nodes of an agent's loop."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from catenary import Engine, Message
from catenary.cli.test import test as run_tests
from catenary.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

LOOP = """\
ruleChain: {id: loop, root: false}
metadata:
  nodes:
  - {id: reason, type: ai/reason}
  - {id: answer, type: ai/answer}
  - {id: other, type: ai/agent, configuration: {url: 'http://127.0.0.1:9/v1', model: m, maxRetries: 0}}
  connections:
  - {fromId: reason, toId: answer, type: Answer}
  - {fromId: answer, toId: other, type: Success}
"""


def agent(node: str, **settings: Any) -> dict[str, Any]:
    configuration = {"url": "http://127.0.0.1:9/v1", "model": "m", "maxRetries": 0, **settings}
    return {"id": node, "type": "ai/agent", "configuration": configuration}


def tried(folder: Path, mocks: dict[str, Any], **settings: Any) -> Result:
    """Run a test of a chain with one agent, whose model is not there."""
    chain = {"ruleChain": {"id": "c"}, "metadata": {"nodes": [agent("a", **settings)], "connections": []}}
    (folder / "c.json").write_text(json.dumps(chain), encoding="utf-8")
    (folder / "loop.yaml").write_text(LOOP, encoding="utf-8")
    case = {"name": "one", "allowExternal": ["a"], "mocks": mocks, "expect": {"data": "given"}}
    (folder / "c.test.json").write_text(json.dumps({"cases": [case]}), encoding="utf-8")
    return CliRunner().invoke(run_tests, [str(folder / "c.test.json")])


def test_nodes_of_a_loop_that_comes_with_the_agent_can_be_mocked(tmp_path: Path) -> None:
    result = tried(tmp_path, {"a/reason": {"relation": "Answer"}, "a/answer": {"data": "given", "dataType": "TEXT"}})
    assert result.exit_code == 0, result.output


def test_nodes_of_an_agent_in_the_loop_of_an_agent_can_be_mocked(tmp_path: Path) -> None:
    inner = {"a/other/reason": {"relation": "Answer"}, "a/other/answer": {"data": "given", "dataType": "TEXT"}}
    result = tried(tmp_path, {"a/reason": {"relation": "Answer"}, **inner}, mode="loop.yaml")
    assert result.exit_code == 0, result.output


def test_a_node_that_is_not_in_the_loop_is_told(tmp_path: Path) -> None:
    result = tried(tmp_path, {"a/raeson": {"relation": "Answer"}})
    assert result.exit_code == 4
    assert "the node 'a' has no node 'raeson' in a chain of its own" in result.output


async def test_of_two_agents_with_one_loop_only_the_one_that_is_named_is_mocked() -> None:
    chain = {
        "ruleChain": {"id": "c"},
        "metadata": {
            "nodes": [agent("a"), agent("b")],
            "connections": [{"fromId": "a", "toId": "b", "type": "Success"}],
        },
    }
    async with Engine() as engine:
        loaded = engine.load(chain)
        mocked = loaded.replacing({"a/reason": lambda _ctx, msg: ("Answer", msg)})
        outcome = await mocked.run(Message("hi", data_type="TEXT"))
        assert [end.node_id for end in outcome.ends] == ["b"]
        assert outcome.status == "failed"
        with pytest.raises(EngineError, match="node id=a/none not found"):
            loaded.replacing({"a/none": lambda _ctx, msg: msg})
