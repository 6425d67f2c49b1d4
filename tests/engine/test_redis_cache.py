"""A cache in a real Redis does what the one in memory does, and says what is wrong when it cannot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.peers.redis import Redis

from catenary import Engine, Message
from catenary.aspects import Caching
from catenary.cache import CacheMiss
from catenary.errors import ConnectFailed, EngineError, Refused, TooSlow
from catenary.redis_cache import RedisCache
from catenary.remote_cache import awaited_of, open_cache


@pytest.fixture(autouse=True)
def _in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers may take as long as they need, unless a test says otherwise."""
    monkeypatch.setitem(RedisCache.__init__.__kwdefaults__, "timeout_s", 60.0)


@pytest.fixture
def cache(redis_server: Redis) -> Iterator[RedisCache]:
    """A cache in an empty server."""
    one = RedisCache(redis_server.url)
    yield one
    one.close()


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", "text", [1, "a"], {"a": {"b": None}}, 2**70, "日本"])
def test_values_keep_their_kinds(cache: RedisCache, value: Any) -> None:
    cache.set("k", value)
    assert cache.get("k") == value
    assert cache.has("k")


def test_what_is_not_there_is_a_miss(cache: RedisCache) -> None:
    with pytest.raises(CacheMiss, match="cache: key is missing"):
        cache.get("k")
    assert not cache.has("k")
    cache.delete("k")


def test_a_value_goes_when_its_time_is_over(cache: RedisCache, redis_server: Redis) -> None:
    cache.set("short", 1, "30ms")
    cache.set("long", 1, "1h30m")
    cache.set("ever", 1, "0")
    cache.set("past", 1, "-5s")
    deadline = time.monotonic() + 15
    while cache.has("short"):
        assert time.monotonic() < deadline
    assert 5_300_000 < int(redis_server.cli("PTTL", "catenary:long")) <= 5_400_000
    assert redis_server.cli("PTTL", "catenary:ever") == redis_server.cli("PTTL", "catenary:past") == "-1"


@pytest.mark.parametrize(("key", "ttl"), [("", ""), ("k", "10"), ("k", "1d")])
def test_an_empty_key_and_a_malformed_ttl_are_refused(cache: RedisCache, key: str, ttl: str) -> None:
    with pytest.raises(EngineError, match="cache:"):
        cache.set(key, 1, ttl)


@pytest.mark.parametrize("prefix", ["a", "a*", "a?", "[ab]", "a\\", "a-c", "^a", "ü", ""])
def test_prefixes_are_taken_to_the_letter(cache: RedisCache, prefix: str) -> None:
    others = ["zz", "*", "abc", "b", "a", "[ab"]
    for key in [*others, f"{prefix}1", f"{prefix}2"]:
        cache.set(key, key)
    wanted = sorted({key for key in [*others, f"{prefix}1", f"{prefix}2"] if key.startswith(prefix)})
    assert list(cache.get_by_prefix(prefix).items()) == [(key, key) for key in wanted]
    cache.delete_by_prefix(prefix)
    assert cache.get_by_prefix("").keys() == {key for key in others if not key.startswith(prefix)}


def test_keys_of_others_in_the_same_database_are_left_alone(cache: RedisCache, redis_server: Redis) -> None:
    redis_server.cli("SET", "foreign", "1")
    cache.set("mine", 1)
    assert cache.get_by_prefix("") == {"mine": 1}
    cache.delete_by_prefix("")
    assert redis_server.cli("KEYS", "*") == "foreign"


def test_many_keys_are_found_and_deleted_without_the_command_that_holds_all_up(
    cache: RedisCache, redis_server: Redis
) -> None:
    many = 1_700
    redis_server.cli("EVAL", f"for i=1,{many} do redis.call('SET', 'catenary:n'..i, i) end", "0")
    redis_server.cli("CONFIG", "RESETSTAT")
    assert cache.get_by_prefix("n") == {f"n{number}": number for number in range(1, many + 1)}
    cache.delete_by_prefix("n")
    assert redis_server.cli("DBSIZE") == "0"
    assert "cmdstat_keys" not in redis_server.cli("INFO", "commandstats")


