"""Every event of a run, one dataclass each, and the bus that carries them.

All have `seq` (1, 2, 3 ... in a run, without gaps), `type`, `timestamp`, `run_id` and the place. Exactly one terminal
event ends a run and is the last: `run.complete`, `run.error`, `run.cancel` or `run.pause`. `connection.change` belongs
to no run; only those who subscribe to the engine get it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from catenary.jsontext import writable
from catenary.message import Message

if TYPE_CHECKING:
    from catenary.hooks import Hooks
    from catenary.jsontext import Json
    from catenary.recording import Recorder

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Event:
    """Base of all events; a value, not to be changed. (Not frozen: that would double the cost of making one.)

    Attributes:
        seq: The number of the event in its run, from 1.
        timestamp: Milliseconds since 1970.
        run_id: The run; events of sub-runs carry the id of the run at the top.
        chain_id: The chain it happened in.
        node_id: The node it happened at; empty for events of the run itself.
        visit: The number of the visit in the run, from 1; 0 for events of the run itself.
        parent: The visit that a sub-run belongs to; 0 at the top.
    """

    type: ClassVar[str] = ""

    seq: int
    timestamp: int
    run_id: str
    chain_id: str
    node_id: str = ""
    visit: int = 0
    parent: int = 0

    def to_dict(self) -> dict[str, Json]:
        """Give the event as JSON with camelCase keys; messages in their wire form."""
        written: dict[str, Json] = {"seq": self.seq, "type": self.name, "timestamp": self.timestamp}
        for name, written_name in _names(type(self)):
            written[written_name] = _plain(getattr(self, name))
        return written

    @property
    def name(self) -> str:
        """The dotted name of the event."""
        return self.type


@dataclass(slots=True, kw_only=True)
class RunStarted(Event):
    """A run began with this message."""

    type: ClassVar[str] = "run.start"
    message: Message


@dataclass(slots=True, kw_only=True)
class NodeStarted(Event):
    """A node is visited: the message, and the relation and node it came by."""

    type: ClassVar[str] = "node.start"
    message: Message
    relation: str = ""
    sender: str = ""


@dataclass(slots=True, kw_only=True)
class NodeEmitted(Event):
    """A node sent a message on the way, and goes on."""

    type: ClassVar[str] = "node.emit"
    relation: str
    message: Message


@dataclass(slots=True, kw_only=True)
class NodeFinished(Event):
    """A visit is over: what left the node, in order, the error if it failed, and how long it took in seconds."""

    type: ClassVar[str] = "node.end"
    relations: tuple[str, ...]
    messages: tuple[Message, ...]
    error: str = ""
    duration_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class BranchEnded(Event):
    """A branch of the run ended."""

    type: ClassVar[str] = "branch.end"
    relation: str
    message: Message
    error: str = ""
    gated: bool = False


@dataclass(slots=True, kw_only=True)
class NodeEvent(Event):
    """What a component itself reports, such as `content.delta`, `tool.start` or `usage`."""

    dotted: str
    data: Mapping[str, Json] = field(default_factory=dict[str, Any])

    @property
    def type(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - read from values, never from classes
        """The dotted name that the component gave."""
        return self.dotted


@dataclass(slots=True, kw_only=True)
class RunCompleted(Event):
    """The run is over and did not fail."""

    type: ClassVar[str] = "run.complete"


@dataclass(slots=True, kw_only=True)
class RunFailed(Event):
    """The run is over and failed."""

    type: ClassVar[str] = "run.error"
    code: str
    error: str


@dataclass(slots=True, kw_only=True)
class RunWasCancelled(Event):
    """The run was cancelled, or ran out of time."""

    type: ClassVar[str] = "run.cancel"
    error: str = ""


@dataclass(slots=True, kw_only=True)
class RunPaused(Event):
    """The run ended in a pause and can be resumed."""

    type: ClassVar[str] = "run.pause"


@dataclass(slots=True, kw_only=True)
class ConnectionChanged(Event):
    """An endpoint, or a connection that nodes share, is in another state; of no run: `run_id` is empty and `seq` 0.

    `node_id` is the endpoint, or the node or shared resource that owns the connection; `state` is `connected`,
    `reconnecting` or `disconnected`.
    """

    type: ClassVar[str] = "connection.change"
    state: str
    error: str = ""


Listener: TypeAlias = Callable[[Event], None]


class Bus:
    """Carries events to listeners, in order, in the task that made them. A listener must be quick and must not raise;
    what it raises is logged and does not disturb the run. `hooks` are what the engine calls for every run, if anything.
    """

    def __init__(self) -> None:
        self.listeners: tuple[Listener, ...] = ()
        self.hooks: Hooks | None = None
        self.recorders: tuple[Recorder, ...] = ()

    def record(self, recorder: Recorder) -> Callable[[], None]:
        """Add a recorder of all runs that begin from now on. Returns: a function that takes it off again."""
        own = _Recording(recorder)
        self.recorders = (*self.recorders, own)

        def leave() -> None:
            self.recorders = tuple(other for other in self.recorders if other is not own)

        return leave

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener. Returns: a function that takes it off again; calling it twice is fine."""
        own = _Subscription(listener)
        self.listeners = (*self.listeners, own)

        def leave() -> None:
            self.listeners = tuple(other for other in self.listeners if other is not own)

        return leave


class _Subscription:
    """One listener; the same function may be subscribed more than once."""

    __slots__ = ("_listener",)

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def __call__(self, event: Event) -> None:
        self._listener(event)


class _Recording:
    """One recorder; the same one may be there more than once."""

    def __init__(self, recorder: Recorder) -> None:
        self.began = recorder.began
        self.ended = recorder.ended


def deliver(event: Event, listeners: tuple[Listener, ...]) -> None:
    """Hand an event to listeners; one that raises is logged and the others still get it."""
    for listener in listeners:
        try:
            listener(event)
        except Exception:
            logger.exception("a listener to run events raised", extra={"event": event.name, "run_id": event.run_id})


@cache
def _names(kind: type[Event]) -> tuple[tuple[str, str], ...]:
    """Give the parts of a kind of event besides those that every event begins with, and how each is written."""
    first = {"seq", "timestamp", "dotted"}
    return tuple((part.name, _camel(part.name)) for part in fields(kind) if part.name not in first)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _plain(value: Any) -> Json:
    if isinstance(value, Message):
        return value.writable().to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[Any, ...]", value)]
    return writable(dict(value)) if isinstance(value, Mapping) else value  # type: ignore[arg-type]
