"""What chains keep between messages: one store, seen whole (`global`) or by one chain (`chain`)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from catenary.durations import go_parts_s
from catenary.errors import EngineError

if TYPE_CHECKING:
    from catenary.clock import Clock
    from catenary.jsontext import Json

_SHOWN_TTL: Final = 100


class CacheMiss(EngineError):  # noqa: N818 - named as the other errors are
    """A key is not in the cache, or what was there has expired.

    Usual cause: Nothing was stored under the key yet, or its time to live is over.

    Cure: Ask with `has`, or use what is missing as a case of its own.
    """

    code = "cache.miss"

    def __init__(self) -> None:
        super().__init__("cache: key is missing")


class Cache(Protocol):
    """A store of JSON values by text keys. Safe to use from many threads.

    Values are stored as they are and must not be changed afterwards; a store may copy them.
    """

    def set(self, key: str, value: Json, ttl: str = "") -> None:
        """Store a value.

        Args:
            key: Any text but the empty one.
            value: A JSON value.
            ttl: How long it stays: `10m`, `1h30m`, `500ms`; empty, `0` or negative means for ever.

        Raises:
            EngineError: When the key is empty or `ttl` is no duration.
        """
        ...

    def get(self, key: str) -> Json:
        """Give the value under a key. Raises: CacheMiss: when there is none."""
        ...

    def has(self, key: str) -> bool:
        """Tell whether there is a value under a key."""
        ...

    def delete(self, key: str) -> None:
        """Take a value out, if there is one."""
        ...

    def get_by_prefix(self, prefix: str) -> dict[str, Json]:
        """Give all values whose keys begin with `prefix`, by key, in the order in which they were first stored."""
        ...

    def delete_by_prefix(self, prefix: str) -> None:
        """Take all values out whose keys begin with `prefix`."""
        ...


@dataclass(slots=True)
class _Item:
    value: Json
    expires_at: float | None  # seconds on the monotonic clock
    number: int


class MemoryCache:
    """The `Cache` of one process.

    Args:
        clock: Tells when values expire.
        most: How many values there may be; beyond that, the one that was not used for the longest time goes.
            What has expired goes first, whenever something is stored.
    """

    def __init__(self, clock: Clock, *, most: int = 100_000) -> None:
        self._clock = clock
        self._most = most
        self._items: OrderedDict[str, _Item] = OrderedDict()  # the least recently used first
        self._expiries: list[tuple[float, str]] = []  # a heap; some of its keys are stored anew or gone since
        self._count = 0
        self._lock = Lock()

    def set(self, key: str, value: Json, ttl: str = "") -> None:
        """Store a value, see `Cache.set`."""
        key = _checked(key)
        seconds = ttl_seconds(ttl)
        now = self._clock.monotonic()
        with self._lock:
            self._sweep(now)
            present = self._items.get(key)
            self._count += 1
            number = present.number if present else self._count
            expires_at = None if seconds is None else now + seconds
            self._items[key] = _Item(value, expires_at, number)
            self._items.move_to_end(key)
            if expires_at is not None:
                heappush(self._expiries, (expires_at, key))
            while len(self._items) > self._most:
                self._items.popitem(last=False)

    def get(self, key: str) -> Json:
        """Give the value under a key. Raises: CacheMiss: when there is none."""
        with self._lock:
            item = self._live(key, self._clock.monotonic())
            if item is None:
                raise CacheMiss
            self._items.move_to_end(key)
            return item.value

    def has(self, key: str) -> bool:
        """Tell whether there is a value under a key; this is no use that keeps it."""
        with self._lock:
            return self._live(key, self._clock.monotonic()) is not None

    def delete(self, key: str) -> None:
        """Take a value out, if there is one."""
        with self._lock:
            self._items.pop(key, None)

    def get_by_prefix(self, prefix: str) -> dict[str, Json]:
        """Give all values whose keys begin with `prefix`, see `Cache.get_by_prefix`."""
        now = self._clock.monotonic()
        with self._lock:
            keys = [key for key in self._items if key.startswith(prefix)]
            found = [(key, item) for key in keys if (item := self._live(key, now)) is not None]
            for key, _ in found:
                self._items.move_to_end(key)
        return {key: item.value for key, item in sorted(found, key=lambda pair: pair[1].number)}

    def delete_by_prefix(self, prefix: str) -> None:
        """Take all values out whose keys begin with `prefix`."""
        with self._lock:
            for key in [key for key in self._items if key.startswith(prefix)]:
                del self._items[key]

    def __len__(self) -> int:
        return len(self._items)

    def _live(self, key: str, now: float) -> _Item | None:
        item = self._items.get(key)
        if item is not None and item.expires_at is not None and item.expires_at <= now:
            del self._items[key]
            return None
        return item

    def _sweep(self, now: float) -> None:
        expiries = self._expiries
        while expiries and expiries[0][0] <= now:
            self._live(heappop(expiries)[1], now)
        if len(expiries) > 2 * len(self._items) + 64:
            live = [(item.expires_at, key) for key, item in self._items.items() if item.expires_at is not None]
            heapify(live)
            self._expiries = live


class ChainCache:
    """What one chain sees of a cache: keys are its own, and the cache has them behind `<chain id>:`.

    A colon in the id is written `%3A` there, and a percent sign `%25`: the keys of chain `a` are none of chain `a:b`.

    Args:
        cache: The whole store.
        chain_id: The id of the chain.

    Attributes:
        prefix: What stands before its keys in the whole store.
    """

    def __init__(self, cache: Cache, chain_id: str) -> None:
        self._cache = cache
        self.prefix = chain_id.replace("%", "%25").replace(":", "%3A") + ":"

    def set(self, key: str, value: Json, ttl: str = "") -> None:
        """Store a value, see `Cache.set`."""
        self._cache.set(self.prefix + _checked(key), value, ttl)

    def get(self, key: str) -> Json:
        """Give the value under a key. Raises: CacheMiss: when there is none."""
        return self._cache.get(f"{self.prefix}{key}")

    def has(self, key: str) -> bool:
        """Tell whether there is a value under a key."""
        return self._cache.has(f"{self.prefix}{key}")

    def delete(self, key: str) -> None:
        """Take a value out, if there is one."""
        self._cache.delete(f"{self.prefix}{key}")

    def get_by_prefix(self, prefix: str) -> dict[str, Json]:
        """Give all values of the chain whose keys begin with `prefix`, by their own keys."""
        found = self._cache.get_by_prefix(f"{self.prefix}{prefix}")
        return {key[len(self.prefix) :]: value for key, value in found.items()}

    def delete_by_prefix(self, prefix: str) -> None:
        """Take all values of the chain out whose keys begin with `prefix`."""
        self._cache.delete_by_prefix(f"{self.prefix}{prefix}")


def ttl_seconds(ttl: str) -> float | None:
    """Give the seconds that a time to live means; `None` for ever. Raises: EngineError: when it is no duration."""
    text = ttl.strip()
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if text in {"", "0"} or digits == "0":
        return None
    parts = go_parts_s(digits)
    if parts is None:
        raise EngineError(
            f"cache: invalid ttl {ttl[:_SHOWN_TTL]!r}", hint="write it as in '10m', '1h30m', '500ms'; '' is for ever"
        )
    seconds = sum(parts)
    return seconds if seconds > 0 and not text.startswith("-") else None


def _checked(key: str) -> str:
    if not key:
        raise EngineError("cache: key is empty")
    return key
