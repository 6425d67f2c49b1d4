"""What is kept of a run: every visit in order, with what went in and out. Run logs, history and pictures read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.outcome import End

RecordStatus: TypeAlias = Literal["running", "completed", "failed", "paused", "cancelled"]


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
        error: Why the visit failed, in words; empty when it did not.
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


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """One run at the top, its sub-runs included. It grows while the run lasts.

    Attributes:
        run_id: The id of the run.
        chain_id: The chain it was started on.
        chain_version: The version of that chain.
        definition: That chain as written, in the version the run is on; secrets are as encrypted.
        message: The message it began with.
        started_ms: When it began, in milliseconds since 1970.
        ended_ms: When it ended; `None` while it lasts.
        status: `running`, or what the outcome says.
        error: Why it failed, in words; empty when it did not.
        visits: Every visit, in the order in which they began.
        ends: How each branch of the run at the top ended, in order.
    """

    run_id: str
    chain_id: str
    chain_version: int
    definition: Mapping[str, Json]
    message: Message
    started_ms: int
    ended_ms: int | None = None
    status: RecordStatus = "running"
    error: str = ""
    visits: list[Visit] = field(default_factory=list[Visit])
    ends: list[End] = field(default_factory=list[Any])


class Recorder(Protocol):
    """Gets the record of each run. Both calls come in the task of the run: they must be quick and must not raise."""

    def began(self, record: RunRecord) -> None:
        """Take note that a run began; its record grows from now on."""
        ...

    def ended(self, record: RunRecord) -> None:
        """Take the whole record of a run that is over."""
        ...
