"""The observed compilation: nodes whose visits are told to who looks at the run."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from catenary.runtime.emission import first_of
from catenary.runtime.tape import ending, leave

if TYPE_CHECKING:
    from catenary.message import Message
    from catenary.runtime.compiled import Placed
    from catenary.runtime.watch import Watch


def observed(placed: Placed) -> Placed:
    """Give a node whose visits are published to the run's `watch`, and noted on its tape if it has one."""
    run = ending if placed.component.ends else placed.run

    async def awaited(ctx: Any, message: Any) -> Any:
        watch, shown = ctx._run.watch, first_of(message)
        entry = watch.enter(ctx, shown)
        began = perf_counter()
        try:
            emission = await run(ctx, message)
        except BaseException as error:
            over(ctx, watch, shown, entry, None, error, began)
            raise
        over(ctx, watch, shown, entry, emission, None, began)
        return emission

    def called(ctx: Any, message: Any) -> Any:
        watch, shown = ctx._run.watch, first_of(message)
        entry = watch.enter(ctx, shown)
        began = perf_counter()
        try:
            emission = run(ctx, message)
        except BaseException as error:
            over(ctx, watch, shown, entry, None, error, began)
            raise
        over(ctx, watch, shown, entry, emission, None, began)
        return emission

    def over(
        ctx: Any, watch: Watch, shown: Message, entry: Any, emission: Any, error: BaseException | None, began: float
    ) -> None:
        took = perf_counter() - began
        if entry is not None:
            leave(ctx, entry, emission, error)
        watch.leave(ctx, shown, emission, error, took)

    return replace(placed, run=awaited if placed.is_async else called, is_visited=placed.component.ends)
