"""Keeps the chains of a folder as its files are, while somebody is inside `async with engine.watch(...)`."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from catenary.errors import EngineError
from catenary.file_stamps import stamp_of
from catenary.life.folder import Folder, FolderReport, folder_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from catenary.engine import Engine

    OnChange: TypeAlias = Callable[[FolderReport], Awaitable[None] | None]

logger = logging.getLogger(__name__)

_KEPT: Final = 1000
_AGAIN_S: Final = 1.0


class FolderWatch:
    """A folder whose chains are kept as its files are. Made by `Engine.watch`; iterate over it to hear of changes.

    Chains are made in a thread, so that the event loop goes on with messages.

    Attributes:
        report: What the last look at the folder came to.
    """

    report: FolderReport

    def __init__(
        self, engine: Engine, folder: str | Path, on_change: OnChange | None, grace_s: float, settle_s: float
    ) -> None:
        self._engine = engine
        self._path = Path(folder)
        self._on_change = on_change
        self._grace_s = grace_s
        self._settle_s = settle_s
        self._folder: Folder = folder_of(engine, folder)
        self._news: deque[FolderReport] = deque(maxlen=_KEPT)
        self._came = asyncio.Event()
        self._ended = False
        self._again = asyncio.Event()
        self._ready = asyncio.Event()
        self._stops: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        watchfiles = needed()
        self._folder.check()
        self._task = asyncio.create_task(self._watch(watchfiles))
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait({self._task, ready}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self._task.done():
            self._task.result()  # raises what kept it from beginning
        return self

    async def __aexit__(self, *_: object) -> None:
        task = self._task
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._stops:
            await asyncio.wait(self._stops)
        self._end()

    async def __aiter__(self) -> AsyncGenerator[FolderReport]:
        """Give each report in which something is other than before, as it comes; the oldest 1,000 are kept."""
        while True:
            while self._news:
                yield self._news.popleft()
            if self._ended:
                return
            self._came.clear()
            await self._came.wait()

    def _end(self) -> None:
        self._ended = True
        self._came.set()

    async def _watch(self, watchfiles: Any) -> None:
        told = ""
        try:
            while True:
                try:
                    while folders := self._watched():
                        await self._watch_these(watchfiles, folders)
                        told = ""
                except Exception as error:
                    if not self._ready.is_set():
                        raise
                    if told != (told := f"{type(error).__name__}: {error}"):  # each try looks at the folder, too
                        extra = {"folder": str(self._path), "error": told}
                        logger.warning("a folder of chains cannot be watched; it is looked at each second", extra=extra)
                await asyncio.sleep(_AGAIN_S)  # nothing tells when a folder that is gone comes back
        finally:
            self._end()

    async def _watch_these(self, watchfiles: Any, folders: dict[Path, int]) -> None:
        """Look at the folder each time something changes, until other folders are to be watched, too.

        The watch begins before the first look, and goes on while looks are taken: no change falls between two.
        """
        settle_ms = int(self._settle_s * 1000)
        changes = watchfiles.awatch(
            *folders, watch_filter=None, step=max(1, settle_ms), debounce=max(10, 10 * settle_ms)
        )
        coming = asyncio.ensure_future(anext(changes))
        try:
            await asyncio.sleep(0)  # by which it has begun
            await self._look_safely()
            while folders == self._watched():
                again = asyncio.ensure_future(self._again.wait())
                await asyncio.wait({coming, again}, return_when=asyncio.FIRST_COMPLETED)
                again.cancel()
                self._again.clear()
                if coming.done():
                    coming.result()
                    coming = asyncio.ensure_future(anext(changes))
                await self._look_safely()
        finally:
            coming.cancel()
            with suppress(asyncio.CancelledError):
                await coming
            await changes.aclose()

    def _watched(self) -> dict[Path, int]:
        """Give the folder, and those of files that its chains were made with, each with what changes when it does."""
        inside = self._path.resolve()
        others = sorted(folder for folder in self._folder.read_folders if not folder.is_relative_to(inside))
        found = {path: stamp[2] for path in (self._path, *others) if (stamp := stamp_of(path)) is not None}
        return found if self._path in found else {}

    async def _look_safely(self) -> None:
        try:
            await self._look()
        except EngineError as error:
            if not self._ready.is_set():
                raise
            logger.warning("a folder of chains cannot be read: %s", error, extra={"folder": str(self._path)})

    async def _look(self) -> None:
        removed: list[str] = []
        report = await asyncio.to_thread(self._folder.refresh, removed.append)
        for chain_id in removed:
            task = asyncio.create_task(self._stop(chain_id))
            self._stops.add(task)
        await self._engine.sweep()
        self.report = report
        if report.has_news:
            _log(report)
            if self._ready.is_set():
                await self._tell(report)
        self._ready.set()

    async def _stop(self, chain_id: str) -> None:
        try:
            await self._engine.stop(chain_id, grace_s=self._grace_s)
        except EngineError:
            pass  # the host has removed it already
        finally:
            self._stops.discard(asyncio.current_task())  # type: ignore[arg-type]
            self._again.set()  # a file with its id may have come meanwhile

    async def _tell(self, report: FolderReport) -> None:
        self._news.append(report)
        self._came.set()
        if self._on_change is None:
            return
        try:
            told = self._on_change(report)
            if inspect.isawaitable(told):
                await told
        except Exception:
            logger.exception("a callback about a folder of chains failed")


def needed() -> Any:
    """Give what watches files. Raises: EngineError: when it is not installed."""
    try:
        import watchfiles
    except ImportError:
        raise EngineError(
            "watching files needs the package watchfiles", hint="install it with: pip install 'catenary[watch]'"
        ) from None
    return watchfiles


def _log(report: FolderReport) -> None:
    for verb, ids in (("loaded", report.loaded), ("reloaded", report.reloaded), ("stopping", report.removed)):
        for chain_id in ids:
            logger.info("%s the chain %r", verb, chain_id, extra={"chain_id": chain_id})
    for chain_id in (*report.loaded, *report.reloaded):
        for problem in report.chains[chain_id].warnings if chain_id in report.chains else ():
            logger.warning("%s", problem, extra={"chain_id": chain_id, "code": problem.code})
    for file in report.fresh:
        for problem in report.problems[file]:
            logger.warning("%s", problem, extra={"file": file, "code": problem.code})
