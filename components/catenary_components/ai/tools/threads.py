"""Plain functions of tools, each in a thread that nobody has to wait for."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    _Work = Callable[[], Callable[[], None]]  # what it returns tells whoever waits for it

IDLE_S: Final = 1.0
"""Seconds for which a thread stays that has nothing to do: to begin one costs more than many a tool. No longer, because
whoever looks for what an agent left behind would find it."""

_idle: list[_Worker] = []


class WorkStopped(Exception):  # noqa: N818 - what happened to it
    """Nobody waits any more for what a function does; see `check_stopped`."""


class _Waiting:
    """Whether somebody waits for a function."""

    __slots__ = ("is_over",)

    def __init__(self) -> None:
        self.is_over = False


_WAITING: Final[ContextVar[_Waiting]] = ContextVar("catenary_waiting_for_thread")


def check_stopped() -> None:
    """Raise `WorkStopped` in a function that `in_thread` runs when nobody waits for it any more.

    To be called before something is changed for good, and now and then in work that is long.
    """
    waiting = _WAITING.get(None)
    if waiting is not None and waiting.is_over:
        raise WorkStopped


async def in_thread(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a thread and give what it returns.

    The function has the thread for itself. One that never ends holds up neither other tools nor the end of the program,
    which a thread of the event loop's own would.

    Raises:
        RuntimeError: When no more threads can be had.
        Exception: What the function raised.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context, waiting = copy_context(), _Waiting()
    context.run(_WAITING.set, waiting)

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def work() -> Callable[[], None]:
        result, error = None, None
        try:
            result = context.run(function, *args)
        except BaseException as raised:
            error = raised
        return partial(tell, result, error)

    def tell(result: Any, error: BaseException | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is left to hear of it
            loop.call_soon_threadsafe(settle, result, error)

    _give(work)
    try:
        return await future
    finally:
        waiting.is_over = True


def _give(work: _Work) -> None:
    """Have work done by the thread that was last at work, or by another one when all are."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
    worker.given.put(work)


class _Worker(threading.Thread):
    """A thread that does one piece of work after the other. Whoever takes it out of `_idle` gives it one."""

    def __init__(self) -> None:
        super().__init__(name="catenary-tool", daemon=True)
        self.given: SimpleQueue[_Work] = SimpleQueue()

    def run(self) -> None:
        """Work until nothing comes for a while."""
        work = self.given.get()
        while True:
            tell = work()
            del work  # it holds what the tool was given, and the run: nobody finds that here once the result is told
            # Before it is told, or whoever hears of it and has more to do would begin another thread.
            _idle.append(self)
            tell()
            del tell  # it holds what the tool gave
            try:
                work = self.given.get(timeout=IDLE_S)
            except Empty:
                try:
                    _idle.remove(self)
                except ValueError:  # somebody has taken it at this moment
                    work = self.given.get()
                else:
                    return
