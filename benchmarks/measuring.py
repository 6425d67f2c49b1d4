"""CPU time of several cases side by side: each repeat visits all in turn, so that a busy machine hits all alike."""

from __future__ import annotations

import asyncio
import gc
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    Cases = Mapping[str, Callable[[int], None]]

_runner = asyncio.Runner()


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure.

    Attributes:
        repeats: How often each case is measured.
        sample_s: CPU seconds that one measurement should take; slow cases take one message at least.
        runs: How many runs wait at once when memory is measured.
    """

    repeats: int
    sample_s: float
    runs: int


THOROUGH = Effort(repeats=15, sample_s=0.03, runs=10_000)
QUICK = Effort(repeats=3, sample_s=0.003, runs=200)


class Samples:
    """What was measured: for each case, the CPU time of a message in microseconds, once a repeat."""

    def __init__(self, samples: dict[str, list[float]]) -> None:
        self._samples = samples

    def __contains__(self, name: str) -> bool:
        return name in self._samples

    def __getitem__(self, name: str) -> list[float]:
        return self._samples[name]

    def marginal(self, few: str, many: str, between: int) -> list[float]:
        """Give what one of the hops costs by which two cases differ, once a repeat."""
        return [(more - less) / between for less, more in zip(self[few], self[many], strict=True)]


def ratio(ours: Sequence[float], floor: Sequence[float]) -> float:
    """Give the median of the ratios of the repeats: both sides of each were measured within the same moments."""
    return median(mine / other if other > 0 else float("nan") for mine, other in zip(ours, floor, strict=True))


def awaiting(make: Callable[[], Awaitable[Any]]) -> Callable[[int], None]:
    """Make a case of a coroutine function: all messages of a sample are awaited one after the other in one task."""

    async def many(count: int) -> None:
        for _ in range(count):
            await make()

    return lambda count: _runner.run(many(count))


def calling(make: Callable[[], Any]) -> Callable[[int], None]:
    """Make a case of a plain function."""

    def many(count: int) -> None:
        for _ in range(count):
            make()

    return many


def run_once(make: Callable[[], Awaitable[Any]]) -> Any:
    """Await something in the event loop of the measurements."""

    async def once() -> Any:
        return await make()

    return _runner.run(once())


def measure(cases: Cases, effort: Effort, clock: Callable[[], float] = time.process_time) -> Samples:
    """Measure cases against each other; `clock` counts the seconds: those of all threads, if it is not named.

    The garbage collector stays on, for garbage is part of the price. What lives already is frozen out of it, so that
    a case does not pay for the modules that other cases import; each sample begins with nothing to collect.
    """
    counts = {name: _calibrated(run, effort.sample_s, clock) for name, run in cases.items()}
    samples: dict[str, list[float]] = {name: [] for name in cases}
    gc.collect()
    gc.freeze()
    try:
        for repeat in range(effort.repeats):
            names = list(cases)
            for name in names if repeat % 2 else reversed(names):
                gc.collect()
                samples[name].append(_timed(cases[name], counts[name], clock) / counts[name] * 1e6)
    finally:
        gc.unfreeze()
    return Samples(samples)


def _calibrated(run: Callable[[int], None], sample_s: float, clock: Callable[[], float]) -> int:
    run(1)  # imports, first parses
    count = 1
    while (took := _timed(run, count, clock)) < sample_s / 4:
        count *= 4
    return max(1, round(count * sample_s / took))


def _timed(run: Callable[[int], None], count: int, clock: Callable[[], float]) -> float:
    began = clock()
    run(count)
    return clock() - began
