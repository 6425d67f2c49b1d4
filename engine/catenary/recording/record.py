"""What is kept of a run: every visit in order, with what went in and out. Run logs, history and pictures read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.outcome import End

RecordStatus: TypeAlias = Literal["running", "completed", "failed", "paused", "resumed", "cancelled", "interrupted"]
"""What a run came to; `resumed` is one that was paused and went on as another one, `interrupted` one whose process
ended before it did."""


@dataclass(slots=True, kw_only=True)
class Visit:
    """One visit of a node.

    Attributes:
        number: The number of the visit in its run, from 1, in the order in which visits began.
        parent: The visit whose sub-run this one belongs to; 0 at the top.
        chain_id: The chain of the node.
        chain_version: The version of that chain.
        node_id: The node.
        node_type: Its component type, as written.
        relation: The relation by which the message came; empty at the first node.
        sender: The node that sent it; empty at the first node.
        message: What came in; at a join, the message of the first arrival.
        sent: What left, in order, as pairs of relation and message; emissions on the way are among them.
        error: Why the visit failed, or was cut off, in words; empty when it was not.
        started_ms: When it began, in milliseconds since 1970.
        duration_s: How long it took; `None` while it lasts.
        items: What the node reported on the way, in order, as pairs of dotted name and data.
    """

    number: int
    parent: int
    chain_id: str
    chain_version: int
    node_id: str
    node_type: str
    relation: str
    sender: str
    message: Message
    started_ms: int
    sent: list[tuple[str, Message]] = field(default_factory=list[Any])
    error: str = ""
    duration_s: float | None = None
    items: list[tuple[str, Mapping[str, Json]]] = field(default_factory=list[Any])

    @property
    def bytes_in(self) -> int:
        """The size of the data that came in, in bytes; a text counts as UTF-8."""
        return size_of(self.message)

    @property
    def bytes_out(self) -> int:
        """The size of all data that left, in bytes."""
        return sum(size_of(message) for _, message in self.sent)

    def to_dict(self) -> dict[str, Json]:
        """Give the visit as JSON with camelCase keys; messages in their wire form."""
        from catenary.recording.wire import visit_to_dict

        return visit_to_dict(self)

    @classmethod
    def from_dict(cls, written: Mapping[str, Json]) -> Visit:
        """Read what `to_dict` gave. Raises: ValueError: when it is not such a visit."""
        from catenary.recording.wire import visit_from_dict

        return visit_from_dict(written)


class Nested(NamedTuple):
    """A visit and those of its sub-runs.

    Attributes:
        visit: The visit.
        inside: What its sub-runs visited, in order.
    """

    visit: Visit
    inside: list[Nested]


class RunRecord:
    """One run at the top, its sub-runs included. It grows while the run lasts.

    Attributes:
        run_id: The id of the run.
        chain_id: The chain it was started on.
        chain_version: The version of that chain.
        message: The message it began with.
        started_ms: When it began, in milliseconds since 1970.
        ended_ms: When it ended; `None` while it lasts.
        status: `running`, or what the outcome says.
        error: Why it failed, in words; empty when it did not.
        ends: How each branch of the run at the top ended, in order.
        resumed_as: The id of the run as which it went on; empty when it did not.
    """

    __slots__ = (
        "_definition",
        "_visits",
        "chain_id",
        "chain_version",
        "ended_ms",
        "ends",
        "error",
        "message",
        "resumed_as",
        "run_id",
        "started_ms",
        "status",
    )

    def __init__(  # noqa: PLR0913 - a value of many parts, all by name
        self,
        *,
        run_id: str,
        chain_id: str,
        chain_version: int,
        definition: Mapping[str, Json] | Callable[[], Mapping[str, Json]],
        message: Message,
        started_ms: int,
        ended_ms: int | None = None,
        status: RecordStatus = "running",
        error: str = "",
        visits: list[Visit] | Callable[[], list[Visit]] | None = None,
        ends: list[End] | None = None,
        resumed_as: str = "",
    ) -> None:
        self.run_id = run_id
        self.chain_id = chain_id
        self.chain_version = chain_version
        self._definition = definition
        self.message = message
        self.started_ms = started_ms
        self.ended_ms = ended_ms
        self.status: RecordStatus = status
        self.error = error
        self._visits = [] if visits is None else visits
        self.ends: list[End] = [] if ends is None else ends
        self.resumed_as = resumed_as

    @property
    def definition(self) -> Mapping[str, Json]:
        """The chain as written, in the version the run is on; secrets are as encrypted."""
        if callable(self._definition):
            self._definition = self._definition()
        return self._definition

    @property
    def visits(self) -> list[Visit]:
        """Every visit, in the order in which they began; made from what was noted when they are read."""
        if not callable(self._visits):
            return self._visits
        visits = self._visits()
        if self.ended_ms is not None:  # nothing comes any more, and what was noted can be forgotten
            self._visits = visits
        return visits

    @property
    def duration_s(self) -> float | None:
        """How long the run took, in seconds; `None` while it lasts."""
        return None if self.ended_ms is None else (self.ended_ms - self.started_ms) / 1000

    def nested(self) -> list[Nested]:
        """Give the visits as a tree: those at the top, each with the visits of its sub-runs."""
        top: list[Nested] = []
        known: dict[int, Nested] = {}
        for visit in self.visits:
            known[visit.number] = one = Nested(visit, [])
            outer = known.get(visit.parent)
            (top if outer is None else outer.inside).append(one)
        return top

    def walk(self) -> Iterator[tuple[int, Visit]]:
        """Give the visits as `(depth, visit)`, each followed by those of its sub-runs."""
        waiting = [(0, one) for one in reversed(self.nested())]
        while waiting:
            depth, (visit, inside) = waiting.pop()
            yield depth, visit
            waiting += [(depth + 1, one) for one in reversed(inside)]

    def to_dict(self) -> dict[str, Json]:
        """Give the record as JSON with camelCase keys; messages in their wire form."""
        from catenary.recording.wire import record_to_dict

        return record_to_dict(self)

    @classmethod
    def from_dict(cls, written: Mapping[str, Json]) -> RunRecord:
        """Read what `to_dict` gave; the errors of ends have their texts only.

        Raises:
            ValueError: When it is not such a record.
        """
        from catenary.recording.wire import record_from_dict

        return record_from_dict(written)

    def __eq__(self, other: object) -> bool:
        """Tell whether two records say the same."""
        return self.to_dict() == other.to_dict() if isinstance(other, RunRecord) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # it grows

    def __repr__(self) -> str:
        return f"RunRecord({self.run_id!r}, chain {self.chain_id!r}, {self.status}, {len(self.visits)} visits)"


class Recorder(Protocol):
    """Gets the record of each run. Both calls come in the task of the run: they must be quick and must not raise."""

    def began(self, record: RunRecord) -> None:
        """Take note that a run began; its record grows from now on."""
        ...

    def ended(self, record: RunRecord) -> None:
        """Take the whole record of a run that is over."""
        ...


class MemoryRecorder:
    """Keeps the records of runs in a list, for tests and for programs that look at their runs.

    Args:
        limit: How many are kept; the oldest one goes. All if absent.

    Attributes:
        records: The records, in the order in which the runs began.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.records: list[RunRecord] = []
        self._limit = limit

    def began(self, record: RunRecord) -> None:
        """Keep the record of a run that began."""
        self.records.append(record)
        if self._limit is not None and len(self.records) > self._limit:
            del self.records[0]

    def ended(self, record: RunRecord) -> None:
        """Do nothing: the record is here since the run began."""

    def clear(self) -> None:
        """Forget all records."""
        self.records.clear()


def size_of(message: Message) -> int:
    """Give the size of a message's data in bytes; a text counts as UTF-8, data that cannot be written as nothing."""
    try:
        data = message.data
    except (TypeError, ValueError):
        return 0
    return len(data) if isinstance(data, bytes) or data.isascii() else len(data.encode("utf-8", "surrogatepass"))
