"""What the nodes for the cache share: which keys they name, and asking a cache in memory or outside of the process."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from catenary import Template  # noqa: TC001 - read by pydantic
from catenary.cache import CacheMiss, ChainCache
from catenary.component import Config, Context, option
from catenary.remote_cache import awaited_of

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json

GLOBAL: Final = "global"
LEVEL_HELP: Final = "`global` for what all chains share; anything else is the chain's own part."


class CacheKey(Config):
    """One key of the cache, or all that begin with something."""

    level: str = option("chain", help=LEVEL_HELP, examples=["chain", "global"])
    key: Template = option(help="The key; with `*` at its end, all keys that begin so.", examples=["user:${msg.id}"])

    @property
    def is_prefix(self) -> bool:
        """Whether all keys that begin so are meant: the chain says so, never a value that a message brings."""
        return str(self.key.source or "").endswith("*")


class Caches:
    """The caches as one visit sees them.

    Args:
        ctx: The visit.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._awaited = awaited_of(ctx.global_cache)
        self._store: Any = self._awaited or ctx.global_cache
        self._prefix = ChainCache(ctx.global_cache, ctx.chain_id).prefix

    async def set(self, level: str, key: str, value: Json, ttl: str) -> None:
        """Store a value. Raises: ValueError: when the key is empty. EngineError: when `ttl` is no duration."""
        if not key:
            raise ValueError("key is empty")
        await self._asked("set", self._of(level) + key, value, ttl)

    async def get(self, level: str, key: str, *, is_prefix: bool) -> dict[str, Json]:
        """Give what is there, by key: one value, or all whose keys begin with what stands before the `*`."""
        prefix = self._of(level)
        if is_prefix:
            found = await self._asked("get_by_prefix", prefix + key[:-1])
            return {name[len(prefix) :]: value for name, value in found.items()}
        try:
            return {key: await self._asked("get", prefix + key)}
        except CacheMiss:
            return {}

    async def delete(self, level: str, key: str, *, is_prefix: bool) -> None:
        """Take out one value, or all whose keys begin with what stands before the `*`."""
        if is_prefix:
            await self._asked("delete_by_prefix", self._of(level) + key[:-1])
        else:
            await self._asked("delete", self._of(level) + key)

    def _of(self, level: str) -> str:
        return "" if level.strip() == GLOBAL else self._prefix

    async def _asked(self, operation: str, *args: Any) -> Any:
        if self._awaited is not None:
            await self._ctx.need_loop()
        result = getattr(self._store, operation)(*args)
        return await result if inspect.isawaitable(result) else result


def key_of(one: CacheKey, msg: Message, ctx: Any) -> str:
    """Give the key for a message. Raises: ValueError: when it is empty."""
    key = one.key.render(msg, ctx)
    if not key:
        raise ValueError("key is empty")
    return key
