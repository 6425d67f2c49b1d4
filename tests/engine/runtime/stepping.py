"""An event loop whose time passes at once, whose turns are counted, and which cannot wait for ever."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any

from catenary.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Coroutine


_THREAD_WITHIN_S = 15.0


class Stuck(Exception):  # noqa: N818
    """Everything waits, and nothing would ever wake it."""


class SteppingLoop(asyncio.SelectorEventLoop):
    """Runs what is ready, and moves its clock when nothing is, also while threads are at work.

    Attributes:
        turns: How often it looked for what is ready.
        now: Its time in seconds.
        has_threads: Whether it has given work to threads: one of them may wake it.
    """

    def __init__(self) -> None:
        self.turns = 0
        self.now = 0.0
        self.has_threads = False
        super().__init__(_Passing(self))

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        self.has_threads = True
        return super().run_in_executor(executor, func, *args)


STEPPING = "asyncio", {"loop_factory": SteppingLoop}
"""What a fixture `anyio_backend` gives to have tests run on a loop of this kind: a sleep there is over when nothing is
ready any more, and however slow the machine is, what is to come sooner comes sooner."""


class _Passing(selectors.SelectSelector):
    def __init__(self, loop: SteppingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            found = super().select(_THREAD_WITHIN_S) if self._loop.has_threads else []
            if not found:
                raise Stuck
            return found
        self._loop.turns += 1
        self._loop.now += timeout
        return super().select(0)


class LoopClock(SystemClock):
    """Gives the time of the event loop."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def call_at(self, when: float, callback: Any, *arguments: Any) -> Any:
        return asyncio.get_running_loop().call_at(when, callback, *arguments)


def stepped(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on a loop of this kind."""
    with asyncio.Runner(loop_factory=SteppingLoop) as runner:
        return runner.run(coroutine)
