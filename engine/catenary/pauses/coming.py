"""Questions that somebody has heard of and that do not wait yet: answers that come too early wait for them."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catenary.component import Context


class Coming:
    """The nodes of runs of this engine that are about to wait for an answer. Safe to use from many threads."""

    def __init__(self) -> None:
        self._gate = Lock()
        self._coming: dict[tuple[str, str], Future[None]] = {}

    def expect(self, ctx: Context) -> None:
        """Have answers to a node wait from now on, until it waits for them itself or is done with."""
        with self._gate:
            self._coming.setdefault((ctx.run_id, ctx.node_id), Future())

    def settle(self, ctx: Context) -> None:
        """Let answers pass to a node that was expected; nothing happens to another."""
        with self._gate:
            coming = self._coming.pop((ctx.run_id, ctx.node_id), None)
        if coming is not None:
            coming.set_result(None)

    async def arrived(self, run_id: str, node_id: str) -> None:
        """Wait until a node that is expected waits itself, or is done with: as long as its run takes to come there."""
        with self._gate:
            coming = self._coming.get((run_id, node_id))
        if coming is not None:
            await asyncio.shield(asyncio.wrap_future(coming))
