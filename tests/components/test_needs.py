"""Chains are checked for the packages that their nodes and endpoints need."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from catenary import Engine
from catenary.cli import main

HTTP = {"id": "in", "type": "http", "configuration": {"server": "127.0.0.1:0"}}
WS = {"id": "in", "type": "endpoint/ws", "configuration": {"server": "127.0.0.1:0"}}
DIALS = {"id": "out", "type": "ws", "configuration": {"server": "ws://127.0.0.1:1/"}}
ASKS = {"id": "ask", "type": "dbClient", "configuration": {"dsn": "sqlite://", "sql": "select 1"}}
FORK = {"id": "pass", "type": "fork"}


def chain(node: Any = FORK, *endpoints: Any) -> Any:
    return {"ruleChain": {"id": "c", "root": True}, "metadata": {"nodes": [node], "endpoints": list(endpoints)}}


@pytest.mark.parametrize(
    ("written", "package", "extra"),
    [
        (chain(FORK, HTTP), "httptools", "server"),
        (chain(FORK, WS), "websockets", "server"),
        (chain(DIALS), "websockets", "server"),
        (chain(ASKS), "sqlalchemy", "sql"),
    ],
)
def test_a_package_that_is_missing_is_told_with_what_installs_it(
    written: Any, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine() as engine:
        assert engine.check(written) == []
        monkeypatch.setitem(sys.modules, package, None)
        (problem,) = engine.check(written)
    assert (problem.code, problem.severity) == ("component.missing-package", "warning")
    assert f"needs {package}, which is not installed here" in problem.text
    assert problem.hint == f"run: pip install 'catenary[{extra}]'"


@pytest.mark.parametrize(
    "written",
    [
        chain(FORK, {**HTTP, "configuration": {"server": "ref://server"}}),
        chain({**DIALS, "configuration": {"server": "ref://in"}}, {**WS, "configuration": {"server": "ref://server"}}),
    ],
)
def test_who_uses_the_server_of_the_program_needs_no_package_for_one(
    written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("httptools", "websockets"):
        monkeypatch.setitem(sys.modules, package, None)
    with Engine() as engine:
        assert engine.check(written) == []


def test_what_stands_in_for_a_package_counts_as_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httptools", ModuleType("httptools"))
    with Engine() as engine:
        assert engine.check(chain(FORK, HTTP)) == []


def test_cron_expressions_are_refused_without_what_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cronsim", None)
    nightly = {"id": "n", "type": "schedule", "routers": [{"from": {"path": "0 0 2 * * *"}}]}
    with Engine() as engine:
        (problem,) = engine.check(chain(FORK, nightly))
    assert (problem.severity, "catenary[schedule]" in problem.text) == ("error", True)


def test_the_command_shows_what_is_missing_and_only_strict_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httptools", None)
    (tmp_path / "c.json").write_text(json.dumps(chain(FORK, HTTP)))
    told = CliRunner().invoke(main, ["check", str(tmp_path / "c.json")])
    strict = CliRunner().invoke(main, ["check", "--strict", str(tmp_path / "c.json")])
    assert (told.exit_code, strict.exit_code) == (0, 3)
    assert "needs httptools" in told.output
    assert "pip install 'catenary[server]'" in told.output
