"""`catenary demo`: the whole thing on one machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from catenary.cli import main
from catenary_components import demo


@pytest.fixture(autouse=True)
def _patient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the API of the demo answer in 15 seconds rather than in 2."""
    chain = json.loads(demo.CHAIN.read_text())
    for node in chain["metadata"]["nodes"]:
        if node["type"] == "restApiCall":
            node["configuration"]["readTimeoutMs"] = 15_000
    (tmp_path / "chain.json").write_text(json.dumps(chain))
    monkeypatch.setattr(demo, "CHAIN", tmp_path / "chain.json")


def test_the_demo_shows_all_ways_through_the_chain() -> None:
    result = CliRunner().invoke(main, ["demo"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    text = result.stdout
    assert "is scripted" in text
    assert "< node_filter by True" in text
    assert "< node_filter by False" in text
    assert "the API got: POST /api/v1/cmd" in text
    assert "~ node_agent sends Stream" in text
    assert text.count("the run completed") == 3
    assert "3 of 3 messages went through." in text
    assert "reason" not in text


def test_the_inside_of_the_agent_can_be_seen() -> None:
    result = CliRunner().invoke(main, ["demo", "--inside"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "> reason" in result.stdout


def test_only_the_port_is_changed() -> None:
    changed = json.dumps(demo.chain_for(40123))
    assert changed.replace(":40123/", "/") == json.dumps(json.loads(demo.CHAIN.read_text()))
    assert "http://127.0.0.1:40123/api/v1/cmd" in changed


@pytest.mark.parametrize(
    ("missing", "cure"),
    [(["quickjs"], "catenary[js]"), (["uvicorn"], "catenary[server]"), (["quickjs", "uvicorn"], "catenary[js,server]")],
)
def test_a_missing_package_is_told_in_one_sentence(
    missing: list[str], cure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name in missing else object())
    result = CliRunner().invoke(main, ["demo"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"pip install '{cure}'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_run_that_fails_makes_the_demo_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_SCRIPT", {"Say something that is no JSON.": ["no"]})
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 1
    assert "failed: node 'node_filter'" in result.stdout
    assert "0 of 1 messages went through." in result.stdout
