"""Making a broken connection again in the background, with ever longer waits between the tries."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final

from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from catenary.clock import Clock

FIRST_WAIT_S: Final = 1.0
"""The longest wait before the first try; it doubles with each further one."""

LONGEST_WAIT_S: Final = 30.0
"""No wait between two tries is longer."""


class Reconnecting:
    """Tries to make one connection again, until it is there or nobody wants it any more.

    It needs an event loop: without one, the next use of the connection is the next try. Each wait is cut by up to a
    half at random, so that not all clients of a server that is back ask it in the same moment.

    Args:
        connect: One try; raises when it fails, `EngineError` when there shall be no more.
        clock: What waits.
    """

    def __init__(self, connect: Callable[[], Awaitable[None]], clock: Clock) -> None:
        self._connect = connect
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    @property
    def is_active(self) -> bool:
        """True while there is a next try."""
        return self._task is not None and not self._task.done()

    def begin(self) -> None:
        """Begin to try, unless that is going on, or no event loop runs here."""
        loop = asyncio._get_running_loop()
        if loop is not None and not self.is_active:
            self._task = loop.create_task(self._try_again_and_again())

    def end(self) -> None:
        """Try no more; may be called in any thread, and by the try that succeeds."""
        task, self._task = self._task, None
        if task is None or task.done():
            return
        loop = task.get_loop()
        if loop is asyncio._get_running_loop():
            if task is not asyncio.current_task():
                task.cancel()
        elif not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)

    async def _try_again_and_again(self) -> None:
        longest_s = FIRST_WAIT_S
        while True:
            await self._clock.sleep(longest_s * random.uniform(0.5, 1.0))
            longest_s = min(2 * longest_s, LONGEST_WAIT_S)
            try:
                await self._connect()
            except EngineError:
                return
            except Exception:  # it is in the status, and told as an event; the next try comes after a longer wait
                continue
            return
