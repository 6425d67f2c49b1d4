"""Many messages through one chain: from any iterable, some at once, never more in memory than are under way."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from catenary.errors import EngineError
from catenary.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Iterator

    from catenary.chain import Chain
    from catenary.outcome import Outcome

OnError: TypeAlias = "Literal['raise', 'skip', 'collect'] | Callable[[Any, Outcome], Outcome | None]"
"""What becomes of a run that did not complete: its error is raised, it is left out, it is given like the others, or a
function of the item and the outcome gives what takes its place; `None` leaves it out."""


class MapOptions(RunOptions, total=False):
    """The options of `Chain.map`, those of each run among them."""

    concurrency: int
    on_error: OnError
    ordered: bool


CONCURRENCY = 8
_AHEAD = 4  # outcomes that wait for a slow one before them, for each run under way
_TURN_S = 0.005  # after which others on the event loop get their turn
_OVER: Any = object()


def settled(item: Any, outcome: Outcome, on_error: OnError) -> Outcome | None:
    """Give what is given for an item; None for nothing. Raises: CatenaryError: why the run did not complete."""
    if outcome.ok or on_error == "collect":
        return outcome
    if on_error == "skip":
        return None
    if on_error != "raise":
        return on_error(item, outcome)
    error = outcome.error or EngineError(f"the run {outcome.run_id} {outcome.status}")
    error.add_note(f"the item was {item!r:.200}")
    raise error


def check(concurrency: int, on_error: object) -> None:
    """See that the arguments can be used. Raises: ValueError: when they cannot."""
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    if on_error not in {"raise", "skip", "collect"} and not callable(on_error):
        raise ValueError(f"on_error must be 'raise', 'skip', 'collect' or a function, not {on_error!r}")


async def map_items(
    chain: Chain,
    items: Iterable[Any] | AsyncIterable[Any],
    options: RunOptions,
    *,
    concurrency: int,
    on_error: OnError,
    ordered: bool,
) -> AsyncGenerator[Outcome]:
    """Run each item, see `Chain.map`."""
    check(concurrency, on_error)
    if concurrency == 1:
        began = monotonic()
        async for item in _each(items):
            given = settled(item, await chain.run(item, **options), on_error)
            if given is not None:
                yield given
            if monotonic() - began > _TURN_S:  # short runs one after the other never wait
                await asyncio.sleep(0)
                began = monotonic()
        return
    window = _Window(chain, items, options, concurrency, ordered=ordered)
    try:
        while (done := await window.next()) is not None:
            given = settled(*done, on_error)
            if given is not None:
                yield given
    finally:
        await window.close()


async def _each(items: Iterable[Any] | AsyncIterable[Any]) -> AsyncGenerator[Any]:
    if hasattr(items, "__aiter__"):
        async for item in cast("AsyncIterable[Any]", items):
            yield item
        return
    for item in cast("Iterable[Any]", items):
        yield item


class _Window:
    """The runs under way, and at most one item that is being waited for.

    What goes wrong in the source is raised when the runs of all that it gave before are over.
    """

    def __init__(
        self,
        chain: Chain,
        items: Iterable[Any] | AsyncIterable[Any],
        options: RunOptions,
        concurrency: int,
        *,
        ordered: bool,
    ) -> None:
        self._chain = chain
        self._plain: Iterator[Any] | None = None if hasattr(items, "__aiter__") else iter(cast("Iterable[Any]", items))
        self._items: AsyncIterator[Any] | None = (
            None if self._plain is not None else aiter(cast("AsyncIterable[Any]", items))
        )
        self._options = options
        self._concurrency = concurrency
        self._ordered = ordered
        self._most = concurrency * _AHEAD if ordered else concurrency
        self._runs: dict[asyncio.Task[Outcome], Any] = {}  # with their items, in the order in which they were started
        self._active = 0
        self._finished: deque[asyncio.Task[Outcome]] = deque()
        self._news = asyncio.Event()
        self._coming: asyncio.Task[Any] | None = None
        self._over = False
        self._failure: Exception | None = None

    async def next(self) -> tuple[Any, Outcome] | None:
        """Give an item and its outcome; None when there are no more."""
        while True:
            self._news.clear()
            self._take_in()
            done = self._done()
            if done is not None:
                return self._runs.pop(done), done.result()
            if not self._runs and self._coming is None:
                if self._failure is not None:
                    raise self._failure
                return None
            await self._news.wait()

    def _take_in(self) -> None:
        """Start a run for each item that is there, and ask for another one, while there is room."""
        while self._plain is not None and not self._over and self._has_room():
            self._start(partial(next, self._plain, _OVER))
        if self._coming is not None and self._coming.done():
            coming, self._coming = self._coming, None
            self._start(coming.result)
        if self._items is not None and self._coming is None and not self._over and self._has_room():
            self._coming = asyncio.create_task(self._ask(self._items))
            self._coming.add_done_callback(lambda _: self._news.set())

    def _start(self, take: Callable[[], Any]) -> None:
        try:
            item = take()
        except Exception as error:
            self._failure, item = error, _OVER
        if item is _OVER:
            self._over = True
            return
        task = asyncio.create_task(self._chain.run(item, **self._options))
        self._runs[task] = item
        self._active += 1
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[Outcome]) -> None:
        self._active -= 1
        if not self._ordered:
            self._finished.append(task)
        self._news.set()

    def _has_room(self) -> bool:
        return self._active < self._concurrency and len(self._runs) < self._most

    @staticmethod
    async def _ask(items: AsyncIterator[Any]) -> Any:
        return await anext(items, _OVER)

    def _done(self) -> asyncio.Task[Outcome] | None:
        if not self._ordered:
            return self._finished.popleft() if self._finished else None
        first = next(iter(self._runs), None)
        return first if first is not None and first.done() else None

    async def close(self) -> None:
        """Cancel what is under way, and come back when it is over."""
        tasks: list[asyncio.Task[Any]] = [*self._runs]
        if self._coming is not None:
            tasks.append(self._coming)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def map_items_sync(
    chain: Chain,
    items: Iterable[Any],
    options: RunOptions,
    *,
    concurrency: int,
    on_error: OnError,
    ordered: bool,
) -> Generator[Outcome]:
    """Run each item without an event loop of the caller's, see `Chain.map_sync`."""
    check(concurrency, on_error)
    if concurrency == 1:
        pairs = ((item, chain.run_sync(item, **options)) for item in items)
    else:
        pairs = _in_threads(chain, iter(items), options, concurrency, ordered=ordered)
    try:
        for item, outcome in pairs:
            given = settled(item, outcome, on_error)
            if given is not None:
                yield given
    finally:
        pairs.close()


def _in_threads(
    chain: Chain, items: Iterator[Any], options: RunOptions, concurrency: int, *, ordered: bool
) -> Generator[tuple[Any, Outcome]]:
    runs: dict[Future[Outcome], Any] = {}  # in the order in which they were started
    most = concurrency * _AHEAD if ordered else concurrency
    failure: Exception | None = None
    pool = ThreadPoolExecutor(concurrency, "catenary-map")
    try:
        while True:
            try:
                while failure is None and len(runs) < most and (item := next(items, _OVER)) is not _OVER:
                    runs[pool.submit(chain.run_sync, item, **options)] = item
            except Exception as error:  # raised when all that was given before is done with
                failure = error
            if not runs:
                if failure is not None:
                    raise failure
                return
            first = next(iter(runs))
            done = first if ordered else next(iter(wait(runs, return_when=FIRST_COMPLETED).done))
            outcome = done.result()
            yield runs.pop(done), outcome
    finally:
        pool.shutdown(cancel_futures=True)
