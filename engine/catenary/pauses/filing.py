"""The file in which an engine keeps its pauses, if it has one, so that other processes can answer them."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from catenary.pauses.joins import KeptJoins
from catenary.runtime.held import ANSWERED, CANCELLED, EXPIRED, OPEN, SUSPENDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from catenary.chain import Chain
    from catenary.pauses.answers import Answer, Pause
    from catenary.runtime.held import Held
    from catenary.runtime.run import Run
    from catenary.store import Database
    from catenary.store.pauses import Key, PauseStore
    from catenary.store.pickup import Pickup

FutureT = TypeVar("FutureT")


class PauseFile:
    """Writes down pauses and what becomes of them; does nothing while there is no file. Safe to use from many threads.

    Args:
        place: The file, or one that is open already; `None` for none so far.
        deliver: Gets the answers that other processes have given, in a thread; one may come more than once.
        waiting: Gives the runs that wait.

    Attributes:
        place: See above; a file is opened when it is needed first, one that was open stays so.
    """

    def __init__(
        self,
        place: Database | str | Path | None,
        deliver: Callable[[Key, Answer], None],
        waiting: Callable[[], Iterable[Run]],
    ) -> None:
        self.place = place
        self._deliver = deliver
        self._waiting = waiting
        self._opening = Lock()
        self._store: PauseStore | None = None
        self._pickup: Pickup | None = None
        self._joins = KeptJoins()

    @property
    def opened(self) -> PauseStore | None:
        """The store, if it was opened."""
        return self._store

    @property
    def store(self) -> PauseStore | None:
        """The store, opened when it is first asked for, which blocks. Raises: StoreError: when it cannot be."""
        with self._opening:
            if self._store is None and self.place is not None:
                from catenary.store import Database
                from catenary.store.pauses import PauseStore
                from catenary.store.pickup import Pickup

                place = self.place
                database = place if isinstance(place, Database) else Database(place)
                self._store = PauseStore(database)
                self._pickup = Pickup(self._store, self._deliver, self._keep_joins)
            return self._store

    @property
    def is_there(self) -> bool:
        """True when there is a file: one that nobody has written to is not made."""
        place = self.place
        return place is not None and (not isinstance(place, (str, Path)) or Path(place).exists())

    async def open(self) -> PauseStore | None:
        """Give the store, opened without blocking."""
        if self._store is None and self.place is not None:
            return await asyncio.to_thread(lambda: self.store)
        return self._store

    async def close(self) -> None:
        """Let go of it; a file that was open before stays so."""
        self.look_no_more()
        store, self._store = self._store, None
        if store is not None:
            await asyncio.to_thread(store.close)
            if store.database is not self.place:
                await asyncio.to_thread(store.database.close)

    # One pause

    async def begin(self, held: Held, chain: Chain) -> None:
        """Write down a node that begins to wait, and what has arrived at the joins of its run."""
        store = await self.open()
        if store is None:
            return
        try:
            written = store.open(held.pause, chain)
            self._joins.keep(store, held.root)
            await _written(written)
        except CancelledError:
            store.note(held.pause.key, CANCELLED, (OPEN, ANSWERED))
            raise

    async def park(self, pause: Pause, chain: Chain) -> None:
        """Write down a question that outlives its run."""
        store = await self.open()
        if store is not None:
            await _written(store.open(pause, chain))

    async def settle(self, key: Key) -> None:
        """Write down that a question was answered on another way."""
        store = await self.open()
        if store is not None:
            await _written(store.settle(key, "resumed", (OPEN, ANSWERED)))

    async def waiting(self) -> list[Pause]:
        """Give the questions in the file that are open."""
        store = await self.open() if self.is_there else None
        if store is None:
            return []
        return [one.pause for one in await asyncio.to_thread(store.waiting) if one.state == OPEN]

    async def expire(self, key: Key) -> tuple[bool, Answer | None]:
        """Let the time of a pause be over. Returns: whether it is, and else the answer that came before."""
        store = self._store
        if store is None or await _written(store.settle(key, EXPIRED, (OPEN,))):
            return True, None
        return False, dict(await asyncio.to_thread(store.answers)).get(key)

    def refuse(self, key: Key, reason: str) -> None:
        """Give an answer of another process back to it."""
        if self._store is not None:
            self._store.refuse(key, reason)

    def leave(self, held: Held, *, is_last: bool) -> None:
        """Write down what became of a node that waits no more.

        Args:
            held: The node.
            is_last: Whether nothing else of its run waits.
        """
        key, store = held.pause.key, self._store
        if store is not None and held.state is ANSWERED:
            store.note(key, "done", (ANSWERED,))
        elif store is not None and held.state is CANCELLED:
            store.note(key, CANCELLED, (OPEN, ANSWERED))
        elif store is not None and held.state is SUSPENDED:
            self._joins.keep(store, held.root)
            store.release(key)
        if is_last:
            self._joins.forget(held.root)

    # All of them

    def look(self) -> None:
        """Look for answers of other processes from now on."""
        if self._pickup is not None:
            self._pickup.begin()

    def look_no_more(self) -> None:
        """Look for them no more."""
        if self._pickup is not None:
            self._pickup.end()

    def _keep_joins(self, store: PauseStore) -> None:
        for run in self._waiting():
            self._joins.keep(store, run)


async def _written(result: Future[FutureT]) -> FutureT:
    """Wait for the store; what it was told to write is written also when nobody waits any more."""
    return await asyncio.shield(asyncio.wrap_future(result))
