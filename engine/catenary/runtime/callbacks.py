"""What is told to the host of a run while it lasts and when it is over: its callbacks, and those of the engine."""

from __future__ import annotations

import asyncio
import logging
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

from catenary.options import RunInfo
from catenary.relation import FAILURE
from catenary.runtime.run import ask_for_loop
from catenary.runtime.watch import bare_record

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from catenary.chain import Chain
    from catenary.hooks import Hooks
    from catenary.options import RunOptions
    from catenary.outcome import Outcome
    from catenary.recording import RunRecord
    from catenary.runtime.ends import End
    from catenary.runtime.run import Run

logger = logging.getLogger(__name__)


class Callbacks:
    """The callbacks of one run at the top, those of the engine first."""

    def __init__(self, run: Run, options: RunOptions, hooks: Hooks | None) -> None:
        self._run = run
        self._told = 0  # so many ends from the first on
        self._told_besides: set[int] = (
            set()
        )  # ids of further ones: branches may end in another order than they are told
        self._place: RunInfo | None = None
        self._with_failure = hooks is None or hooks.on_end_with_failure
        self._on_end = _both(hooks and hooks.on_end, options.get("on_end"))
        self._on_all_completed = _both(None, options.get("on_all_completed"))
        self._on_completed = _both(hooks and hooks.on_completed, options.get("on_completed"))
        if self._on_end:
            run.each = self.ended
            run.attended = True

    async def ended(self, end: End) -> None:
        """Tell of one end, unless it is gated."""
        ends = self._run.ends
        if self._told < len(ends) and ends[self._told] is end:
            self._told += 1
        else:
            self._told_besides.add(id(end))
        if self._is_gated(end):
            return
        for callback in self._on_end:
            waiting = self._begun(callback, self._info(end.node_id), end.message, end.error, end.relation)
            if waiting is not None:
                await self._wait_for(waiting)

    async def over(self) -> None:
        """Tell of the ends that were cut off, and that nothing goes on any more. Raises: CancelledError: as `_call`."""
        run = self._run
        run.each = None
        run.deadline = None
        for end in run.ends[self._told :]:
            if id(end) not in self._told_besides and not self._is_gated(end):
                for callback in self._on_end:
                    await self._call(callback, self._info(end.node_id), end.message, end.error, end.relation)
        for callback in self._on_all_completed:
            await self._call(callback)

    async def completed(self, record: RunRecord | None, chain: Chain, outcome: Outcome) -> None:
        """Hand out the record of the run; one without visits when none were recorded."""
        if not self._on_completed:
            return
        record = record or bare_record(chain, outcome)
        for callback in self._on_completed:
            await self._call(callback, record)

    def _is_gated(self, end: End) -> bool:
        if end.gated:
            return True
        if self._with_failure or end.relation != FAILURE or not self._run.compiled.gated:
            return False
        step = self._run.compiled.by_id.get(end.node_id)
        return step is None or not step.component.ends

    def _info(self, node_id: str) -> RunInfo:
        place = self._place
        if place is None or place.node_id != node_id:
            run = self._run
            place = self._place = RunInfo(run.id, run.compiled.chain_id, node_id, run.scope)
        return place

    async def _call(self, callback: Callable[..., Any], *arguments: Any) -> None:
        """Call what the host gave. Raises: CancelledError: when the run is cancelled meanwhile."""
        task = asyncio.current_task() if self._run.has_loop else None
        asked = task.cancelling() if task else 0
        waiting = self._begun(callback, *arguments)
        if waiting is not None:
            await self._wait_for(waiting)
        if task is not None and task.cancelling() > asked:
            raise CancelledError

    def _begun(self, callback: Callable[..., Any], *arguments: Any) -> Awaitable[Any] | None:
        """Call what the host gave; give what is to be awaited. What it raises is logged: the run goes on."""
        try:
            return callback(*arguments)
        except (CancelledError, Exception) as error:
            self._log(error)
            return None

    async def _wait_for(self, waiting: Awaitable[Any]) -> None:
        """Wait for what the host gave. Raises: CancelledError: when the run is cancelled meanwhile."""
        if not self._run.has_loop:
            await ask_for_loop(self._run)
        task = asyncio.current_task()
        asked = task.cancelling() if task else 0
        try:
            await waiting
        except CancelledError as error:
            if task is not None and task.cancelling() > asked:
                raise
            self._log(error)
        except Exception as error:
            self._log(error)
        if task is not None and task.cancelling() > asked:
            raise CancelledError  # the callback swallowed it; the run must not

    def _log(self, error: BaseException) -> None:
        what = "was cancelled" if isinstance(error, CancelledError) else "raised"
        logger.error("a callback of a run %s", what, exc_info=error, extra={"run_id": self._run.id})


def _both(first: Any, second: Any) -> list[Any]:
    return [*(first or ()), *([] if second is None else [second])]
