"""A histogram of durations: each bucket is twice as wide as the one before, from a microsecond on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catenary.jsontext import Json

_BUCKETS: Final = 48
_US: Final = 1_000_000


class Histogram:
    """Counts durations.

    Attributes:
        counts: How many fell into each bucket; bucket `n` ends below `2 ** n` microseconds.
        sum_s: All durations together.
        max_s: The longest one.
    """

    __slots__ = ("counts", "max_s", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * _BUCKETS
        self.sum_s = 0.0
        self.max_s = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.counts[min(int(seconds * _US).bit_length(), _BUCKETS - 1)] += 1
        self.sum_s += seconds
        if seconds > self.max_s:
            self.max_s = seconds

    def clear(self) -> None:
        """Forget all of them."""
        self.counts[:] = [0] * _BUCKETS
        self.sum_s = self.max_s = 0.0

    def quantile_s(self, part: float) -> float:
        """Give a duration that this part of all did not exceed; exact to its bucket, evenly spread within it."""
        counts = list(self.counts)
        wanted = part * sum(counts)
        below = 0
        for number, count in enumerate(counts):
            if count and below + count >= wanted:
                low = 0.0 if number == 0 else 2.0 ** (number - 1) / _US
                high = 2.0**number / _US
                return min(low + (high - low) * (wanted - below) / count, self.max_s)
            below += count
        return 0.0

    def to_dict(self) -> dict[str, Json]:
        """Give count, sum, mean, quantiles and the buckets that are not empty, by their upper ends, in seconds."""
        counts = list(self.counts)
        count = sum(counts)
        return {
            "count": count,
            "sum_s": self.sum_s,
            "mean_s": self.sum_s / count if count else 0.0,
            "p50_s": self.quantile_s(0.5),
            "p95_s": self.quantile_s(0.95),
            "p99_s": self.quantile_s(0.99),
            "max_s": self.max_s,
            "buckets": {f"{2.0**number / _US:g}": found for number, found in enumerate(counts) if found},
        }
