"""The pauses of an engine: nodes that wait for an answer from outside, and how they get it."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from catenary.answers import Answer, Pause
from catenary.errors import PauseError
from catenary.runtime.held import ANSWERED, CANCELLED, EXPIRED, OPEN, Held, suspend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from catenary.answers import Ask
    from catenary.component import Context
    from catenary.engine import Engine
    from catenary.message import Message
    from catenary.runtime.held import State

    Key = tuple[str, str, int]

_REMEMBERED: Final = 1000
"""How many pauses that are over are remembered, to tell what became of them."""


class _Visits(dict[str, int]):
    """How often each node of a run that may pause was visited; lies in the scope of the run at the top."""


class Pauses:
    """All open pauses of an engine, in the order in which they began. Safe to use from many threads.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._gate = Lock()
        self._held: dict[Key, Held] = {}
        self._over: OrderedDict[Key, str] = OrderedDict()

    def __iter__(self) -> Iterator[Pause]:
        with self._gate:
            held = list(self._held.values())
        return iter([one.pause for one in held if one.state is OPEN])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of(self, run_id: str) -> list[Pause]:
        """Give the open pauses of a run."""
        return [pause for pause in self if pause.run_id == run_id]

    # What a node does

    async def wait(self, ctx: Context, ask: Ask, message: Message) -> tuple[str, Message] | None:
        """Wait for the answer to a question; for the `run` of a component.

        Args:
            ctx: The context of the visit.
            ask: The question.
            message: The message that waits.

        Returns:
            The way on and the message with the answer, or `None` when the time was over before there was one.

        Raises:
            CancelledError: When the run is stopped, or put off until a later process answers.
        """
        await ctx.need_loop()
        held = Held(self._pause(ctx, ask, message), ctx)
        await self._begin(held)
        try:
            ctx.notify("wait.open", **_shown(held.pause))
            await held.settled(ctx.clock)
            if held.state is OPEN:
                await self._expire(held)
        finally:
            self._leave(held)
        return self._result(ctx, held)

    def _result(self, ctx: Context, held: Held) -> tuple[str, Message] | None:
        pause, answer = held.pause, held.answer
        if held.state is EXPIRED:
            ctx.notify("wait.expired", visit=pause.visit)
            return None
        if answer is None:
            raise CancelledError
        relation, message = pause.ask.apply(answer, pause.message)
        ctx.notify("wait.answered", visit=pause.visit, relation=relation, answerer=answer.answerer, note=answer.note)
        return relation, message

    def _pause(self, ctx: Context, ask: Ask, message: Message) -> Pause:
        run = ctx._run
        assert run is not None
        now = ctx.clock.time_ms()
        expires = None if ask.timeout_s is None else now + round(ask.timeout_s * 1000)
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

    async def _begin(self, held: Held) -> None:
        with self._gate:
            self._held[held.pause.key] = held

    async def _expire(self, held: Held) -> None:
        self._settle(held, EXPIRED)

    def _leave(self, held: Held) -> None:
        """Take a pause off the list when its node waits no more, for whatever reason."""
        self._settle(held, CANCELLED)
        key = held.pause.key
        with self._gate:
            self._held.pop(key, None)
            self._over[key] = _fate(held)
            while len(self._over) > _REMEMBERED:
                self._over.popitem(last=False)
        held.leave()

    # What others do

    def answer(self, run_id: str, node_id: str, visit: int | None, answer: Answer) -> Pause:
        """Answer a pause, from whatever thread; the run goes on by itself.

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
        pause = held.pause
        pause.ask.check(answer, pause.message)
        if held.is_late(self._engine.clock):
            raise PauseError(f"{_named(pause.key)} is over: nobody answered in time")
        if not self._settle(held, ANSWERED, answer):
            raise _over(pause.key, _fate(held))
        return pause

    def _settle(self, held: Held, state: State, answer: Answer | None = None) -> bool:
        """Let one of those who end a pause win. Returns: whether it was this one."""
        with self._gate:
            if held.state is not OPEN:
                return False
            held.state, held.answer = state, answer
        held.wake()
        return True

    def _find(self, run_id: str, node_id: str, visit: int | None) -> Held:
        def fits(key: Key) -> bool:
            return key[:2] == (run_id, node_id) and visit in {None, key[2]}

        with self._gate:
            found = [held for key, held in self._held.items() if fits(key)]
            over = [(key, fate) for key, fate in self._over.items() if fits(key)]
        if len(found) == 1:
            return found[0]
        if found:
            visits = ", ".join(str(held.pause.visit) for held in found)
            raise PauseError(
                f"node {node_id!r} of run {run_id} waits several times: visits {visits}",
                hint="say which visit is meant (visit=..., on the command line --visit N)",
            )
        if over:
            raise _over(*over[-1])
        raise _unknown(run_id, node_id, visit, self)

    # Life

    async def close(self) -> None:
        """Put off the runs that wait: they end as paused. Comes back when none of them waits any more."""
        with self._gate:
            waiting = list(self._held.values())
        for held in waiting:
            held.call(suspend, held, self._settle)
        for held in waiting:
            await asyncio.shield(asyncio.wrap_future(held.gone))


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


def _named(key: Key) -> str:
    run_id, node_id, visit = key
    return f"the pause at node {node_id!r} (visit {visit}) of run {run_id}"


def _fate(held: Held) -> str:
    if held.state is ANSWERED and held.answer is not None:
        return f"was answered already{f' by {held.answer.answerer}' if held.answer.answerer else ''}"
    return {EXPIRED: "is over: nobody answered in time", CANCELLED: "is over: its run was stopped"}.get(
        held.state, "is over: its run was put off"
    )


def _over(key: Key, fate: str) -> PauseError:
    return PauseError(f"{_named(key)} {fate}", hint="an answer counts once; nothing was changed")


def _unknown(run_id: str, node_id: str, visit: int | None, known: Iterable[Pause]) -> PauseError:
    said = f" at its visit {visit}" if visit is not None else ""
    pauses = ", ".join(f"{pause.node_id!r} of run {pause.run_id}" for pause in known) or "none"
    return PauseError(f"node {node_id!r} of run {run_id} does not wait{said}", hint=f"open pauses: {pauses}")
