"""`cacheSet`, `cacheGet` and `cacheDelete`, over a cache in memory and one in Redis."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.peers.redis import Redis

from catenary import Engine, Message
from catenary.errors import ChainInvalid, ConnectFailed, NodeError
from catenary.outcome import Outcome
from catenary.redis_cache import RedisCache


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RedisCache.__init__.__kwdefaults__, "timeout_s", 15.0)


@pytest.fixture(params=["memory", "redis"])
async def engine(request: pytest.FixtureRequest) -> AsyncGenerator[Engine]:
    """An engine with each kind of cache."""
    cache = request.getfixturevalue("redis_server").url if request.param == "redis" else None
    async with Engine(cache=cache) as one:
        yield one


async def run(engine: Engine, node_type: str, data: Any = None, *, chain: str = "c", **options: Any) -> Outcome:
    """Run one node of a chain, which is there afterwards."""
    node = {"id": "n", "type": node_type, "configuration": options}
    source = {"ruleChain": {"id": chain}, "metadata": {"nodes": [node]}}
    loaded = engine.reload(source) if chain in engine.chains else engine.load(source)
    return await loaded.run(data if isinstance(data, Message) else Message({} if data is None else data))


async def keep(engine: Engine, **values: Any) -> None:
    """Keep values of the chain."""
    outcome = await run(engine, "cacheSet", items=[{"key": key, "value": value} for key, value in values.items()])
    assert outcome.ok, outcome.error


async def got(engine: Engine, *keys: str, **options: Any) -> Any:
    """Give what the chain has kept."""
    outcome = await run(engine, "cacheGet", keys=[{"key": key} for key in keys], **options)
    assert outcome.ok, outcome.error
    return outcome.message.value


async def test_values_keep_their_kinds(engine: Engine) -> None:
    items = [
        {"key": "object", "value": "${msg}"},
        {"key": "number", "value": 5},
        {"key": "text", "value": "x${msg.n}"},
        {"key": "list", "value": ["${msg.n}"]},
        {"key": "from-${msg.n}", "value": "${msg.n}"},
    ]
    outcome = await run(engine, "cacheSet", {"n": 7}, items=items)
    assert outcome.message.value == {"n": 7}
    found = await got(engine, "object", "number", "text", "list", "from-7")
    assert found == {"object": {"n": 7}, "number": 5, "text": "x7", "list": ["${msg.n}"], "from-7": 7}


async def test_chains_have_their_own_part_and_share_the_global_one(engine: Engine) -> None:
    items = [
        {"key": "a", "value": 1},
        {"level": "global", "key": "b", "value": 2},
        {"level": "other", "key": "c", "value": 3},
    ]
    await run(engine, "cacheSet", items=items)
    keys = [{"key": "a"}, {"level": "global", "key": "b"}, {"key": "c"}]
    assert (await run(engine, "cacheGet", keys=keys)).message.value == {"a": 1, "b": 2, "c": 3}
    other = await run(engine, "cacheGet", keys=keys, chain="other")
    assert other.message.value == {"a": None, "b": 2, "c": None}


async def test_an_item_that_fails_leaves_those_before_it_kept(engine: Engine) -> None:
    items = [{"key": "a", "value": 1}, {"key": "", "value": 2}, {"key": "c", "value": 3}]
    outcome = await run(engine, "cacheSet", items=items)
    assert outcome.message.metadata["errorMsg"] == "key is empty"
    assert await got(engine, "a", "c") == {"a": 1, "c": None}


@pytest.mark.parametrize("ttl", ["10", "1d", "soon"])
async def test_a_malformed_time_to_live_is_a_failure(engine: Engine, ttl: str) -> None:
    assert not (await run(engine, "cacheSet", items=[{"key": "a", "value": 1, "ttl": ttl}])).ok


@pytest.mark.parametrize("ttl", ["", "0", "-5s", "100s", "1h30m", "500000ms"])
async def test_a_time_to_live_may_be_for_ever(engine: Engine, ttl: str) -> None:
    assert (await run(engine, "cacheSet", items=[{"key": "a", "value": 1, "ttl": ttl}])).ok
    assert await got(engine, "a") == {"a": 1}


async def test_mode_0_writes_texts_into_the_metadata_and_empty_ones_for_what_is_missing(engine: Engine) -> None:
    await keep(engine, a={"x": 1}, b=2.0)
    outcome = await run(engine, "cacheGet", {"kept": 1}, keys=[{"key": "a"}, {"key": "b"}, {"key": "z"}], outputMode=0)
    assert outcome.message.value == {"kept": 1}
    assert {key: outcome.message.metadata[key] for key in "abz"} == {"a": '{"x":1}', "b": "2", "z": ""}


async def test_mode_1_merges_into_the_object(engine: Engine) -> None:
    await keep(engine, a=1)
    outcome = await run(engine, "cacheGet", {"own": 1, "a": 0}, keys=[{"key": "a"}, {"key": "z"}], outputMode="1")
    assert outcome.message.value == {"own": 1, "a": 1, "z": None}


@pytest.mark.parametrize(
    ("message", "told"),
    [(Message("x", data_type="TEXT"), "data type must be JSON type"), (Message([1]), "must be a JSON object")],
)
async def test_mode_1_needs_an_object(engine: Engine, message: Message, told: str) -> None:
    outcome = await run(engine, "cacheGet", message, keys=[{"key": "a"}], outputMode=1)
    assert told in outcome.message.metadata["errorMsg"]


async def test_mode_2_keeps_the_data_type(engine: Engine) -> None:
    await keep(engine, a=1)
    outcome = await run(engine, "cacheGet", Message("x", data_type="TEXT"), keys=[{"key": "a"}])
    assert (outcome.message.data, outcome.message.data_type) == ('{"a":1}', "TEXT")


async def test_a_star_at_the_end_stands_for_all_that_begin_so(engine: Engine) -> None:
    await keep(engine, **{"user:1": 1, "user:2": 2, "u*": 3})
    assert await got(engine, "user:*") == {"user:1": 1, "user:2": 2}
    assert await got(engine, "u**") == {"u*": 3}
    assert await got(engine, "*") == {"user:1": 1, "user:2": 2, "u*": 3}
    assert await got(engine, "none*", "u**") == {"u*": 3}


async def test_a_star_that_a_message_brings_is_part_of_the_key(engine: Engine) -> None:
    await keep(engine, **{"user:1": 1, "user:2": 2, "user:*": 3, "*": 4})
    for key, value in [("user:${msg.id}", {"user:*": 3}), ("${msg.id}", {"*": 4})]:
        assert (await run(engine, "cacheGet", {"id": "*"}, keys=[{"key": key}])).message.value == value
        assert (await run(engine, "cacheDelete", {"id": "*"}, keys=[{"key": key}])).ok
    assert await got(engine, "*") == {"user:1": 1, "user:2": 2}
    assert (await run(engine, "cacheGet", {"id": "us"}, keys=[{"key": "${msg.id}*"}])).message.value == {
        "user:1": 1,
        "user:2": 2,
    }


MISSING = {
    (0, ""): True,
    (1, ""): True,
    (2, ""): False,
    (0, "Failure"): False,
    (1, "failure"): False,
    (2, "SUCCESS"): True,
}


@pytest.mark.parametrize(("mode", "then"), list(MISSING))
@pytest.mark.parametrize("key", ["z", "z*"])
async def test_nothing_at_all_is_a_failure_where_it_is_said(engine: Engine, mode: int, then: str, key: str) -> None:
    outcome = await run(engine, "cacheGet", keys=[{"key": key}], outputMode=mode, whenKeyNotFound=then)
    assert outcome.ok == MISSING[mode, then]
    if not outcome.ok:
        assert outcome.message.metadata["errorMsg"] == "cache: key is missing"


async def test_a_part_that_is_missing_is_null(engine: Engine) -> None:
    await keep(engine, a=1)
    assert await got(engine, "a", "z", whenKeyNotFound="failure") == {"a": 1, "z": None}


async def test_deleted_is_what_is_named_and_what_begins_so(engine: Engine) -> None:
    await keep(engine, **{"a": 1, "b:1": 1, "b:2": 1, "c": 1})
    outcome = await run(engine, "cacheDelete", {"kept": 1}, keys=[{"key": "a"}, {"key": "b:*"}, {"key": "z"}])
    assert outcome.ok
    assert outcome.message.value == {"kept": 1}
    assert await got(engine, "*") == {"c": 1}
    await run(engine, "cacheDelete", keys=[{"key": "*"}])
    assert await got(engine, "*", whenKeyNotFound="success") == {}


@pytest.mark.parametrize("options", [{"outputMode": 3}, {"whenKeyNotFound": "maybe"}, {"keys": [{"level": "chain"}]}])
async def test_wrong_settings_are_refused_at_load(engine: Engine, options: dict[str, Any]) -> None:
    with pytest.raises(ChainInvalid):
        await run(engine, "cacheGet", **options)


def test_a_cache_in_memory_needs_no_event_loop() -> None:
    with Engine() as engine:
        nodes = [
            {"id": "set", "type": "cacheSet", "configuration": {"items": [{"key": "a", "value": "${msg}"}]}},
            {"id": "get", "type": "cacheGet", "configuration": {"keys": [{"key": "a"}]}},
        ]
        connections = [{"fromId": "set", "toId": "get", "type": "Success"}]
        chain = engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": connections}})
        assert chain.run_sync(5).message.value == {"a": 5}
        assert not engine.loops.are_kept


def test_run_sync_uses_redis_too(redis_server: Redis) -> None:
    with Engine(cache=redis_server.url) as engine:
        node = {
            "id": "set",
            "type": "cacheSet",
            "configuration": {"items": [{"level": "global", "key": "a", "value": 1}]},
        }
        assert engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}).run_sync({}).ok
    assert redis_server.cli("GET", "catenary:a") == "1"


async def test_a_redis_that_is_down_is_a_failure_and_no_more_when_it_is_back(redis_server: Redis) -> None:
    redis_server.kill()
    async with Engine(cache=redis_server.url) as engine:
        outcome = await run(engine, "cacheSet", items=[{"key": "a", "value": 1}])
        assert isinstance(outcome.error, NodeError)
        assert isinstance(outcome.error.cause, ConnectFailed)
        redis_server.start()
        assert (await run(engine, "cacheSet", items=[{"key": "a", "value": 1}])).ok


def test_a_preview_shows_what_would_be_kept() -> None:
    with Engine() as engine:
        node = {"id": "set", "type": "cacheSet", "configuration": {"items": [{"key": "a${msg.n}", "value": "${msg}"}]}}
        chain = engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})
        assert chain.compiled.by_id["set"].component.preview(None, Message({"n": 1})) == {"a1": {"n": 1}}


@pytest.mark.parametrize("node_type", ["cacheGet", "cacheDelete"])
async def test_an_empty_key_is_a_failure(engine: Engine, node_type: str) -> None:
    outcome = await run(engine, node_type, keys=[{"key": "${msg.none}"}])
    assert outcome.message.metadata["errorMsg"] == "key is empty"
