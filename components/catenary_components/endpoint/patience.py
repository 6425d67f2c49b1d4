"""Time that counts only while the event loop runs: what it stood still, nobody had."""

from __future__ import annotations

import asyncio
from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

STEP_S: Final = 0.02
"""So much counts at once at most."""


def later(seconds: float, call: Callable[[], object]) -> None:
    """Have something called when the running event loop has been at work for so long."""
    loop = asyncio.get_running_loop()
    left = ceil(seconds / STEP_S)

    def step() -> None:
        nonlocal left
        left -= 1
        if left > 0:
            loop.call_later(STEP_S, step)
        else:
            call()

    loop.call_later(STEP_S, step)


async def pause(seconds: float) -> None:
    """Come back when the event loop has been at work for so long."""
    for _ in range(ceil(seconds / STEP_S)):
        await asyncio.sleep(STEP_S)
