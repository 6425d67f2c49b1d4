"""Run a coroutine that SIGINT and SIGTERM cancel."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from catenary.cli._group import TERMINATED

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

T = TypeVar("T")


def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop; a signal cancels it, a second one of the same kind does not wait for it.

    Raises:
        KeyboardInterrupt: After SIGINT.
        SystemExit: After SIGTERM.
    """
    was_terminated = False

    async def main() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def cancel(_number: int, _frame: object) -> None:
            nonlocal was_terminated
            if was_terminated:
                sys.exit(TERMINATED)
            was_terminated = True
            task.cancel()
            loop.call_soon_threadsafe(lambda: None)  # wakes the loop, which may be waiting for the network

        with _on_sigterm(cancel):
            return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        if was_terminated:
            sys.exit(TERMINATED)
        raise


@contextlib.contextmanager
def _on_sigterm(handler: Callable[[int, object], None]) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
