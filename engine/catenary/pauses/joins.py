"""What has arrived at the joins of a run that waits, written down for a run that takes it up."""

from __future__ import annotations

import logging
from threading import Lock
from typing import TYPE_CHECKING, Any

from catenary.jsontext import dumps, loads
from catenary.message import Message
from catenary.reasons import reason_of
from catenary.relation import Failed, NodeFailure
from catenary.runtime.begin import Arrived
from catenary.runtime.ends import Arrival

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.chain import Chain
    from catenary.jsontext import Json
    from catenary.runtime.run import Run
    from catenary.store.pauses import PauseStore

logger = logging.getLogger(__name__)


class KeptJoins:
    """Keeps in a store what arrives at the joins of runs that wait. Safe to use from many threads."""

    def __init__(self) -> None:
        self._gate = Lock()
        self._kept: dict[str, object] = {}  # by run, how much of it is written

    def keep(self, store: PauseStore, run: Run) -> None:
        """Write down what has arrived, unless it is. Raises: StoreError: when the store is closed."""
        with self._gate:  # what is seen later is written later
            mark = [(number, len(arrivals)) for number, arrivals in _arrived(run)], run.closed
            if self._kept.get(run.id) != mark:
                self._kept[run.id] = mark
                store.keep_joins(run.id, joins_text(run))

    def forget(self, run: Run) -> None:
        """Take note that a run waits no more."""
        with self._gate:
            self._kept.pop(run.id, None)


def joins_text(run: Run) -> str:
    """Write down what has arrived at the joins of a run, and which went on early; empty for nothing. For any thread."""
    names = [join.node_id for join in run.compiled.joins]
    joins: dict[str, Json] = {
        names[number]: {"arrivals": [out for arrival in arrivals if (out := _arrival_out(arrival, run))]}
        for number, arrivals in _arrived(run)
    }
    for number in run.closed or ():
        joins.setdefault(names[number], {"arrivals": []})["isClosed"] = True
    return dumps(joins) if joins else ""


def joins_of(text: str, chain: Chain, nodes: Iterable[str]) -> list[Arrived]:
    """Read what had arrived at those joins that some nodes can reach: the others waited for what is not done again."""
    written: dict[str, Any] = loads(text) if text else {}
    compiled = chain.compiled
    reach = {compiled.joins[number].node_id for node in nodes for number in compiled.by_id[node].reach}
    return [
        Arrived(name, arrivals=tuple(map(_arrival_in, join["arrivals"])), is_closed="isClosed" in join)
        for name, join in written.items()
        if name in reach
    ]


def _arrived(run: Run) -> list[tuple[int, list[Arrival]]]:
    return [(number, list(arrivals)) for number, arrivals in list((run.arrived or {}).items())]


def _arrival_out(arrival: Arrival, run: Run) -> list[Json]:
    """Give an arrival as JSON; nothing when its data has no form as JSON, which is told in the log."""
    error = None if arrival.error is None else reason_of(arrival.error)
    try:
        written = arrival.message.to_dict()
        dumps(written)
    except (TypeError, ValueError, RecursionError) as problem:
        logger.warning(
            "what node %r sent to a join is lost when this process ends: %s",
            arrival.sender,
            problem,
            extra={"run_id": run.id},
        )
        return []
    return [written, arrival.sender, str(arrival.relation), error]


def _arrival_in(parts: list[Any]) -> Arrival:
    message, sender, relation, error = parts
    cause = None if error is None else NodeFailure(error)
    return Arrival(Message.from_dict(message), sender, cause, relation if cause is None else Failed(cause))
