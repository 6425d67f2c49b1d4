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
    from collections.abc import Callable

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
        self._told: set[int] = set()
        self._with_failure = hooks is None or hooks.on_end_with_failure
        self._on_end = _both(hooks and hooks.on_end, options.get("on_end"))
        self._on_all_completed = _both(None, options.get("on_all_completed"))
        self._on_completed = _both(hooks and hooks.on_completed, options.get("on_completed"))
        if self._on_end:
            run.each = self.ended
            run.attended = True

    async def ended(self, end: End) -> None:
        """Tell of one end, unless it is gated. Raises: CancelledError: when the run is cancelled meanwhile."""
        self._told.add(id(end))
        if self._is_gated(end):
            return
        for callback in self._on_end:
            await self._call(callback, self._info(end.node_id), end.message, end.error, end.relation)

    async def over(self) -> None:
        """Tell of the ends that were cut off, and that nothing goes on any more."""
        run = self._run
        run.each = None
        run.deadline = None
        for end in run.ends:
            if id(end) not in self._told:
                await self.ended(end)
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
        run = self._run
        return RunInfo(run.id, run.compiled.chain_id, node_id, run.scope)

    async def _call(self, callback: Callable[..., Any], *arguments: Any) -> None:
        """Call what the host gave. What it raises is logged: it is no concern of the run."""
        run = self._run
        task = asyncio.current_task() if run.has_loop else None
        asked = task.cancelling() if task else 0
        try:
            waiting = callback(*arguments)
            if waiting is None:
                return
            if not run.has_loop:
                await ask_for_loop(run)
                task = asyncio.current_task()
                asked = task.cancelling() if task else 0
            await waiting
        except CancelledError:
            if task is not None and task.cancelling() > asked:
                raise
            logger.exception("a callback of a run was cancelled", extra={"run_id": run.id})
        except Exception:
            logger.exception("a callback of a run raised", extra={"run_id": run.id})
        if task is not None and task.cancelling() > asked:
            raise CancelledError  # the callback swallowed it; the run must not


def _both(first: Any, second: Any) -> list[Any]:
    return [*(first or ()), *([] if second is None else [second])]
