"""The pauses of an engine: nodes that wait for an answer from outside, and how they get it."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

from catenary.errors import PauseError
from catenary.pauses.answers import Answer, Pause
from catenary.pauses.joins import KeptJoins
from catenary.runtime.held import ANSWERED, CANCELLED, EXPIRED, OPEN, SUSPENDED, Held, holding_joins, suspend

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from catenary.chain import Chain
    from catenary.component import Context
    from catenary.engine import Engine
    from catenary.message import Message
    from catenary.pauses.answers import Ask
    from catenary.runtime.held import State
    from catenary.store import Database
    from catenary.store.pauses import PauseStore
    from catenary.store.pickup import Pickup

    Key = tuple[str, str, int]

FutureT = TypeVar("FutureT")
_REMEMBERED: Final = 1000
"""How many pauses that are over are remembered, to tell what became of them."""


class _Visits(dict[str, int]):
    """How often each node of a run that may pause was visited; lies in the scope of the run at the top."""


class Carried(dict[str, list[int | None]]):
    """When the time of questions is over that another run asked before, by node in order; in the scope of a run."""


class Pauses:
    """All open pauses of an engine, in the order in which they began. Safe to use from many threads.

    Args:
        engine: The engine. When it has a history in a file, pauses are kept there, and other processes can answer.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._gate = Lock()
        self._opening = Lock()
        self._held: dict[Key, Held] = {}
        self._over: OrderedDict[Key, str] = OrderedDict()
        self._store: PauseStore | None = None
        self._pickup: Pickup | None = None
        self._joins = KeptJoins()
        self._listeners: list[Callable[[Pause], None]] = []
        history = getattr(engine, "history", None)
        self._place: Database | str | Path | None = getattr(getattr(history, "store", None), "database", None)

    def __iter__(self) -> Iterator[Pause]:
        with self._gate:
            held = list(self._held.values())
        return iter([one.pause for one in held if one.state is OPEN])

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
        self._place = place

    @property
    def store(self) -> PauseStore | None:
        """Where pauses are kept, if they are; opened when it is first asked for, which blocks.

        Raises:
            StoreError: When the file cannot be opened.
        """
        with self._opening:
            if self._store is None and self._place is not None:
                from catenary.store import Database
                from catenary.store.pauses import PauseStore
                from catenary.store.pickup import Pickup

                place = self._place
                database = place if isinstance(place, Database) else Database(place)
                self._store = PauseStore(database)
                self._pickup = Pickup(self._store, self._deliver, self._keep_joins)
            return self._store

    def _deliver(self, key: Key, answer: Answer) -> None:
        with self._gate:
            held = self._held.get(key)
        if held is not None:
            self._settle(held, ANSWERED, answer)

    def _keep_joins(self, store: PauseStore) -> None:
        with self._gate:
            runs = {held.pause.run_id: held.root for held in self._held.values()}
        for run in runs.values():
            self._joins.keep(store, run)

    # What a node does

    async def wait(self, ctx: Context, ask: Ask, message: Message) -> tuple[str, Message]:
        """Wait for the answer to a question; for the `run` of a component.

        Args:
            ctx: The context of the visit.
            ask: The question.
            message: The message that waits.

        Returns:
            The way on, and the message with the answer; `ask.late` and the message itself when the time was over.

        Raises:
            CancelledError: When the run is stopped, or put off until a later process answers.
            StoreError: When the pause cannot be written down.
        """
        await ctx.need_loop()
        pause = self._pause(ctx, ask, message)
        held = Held(pause, ctx)
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
        try:
            ctx.notify("wait.open", **_shown(held.pause))
            for listener in self._listeners:
                listener(held.pause)
            if held.chain.stopping:
                suspend(held, self._settle)
            await held.settled(ctx.clock)
            if held.state is OPEN:
                await self._expire(held)
        finally:
            self._leave(held)

    def _pause(self, ctx: Context, ask: Ask, message: Message) -> Pause:
        run = ctx._run
        assert run is not None
        masked = ctx.chain.engine.masker.text
        ask = replace(ask, title=masked(ask.title), prompt=masked(ask.prompt))
        now = ctx.clock.time_ms()
        expires = None if ask.timeout_s is None else now + round(ask.timeout_s * 1000)
        carried = run.root.scope.get(Carried) if run.parent is None else None
        if carried and carried.get(ctx.node_id):
            expires = carried[ctx.node_id].pop(0)
        inside = ""
        if run.parent is not None:
            inside = "it waits inside a loop, a group or a chain that another node runs"
        elif ctx._crew is not None and ctx._crew.depth:
            inside = "it waits behind a node that is still sending"
        return Pause(
            run_id=ctx.run_id,
            chain_id=ctx.chain_id,
            chain_version=ctx.chain.version,
            node_id=ctx.node_id,
            visit=_next_visit(ctx),
            ask=ask,
            message=message,
            since_ms=now,
            expires_ms=expires,
            inside=inside,
        )

    async def _begin(self, held: Held, ctx: Context) -> None:
        key = held.pause.key
        store = self._store
        if store is None and self._place is not None:
            store = await asyncio.to_thread(lambda: self.store)
        if store is not None:
            try:
                written = store.open(held.pause, ctx.chain)
                self._joins.keep(store, held.root)
                await _written(written)
            except CancelledError:
                store.note(key, CANCELLED, (OPEN, ANSWERED))
                raise
        with self._gate:
            self._held[key] = held
            if self._pickup is not None:
                self._pickup.begin()

    async def _expire(self, held: Held) -> None:
        """Let the time be over, unless an answer is in the store already."""
        store, key = self._store, held.pause.key
        if store is None or await _written(store.settle(key, EXPIRED, (OPEN,))):
            self._settle(held, EXPIRED)
            return
        answer = dict(await asyncio.to_thread(store.answers)).get(key)
        if answer is not None:
            self._settle(held, ANSWERED, answer)

    def _leave(self, held: Held) -> None:
        """Take a pause off the list when its node waits no more, for whatever reason."""
        self._settle(held, SUSPENDED if held.is_put_off else CANCELLED)
        key, store = held.pause.key, self._store
        with self._gate:
            self._held.pop(key, None)
            if store is None or held.state is not SUSPENDED:
                self._over[key] = _fate(held)
            while len(self._over) > _REMEMBERED:
                self._over.popitem(last=False)
            if self._pickup is not None and not self._held:
                self._pickup.end()
        if store is not None and held.state is ANSWERED:
            store.note(key, "done", (ANSWERED,))
        elif store is not None and held.state is CANCELLED:
            store.note(key, CANCELLED, (OPEN, ANSWERED))
        elif store is not None and held.state is SUSPENDED:
            self._joins.keep(store, held.root)
            store.release(key)
        if not self.of(held.pause.run_id):
            self._joins.forget(held.root)
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
        pause, store = held.pause, self._store
        pause.ask.check(answer, pause.message)
        if held.is_late(self._engine.clock):
            raise PauseError(f"{named(pause.key)} is over: nobody answered in time")
        if store is None:
            if not self._settle(held, ANSWERED, answer):
                raise _over(pause.key, _fate(held))
        elif store.answer(pause.key, answer):
            self._settle(held, ANSWERED, answer)  # unless it was picked up from the store meanwhile
        else:
            raise _over(pause.key, "is over: somebody else was quicker")
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
            raise _over(*over[-1])
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
        if self._pickup is not None:
            self._pickup.end()
        store, self._store = self._store, None
        if store is not None:
            await asyncio.to_thread(store.close)
            if store.database is not self._place:
                await asyncio.to_thread(store.database.close)


