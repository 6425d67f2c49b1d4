"""What is counted of requests: how many, how they were answered, how long they took, and how many are under way."""

from __future__ import annotations

from collections import defaultdict

from catenary.aspects.histogram import Histogram


class Traffic:
    """Counts requests, by method, route and status. A route is a path as it is written, with its variable parts.

    Attributes:
        answered: How many were answered, by method, route and status.
        latency: How long they took, by method and route.
        under_way: How many are under way.
        refused: How many came without a key that is known.
    """

    def __init__(self) -> None:
        self.answered: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        self.latency: defaultdict[tuple[str, str], Histogram] = defaultdict(Histogram)
        self.under_way = 0
        self.refused = 0

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.answered[method, route, status] += 1
        latency = self.latency[method, route]
        latency.note(seconds)
        if not self.answered[method, route, status] & 1023:
            latency.settle()
