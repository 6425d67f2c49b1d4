"""One pause while its node waits: the future it waits for, and how others wake it."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import contextmanager
from contextlib import suppress as ignoring
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from catenary.runtime.cancelling import SUSPENDED as SUSPENSION
from catenary.time_limit import TimeLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from catenary.clock import Clock
    from catenary.pauses.answers import Answer, Pause
    from catenary.runtime.compiled import Step
    from catenary.runtime.context import Context
    from catenary.runtime.run import Run

State: TypeAlias = Literal["open", "answered", "expired", "cancelled", "suspended"]
OPEN: Final = "open"
ANSWERED: Final = "answered"
EXPIRED: Final = "expired"
CANCELLED: Final = "cancelled"
SUSPENDED: Final = "suspended"


class Held:
    """A pause that a node waits in. Made on the event loop on which it waits.

    Attributes:
        pause: The pause.
        root: The run at the top.
        chain: The chain that this is a run of.
        check: Looks at an answer besides the rules of the question; `None` when these are enough.
        state: What became of it; changed by the one who holds the lock of all pauses.
        answer: The answer, once there is one.
        gone: Is done when the node waits no more.
    """

    def __init__(self, pause: Pause, ctx: Context, check: Callable[[Answer], object] | None = None) -> None:
        assert ctx._run is not None
        self.pause = pause
        self.check = check
        self.root = ctx._run.root
        self.chain = [step.owner for _, step in _outward(ctx)][-1]
        self.state: State = OPEN
        self.answer: Answer | None = None
        self.gone: Future[None] = Future()
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Future[None] = self._loop.create_future()
        self._deadline: float | None = None
        if pause.expires_ms is not None:
            self._deadline = ctx.clock.monotonic() + (pause.expires_ms - pause.since_ms) / 1000

    async def settled(self, clock: Clock) -> None:
        """Come back when somebody woke the node, or its time is over."""
        if self._deadline is None:
            await self._woken
            return
        timer = asyncio.ensure_future(clock.sleep(max(self._deadline - clock.monotonic(), 0.0)))
        try:
            await asyncio.wait((self._woken, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()

    def is_late(self, clock: Clock) -> bool:
        """Tell whether the time for answers is over."""
        return self._deadline is not None and clock.monotonic() >= self._deadline

    @property
    def is_put_off(self) -> bool:
        """True when the run ends as paused."""
        return self.root.stopping == SUSPENSION

    def wake(self) -> None:
        """Let the node go on, from whatever thread."""
        self.call(_finish, self._woken)

    def call(self, work: Callable[..., object], *values: Any) -> None:
        """Have something done on the event loop of the run."""
        with ignoring(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(work, *values)

    def leave(self) -> None:
        """Say that the node waits no more."""
        self.gone.set_result(None)


@contextmanager
def holding_joins(ctx: Context) -> Generator[None]:
    """Let the time of all joins that a visit could reach, those of the runs around it included, stand still.

    So does that of the limits in whose blocks the visit is.
    """
    places, limit = list(_outward(ctx)), ctx.scope.get(TimeLimit)
    if limit is not None:
        limit.rest()
    for run, step in places:
        run.rest(step)
    try:
        yield
    finally:
        for run, step in places:
            run.go_on(step)
        if limit is not None:
            limit.go_on()


def _outward(ctx: Context) -> Iterator[tuple[Run, Step]]:
    """Give a visit's run and node, and then those of the visits that its run is a part of."""
    run, step = ctx._run, ctx._step
    while run is not None:
        yield run, step
        if run.within is not None:
            step = run.within._step
        run = run.parent


def suspend(held: Held, settle: Callable[[Held, State], bool]) -> None:
    """Put a run off: it stops where it stands and ends as paused. To be called on its event loop."""
    if settle(held, SUSPENDED):
        held.root.stop(SUSPENSION)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
