"""Where a run begins: at the first node, at others, or behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catenary.errors import EngineError
from catenary.message import Message
from catenary.options import Restart
from catenary.relation import Failed
from catenary.runtime.parts import alone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.options import RunOptions
    from catenary.runtime.compiled import Compiled, Step
    from catenary.runtime.ends import Arrival
    from catenary.runtime.run import Run
    from catenary.runtime.tokens import Beginning

NO_NODES = "the rule chain has no nodes"


@dataclass(frozen=True, slots=True)
class Arrived(Restart):
    """What had come to a join in the run that one goes on from; nothing begins with it.

    Attributes:
        arrivals: What had arrived there.
        is_closed: True when it had gone on early.
    """

    arrivals: tuple[Arrival, ...] = ()
    is_closed: bool = False


def begin(run: Run, message: Message, start: str | Iterable[str] | None) -> None:
    """Give a run its first tokens. Raises: EngineError: when a start node does not exist."""
    compiled = run.compiled
    if start is not None:
        run.start(beginnings(compiled, message, [Restart(name) for name in _names(start)]))
    elif compiled.first is not None:
        run.start_at(compiled.first, message)
    else:
        run.end_with("", Failed(EngineError(NO_NODES)), message)


def begin_with(run: Run, message: Message, options: RunOptions) -> None:
    """Give a run its first tokens as its options say; for some, the run goes on a part of its chain.

    Raises:
        EngineError: When a node does not exist, or a place to begin after names no relation.
    """
    restarts = _restarts(options) if options else None
    compiled = run.compiled
    alone_only = options.get("skip_tell_next", False)
    if not restarts and compiled.first is not None and alone_only:
        restarts = [Restart(compiled.first.node_id)]
    if not restarts:
        begin(run, message, None)
        return
    places = beginnings(compiled, message, restarts)
    if alone_only:
        run.compiled, places = alone(compiled, places)
        run.holds = [0] * len(run.compiled.joins) if run.compiled.joins else None
    for restart in restarts:
        if isinstance(restart, Arrived):
            run.restore(compiled.by_id[restart.node], restart.arrivals, is_closed=restart.is_closed)
    run.start(places)


def beginnings(compiled: Compiled, message: Message, restarts: list[Restart]) -> list[Beginning]:
    """Give the places that are asked for. Raises: EngineError: when a node does not exist."""
    unknown = [restart.node for restart in restarts if restart.node not in compiled.by_id]
    if unknown:
        said = "SetExecuteNodes" if len(restarts) == 1 else "restore parent"
        raise EngineError(
            f"{said} node id={unknown[0]} not found", hint="start, start_after and restore name nodes of the chain"
        )
    places: list[Beginning] = []
    for restart in restarts:
        if isinstance(restart, Arrived):
            continue
        step = compiled.by_id[restart.node]
        own = message if restart.message is None else restart.message
        places += [(step, own, relation) for relation in _names(restart.after)] or [(step, own, None)]
    return places


def first_step(compiled: Compiled, options: RunOptions) -> Step | None:
    """Give the step that a run begins at, the first one of several; None when it cannot begin as its options say."""
    try:
        places = beginnings(compiled, Message(), _restarts(options))
    except EngineError:
        return None
    return places[0][0] if places else compiled.first


def _restarts(options: RunOptions) -> list[Restart]:
    """Give all places to begin at. They are kept in the options: what is asked for may be an iterator."""
    start = options.get("start")
    after = {node: _names(relations) for node, relations in (options.get("start_after") or {}).items()}
    restore = list(options.get("restore") or ())
    if start is not None:
        options["start"] = start = _names(start)
    options["start_after"], options["restore"] = after, restore
    restarts = [Restart(name) for name in start or ()]
    for node, relations in after.items():
        if not relations:
            raise EngineError(
                f"start_after of node {node!r} names no relation",
                hint="name the relations by which the message goes on; to run the node itself, use start",
            )
        restarts.append(Restart(node, relations))
    return restarts + restore


def _names(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
