"""The part of a chain that puts it into pipelines: `map`, `map_sync`, `as_function`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast

from catenary.pipelines.mapping import CONCURRENCY

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable

    from catenary.chain import Chain
    from catenary.engine import Engine
    from catenary.options import RunOptions
    from catenary.outcome import Outcome
    from catenary.pipelines.mapping import OnError
    from catenary.pipelines.portable import ChainFunction


class Pipelines:
    """Runs many messages through a chain."""

    def map(
        self,
        items: Iterable[Any] | AsyncIterable[Any],
        *,
        concurrency: int = CONCURRENCY,
        on_error: OnError = "raise",
        ordered: bool = True,
        **options: Unpack[RunOptions],
    ) -> AsyncGenerator[Outcome]:
        """Run each item and give the outcomes as they come: `async for outcome in chain.map(items)`.

        Items are asked for only while there is room, so the source may be endless. Leaving the loop early leaves runs
        under way for the collector to cancel; `async with contextlib.aclosing(chain.map(...))` cancels them at once.

        Args:
            items: `Message`s, or data.
            concurrency: How many run at once.
            on_error: What becomes of a run that did not complete: `raise` its error, which ends all; `skip` it;
                `collect` its outcome among the others; or a function of item and outcome, whose result takes the
                outcome's place; `None` leaves it out.
            ordered: True gives the outcomes in the order of the items; a slow one then holds back a few others.
            **options: Options of each run, as for `Engine.run`.

        Raises:
            CatenaryError: With `raise`, why the first run that did not complete did not; a note names the item.
            ValueError: When an argument cannot be used.
        """
        from catenary.pipelines.mapping import map_items

        return map_items(
            cast("Chain", self), items, options, concurrency=concurrency, on_error=on_error, ordered=ordered
        )

    def map_sync(
        self,
        items: Iterable[Any],
        *,
        concurrency: int = 1,
        on_error: OnError = "raise",
        ordered: bool = True,
        **options: Unpack[RunOptions],
    ) -> Generator[Outcome]:
        """Run each item where no event loop runs: `for outcome in chain.map_sync(items)`.

        The arguments are as for `map`. With a `concurrency` above 1 the runs are in threads; leaving the loop early
        then waits for those under way.
        """
        from catenary.pipelines.mapping import map_items_sync

        return map_items_sync(
            cast("Chain", self), items, options, concurrency=concurrency, on_error=on_error, ordered=ordered
        )

    def as_function(
        self,
        *,
        on_error: OnError = "raise",
        engine: Callable[[], Engine] | None = None,
        **options: Unpack[RunOptions],
    ) -> ChainFunction:
        """Give the chain as a function of one item that gives the value of the answer, and that can be pickled.

        For `multiprocessing`, Ray Data, Dask, Beam and the like: it carries the definition of the chain, the other
        chains of the engine, and the engine's settings; the engine is built once in each process, at the first call.
        `batch(items)` runs several.

        Args:
            on_error: As for `map`; what is left out is `None`.
            engine: Makes the engine in the other process, in place of the settings: for components, functions and
                clocks that cannot be pickled. It must itself be a function of a module.
            **options: Options of each run, as for `Engine.run`.
        """
        from catenary.pipelines.portable import ChainFunction

        return ChainFunction(cast("Chain", self), options, on_error, engine)
