"""The pauses of an engine: nodes that wait for an answer from outside, and how they get it."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Final

from catenary.errors import CatenaryError, PauseError
from catenary.pauses.coming import Coming
from catenary.pauses.filing import PauseFile
from catenary.pauses.making import pause_of, place_of, shown
from catenary.pauses.parking import Parking
from catenary.pauses.refusing import fate_of, named, over_already, several, unknown
from catenary.runtime.held import ANSWERED, CANCELLED, EXPIRED, OPEN, SUSPENDED, Held, holding_joins, suspend

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from catenary.chain import Chain
    from catenary.component import Context
    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.pauses.answers import Answer, Ask, Pause
    from catenary.runtime.held import State
    from catenary.runtime.run import Run
    from catenary.store import Database
    from catenary.store.pauses import PauseStore

    Key = tuple[str, str, int]

_REMEMBERED: Final = 1000
"""How many pauses that are over are remembered, to tell what became of them."""


class Pauses:
    """All open pauses of an engine, in the order in which they began. Safe to use from many threads.

    Args:
        engine: The engine. When it has a history in a file, pauses are kept there, and other processes can answer.

    Attributes:
        parking: The questions of runs that are over, as far as this engine asked them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._gate = Lock()
        self._held: dict[Key, Held] = {}
        self._over: OrderedDict[Key, str] = OrderedDict()
        self.parking = Parking(engine)
        self.coming = Coming()
        self._listeners: list[Callable[[Pause], None]] = []
        history = getattr(engine, "history", None)
        place: Database | None = getattr(getattr(history, "store", None), "database", None)
        self._file = PauseFile(place, self._deliver, self._waiting_runs)

    def __iter__(self) -> Iterator[Pause]:
        return iter([*self.held(), *self.parking.open()])

    def held(self) -> list[Pause]:
        """Give the open pauses of runs that are going on."""
        with self._gate:
            held = list(self._held.values())
        return [one.pause for one in held if one.state is OPEN]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of(self, run_id: str) -> list[Pause]:
        """Give the open pauses of a run."""
        return [pause for pause in self if pause.run_id == run_id]

    def on_open(self, listener: Callable[[Pause], None]) -> None:
        """Have a listener called with each pause from now on, on the event loop of its run, when the node waits."""
        self._listeners.append(listener)

    # The store

    def keep_in(self, place: Database | str | Path) -> None:
        """Keep pauses in a file from now on, so that other processes can answer them, also when this one is gone.

        Args:
            place: The file, which is opened when the first node waits, and closed with the engine; or one that is
                open already, and stays so.
        """
        self._file.place = place

    @property
    def store(self) -> PauseStore | None:
        """Where pauses are kept, if they are; opened when it is first asked for, which blocks.

        Raises:
            StoreError: When the file cannot be opened.
        """
        return self._file.store

    @property
    def is_kept(self) -> bool:
        """True when there is a file in which pauses are kept: one that nobody has written to is not made."""
        return self._file.is_there

    def _deliver(self, key: Key, answer: Answer) -> None:
        with self._gate:
            held = self._held.get(key)
        if held is not None and self._is_one(held, answer):
            self._settle(held, ANSWERED, answer)

    def _is_one(self, held: Held, answer: Answer) -> bool:
        """Look at an answer of another process, which knows nothing of the node; it gets back what is none."""
        try:
            if held.check is not None:
                held.check(answer)
        except CatenaryError as error:
            self._file.refuse(held.pause.key, str(error))
            return False
        return True

    def _waiting_runs(self) -> Collection[Run]:
        with self._gate:
            return {held.pause.run_id: held.root for held in self._held.values()}.values()

    # Questions of runs that are over

    @staticmethod
    def is_inside(ctx: Context) -> str:
        """Say in what a visit is run, when no other process could go on from there; empty when one could."""
        return place_of(ctx)

    async def park(self, ctx: Context, ask: Ask, message: Message, kept: Json) -> Pause:
        """Keep a question beyond the end of its run: the node is run again with the answer (`Resumed`).

        Args:
            ctx: The context of the visit.
            ask: The question. When its time is over, the node is run again with the relation `ask.late` as the answer.
            message: What the node is run with again.
            kept: What the node keeps.

        Raises:
            StoreError: When it cannot be written down.
        """
        pause = replace(pause_of(ctx, ask, message), kept=kept)
        await self._file.park(pause, ctx.chain)
        self.parking.add(pause, ctx.chain)
        for listener in self._listeners:
            listener(pause)
        return pause

    async def watch_kept(self) -> None:
        """Have the time be over, from now on, also of questions in the file whose processes are gone; for servers."""
        if self.is_kept:
            self.parking.watch_kept(await self._file.waiting())

    async def settle_parked(self, key: Key) -> None:
        """Close a question that was answered on another way."""
        await self._file.settle(key)
        self.forget_parked(key)

    def forget_parked(self, key: Key, *, is_late: bool = False) -> None:
        """Take a question off the list: it was answered, or its time is over."""
        if self.parking.remove(key):
            with self._gate:
                self._over[key] = "is over: nobody answered in time" if is_late else "was answered already"

    # What a node does

    async def wait(
        self, ctx: Context, ask: Ask, message: Message, check: Callable[[Answer], object] | None = None
    ) -> tuple[str, Message]:
        """Wait for the answer to a question; for the `run` of a component.

        Args:
            ctx: The context of the visit.
            ask: The question.
            message: The message that waits.
            check: Looks at an answer, in whatever thread; what it raises refuses the answer for whoever gave it, in
                another process as well, and the node goes on waiting.

        Returns:
            The way on, and the message with the answer; `ask.late` and the message itself when the time was over.

        Raises:
            CancelledError: When the run is stopped, or put off until a later process answers.
            StoreError: When the pause cannot be written down.
        """
        await ctx.need_loop()
        pause = pause_of(ctx, ask, message)
        held = Held(pause, ctx, check)
        with holding_joins(ctx):
            await self._hold(held, ctx)
        if held.state is EXPIRED:
            ctx.notify("wait.expired", visit=pause.visit)
            return ask.late, message
        answer = held.answer
        if answer is None:
            raise CancelledError
        relation, message = ask.apply(answer, message)
        ctx.notify("wait.answered", visit=pause.visit, relation=relation, answerer=answer.answerer, note=answer.note)
        return relation, message

    async def _hold(self, held: Held, ctx: Context) -> None:
        """Keep a pause until it is over, for whatever reason."""
        await self._begin(held, ctx)
        self.coming.settle(ctx)
        try:
            ctx.notify("wait.open", **shown(held.pause))
            for listener in self._listeners:
                listener(held.pause)
            if held.chain.stopping:
                suspend(held, self._settle)
            await held.settled(ctx.clock)
            if held.state is OPEN:
                await self._expire(held)
        finally:
            self._leave(held)

    async def _begin(self, held: Held, ctx: Context) -> None:
        await self._file.begin(held, ctx.chain)
        with self._gate:
            self._held[held.pause.key] = held
            self._file.look()

    async def _expire(self, held: Held) -> None:
        """Let the time be over, unless an answer is in the store already."""
        is_over, answer = await self._file.expire(held.pause.key)
        if answer is not None and not self._is_one(held, answer):
            is_over, answer = await self._file.expire(held.pause.key)
        if is_over:
            self._settle(held, EXPIRED)
        elif answer is not None:
            self._settle(held, ANSWERED, answer)

    def _leave(self, held: Held) -> None:
        """Take a pause off the list when its node waits no more, for whatever reason."""
        self._settle(held, SUSPENDED if held.is_put_off else CANCELLED)
        key = held.pause.key
        with self._gate:
            self._held.pop(key, None)
            if self._file.opened is None or held.state is not SUSPENDED:
                self._over[key] = fate_of(held)
            while len(self._over) > _REMEMBERED:
                self._over.popitem(last=False)
            if not self._held:
                self._file.look_no_more()
        self._file.leave(held, is_last=not any(pause.run_id == held.pause.run_id for pause in self.held()))
        held.leave()

    # What others do

    def answer(self, run_id: str, node_id: str, visit: int | None, answer: Answer) -> Pause:
        """Answer a pause of this engine, from whatever thread; the run goes on by itself. With a store, it blocks.

        Args:
            run_id: The run.
            node_id: The node that waits.
            visit: Which visit of the node is meant; may be absent when only one of them waits.
            answer: The answer.

        Returns:
            The pause that was answered.

        Raises:
            PauseError: When nothing waits there, when several do, or when it was answered already.
            AnswererRefused, AnswerInvalid: When the answer is none; the pause stays open.
        """
        held = self._find(run_id, node_id, visit)
        pause, store = held.pause, self._file.opened
        pause.ask.check(answer, pause.message)
        if held.check is not None:
            held.check(answer)
        if held.is_late(self._engine.clock):
            raise PauseError(f"{named(pause.key)} is over: nobody answered in time")
        if store is None:
            if not self._settle(held, ANSWERED, answer):
                raise over_already(pause.key, fate_of(held))
        elif store.answer(pause.key, answer):
            self._settle(held, ANSWERED, answer)  # unless it was picked up from the store meanwhile
        else:
            raise over_already(pause.key, "is over: somebody else was quicker")
        return pause

    def holds(self, run_id: str, node_id: str, visit: int | None) -> bool:
        """Tell whether this engine knows of such a pause, open or over."""
        with self._gate:
            return any(_fits(key, run_id, node_id, visit) for key in (*self._held, *self._over))

    def _settle(self, held: Held, state: State, answer: Answer | None = None) -> bool:
        """Let one of those who end a pause win. Returns: whether it was this one."""
        with self._gate:
            if held.state is not OPEN:
                return False
            held.state, held.answer = state, answer
        held.wake()
        return True

    def _find(self, run_id: str, node_id: str, visit: int | None) -> Held:
        with self._gate:
            found = [held for key, held in self._held.items() if _fits(key, run_id, node_id, visit)]
            over = [(key, fate) for key, fate in self._over.items() if _fits(key, run_id, node_id, visit)]
        if len(found) == 1:
            return found[0]
        if found:
            raise several(run_id, node_id, [held.pause.visit for held in found])
        if over:
            raise over_already(*over[-1])
        raise unknown(run_id, node_id, visit, self)

    # Life

    async def put_off(self, run_id: str = "", *, chains: Collection[Chain] | None = None) -> None:
        """Put off the runs that wait, or some of them: they end as paused. Comes back when none of them waits any more.

        With a store, another process can answer then, and takes the run up behind the node.

        Args:
            run_id: Only this run.
            chains: Only runs of these.
        """
        with self._gate:
            waiting = [held for held in self._held.values() if run_id in {"", held.pause.run_id}]
        if chains is not None:
            waiting = [held for held in waiting if held.chain in chains]
        for held in waiting:
            held.call(suspend, held, self._settle)
        for held in waiting:
            await asyncio.shield(asyncio.wrap_future(held.gone))

    async def close(self) -> None:
        """Put off all runs that wait, and let go of those that are in the store."""
        await self.put_off()
        await self.parking.close()
        await self._file.close()


def _fits(key: Key, run_id: str, node_id: str, visit: int | None) -> bool:
    return key[:2] == (run_id, node_id) and visit in {None, key[2]}
