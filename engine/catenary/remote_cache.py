"""Caches outside of this process: what they are, and which one an address means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from catenary.cache import Cache
from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.jsontext import Json


class AwaitedCache(Protocol):
    """The operations of a `Cache` for those who can await them; what they take, give and raise is the same."""

    async def set(self, key: str, value: Json, ttl: str = "") -> None:
        """Store a value."""
        ...

    async def get(self, key: str) -> Json:
        """Give the value under a key. Raises: CacheMiss: when there is none."""
        ...

    async def has(self, key: str) -> bool:
        """Tell whether there is a value under a key."""
        ...

    async def delete(self, key: str) -> None:
        """Take a value out, if there is one."""
        ...

    async def get_by_prefix(self, prefix: str) -> dict[str, Json]:
        """Give all values whose keys begin with `prefix`, by key."""
        ...

    async def delete_by_prefix(self, prefix: str) -> None:
        """Take all values out whose keys begin with `prefix`."""
        ...


class RemoteCache(Cache, Protocol):
    """A `Cache` whose operations wait for another process, so that they must not be called on an event loop.

    Nodes use `awaited`. Scripts that use `$ctx` run in a thread when the engine has such a cache. Every operation may
    raise a `ResourceError`.
    """

    @property
    def awaited(self) -> AwaitedCache:
        """The operations, to be awaited on any event loop."""
        ...

    @property
    def secrets(self) -> Iterable[str]:
        """What must not be seen of its address."""
        ...

    def drop_soon(self, prefix: str) -> None:
        """Take all values out whose keys begin with `prefix`, without waiting until that is done."""
        ...

    def close(self) -> None:
        """Close the connections; waits at most a few seconds. May be called again."""
        ...


def awaited_of(cache: Cache) -> AwaitedCache | None:
    """Give the operations of a cache that are awaited; `None` when it is in memory and waits for nobody."""
    awaited: AwaitedCache | None = getattr(cache, "awaited", None)
    return awaited


def open_cache(url: str) -> RemoteCache:
    """Give the cache at an address: `redis://[[user]:password@]host:port/number`, `rediss://...` or `unix://path`.

    Nothing is connected yet.

    Raises:
        EngineError: When it is no such address, or the extra `redis` is not installed.
    """
    if not url.strip().lower().startswith(("redis://", "rediss://", "unix://")):
        hint = "write it as in redis://127.0.0.1:6379/0"
        raise EngineError("the address of the cache is none of redis://, rediss:// and unix://", hint=hint)
    from catenary.redis_cache import RedisCache

    return RedisCache(url.strip())
