"""Sessions in a Redis server."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import ResourceError
from catenary.jsontext import loads
from catenary.redis_cache import RedisCache, all_below
from catenary_components.ai.sessions.store import (
    DamagedRecord,
    Record,
    check_key,
    check_version,
    is_set_aside,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX: Final = "catenary:session:"
_AT_ONCE: Final = 500

SAVE: Final = """
local version = tonumber(redis.call('HGET', KEYS[1], 'version') or '0')
if redis.call('HGET', KEYS[1], 'writer') == ARGV[3] then return {version, 1} end
local expected = tonumber(ARGV[1])
if expected ~= -1 and expected ~= version then return {version, 0} end
redis.call('HSET', KEYS[1], 'version', version + 1, 'state', ARGV[2], 'writer', ARGV[3])
return {version + 1, 1}
"""
"""Compares the version and writes. A command may be sent twice: each try of one save has the same writer."""


class RedisStore:
    """A `SessionStore` in Redis: each session is a hash with `version`, `state` and `writer` under a prefixed key.

    Args:
        url: See `RedisCache`.
        timeout_s: Longest time for one operation, with connecting, in seconds.

    Raises:
        EngineError: When the extra `redis` is not installed, or the address cannot be read.
    """

    def __init__(self, url: str, *, timeout_s: float = 30.0) -> None:
        self._cache = RedisCache(url, timeout_s=timeout_s)
        self._place = repr(self._cache)

    @property
    def place(self) -> str:
        """The server."""
        return f"redis:{self._place}"

    @property
    def secrets(self) -> Iterable[str]:
        """What must not be seen of the address."""
        return self._cache.secrets

    async def load(self, key: str) -> Record | None:
        """Read a hash, see `SessionStore.load`."""
        found: list[Any] = await self._ask("hmget", PREFIX + key, ["version", "state"])
        if found == [None, None]:
            return None
        try:
            return Record(int(found[0]), loads(found[1]))
        except (TypeError, ValueError, RecursionError) as error:
            raise DamagedRecord(f"it is no session: {error}") from None

    async def save(self, key: str, text: str, expected: int) -> int:
        """Write a hash, see `SessionStore.save`."""
        name = PREFIX + check_key(key)
        version, is_saved = await self._ask("eval", SAVE, 1, name, expected, text, uuid.uuid4().hex)
        if not is_saved:
            check_version(key, expected, version)
        return version

    async def delete(self, key: str) -> bool:
        """Take a hash out, see `SessionStore.delete`."""
        return bool(await self._ask("unlink", PREFIX + key))

    async def set_aside(self, key: str, suffix: str) -> str:
        """Rename a hash, see `SessionStore.set_aside`."""
        await self._ask("rename", PREFIX + key, PREFIX + key + suffix)
        return PREFIX + key + suffix

    async def keys(self, prefix: str = "") -> list[str]:
        """Go over the keys, see `SessionStore.keys`."""
        pattern = all_below(PREFIX + prefix)
        found: set[str] = set()
        cursor: Any = None
        while cursor != 0:
            cursor, names = await self._ask("scan", cursor or 0, match=pattern, count=_AT_ONCE)
            found.update(name.decode()[len(PREFIX) :] for name in names)
        return sorted(key for key in found if not is_set_aside(key))

    async def close(self) -> None:
        """Close the connections; the next use connects anew."""
        import asyncio

        await asyncio.to_thread(self._cache.close)

    async def _ask(self, command: str, *args: Any, **options: Any) -> Any:
        try:
            return await self._cache.awaited.ask(command, *args, **options)
        except ResourceError as error:
            error.args = (str(error).replace("the cache at", "the sessions at"),)
            raise
