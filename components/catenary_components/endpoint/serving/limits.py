"""What a server lets clients do: how long they may take, and how much they may send before anybody looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SETTINGS: Final = "catenary.settings"
"""The extension of an ASGI scope by which an application may send `settings` with `websocket.accept`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a server lets clients do.

    Args:
        read_timeout_s: Seconds for a whole request, from its first byte. A long body may take one second more for
            each `body_bytes_s` that have come. 0 is no limit.
        write_timeout_s: Seconds in which a client may take nothing of what was sent to it. 0 is no limit.
        idle_timeout_s: Seconds that a connection may be without a request. 0 is no limit.
        keep_alive: False closes each connection after one answer.
        head_bytes: Longest request line and headers together.
        body_bytes_s: The slowest rate at which a body may come, once `read_timeout_s` are over.
        connections: Connections at once; one more is told 503 and closed.
    """

    read_timeout_s: float = 10.0
    write_timeout_s: float = 10.0
    idle_timeout_s: float = 60.0
    keep_alive: bool = True
    head_bytes: int = 64 * 1024
    body_bytes_s: int = 8 * 1024
    connections: int = 10_000

    def widest(self, other: Limits) -> Limits:
        """Give limits under which whatever either lets pass passes."""
        return Limits(
            read_timeout_s=_longest(self.read_timeout_s, other.read_timeout_s),
            write_timeout_s=_longest(self.write_timeout_s, other.write_timeout_s),
            idle_timeout_s=_longest(self.idle_timeout_s, other.idle_timeout_s),
            keep_alive=self.keep_alive or other.keep_alive,
            head_bytes=max(self.head_bytes, other.head_bytes),
            body_bytes_s=min(self.body_bytes_s, other.body_bytes_s),
            connections=max(self.connections, other.connections),
        )

    @property
    def tick_s(self) -> float:
        """How often to look whether somebody takes too long: finely enough for the shortest of the times."""
        times = [time for time in (self.read_timeout_s, self.write_timeout_s, self.idle_timeout_s) if time]
        return min(0.5, max(0.02, min(times, default=2.0) / 4))


def _longest(a: float, b: float) -> float:
    return 0.0 if not a or not b else max(a, b)
