"""A histogram of durations: each bucket is twice as wide as the one before, from a microsecond on."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json

_BUCKETS: Final = 80  # the last one ends after more seconds than any clock counts
_US: Final = 1_000_000


class Histogram:
    """Counts durations. Safe to use from many threads.

    Attributes:
        note: Takes a duration in seconds, as cheaply as can be; `settle` sorts what was noted into the buckets.
    """

    __slots__ = ("_counts", "_lock", "_max_s", "_noted", "_sum_s", "note")

    def __init__(self) -> None:
        self._noted: list[float] = []
        self.note: Callable[[float], None] = self._noted.append
        self._counts = [0] * _BUCKETS
        self._sum_s = self._max_s = 0.0
        self._lock = Lock()

    def settle(self) -> None:
        """Sort what was noted into the buckets: to be called now and then, for the notes take memory."""
        with self._lock:
            noted = self._noted[:]
            del self._noted[: len(noted)]
            counts = self._counts
            for seconds in noted:
                counts[int(seconds * _US).bit_length()] += 1
            if noted:
                self._sum_s += sum(noted)
                longest = max(noted)
                self._max_s = max(self._max_s, longest)

    @property
    def count(self) -> int:
        """How many durations there are."""
        self.settle()
        return sum(self._counts)

    def clear(self) -> None:
        """Forget all of them."""
        self.settle()
        with self._lock:
            self._counts = [0] * _BUCKETS
            self._sum_s = self._max_s = 0.0

    def read(self) -> tuple[list[int], float]:
        """Give how many durations each bucket has, and their sum in seconds; bucket `n` ends at `2 ** n` us."""
        self.settle()
        with self._lock:
            return list(self._counts), self._sum_s

    def quantile_s(self, part: float) -> float:
        """Give a duration that this part of all did not exceed; exact to its bucket, evenly spread within it."""
        self.settle()
        counts = list(self._counts)
        wanted = part * sum(counts)
        below = 0
        for number, count in enumerate(counts):
            if count and below + count >= wanted:
                low = 0.0 if number == 0 else 2.0 ** (number - 1) / _US
                high = 2.0**number / _US
                return min(low + (high - low) * (wanted - below) / count, self._max_s)
            below += count
        return 0.0

    def to_dict(self) -> dict[str, Json]:
        """Give count, sum, mean, quantiles and the buckets that are not empty, by their upper ends, in seconds."""
        count = self.count
        counts = list(self._counts)
        return {
            "count": count,
            "sum_s": self._sum_s,
            "mean_s": self._sum_s / count if count else 0.0,
            "p50_s": self.quantile_s(0.5),
            "p95_s": self.quantile_s(0.95),
            "p99_s": self.quantile_s(0.99),
            "max_s": self._max_s,
            "buckets": {f"{2.0**number / _US:g}": found for number, found in enumerate(counts) if found},
        }
