"""How a step passes the hooks at one point: all `before`, the `around` inside each other, all `after`."""

from __future__ import annotations

import logging
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate
from typing import TYPE_CHECKING, Any

from catenary_components.ai.hooks.faults import told_of, wrong_in, wrong_piece

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from catenary.component import Context
    from catenary_components.ai.hooks.roster import Call, Hooks, PointTable
    from catenary_components.ai.hooks.steps import Step
    from catenary_components.ai.messages import ChatMessage
    from catenary_components.ai.runtime_context import RuntimeContext
    from catenary_components.ai.sessions.slot import Slot
    from catenary_components.ai.state import AgentState, FinishReason

_logger = logging.getLogger(__name__)


def check(call: Call, step: Step) -> None:
    """Look whether a hook has left a step as it may be. Raises: HookError: when it has not."""
    wrong = wrong_in(step)
    if wrong:
        raise call.error(wrong)


def _nested(arounds: Iterable[Call], step: Step, core: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """Put `core` in the middle of all `around`; what it raises is not theirs."""
    passing: list[BaseException] = []

    async def noted() -> None:
        try:
            await core()
        except Exception as error:
            passing.append(error)
            raise

    async def one(around: Call, inner: Callable[[], Awaitable[None]]) -> None:
        begun: list[Coroutine[Any, Any, None]] = []

        async def go_on() -> None:
            check(around, step)
            await inner()

        def proceed() -> Coroutine[Any, Any, None]:
            begun.append(go_on())
            return begun[-1]

        try:
            await around(step, proceed, passing=passing)
        finally:
            forgotten = [one for one in begun if getcoroutinestate(one) == CORO_CREATED]
            for coroutine in forgotten:
                coroutine.close()
        if forgotten:
            raise around.error("it called proceed() and did not await it", hint="write `await proceed()`")
        check(around, step)

    proceed: Callable[[], Awaitable[None]] = noted
    for around in reversed(tuple(arounds)):
        proceed = partial(one, around, proceed)
    return proceed


class Passing:
    """Leads steps through the hooks of an agent, in one of its runs.

    Attributes:
        hooks: The hooks of the agent.
        state: Its record.
        context: What the caller gave along.
        session: The session of the run; `None` without one.
        stop_reason: Why the run stops, when a hook has asked for it.
        stops_after: What to say when the agent is to stop after the present batch of tools; `None` when it is not.
        gone_back: Messages with which the agent is to reason again; `None` when nobody has asked for it.
    """

    __slots__ = ("context", "gone_back", "hooks", "session", "state", "stop_reason", "stops_after")

    def __init__(self, hooks: Hooks, state: AgentState, context: RuntimeContext, session: Slot | None = None) -> None:
        self.hooks = hooks
        self.state = state
        self.context = context
        self.session = session
        self.stop_reason: FinishReason | None = None
        self.stops_after: str | None = None
        self.gone_back: list[ChatMessage] | None = None

    async def through(
        self,
        point: str,
        step: Step,
        core: Callable[[], Awaitable[None]],
        *,
        outcome: str = "",
        befores: bool = True,
    ) -> None:
        """Lead a step through all `before`, the `around` with `core` in the middle, and all `after`.

        Args:
            point: The point.
            step: What passes.
            core: What is done there.
            outcome: The attribute of the step that stands for `core` when a `before` has set it.
            befores: False when they were called already.
        """
        table = self.hooks.points.get(point)
        if table is None:
            await core()
            return
        for before in table.befores if befores else ():
            await before(step)
            check(before, step)
        if not outcome or getattr(step, outcome) is None:
            await (_nested(table.arounds, step, core) if table.arounds else core)()
        for after in table.afters:
            if point in ("agent", "tool"):
                await self.quietly(after, point, step)
            else:
                await after(step)
            check(after, step)

    async def through_chunks(self, table: PointTable, step: Any, piece: Any) -> Any:
        """Lead a piece through all `chunk`. Returns: the one that goes on."""
        for chunk in table.chunks:
            given = await chunk(step, piece)
            if given is not None:
                wrong = "" if chunk.at == "chunk_tool" else wrong_piece(piece, given)
                if wrong:
                    raise chunk.error(wrong)
                piece = given
        return piece

    async def quietly(self, call: Call, point: str, step: Step) -> None:
        """Call what can change nothing any more: what it raises is told, and no more."""
        try:
            await call(step)
        except Exception as error:
            self.tell(point, call.hook.name, error, step.ctx)

    def tell(self, point: str, hook: str, error: Exception, ctx: Context) -> None:
        """Tell of a hook that failed and fails nothing else."""
        text = told_of(error)
        _logger.warning("a hook of an agent failed at %s: %s: %s", point, hook, text, extra={"node": ctx.node_id})
        ctx.notify("hook.error", point=point, hook=hook, error=text)