def test_what_another_program_wrote_is_text(cache: RedisCache, redis_server: Redis) -> None:
    redis_server.cli("SET", "catenary:k", "no json")
    assert cache.get("k") == "no json"


async def test_awaited_it_serves_any_event_loop_and_holds_none_up(cache: RedisCache, redis_server: Redis) -> None:
    awaited = cache.awaited
    await asyncio.gather(*(awaited.set(f"k{number}", number) for number in range(200)))
    assert len(await awaited.get_by_prefix("k")) == 200
    assert await awaited.has("k1")
    await awaited.delete("k1")
    await awaited.delete_by_prefix("k2")
    with pytest.raises(CacheMiss):
        await awaited.get("k1")
    assert await asyncio.to_thread(lambda: asyncio.run(awaited.get("k3"))) == 3
    redis_server.freeze()
    waiting = asyncio.ensure_future(awaited.get("k3"))
    ticks = 0
    while not waiting.done() and ticks < 20:
        await asyncio.sleep(0.001)
        ticks += 1
    redis_server.thaw()
    assert ticks == 20
    assert await waiting == 3


async def test_cancelled_it_leaves_the_connection_usable(redis_server: Redis) -> None:
    cache = RedisCache(redis_server.url)
    await cache.awaited.set("k", 1)
    redis_server.freeze()
    waiting = asyncio.ensure_future(cache.awaited.get("k"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    redis_server.thaw()
    assert await cache.awaited.get("k") == 1
    await asyncio.to_thread(cache.close)


def test_a_server_that_is_down_is_told_and_used_again_when_it_is_back(cache: RedisCache, redis_server: Redis) -> None:
    redis_server.kill()
    with pytest.raises(ConnectFailed, match=str(redis_server.port)) as failed:
        cache.get("k")
    assert failed.value.retryable
    redis_server.start()
    cache.set("k", 1)
    redis_server.kill()
    redis_server.start()
    assert not cache.has("k")  # the connection that has died is made anew


def test_a_server_that_dies_in_the_middle_is_told(redis_server: Redis) -> None:
    cache = RedisCache(redis_server.url)
    cache.set("k", 1)
    redis_server.freeze()
    waiting = cache.begin(cache.fetch("k"))
    redis_server.kill()
    with pytest.raises(ConnectFailed):
        waiting.result(15)
    cache.close()


def test_a_server_that_is_frozen_is_given_up_in_time(redis_server: Redis) -> None:
    cache = RedisCache(redis_server.url, timeout_s=0.2)
    redis_server.freeze()
    with pytest.raises(TooSlow):
        cache.get("k")
    cache.close()


def test_a_server_that_freezes_is_given_up_in_time_and_used_again(
    cache: RedisCache, redis_server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.set("k", 1)
    redis_server.freeze()
    with monkeypatch.context() as hurry, pytest.raises(TooSlow):
        hurry.setattr(cache, "_timeout_s", 0.2)
        cache.get("k")
    redis_server.thaw()
    assert cache.get("k") == 1


@pytest.mark.parametrize("password", ["", "wrong-and-hidden"])
def test_a_wrong_password_is_refused_and_told_nowhere(redis_server: Redis, password: str) -> None:
    cache = RedisCache(redis_server.url.replace(redis_server.password, password))
    with pytest.raises(Refused) as refused:
        cache.get("k")
    assert "wrong-and-hidden" not in f"{refused.value} {cache!r}"
    cache.close()


def test_a_host_without_address_is_told() -> None:
    cache = RedisCache("redis://no-such-host.invalid:6379/0")
    with pytest.raises(ConnectFailed, match=r"no-such-host\.invalid"):
        cache.get("k")
    cache.close()
    cache.close()


def test_an_address_may_say_how_long_an_operation_may_take(redis_server: Redis) -> None:
    redis_server.freeze()
    cache = RedisCache(f"{redis_server.url}?socket_timeout=0.2", timeout_s=3600)
    with pytest.raises(TooSlow):
        cache.get("k")
    cache.close()
    with pytest.raises(EngineError, match="socket_timeout"):
        RedisCache("redis://127.0.0.1:1/0?socket_timeout=soon")


@pytest.mark.parametrize("url", ["http://127.0.0.1", "", "127.0.0.1:6379", "redis://h:port"])
def test_what_is_no_address_of_a_cache_is_refused(url: str) -> None:
    with pytest.raises(EngineError, match="the address of the cache"):
        open_cache(url)


def test_a_missing_package_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import catenary.redis_cache as module

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(EngineError, match=r"catenary\[redis\]"):
        open_cache("redis://127.0.0.1")


SCRIPT = """
const cache = $ctx.ChainCache();
cache.Set('n', (cache.Has('n') ? cache.Get('n') : 0) + 1, '10m');
return {msg: {n: cache.Get('n'), all: $ctx.GlobalCache().GetByPrefix('')}};
"""


def counting(chain_id: str = "counts") -> dict[str, Any]:
    """Give a chain that counts its messages in the cache."""
    node = {"id": "js", "type": "jsTransform", "configuration": {"jsScript": SCRIPT}}
    return {"ruleChain": {"id": chain_id}, "metadata": {"nodes": [node]}}


async def test_scripts_use_it_in_a_thread_so_that_the_event_loop_goes_on(redis_server: Redis) -> None:
    async with Engine(cache=redis_server.url) as engine:
        chain = engine.load(counting())
        assert (await chain.run(Message({}))).message.value == {"n": 1, "all": {"counts:n": 1}}
        redis_server.freeze()
        waiting = asyncio.ensure_future(chain.run(Message({})))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not waiting.done()
        redis_server.thaw()
        assert (await waiting).message.value["n"] == 2


async def test_what_is_kept_outlives_the_engine_and_goes_with_the_chain(redis_server: Redis) -> None:
    async with Engine(cache=redis_server.url) as engine:
        await engine.load(counting()).run({})
    assert redis_server.cli("KEYS", "*") == "catenary:counts:n"
    async with Engine(cache=redis_server.url) as engine:
        assert (await engine.load(counting()).run({})).message.value["n"] == 2
        engine.remove("counts")
        deadline = time.monotonic() + 15
        while redis_server.cli("DBSIZE") != "0":
            assert time.monotonic() < deadline


async def test_the_password_of_the_cache_is_masked(redis_server: Redis) -> None:
    async with Engine(cache=redis_server.url) as engine:
        assert engine.masker.text(f"it is {redis_server.password}") == "it is ****"
        assert awaited_of(engine.cache) is not None


def test_a_cache_in_memory_waits_for_nobody() -> None:
    with Engine() as engine:
        assert awaited_of(engine.cache) is None
        assert not engine.load(counting()).run_sync({}).message.value["n"] - 1


async def test_results_of_plain_nodes_are_kept_in_it_without_holding_the_event_loop_up(redis_server: Redis) -> None:
    calls: list[Any] = []
    async with Engine(cache=redis_server.url, aspects=[Caching("msg", ttl="1m")]) as engine:

        @engine.function("square")
        def square(ctx: Any, msg: Message) -> Any:
            calls.append(msg.value)
            return "Success", msg.with_data(msg.value**2)

        node = {"id": "f", "type": "functions", "configuration": {"functionName": "square"}}
        chain = engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})
        assert (await chain.run(3)).message.value == 9
        assert (await chain.run(3)).message.value == 9
        assert calls == [3]
        redis_server.freeze()
        waiting = asyncio.ensure_future(chain.run(3))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not waiting.done()
        redis_server.thaw()
        assert (await waiting).message.value == 9
        redis_server.kill()
        assert (await chain.run(3)).message.value == 9  # nothing is kept, and the node is visited
        assert calls == [3, 3]
