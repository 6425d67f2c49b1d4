"""Runs that have begun, and wait for something."""

from __future__ import annotations

import asyncio
from typing import Any

from catenary import Chain, Outcome


async def rest() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def begun(chain: Chain, message: Any = "{}", **options: Any) -> asyncio.Task[Outcome]:
    """Begin a run, and give it when it waits, or is over."""
    run = asyncio.ensure_future(chain.run(message, **options))
    await rest()
    return run
