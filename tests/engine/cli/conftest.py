"""Chains on disk, and a way to call the command line in this process."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from catenary.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Call = "Callable[..., Result]"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no variable of the machine be a property, and none of a test stay."""
    for name in list(os.environ):
        if name.startswith("CATENARY_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", os.environ.copy())


@pytest.fixture
def call() -> Callable[..., Result]:
    """Call `catenary` with arguments; what it raises besides an exit is raised."""

    def invoke(*args: str | Path, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(main, [str(arg) for arg in args], input=stdin, catch_exceptions=False)

    return invoke


@pytest.fixture
def chain_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a chain of nodes `(id, type, configuration)` and connections `(from, relation, to)`."""

    def write(nodes: list[tuple[str, str, Any]], connections: list[tuple[str, str, str]] = [], **settings: Any) -> Path:  # noqa: B006
        chain = {
            "ruleChain": {"id": "test", "name": "Test", "configuration": settings},
            "metadata": {
                "nodes": [{"id": i, "type": t, "configuration": c} for i, t, c in nodes],
                "connections": [{"fromId": f, "type": r, "toId": t} for f, r, t in connections],
            },
        }
        path = tmp_path / "chain.json"
        path.write_text(json.dumps(chain, indent=2))
        return path

    return write


@pytest.fixture
def hot(chain_file: Callable[..., Path]) -> Path:
    """A chain that lets temperatures above 40 pass by `True`, others by `False`; text makes it fail."""
    return chain_file(
        [("hot", "exprFilter", {"expr": "msg.t > 40"}), ("end", "end", {})],
        [("hot", "True", "end"), ("hot", "False", "end")],
    )


@pytest.fixture
def shown(chain_file: Callable[..., Path]) -> Callable[[str], Path]:
    """Write a chain whose answer is what an expression gives."""

    def write(expression: str) -> Path:
        return chain_file([("show", "exprTransform", {"expr": expression})])

    return write
