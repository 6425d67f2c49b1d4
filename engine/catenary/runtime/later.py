"""What `async def` callbacks gave where nothing can be awaited: it is awaited in order, beside the run."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from catenary.runtime.run import ask_for_loop

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from catenary.runtime.run import Run

logger = logging.getLogger(__name__)


class Later:
    """Awaits one thing after the other: in a task of its own while the run goes on, the rest before it is over."""

    def __init__(self) -> None:
        self._waiting: list[Awaitable[Any]] = []
        self._task: asyncio.Task[None] | None = None

    def put(self, waiting: Awaitable[Any]) -> None:
        """Take something to await."""
        self._waiting.append(waiting)
        if self._task is None and asyncio._get_running_loop() is not None:
            self._task = asyncio.create_task(self._work())

    async def settle(self, run: Run) -> None:
        """Come back when all has been awaited. Raises: CancelledError: when the run is cancelled meanwhile."""
        while self._waiting or self._task is not None:
            if self._task is None:
                if not run.has_loop:
                    await ask_for_loop(run)
                self._task = asyncio.create_task(self._work())
            await asyncio.shield(self._task)

    async def _work(self) -> None:
        while self._waiting:
            try:
                await self._waiting.pop(0)
            except asyncio.CancelledError:
                if cast("asyncio.Task[None]", asyncio.current_task()).cancelling():
                    raise  # the event loop ends
                logger.exception("a callback of a run was cancelled")
            except Exception:
                logger.exception("a callback of a run raised")
        self._task = None