async def _written(result: Future[FutureT]) -> FutureT:
    """Wait for the store; what it was told to write is written also when nobody waits any more."""
    return await asyncio.shield(asyncio.wrap_future(result))


def _fits(key: Key, run_id: str, node_id: str, visit: int | None) -> bool:
    return key[:2] == (run_id, node_id) and visit in {None, key[2]}


def _next_visit(ctx: Context) -> int:
    """Count a visit of a node that may pause, also in a run that nobody watches."""
    assert ctx._run is not None
    scope = ctx._run.root.scope
    visits = scope.get(_Visits)
    if visits is None:
        visits = _Visits()
        scope.set(visits)
    visits[ctx.node_id] = visits.get(ctx.node_id, 0) + 1
    return visits[ctx.node_id]


def _shown(pause: Pause) -> dict[str, Any]:
    """Give what the event of a pause carries."""
    written = pause.to_dict()
    for name in ("runId", "chainId", "chainVersion", "nodeId", "message"):
        del written[name]
    return written


def named(key: Key) -> str:
    """Name a pause in an error."""
    run_id, node_id, visit = key
    return f"the pause at node {node_id!r} (visit {visit}) of run {run_id}"


def _fate(held: Held) -> str:
    if held.state is ANSWERED and held.answer is not None:
        return f"was answered already{f' by {held.answer.answerer}' if held.answer.answerer else ''}"
    return {EXPIRED: "is over: nobody answered in time", CANCELLED: "is over: its run was stopped"}.get(
        held.state, "is over: its run was put off"
    )


def _over(key: Key, fate: str) -> PauseError:
    return PauseError(f"{named(key)} {fate}", hint="an answer counts once; nothing was changed")


def several(run_id: str, node_id: str, visits: Iterable[int]) -> PauseError:
    """Give the error for a node of which several visits wait."""
    return PauseError(
        f"node {node_id!r} of run {run_id} waits several times: visits {', '.join(map(str, visits))}",
        hint="say which visit is meant (visit=..., on the command line --visit N)",
    )


def unknown(run_id: str, node_id: str, visit: int | None, known: Iterable[Pause]) -> PauseError:
    """Give the error for a pause that is not there."""
    said = f" at its visit {visit}" if visit is not None else ""
    pauses = ", ".join(f"{pause.node_id!r} of run {pause.run_id}" for pause in known) or "none"
    return PauseError(f"node {node_id!r} of run {run_id} does not wait{said}", hint=f"open pauses: {pauses}")
