"""Run each line of the input: several at once, written in the order of the lines."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

T = TypeVar("T")
_AHEAD = 64  # lines


class LineRunner(Generic[T]):
    """Runs lines with a bound on how many are under way, and hands over results in order.

    Args:
        run: Runs one line; gets its number, from 1.
        write: Gets each result, in the order of the lines, as soon as it and all before it are there.
        jobs: How many lines are run at once.
    """

    def __init__(
        self, run: Callable[[bytes, int], Awaitable[T]], write: Callable[[T, int], None], *, jobs: int
    ) -> None:
        self._run = run
        self._write = write
        self._slots = asyncio.Semaphore(jobs)
        self._started: deque[tuple[int, asyncio.Task[T]]] = deque()
        self._news = asyncio.Event()
        self._closed = False
        self._max_waiting = 4 * jobs

    async def all(self, lines: Iterator[bytes]) -> None:
        """Run all lines.

        When it is cancelled, runs under way are cancelled, and the results that are there are still written.

        Raises:
            Exception: What a run or the input raised first, when the results before it are written.
        """
        writer = asyncio.create_task(self._write_in_order())
        starter = asyncio.create_task(self._start(lines))
        try:
            await asyncio.gather(starter, writer)
        finally:
            starter.cancel()
            writer.cancel()
            await self._stop_rest()

    async def _start(self, lines: Iterator[bytes]) -> None:
        try:
            number = 0
            async with contextlib.aclosing(read_in_thread(lines)) as incoming:
                async for line in incoming:
                    await self._slots.acquire()
                    number += 1
                    self._started.append((number, asyncio.create_task(self._one(line, number))))
                    self._news.set()
                    while len(self._started) > self._max_waiting:  # a slow first one must not pile up the others
                        await asyncio.wait([self._started[0][1]])
                        await asyncio.sleep(0)
        finally:
            self._closed = True
            self._news.set()

    async def _one(self, line: bytes, number: int) -> T:
        try:
            return await self._run(line, number)
        finally:
            self._slots.release()

    async def _write_in_order(self) -> None:
        while True:
            while not self._started:
                if self._closed:
                    return
                self._news.clear()
                await self._news.wait()
            number, task = self._started[0]
            await asyncio.wait([task])
            self._started.popleft()
            self._write(task.result(), number)

    async def _stop_rest(self) -> None:
        rest = list(self._started)
        self._started.clear()
        done = [(number, task) for number, task in rest if task.done()]
        for _, task in rest:
            task.cancel()
        await asyncio.gather(*(task for _, task in rest), return_exceptions=True)
        for number, task in done:
            if not task.cancelled() and task.exception() is None:
                self._write(task.result(), number)


async def read_in_thread(lines: Iterator[bytes]) -> AsyncGenerator[bytes]:
    """Give lines that a blocking iterator reads in a thread, a few ahead.

    The thread is a daemon: one that waits for a terminal or a pipe does not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
    room = threading.Semaphore(_AHEAD)
    stopped = threading.Event()

    def put(item: bytes | Exception | None) -> None:
        room.acquire()
        if not stopped.is_set():
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(queue.put_nowait, item)

    def read() -> None:
        try:
            for line in lines:
                put(line)
                if stopped.is_set():
                    return
            put(None)
        except Exception as error:
            put(error)

    threading.Thread(target=read, name="catenary-input", daemon=True).start()
    try:
        while (item := await queue.get()) is not None:
            room.release()
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        stopped.set()
        room.release()
