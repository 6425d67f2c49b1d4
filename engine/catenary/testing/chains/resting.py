"""Puts the run of a chain test off when all that it does is wait for answers, which nobody gives in a test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catenary.engine import Engine
    from catenary.pauses.answers import Pause
    from catenary.testing.chains.observing import Observer

_QUIET_ROUNDS = 25  # rounds of the event loop in which nothing happens
_SOON = 10  # the same, twice of which is over before the clock of the test moves to the end of a pause


class Rest:
    """Watches over the pauses of an engine. One that ends by itself is waited for, unless a pause is expected.

    Args:
        engine: The engine.
        seen: Sees the events of its only run.
        is_expected: Whether the run is expected to be paused.
    """

    def __init__(self, engine: Engine, seen: Observer, *, is_expected: bool) -> None:
        self._engine = engine
        self._seen = seen
        self._is_expected = is_expected
        self._watching: asyncio.Task[None] | None = None

    def watch(self, _pause: Pause) -> None:
        """Look, from this pause on, whether anything else happens."""
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._put_off())

    async def _put_off(self) -> None:
        while pauses := list(self._engine.pauses):
            before = self._seen.events
            for _ in range(_SOON if self._is_expected else _QUIET_ROUNDS):
                await asyncio.sleep(0)
            if self._seen.events != before:
                continue
            is_open = self._is_expected or all(pause.expires_ms is None for pause in pauses)
            if is_open and self._seen.under_way() == len(pauses):
                await self._engine.pauses.put_off()
                return
            await self._seen.next_event()
