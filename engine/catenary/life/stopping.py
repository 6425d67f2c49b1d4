"""Stopping chains: no new messages, some time for the runs in flight, then components are closed."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Final

from catenary.patience import within
from catenary.runtime.cancelling import CANCELLED

if TYPE_CHECKING:
    from catenary.chain import Chain
    from catenary.life.pool import ChainPool

logger = logging.getLogger(__name__)

GRACE_S: Final = 10.0
"""How long runs in flight may go on."""

_CLEAN_UP_S: Final = 0.5  # for runs that were cancelled


class Stops:
    """Stops the chains of a pool. Whoever stops one that is being stopped waits for the first."""

    def __init__(self, pool: ChainPool) -> None:
        self._pool = pool
        self._under_way: dict[Chain, Future[None]] = {}

    async def stop(self, chains: list[Chain], grace_s: float) -> None:
        """Stop chains together: with all of their versions, all within the same time."""
        others = [self._under_way[chain] for chain in chains if chain in self._under_way]
        mine = [chain for chain in chains if chain not in self._under_way]
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()
        self._under_way |= dict.fromkeys(mine, done)
        try:
            if mine:
                await self._stop(mine, grace_s)
        finally:
            for chain in mine:
                del self._under_way[chain]
            done.set_result(None)
        for other in others:
            await asyncio.wrap_future(other)

    async def _stop(self, chains: list[Chain], grace_s: float) -> None:
        end = monotonic() + grace_s
        ids = {chain.id for chain in chains}
        versions = [*chains, *(old for old in self._pool.retired if old.id in ids)]
        for version in versions:
            version.stopping = True  # it cannot be replaced any more
        try:
            if self._pool.drain is not None and any(chain.endpoints for chain in chains):
                await self._pool.drain(ids, grace_s)
            for version in versions:
                version.retired = True
            if any(version.runs for version in versions):
                await self._pool.put_off(versions)
            with suppress(TimeoutError):
                async with asyncio.timeout(end - monotonic()):
                    await _until_idle(versions)
        finally:  # also when whoever waits is cancelled: then the time is over
            await self._finish(chains, versions)

    async def _finish(self, chains: list[Chain], versions: list[Chain]) -> None:
        busy = [version for version in versions if version.runs]
        stopped = {run for version in busy for run in list(version.runs) if run.parent is None}
        for version in busy:
            version.stop_runs(CANCELLED, stopped)
        try:
            if busy:
                with suppress(TimeoutError):
                    async with within(_CLEAN_UP_S):
                        await _until_idle(busy)
                for version in busy:
                    _log_busy(version)
        finally:  # also when the task that stops is that of a run on these chains, and has just been cancelled
            await self._close(chains, versions)

    async def _close(self, chains: list[Chain], versions: list[Chain]) -> None:
        self._pool.retired += chains  # what is not closed here is closed with the engine
        for chain in chains:
            self._pool.drop(chain)
        for version in versions:
            version.stopping = False
            await version.close()
        for chain in chains:
            self._pool.forget(chain.id)


async def _until_idle(versions: list[Chain]) -> None:
    """Wait until no run is on any of these versions. Has no time limit: who waits has."""
    while busy := [version for version in versions if version.runs]:
        await busy[0].idle(None)


def _log_busy(version: Chain) -> None:
    if version.runs:
        logger.warning(
            "a chain is closed while nodes that do not let themselves be cancelled are at work",
            extra={"chain_id": version.id, "runs": len(version.runs)},
        )
