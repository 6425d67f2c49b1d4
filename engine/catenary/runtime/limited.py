"""What joins with limits weave: around themselves, and around the nodes whose visits they could stop."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

from catenary.relation import NodeFailure
from catenary.runtime.emission import first_of
from catenary.runtime.ends import EXPIRED, STOPPED

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.runtime.context import Context

TIME_IS_OVER = "context deadline exceeded"


class Visiting:
    """A visit that may be stopped."""

    __slots__ = ("cancelling", "ctx", "is_stopped", "task")

    def __init__(self, ctx: Context, *, has_loop: bool) -> None:
        self.ctx = ctx
        self.task = asyncio.current_task() if has_loop else None
        self.cancelling = self.task.cancelling() if self.task else 0
        self.is_stopped = False

    def stop(self) -> None:
        """Cancel the visit, and let its branch end as `Late`."""
        if not self.is_stopped and self.task is not None:
            self.is_stopped = True
            self.task.cancel()

    async def settle(self) -> None:
        """Take back what `stop` did. Raises: CancelledError: when others want the task to stop, too."""
        assert self.task is not None
        with suppress(CancelledError):  # what was asked for may still come: the node was quicker, or was told otherwise
            await asyncio.sleep(0)
        if self.task.uncancel() > self.cancelling:
            raise CancelledError


def stoppable(run: Callable[..., Any]) -> Callable[..., Any]:
    """Give the `run` of an async node that joins may stop."""

    @wraps(run)
    async def awaited(ctx: Context, message: Any) -> Any:
        owner = ctx._run
        assert owner is not None
        visiting = Visiting(ctx, has_loop=owner.root.has_loop)
        others = owner.visiting
        if others is None:
            others = owner.visiting = set()
        others.add(visiting)
        emission = None
        try:
            emission = await run(ctx, message)
        except (Exception, CancelledError):
            if not visiting.is_stopped:
                raise
        finally:
            others.discard(visiting)
        if not visiting.is_stopped:
            return emission
        await visiting.settle()
        return STOPPED, first_of(message)

    return awaited


def expiring(run: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    """Give the `run` of a join with a time limit: when that is over, the join fails in place of being run."""
    if is_async:

        @wraps(run)
        async def awaited(ctx: Context, message: Any) -> Any:
            if ctx.relation is EXPIRED:
                raise NodeFailure(TIME_IS_OVER)
            return await run(ctx, message)

        return awaited

    @wraps(run)
    def called(ctx: Context, message: Any) -> Any:
        if ctx.relation is EXPIRED:
            raise NodeFailure(TIME_IS_OVER)
        return run(ctx, message)

    return called
