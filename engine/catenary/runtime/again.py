"""Nodes that run again later in the same visit: `Again`, and what is woven around them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from catenary.runtime.emission import completed

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.message import Message
    from catenary.runtime.context import Context


@dataclass(frozen=True, slots=True)
class Again:
    """Returned by the `run` of a component with `repeats = True`: run this node again, in the same visit.

    Aspects, retries and recorders see one visit. A `timeout` of the node counts for all of it, and when the run is
    cancelled the wait is, too.

    Args:
        message: What the node gets then; at a join, which gets its list again, of no account. The same if absent.
        delay_s: Seconds to wait before.
    """

    message: Message | None = None
    delay_s: float = 0.0


def repeated(run: Callable[..., Any], *, is_async: bool, blocking: bool) -> Callable[..., Any]:
    """Give a `run` that is called until it returns something else than `Again`."""

    @wraps(run)
    async def again(ctx: Context, message: Any) -> Any:
        given = message
        while True:
            if is_async:
                emission = await run(ctx, message)
            elif blocking:
                await ctx.need_loop()
                emission = await asyncio.to_thread(run, ctx, message)
            else:
                emission = run(ctx, message)
            if emission.__class__ is not Again:
                # A bare relation sends on what this last call got, not what the visit began with.
                return emission if message is given else completed(emission, message)
            await ctx.need_loop()
            await ctx.clock.sleep(emission.delay_s)
            ctx._live_run().check(ctx)  # the node may have swallowed a cancellation
            if emission.message is not None and message.__class__ is not list:
                message = emission.message

    return again
