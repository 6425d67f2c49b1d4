"""What one run may be told: `RunOptions`, the keyword arguments of `run`, `run_sync` and `stream`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

if TYPE_CHECKING:
    from catenary.events import Listener
    from catenary.message import Message
    from catenary.recording import Recorder, RunRecord, Visit
    from catenary.relation import Relation


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Where something happened, for callbacks.

    Attributes:
        run_id: The run.
        chain_id: The chain it is a run of.
        node_id: The node; empty when it belongs to none.
        scope: The values of the run by type, as `ctx.scope`.
    """

    run_id: str
    chain_id: str
    node_id: str
    scope: Any


@dataclass(frozen=True, slots=True)
class Restart:
    """One place at which a run begins.

    Attributes:
        node: The id of the node.
        after: Relations: not the node itself is run, but what follows it by each of these. Empty: the node is run.
        message: What begins there; the message of the run if absent.
    """

    node: str
    after: str | Iterable[str] = ()
    message: Message | None = None


OnEnd: TypeAlias = "Callable[[RunInfo, Message, BaseException | None, Relation | str], Awaitable[None] | None]"
"""Gets the place, the message, the error and the relation of a branch that ended."""

OnAllCompleted: TypeAlias = Callable[[], Awaitable[None] | None]
"""Is called when nothing of a run is going on any more."""

OnCompleted: TypeAlias = "Callable[[RunRecord], Awaitable[None] | None]"
"""Gets the record of a run that is over."""

OnNodeCompleted: TypeAlias = "Callable[[Visit], Awaitable[None] | None]"
"""Gets a visit at one of its exits: `sent` holds the one relation and message of this exit."""

OnDebug: TypeAlias = (
    "Callable[[str, str, str, Message, Relation | str, BaseException | str | None], Awaitable[None] | None]"
)
"""Gets chain id, flow (`IN`, `OUT` or `Log`), node id, message, relation and error."""


class RunOptions(TypedDict, total=False):
    """The options of one run. All may be absent; `None` counts as absent.

    Callbacks are `def` or `async def`. What one raises is logged, and neither the run nor another callback notices.

    Keys:
        start: The node or nodes to start at, each with the message of the run; the chain's first node if absent.
        start_after: Nodes that are not run themselves, with the relation or relations by which the message goes on
            from there: `{"check": "True"}`.
        restore: More places to begin at, each with a message of its own if it has one. Joins below wait for what
            these begin, and for nothing else.
        skip_tell_next: True to run only the nodes the run begins at: what they send ends their branch, and `end`
            nodes gate nothing.
        timeout: Seconds after which the run is cancelled; its open branches end as `Failure`.
        scope: Values for `ctx.scope`, one for each type.
        outputs: What nodes are taken to have sent on before the run began, by node id, for settings that name them.
        run_id: The id of the run, in place of one that is made up.
        listener: Gets the events of this run.
        recorder: Gets the record of this run.
        debug: True or False overrides the `debugMode` of chains and nodes, for `on_debug`.
        on_end: Called once for each branch that ended; not for those that `end` nodes gate.
        on_all_completed: Called once, when nothing is going on any more.
        on_completed: Called once after that, with the record of the run.
        on_node_completed: Called at each exit of a node, once for each relation.
        on_debug: Called as nodes are entered and left: those in debug mode, or as `debug` says.
    """

    start: str | Iterable[str] | None
    start_after: Mapping[str, str | Iterable[str]] | None
    restore: Iterable[Restart] | None
    skip_tell_next: bool
    timeout: float | None
    scope: Iterable[Any] | Mapping[type, Any] | None
    outputs: Mapping[str, Message] | None
    run_id: str | None
    listener: Listener | None
    recorder: Recorder | None
    debug: bool | None
    on_end: OnEnd | None
    on_all_completed: OnAllCompleted | None
    on_completed: OnCompleted | None
    on_node_completed: OnNodeCompleted | None
    on_debug: OnDebug | None
