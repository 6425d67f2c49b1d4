"""`CATENARY_CACHE_URL`: commands that run chains keep values between messages in Redis."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from tests.peers.redis import Redis

SCRIPT = "const c = $ctx.ChainCache(); const n = (c.Has('n') ? c.Get('n') : 0) + 1; c.Set('n', n); return {msg: {n}};"


@pytest.fixture
def counting(tmp_path: Path) -> Path:
    """A chain that counts its messages."""
    node = {"id": "js", "type": "jsTransform", "configuration": {"jsScript": SCRIPT}}
    path = tmp_path / "counting.json"
    path.write_text(json.dumps({"ruleChain": {"id": "counting"}, "metadata": {"nodes": [node]}}))
    return path


def test_values_outlive_the_process_when_they_are_kept_in_redis(
    call: Callable[..., Result], counting: Path, redis_server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENARY_CACHE_URL", f"{redis_server.url}?socket_timeout=20")
    assert json.loads(call("run", counting, "-d", "{}").output) == {"n": 1}
    assert json.loads(call("run", counting, "-d", "{}").output) == {"n": 2}
    monkeypatch.delenv("CATENARY_CACHE_URL")
    assert json.loads(call("run", counting, "-d", "{}").output) == {"n": 1}


def test_an_address_that_is_none_is_wrong_usage(
    call: Callable[..., Result], counting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENARY_CACHE_URL", "http://hidden-secret@127.0.0.1")
    result = call("run", counting, "-d", "{}")
    assert result.exit_code == 2
    assert "CATENARY_CACHE_URL" in result.output
    assert "hidden-secret" not in result.output
