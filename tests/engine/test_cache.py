"""The store that chains keep values in: time to live, least recently used, views by chain."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary import Engine
from catenary.cache import CacheMiss, ChainCache, MemoryCache, ttl_seconds
from catenary.errors import EngineError


class Hand:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def time_ms(self) -> int:
        return int(self.now * 1000)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def cache(clock: Hand) -> MemoryCache:
    return MemoryCache(clock, most=3)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600.0),
        ("1h30m", 5400.0),
        ("500ms", 0.5),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("1us", 1e-6),
        ("1µs", 1e-6),
        ("1ns", 1e-9),
        ("+2s", 2.0),
        ("", None),
        ("0", None),
        ("0s", None),
        ("-5s", None),
    ],
)
def test_a_time_to_live_is_a_duration_and_nothing_means_for_ever(text: str, seconds: float | None) -> None:
    assert ttl_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["10", "1d", "x", "1h 30m", "-", "+", "--5s", "5 s", "1" * 1000 + "s"])
def test_a_time_to_live_that_is_no_duration_is_an_error(cache: MemoryCache, text: str) -> None:
    with pytest.raises(EngineError, match="invalid ttl"):
        cache.set("k", 1, text)
    assert not cache.has("k")


def test_a_value_stays_until_its_time_is_over(cache: MemoryCache, clock: Hand) -> None:
    cache.set("k", {"a": 1}, "10s")
    clock.now = 9.9
    assert cache.get("k") == {"a": 1}
    clock.now = 10
    assert not cache.has("k")
    with pytest.raises(CacheMiss, match=r"^cache: key is missing$"):
        cache.get("k")


def test_storing_again_starts_the_time_again(cache: MemoryCache, clock: Hand) -> None:
    cache.set("k", 1, "10s")
    clock.now = 9
    cache.set("k", 2)
    clock.now = 100
    assert cache.get("k") == 2


def test_nothing_is_a_value_too(cache: MemoryCache) -> None:
    cache.set("k", None)
    assert cache.has("k")
    assert cache.get("k") is None


def test_the_empty_key_is_an_error(cache: MemoryCache) -> None:
    with pytest.raises(EngineError, match="key is empty"):
        cache.set("", 1)
    with pytest.raises(EngineError, match="key is empty"):
        ChainCache(cache, "c").set("", 1)


def test_beyond_the_limit_the_least_recently_used_value_goes(cache: MemoryCache) -> None:
    for key in "abc":
        cache.set(key, key)
    cache.get("a")
    cache.set("d", "d")
    assert [key for key in "abcd" if cache.has(key)] == ["a", "c", "d"]
    assert len(cache) == 3


def test_deleting_what_is_not_there_is_fine(cache: MemoryCache) -> None:
    cache.delete("k")
    cache.delete_by_prefix("k")
    cache.set("k", 1)
    cache.delete("k")
    assert not cache.has("k")


def test_values_are_found_by_prefix_in_the_order_of_storing(cache: MemoryCache) -> None:
    cache.set("ab", 1)
    cache.set("b", 2)
    cache.set("aa", 3)
    cache.get("ab")
    assert list(cache.get_by_prefix("a").items()) == [("ab", 1), ("aa", 3)]
    cache.delete_by_prefix("a")
    assert cache.get_by_prefix("") == {"b": 2}


def test_expired_values_are_swept_when_something_is_stored(clock: Hand) -> None:
    cache = MemoryCache(clock)
    for n in range(10):
        cache.set(str(n), n, "1s")
    clock.now = 1
    cache.set("x", 1)
    assert len(cache) == 1


def test_storing_a_key_again_and_again_takes_no_more_room(cache: MemoryCache) -> None:
    for n in range(1000):
        cache.set("k", n, "1h")
    assert len(cache._expiries) < 100


def test_what_has_expired_goes_before_what_was_not_used_for_long(cache: MemoryCache, clock: Hand) -> None:
    cache.set("old", 1)
    cache.set("short", 2, "1s")
    cache.set("new", 3)
    clock.now = 1
    cache.set("next", 4)
    assert list(cache.get_by_prefix("")) == ["old", "new", "next"]


def test_a_chain_sees_only_its_own_keys(cache: MemoryCache) -> None:
    one, other = ChainCache(cache, "one"), ChainCache(cache, "other")
    one.set("k", 1)
    other.set("k", 2, "10s")
    assert (one.get("k"), other.get("k"), one.get_by_prefix("")) == (1, 2, {"k": 1})
    assert cache.get_by_prefix("") == {"one:k": 1, "other:k": 2}
    one.delete_by_prefix("")
    assert (one.has("k"), other.has("k")) == (False, True)
    other.delete("k")
    assert len(cache) == 0


@pytest.mark.parametrize(("first", "second"), [("a", "a:b"), ("a:b", "a%3Ab"), ("a%", "a%25"), ("a", "a:")])
def test_keys_of_a_chain_are_none_of_a_chain_whose_id_goes_on_after_a_colon(
    cache: MemoryCache, first: str, second: str
) -> None:
    one, other = ChainCache(cache, first), ChainCache(cache, second)
    one.set("b:k", 1)
    other.set("k", 2)
    assert (one.get_by_prefix(""), other.get_by_prefix("")) == ({"b:k": 1}, {"k": 2})
    one.delete_by_prefix("")
    assert other.get_by_prefix("") == {"k": 2}


def test_a_chains_values_outlive_a_reload_and_go_with_the_chain() -> None:
    def document(name: str) -> dict[str, Any]:
        return {"ruleChain": {"id": "c", "name": name}, "metadata": {"nodes": [{"id": "a", "type": "log"}]}}

    with Engine() as engine:
        engine.load(document("one"))
        ChainCache(engine.cache, "c").set("k", 1)
        engine.cache.set("other:k", 2)
        engine.reload(document("two"))
        assert engine.cache.has("c:k")
        engine.remove("c")
        assert engine.cache.get_by_prefix("") == {"other:k": 2}


def test_a_chains_values_go_when_the_engine_is_closed() -> None:
    engine = Engine()
    engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [{"id": "a", "type": "log"}]}})
    ChainCache(engine.cache, "c").set("k", 1)
    engine.close_sync()
    assert engine.cache.get_by_prefix("") == {}


def test_a_store_of_ones_own_takes_the_place_of_the_one_in_memory(cache: MemoryCache) -> None:
    with Engine(cache=cache) as engine:
        assert engine.cache is cache


def test_many_threads_may_use_one_store(clock: Hand) -> None:
    cache = MemoryCache(clock, most=50)

    def work(n: int) -> None:
        for turn in range(300):
            cache.set(f"{n}:{turn % 40}", turn)
            cache.get_by_prefix(f"{n}:")
            cache.delete(f"{n}:{turn % 7}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) <= 50


class SlowModel:
    """What a store should do, without any thought of speed: a list, the least recently used first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.items: list[tuple[str, Any, float | None]] = []

    def live(self, now: float) -> None:
        self.items = [item for item in self.items if item[2] is None or item[2] > now]

    def apply(self, now: float, step: tuple[Any, ...]) -> Any:
        operation, key, value, ttl = step
        self.live(now)
        found = [item for item in self.items if item[0] == key]
        if operation == "set":
            self.items = [item for item in self.items if item[0] != key]
            self.items = [*self.items, (key, value, now + ttl if ttl else None)][-self.most :]
        elif operation == "get" and found:
            self.items = [item for item in self.items if item[0] != key] + found
            return found[0][1]
        elif operation == "has":
            return bool(found)
        elif operation == "delete":
            self.items = [item for item in self.items if item[0] != key]
        elif operation == "prefix":
            hits = [item for item in self.items if item[0].startswith(key)]
            self.items = [item for item in self.items if item not in hits] + hits
            return {item[0]: item[1] for item in hits}
        elif operation == "clear":
            self.items = [item for item in self.items if not item[0].startswith(key)]
        return None


def applied(cache: MemoryCache, step: tuple[Any, ...]) -> Any:
    operation, key, value, ttl = step
    if operation == "set":
        return cache.set(key, value, f"{ttl}s")
    if operation == "get":
        return cache.get(key) if cache.has(key) else None
    calls = {
        "has": cache.has,
        "delete": cache.delete,
        "prefix": cache.get_by_prefix,
        "clear": cache.delete_by_prefix,
    }
    return calls[operation](key)


OPERATIONS = st.tuples(
    st.sampled_from(["set", "set", "set", "get", "has", "delete", "prefix", "clear"]),
    st.sampled_from(["a", "b", "ab", "abc", "c"]),
    st.integers(0, 9),
    st.integers(0, 5),
)


@settings(max_examples=times(200))
@given(st.lists(st.tuples(st.integers(0, 3), OPERATIONS), max_size=40))
def test_the_store_does_what_a_slow_model_does(steps: list[tuple[int, Any]]) -> None:
    clock = Hand()
    cache, model = MemoryCache(clock, most=3), SlowModel(3)
    for wait, step in steps:
        clock.now += wait
        assert applied(cache, step) == model.apply(clock.now, step)
