"""Questions of runs that are over: the node that asked is run again with the answer, in a new run, in any process."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

from catenary.errors import CatenaryError, PauseError
from catenary.pauses.refusing import named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.chain import Chain
    from catenary.clock import Timer
    from catenary.component import Context
    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.pauses.answers import Answer, Pause
    from catenary.pauses.waiting import Pauses
    from catenary.store.pauses import PauseStore, StoredPause

    Key = tuple[str, str, int]

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Watched:
    """A question whose time will be over.

    Attributes:
        pause: The question.
        taken_by: The run that goes on with it; empty while it is open.
        timer: Comes when its time is over; `None` when it has no end, or comes no more.
    """

    pause: Pause
    taken_by: str = ""
    timer: Timer | None = None


@dataclass(slots=True)
class Parked(Watched):
    """A question that is kept in memory.

    Attributes:
        chain: The chain of the node.
    """

    chain: Chain = field(kw_only=True)


class Parking:
    """The questions of runs that are over, as far as this engine asked them. Safe to use from many threads.

    When the time of one is over, its node is run again, so that it can say so and go on without the answer.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._gate = Lock()
        self._parked: dict[Key, Parked] = {}
        self._watched: list[Watched] = []
        self._expiring: set[asyncio.Task[None]] = set()

    def open(self) -> list[Pause]:
        """Give the questions that nobody has answered."""
        with self._gate:
            return [one.pause for one in self._parked.values() if not one.taken_by]

    def at(self, run_id: str, node_id: str, visit: int | None) -> list[Parked]:
        """Give the questions of a node in a run that is over."""
        with self._gate:
            found = list(self._parked.values())
        return [one for one in found if one.pause.key[:2] == (run_id, node_id) and visit in {None, one.pause.visit}]

    def add(self, pause: Pause, chain: Chain) -> None:
        """Keep a question; to be called on the event loop of its run."""
        parked = Parked(pause, chain=chain)
        with self._gate:
            self._parked[pause.key] = parked
        self._watch(parked)

    def watch_kept(self, pauses: Iterable[Pause]) -> None:
        """Have the time of questions of other processes be over as well; to be called on an event loop."""
        with self._gate:
            known = set(self._parked)
        for pause in pauses:
            if pause.kept is not None and pause.key not in known:
                self._watched.append(Watched(pause))
                self._watch(self._watched[-1])

    def _watch(self, parked: Watched) -> None:
        expires_ms, clock = parked.pause.expires_ms, self._engine.clock
        if expires_ms is not None:
            left_s = max((expires_ms - clock.time_ms()) / 1000, 0.0)
            parked.timer = clock.call_at(clock.monotonic() + left_s, self._expire, parked)

    def take(self, key: Key, run_id: str) -> bool:
        """Let a run go on with a question. Returns: whether nobody else does."""
        with self._gate:
            parked = self._parked.get(key)
            if parked is None or parked.taken_by:
                return False
            parked.taken_by = run_id
            return True

    def remove(self, key: Key) -> bool:
        """Take a question off the list. Returns: whether it was there."""
        with self._gate:
            parked = self._parked.pop(key, None)
        if parked is not None and parked.timer is not None:
            parked.timer.cancel()
        return parked is not None

    async def close(self) -> None:
        """Let no time be over any more, and wait for the nodes that say that theirs is."""
        with self._gate:
            parked = list(self._parked.values())
        for one in (*parked, *self._watched):
            if one.timer is not None:
                one.timer.cancel()
        await asyncio.gather(*self._expiring)

    def _expire(self, parked: Watched) -> None:
        parked.timer = None
        if not parked.taken_by:
            task = asyncio.ensure_future(self._say_late(parked.pause))
            self._expiring.add(task)
            task.add_done_callback(self._expiring.discard)

    async def _say_late(self, pause: Pause) -> None:
        from catenary.pauses.resuming import expire

        try:
            await expire(self._engine, pause)
        except CatenaryError as error:  # somebody was quicker, or the engine is closing
            _logger.debug("a question is over, and was not told so", extra={"run_id": pause.run_id, "why": str(error)})


class Resumed:
    """Laid into the scope of a run that goes on at a node that asked: the question, the answer, and what was kept.

    The node takes it once it has found the answer good. Until then the question stays open.

    Attributes:
        pause: The question; `pause.kept` is what the node kept.
        answer: The answer.
        run_id: The run that goes on.
        refusal: Why the answer came to nothing: another one was quicker. `None` while that is not known.
    """

    def __init__(
        self,
        pauses: Pauses,
        pause: Pause,
        answer: Answer,
        run_id: str,
        *,
        store: PauseStore | None = None,
        stored: StoredPause | None = None,
    ) -> None:
        self.pause = pause
        self.answer = answer
        self.refusal: PauseError | None = None
        self.run_id = run_id
        self._pauses = pauses
        self._store = store
        self._stored = stored
        self._is_read = False

    @property
    def is_late(self) -> bool:
        """Whether it is no answer, but tells that the time for one is over."""
        return self.answer.relation == self.pause.ask.late

    def read(self, ctx: Context) -> bool:
        """Tell whether a visit is the one that goes on; True once."""
        pause = self.pause
        is_it = not self._is_read and (ctx.chain_id, ctx.node_id) == (pause.chain_id, pause.node_id)
        self._is_read = self._is_read or is_it
        return is_it

    async def take(self) -> None:
        """Make the answer count. Raises: PauseError: when another one was quicker."""
        if self._store is not None and self._stored is not None:
            done = self._store.claim_parked(self._stored, self.answer, self.run_id)
            won = await asyncio.shield(asyncio.wrap_future(done))
        else:
            won = self._pauses.parking.take(self.pause.key, self.run_id)
        if not won:
            self.refusal = PauseError(f"{named(self.pause.key)} was answered already", hint="an answer counts once")
            raise self.refusal

    async def keep(self, kept: Json) -> None:
        """Write down what the node keeps, as far as it has come."""
        self.pause = replace(self.pause, kept=kept)
        if self._store is not None:
            await asyncio.shield(asyncio.wrap_future(self._store.keep_parked(self.pause)))

    async def finish(self, *, is_late: bool = False) -> None:
        """Say that the node is done with the answer, has asked anew, or goes on without one that came too late."""
        if self._store is not None:
            done = self._store.settle(self.pause.key, "expired" if is_late else "resumed", ("open", "answered"))
            await asyncio.shield(asyncio.wrap_future(done))
        self._pauses.forget_parked(self.pause.key, is_late=is_late)
