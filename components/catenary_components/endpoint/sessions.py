"""Who is connected to an endpoint, under which key, and how something is sent to them."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from catenary import ResourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALL: Final = "*"
"""The target that stands for everybody."""


class Session(Protocol):
    """One connection of a client."""

    async def push(self, data: str | bytes) -> None:
        """Send something to the client. Raises: OSError: when it cannot be delivered."""
        ...


SessionT = TypeVar("SessionT", bound=Session)


class Sessions(Generic[SessionT]):
    """The connections of an endpoint by their key. Several may have the same one: all of them are sent to.

    It belongs to the event loop it is first used on; `push` may be awaited on any.

    Args:
        ttl_s: Seconds after the last sign of life at which a connection is no longer sent to, until there is another
            one; 0 for never.
        now: Gives the time in seconds.
    """

    def __init__(self, ttl_s: float = 0.0, now: Callable[[], float] = monotonic) -> None:
        self.ttl_s = ttl_s
        self._now = now
        self._seen: dict[SessionT, float] = {}
        self._keys: dict[SessionT, str] = {}
        self._by_key: dict[str, dict[SessionT, None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[SessionT]:
        return iter(list(self._seen))

    def join(self, session: SessionT, key: str = "") -> None:
        """Take up a connection; without a key it is sent to only when everybody is."""
        self._loop = asyncio.get_running_loop()
        self._seen[session] = self._now()
        if key:
            self.name(session, key)

    def name(self, session: SessionT, key: str) -> None:
        """Give a connection its key, in the place of the one it has."""
        self._unname(session)
        self._keys[session] = key
        self._by_key.setdefault(key, {})[session] = None

    def key_of(self, session: SessionT) -> str:
        """Give the key of a connection; empty when it has none."""
        return self._keys.get(session, "")

    def alive(self, session: SessionT) -> None:
        """Take note of a sign of life."""
        if session in self._seen:
            self._seen[session] = self._now()

    def leave(self, session: SessionT) -> None:
        """Forget a connection; nothing happens when it is not there."""
        self._unname(session)
        self._seen.pop(session, None)

    def matching(self, target: str) -> list[SessionT]:
        """Give the connections that a target stands for: a key; `*` or nothing for all."""
        found = self._seen if target in {"", ALL} else self._by_key.get(target, {})
        if not self.ttl_s:
            return list(found)
        oldest = self._now() - self.ttl_s
        return [session for session in found if self._seen[session] >= oldest]

    async def push(self, target: str, data: str | bytes) -> None:
        """Send something to all whom a target stands for, at once; who is slow keeps nobody else waiting.

        Raises:
            ResourceError: When nobody got it.
        """
        loop = self._loop
        if loop is asyncio.get_running_loop():
            got = await self._push(target, data)
        elif loop is not None and loop.is_running():  # a run of another thread
            got = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._push(target, data), loop))
        else:
            got = False
        if not got:
            raise ResourceError(
                f"no session matched target={target or ALL}",
                hint="nobody is connected under this key; the endpoint's `sessionKey` says which keys there are",
            )

    async def _push(self, target: str, data: str | bytes) -> bool:
        return any(await asyncio.gather(*[_delivered(session, data) for session in self.matching(target)]))

    def _unname(self, session: SessionT) -> None:
        key = self._keys.pop(session, "")
        named = self._by_key.get(key)
        if named is not None:
            named.pop(session, None)
            if not named:
                del self._by_key[key]


async def _delivered(session: Session, data: str | bytes) -> bool:
    try:
        await session.push(data)
    except OSError:
        return False
    return True
