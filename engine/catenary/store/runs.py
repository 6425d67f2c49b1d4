"""What a store of runs offers, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from catenary.jsontext import Json
    from catenary.recording import RecordStatus, RunRecord, Visit

_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept. Whatever goes beyond is deleted, the oldest runs first; `None` is no limit.

    Attributes:
        max_runs: The number of runs.
        max_age_s: How long ago a run may have begun, in seconds.
        max_bytes: The size of all records together, in bytes of text.
    """

    max_runs: int | None = 10_000
    max_age_s: float | None = 30 * 24 * 3600.0
    max_bytes: int | None = 500 * _MEBIBYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One recorded run, without its visits.

    Attributes:
        run_id: The id of the run.
        chain_id: The chain it was started on.
        chain_version: The version of that chain, counted by the engine that ran it.
        fingerprint: Names the chain as it was written then; two runs with the same one ran the same chain.
        status: What it came to.
        error: Why it failed, in words; empty when it did not.
        started_ms: When it began, in milliseconds since 1970.
        ended_ms: When it ended; `None` when it has not, or nobody knows when.
        visits: How many visits are recorded.
        size_bytes: How much room its record takes.
        resumed_as: The id of the run as which it went on; empty when it did not.
    """

    run_id: str
    chain_id: str
    chain_version: int
    fingerprint: str
    status: RecordStatus
    error: str
    started_ms: int
    ended_ms: int | None
    visits: int
    size_bytes: int
    resumed_as: str = ""

    @property
    def duration_s(self) -> float | None:
        """How long it took, in seconds; `None` when it is not over."""
        return None if self.ended_ms is None else (self.ended_ms - self.started_ms) / 1000

    def to_dict(self) -> dict[str, Json]:
        """Give it as JSON with camelCase keys."""
        return {
            "runId": self.run_id,
            "chainId": self.chain_id,
            "chainVersion": self.chain_version,
            "fingerprint": self.fingerprint,
            "status": self.status,
            "resumedAs": self.resumed_as,
            "error": self.error,
            "startedMs": self.started_ms,
            "endedMs": self.ended_ms,
            "durationS": self.duration_s,
            "visits": self.visits,
            "sizeBytes": self.size_bytes,
        }


@dataclass(frozen=True, slots=True)
class Query:
    """Which runs are asked for; the newest come first.

    Attributes:
        chain: The id of the chain; empty for all.
        status: What they came to; empty for all.
        since_ms: When they began at the earliest, in milliseconds since 1970.
        before_ms: When they began at the latest.
        limit: How many at most; `None` for all.
    """

    chain: str = ""
    status: str = ""
    since_ms: int | None = None
    before_ms: int | None = None
    limit: int | None = 20


@dataclass(slots=True)
class Entry:
    """What is to be written of one run.

    Attributes:
        record: The run.
        visits: The visits to write, beside those that are written already.
        is_first: True when nothing of the run is written yet.
    """

    record: RunRecord
    visits: Sequence[Visit]
    is_first: bool = True


class RunStore(Protocol):
    """Keeps records of runs. All calls but `write` block."""

    def write(self, take: Callable[[], Sequence[Entry]], within_s: float) -> Future[None]:
        """Write what `take` gives when the time has come, all of it or nothing; `take` may be called again.

        What goes beyond the limits is deleted at the same time, now and then. Work that is due takes along what waits.

        Raises:
            StoreError: When the store is closed.
        """
        ...

    def runs(self, query: Query) -> list[RunSummary]:
        """Give the runs that a query asks for, the newest first."""
        ...

    def get(self, run_id: str) -> RunRecord | None:
        """Give the whole record of a run; `None` when there is none."""
        ...

    def matching(self, prefix: str, limit: int) -> list[str]:
        """Give the ids of runs that begin with a text, the newest first, up to a number of them."""
        ...

    def delete(self, run_ids: Sequence[str]) -> int:
        """Delete runs. Returns: how many there were."""
        ...

    def prune(self, limits: Limits) -> int:
        """Delete what goes beyond the limits. Returns: how many runs that were."""
        ...

    def close(self) -> None:
        """Write what waits, and close the store."""
        ...
