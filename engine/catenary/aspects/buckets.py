"""Token buckets, one for each key."""

from __future__ import annotations

from threading import Lock
from typing import Final

_SWEEP_AT: Final = 1024


class Buckets:
    """Tells how long each must wait for a token. Safe to use from many threads.

    What is kept of a bucket is when it would be full again: a token taken moves that by `1 / rate` seconds, and who
    finds it further away than the bucket is deep has to wait for the rest.

    Args:
        rate: Tokens in a second.
        burst: How many tokens a bucket holds.
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._interval_s = 1.0 / rate
        self._depth_s = burst * self._interval_s
        self._full_at: dict[str, float] = {}
        self._sweep_at = _SWEEP_AT
        self._lock = Lock()

    def take(self, key: str, now: float, max_wait_s: float) -> float | None:
        """Take a token.

        Returns:
            The seconds after which it is there; None when that is too long, and then nothing is taken.
        """
        with self._lock:
            full_at = max(self._full_at.get(key, now), now) + self._interval_s
            wait_s = full_at - self._depth_s - now
            if wait_s > max_wait_s + 1e-9:
                return None
            if len(self._full_at) >= self._sweep_at:
                self._sweep(now)
            self._full_at[key] = full_at
            return max(wait_s, 0.0) if wait_s > 1e-9 else 0.0

    def give_back(self, key: str) -> None:
        """Put a token back that was not used."""
        with self._lock:
            if key in self._full_at:
                self._full_at[key] -= self._interval_s

    def _sweep(self, now: float) -> None:
        """Forget the buckets that are full."""
        self._full_at = {key: full_at for key, full_at in self._full_at.items() if full_at > now}
        self._sweep_at = max(_SWEEP_AT, 2 * len(self._full_at))
