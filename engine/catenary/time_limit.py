"""A limit for the time that a visit takes with what it runs: by the engine's clock, and not while somebody is asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from catenary.clock import Timer
    from catenary.runtime.context import Context


class TimeLimit:
    """Limits the time of a block of `run`, as joins limit theirs.

    Time is that of the engine's clock. It stands still as long as a `wait` node waits for its answer in a sub-run that
    has the limit in its scope: `async with TimeLimit(ctx, 30) as limit: await ctx.run_node(..., scope=(limit,))`.
    Needs an event loop: see `Context.need_loop`.

    Args:
        ctx: The visit.
        seconds: How long the block may take.

    Raises:
        TimeoutError: At the end of the block, when the time was over.
    """

    __slots__ = ("_clock", "_is_over", "_left_s", "_outer", "_pauses", "_timeout", "_timer", "_until")

    def __init__(self, ctx: Context, seconds: float) -> None:
        self._clock = ctx.clock
        self._outer = ctx.scope.get(TimeLimit)
        self._left_s = seconds
        self._until = 0.0
        self._is_over = False
        self._pauses = 0
        self._timeout = asyncio.timeout(None)
        self._timer: Timer | None = None

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        self._stop()
        return await self._timeout.__aexit__(kind, error, traceback)

    def rest(self) -> None:
        """Stand still, with the limits around; as often as it is called, `go_on` has to be."""
        self._pauses += 1
        self._stop()
        if self._outer is not None:
            self._outer.rest()

    def go_on(self) -> None:
        """Go on after `rest`."""
        self._pauses -= 1
        if not self._pauses and not self._is_over:
            self._start()
        if self._outer is not None:
            self._outer.go_on()

    def _start(self) -> None:
        self._until = self._clock.monotonic() + self._left_s
        self._timer = self._clock.call_at(self._until, self._expire)

    def _stop(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            self._left_s = self._until - self._clock.monotonic()

    def _expire(self) -> None:
        self._timer, self._is_over = None, True
        self._timeout.reschedule(asyncio.get_running_loop().time())
