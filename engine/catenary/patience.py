"""Time that counts only while the event loop runs: what it stood still, nobody had."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

STEP_S: Final = 0.02
"""So much counts at once at most."""


def later(seconds: float, call: Callable[[], object]) -> Callable[[], None]:
    """Have something called when the running event loop has been at work for so long.

    Returns:
        What calls it off; nothing happens when it was called already.
    """
    loop = asyncio.get_running_loop()
    left = ceil(seconds / STEP_S)

    def step() -> None:
        nonlocal left, timer
        left -= 1
        if left > 0:
            timer = loop.call_later(STEP_S, step)
        else:
            call()

    def call_off() -> None:
        timer.cancel()

    timer = loop.call_later(STEP_S, step)
    return call_off


async def pause(seconds: float) -> None:
    """Come back when the event loop has been at work for so long."""
    for _ in range(ceil(seconds / STEP_S)):
        await asyncio.sleep(STEP_S)


@asynccontextmanager
async def within(seconds: float) -> AsyncGenerator[None]:
    """Limit a wait to the time in which the event loop is at work.

    Raises:
        TimeoutError: When that is over.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        call_off = later(seconds, lambda: limit.reschedule(loop.time()))
        try:
            yield
        finally:
            call_off()
