"""Shared resources and chains as component types, given to the commands that need them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.engine.shared.database import Database, node

from catenary.component import ComponentInfo, registered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Call = Callable[..., Result]

HOT = """
ruleChain:
  id: hot
  additionalInfo:
    relationTypes: [True, False]
    inputSchema: {type: object, properties: {limit: {type: integer}}, required: [limit]}
metadata:
  nodes:
  - {id: f, type: exprFilter, configuration: {expr: 'msg.t > ${vars.limit}'}}
  - {id: end, type: end}
  connections:
  - {fromId: f, toId: end, type: 'True'}
  - {fromId: f, toId: end, type: 'False'}
"""
HOST = """
ruleChain: {id: host}
metadata:
  nodes: [{id: a, type: acme/hot, configuration: {limit: %s}}]
"""


@pytest.fixture(autouse=True)
def _types(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type("CliDatabase", (Database,), {"opened": [], "__doc__": Database.__doc__})
    monkeypatch.setitem(registered, "test/database", kind)
    kind.info = ComponentInfo("test/database", "test")


@pytest.fixture
def hot(tmp_path: Path) -> Path:
    (tmp_path / "hot.yaml").write_text(HOT, encoding="utf-8")
    return tmp_path / "hot.yaml"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "host.yaml").write_text(HOST % 30, encoding="utf-8")
    return tmp_path / "host.yaml"


@pytest.fixture
def resources(tmp_path: Path) -> Path:
    return written(tmp_path / "shared.json", node("db", "database", dsn=":memory:"), node("b", "database", dsn="x.db"))


@pytest.fixture
def borrower(tmp_path: Path) -> Path:
    return written(tmp_path / "borrower.json", node("a", "database", dsn="ref://db", sql="SELECT 4711"))


def written(path: Path, *nodes: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"ruleChain": {"id": path.stem}, "metadata": {"nodes": nodes}}), encoding="utf-8")
    return path


def test_a_run_borrows_what_is_shared(call: Call, borrower: Path, resources: Path) -> None:
    assert call("run", borrower, "--shared", resources).stdout == "[[4711]]\n"
    alone = call("run", borrower)
    assert (alone.exit_code, "node resource not found id=db" in alone.stderr) == (1, True)


def test_a_run_has_chains_as_component_types(call: Call, host: Path, hot: Path) -> None:
    done = call("run", host, "--component", f"acme/hot={hot}", "-d", '{"t": 31}', "--format", "json")
    assert json.loads(done.stdout)["ends"][0]["relation"] == "True"
    assert call("run", host).exit_code == 3


def test_what_is_wrong_with_the_parts_of_a_run_is_told(call: Call, host: Path, hot: Path, resources: Path) -> None:
    twice = call("run", host, "--component", f"acme/hot={hot}", "--component", f"acme/hot={hot}")
    assert (twice.exit_code, "the component already exists. componentType=acme/hot" in twice.stderr) == (2, True)
    again = call("run", host, "--component", f"acme/hot={hot}", "--shared", resources, "--shared", resources)
    assert (again.exit_code, "duplicate node id:db" in again.stderr) == (2, True)
    none = call("run", host, "--component", f"acme/hot={hot}", "--shared", hot)
    assert none.exit_code == 3
    assert f"{hot}:9:5: chain.not-shared: node 'f' (exprFilter): not SharedNode" in none.stderr
    hot.write_text("metadata: {nodes: 7}")
    assert call("run", host, "--component", f"acme/hot={hot}").exit_code == 3
    assert call("run", host, "--component", "nowhere.yaml").exit_code == 2


def test_check_knows_component_types_and_their_options(call: Call, host: Path, hot: Path) -> None:
    given = ("--component", f"acme/hot={hot}")
    assert call("check", "--strict", host, *given).exit_code == 0
    host.write_text(HOST % "often", encoding="utf-8")
    wrong = call("check", host, *given)
    assert (wrong.exit_code, "config.invalid" in wrong.stdout) == (3, True)
    assert "chain.unknown-type" in call("check", host).stdout


def test_check_looks_for_what_is_borrowed(call: Call, borrower: Path, resources: Path) -> None:
    assert call("check", "--strict", borrower, "--shared", resources).exit_code == 0
    alone = call("check", borrower)
    assert (alone.exit_code, "chain.unknown-resource (warning)" in alone.stdout) == (0, False)
    assert "chain.unknown-resource: node 'a' (test/database): node resource not found id=db (warning)" in alone.stdout
    text = borrower.read_text().replace("ref://db", "ref://dbx")
    borrower.write_text(text)
    assert "did you mean 'db'?" in call("check", borrower, "--shared", resources).stdout


def test_check_tells_what_is_wrong_with_the_parts_and_opens_nothing(
    call: Call, host: Path, hot: Path, resources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "open", lambda *_: pytest.fail("opened"))
    assert call("check", resources, "--shared", resources).exit_code == 0
    hot.write_text("metadata: {nodes: 7}")
    result = call("check", host, "--component", f"acme/hot={hot}", "--shared", hot, "--format", "json")
    problems = [one for one in json.loads(result.stdout) if one["file"] == str(hot)]
    assert [one["code"] for one in problems] == ["chain.shape", "chain.no-nodes"]  # though it is named twice
    hot.write_text("{")
    result = call("check", host, "--shared", hot)
    assert (result.exit_code, "chain.syntax" in result.stdout) == (3, True)


def test_pictures_schemas_and_renderings_know_component_types(call: Call, host: Path, hot: Path) -> None:
    given = ("--component", f"acme/hot={hot}")
    assert (
        "acme/hot" in json.loads(call("schema", *given).stdout)["$defs"]["node-acme-hot"]["properties"]["type"]["enum"]
    )
    assert call("schema", "acme/hot", *given).exit_code == 0
    assert "limit" in call("render", host, "a", *given).stdout
    assert call("draw", host, *given).exit_code == 0
