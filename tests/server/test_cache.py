"""`CATENARY_CACHE_URL` and `catenary serve`: what chains keep is in Redis."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from tests.peers.redis import Redis
from tests.server.kit import chain, get, post, process, started

SCRIPT = "const c = $ctx.ChainCache(); const n = (c.Has('n') ? c.Get('n') : 0) + 1; c.Set('n', n); return {msg: {n}};"

pytestmark = pytest.mark.timeout(90)  # each starts programs


def counting(tmp_path: Path) -> Path:
    """Give a folder with a chain that counts its messages by a script, and one that keeps what it gets by a node."""
    folder = tmp_path / "chains"
    folder.mkdir()
    keep = {"items": [{"level": "global", "key": "last", "value": "${msg}", "ttl": "10m"}]}
    for one in (chain("count", ("js", "jsTransform", {"jsScript": SCRIPT})), chain("keep", ("set", "cacheSet", keep))):
        (folder / f"{one['ruleChain']['id']}.json").write_text(json.dumps(one))
    return folder


def patient(server: Redis) -> str:
    """Give the address of a Redis that may take its time."""
    return f"{server.url}?socket_timeout=20"


def run(url: str, chain_id: str, data: object) -> httpx.Response:
    return post(f"{url}/api/v1/chains/{chain_id}/run", json={"data": data})


def test_values_outlive_a_server_and_its_redis_may_be_away_for_a_while(tmp_path: Path, redis_server: Redis) -> None:
    counting(tmp_path)
    with started(tmp_path, "chains", CATENARY_CACHE_URL=patient(redis_server)) as server:
        assert run(server.url, "count", {}).json()["data"] == {"n": 1}
        assert run(server.url, "keep", {"a": 1}).json()["data"] == {"a": 1}
        assert redis_server.cli("GET", "catenary:last") == '{"a":1}'
        assert server.stop() == 0
    with started(tmp_path, "chains", CATENARY_CACHE_URL=patient(redis_server)) as server:
        assert run(server.url, "count", {}).json()["data"] == {"n": 2}
        assert get(f"{server.url}/readyz").json()["problems"] == []
        redis_server.kill()
        ready = get(f"{server.url}/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert ready.json()["problems"][0].startswith("the cache: no connection to the cache at 127.0.0.1")
        failed = run(server.url, "keep", {})
        assert failed.status_code == 422
        assert f"no connection to the cache at 127.0.0.1:{redis_server.port}" in failed.text
        redis_server.start()
        assert run(server.url, "keep", {"a": 2}).json()["data"] == {"a": 2}
        assert redis_server.cli("GET", "catenary:last") == '{"a":2}'
        assert get(f"{server.url}/readyz").status_code == 200


def test_an_address_of_a_cache_that_is_none_is_wrong_usage_and_is_not_shown(tmp_path: Path) -> None:
    counting(tmp_path)
    with process(tmp_path, "chains", CATENARY_CACHE_URL="http://:hidden-secret@127.0.0.1") as server:
        assert server.popen.wait(30) == 2
        assert "CATENARY_CACHE_URL" in server.output
        assert "redis://" in server.output
        assert "hidden-secret" not in server.output


def test_the_password_of_a_cache_that_refuses_it_is_shown_nowhere(tmp_path: Path, redis_server: Redis) -> None:
    counting(tmp_path)
    wrong = f"redis://:hidden-secret@127.0.0.1:{redis_server.port}/0?socket_timeout=20"
    with started(tmp_path, "chains", CATENARY_CACHE_URL=wrong) as server:
        failed = run(server.url, "keep", {})
        assert failed.status_code == 422
        assert f"the cache at 127.0.0.1:{redis_server.port}/0 refused" in failed.text
        assert "hidden-secret" not in failed.text
        assert server.stop() == 0
        assert "hidden-secret" not in server.output
