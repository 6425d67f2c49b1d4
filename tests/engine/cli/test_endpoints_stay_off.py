"""Commands that run a chain once do not start its endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

CHAIN = """\
ruleChain: {id: orders}
metadata:
  nodes: [{id: wait, type: delay, configuration: {delayMs: 1}}]
  endpoints:
    - {id: web, type: http, configuration: {server: "127.0.0.1:0"}, routers: [{params: [POST], from: {path: /orders}}]}
"""
CASES = """\
cases: [{name: passes, input: {data: {a: 1}}, expect: {path: [wait]}}]
"""


@pytest.mark.parametrize("command", ["run", "test"])
def test_commands_that_run_a_chain_once_start_no_endpoint(
    call: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    from catenary.endpoints.keeper import Keeper

    wanted: list[object] = []
    monkeypatch.setattr(Keeper, "want", lambda *args: wanted.append(args))
    (tmp_path / "orders.yaml").write_text(CHAIN)
    (tmp_path / "orders.test.yaml").write_text(CASES)
    given = ["orders.yaml", "--data", '{"a": 1}'] if command == "run" else ["orders.test.yaml"]
    result = call(command, tmp_path / given[0], *given[1:])
    assert result.exit_code == 0, result.output
    assert wanted == []
