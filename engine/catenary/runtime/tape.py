"""The recorded compilation: what happens in a run is noted as raw tuples, and made into visits when somebody reads."""

from __future__ import annotations

import asyncio
import time
from asyncio import CancelledError
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from catenary.message import metadata_text
from catenary.recording import Visit
from catenary.relation import FAILURE, PAUSED, Failed, OrElse
from catenary.runtime.cancelling import CANCELLED, SUSPENDED
from catenary.runtime.emission import failure, first_of, pairs_of
from catenary.runtime.inline import SENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.relation import Relation
    from catenary.runtime.compiled import Placed, Step
    from catenary.runtime.context import Context

# A visit on the tape: step, parent, sender, relation, message, began, ended, emission, error. It is a tuple, noted when
# the visit is over, for a plain `def`, in which no other visit can begin; for all others a list, filled in at the end.
ENDED: Final = 6
EMISSION: Final = 7
ERROR: Final = 8

_MS_PER_S: Final = 1000.0


class Tape:
    """What was noted of one run at the top and its sub-runs.

    Attributes:
        visits: The visits in the order in which they began; the first one has the number 1.
        note: Adds a visit; the list's own `append`.
        started_ms: When the run began, in milliseconds since 1970.
    """

    __slots__ = ("_began", "_items", "_made", "_sent", "note", "started_ms", "visits")

    def __init__(self) -> None:
        self.started_ms = time.time_ns() // 1_000_000
        self.visits: list[Any] = []
        self.note: Callable[[Any], None] = self.visits.append
        self._began = perf_counter()
        self._sent: dict[int, list[tuple[str, Message]]] = {}
        self._items: dict[int, list[tuple[str, Mapping[str, Json]]]] = {}
        self._made: list[Visit] = []

    def enter(self, ctx: Context, message: Message) -> list[Any]:
        """Note that a visit begins, and give it its number."""
        run = ctx._run
        parent = run.parent_visit if run else 0
        entry = [ctx._step, parent, ctx._sender, ctx._relation, message, perf_counter(), None, None, ""]
        self.visits.append(entry)
        ctx._visit = len(self.visits)
        return entry

    def send(self, visit: int, relation: str, message: Message) -> None:
        """Note what a visit sends on the way."""
        self._sent.setdefault(visit, []).append((relation, message))

    def report(self, visit: int, name: str, data: Mapping[str, Json]) -> None:
        """Note what a component reports of its visit."""
        self._items.setdefault(visit, []).append((name, data))

    def read(self) -> list[Visit]:
        """Give the visits there are by now; those that were over at an earlier call are the same objects."""
        made = list(self._made)  # not changed in place: the history reads in a thread of its own
        for number in range(1, len(self.visits) + 1):
            if number > len(made):
                made.append(self._visit(number))
            elif made[number - 1].duration_s is None:
                made[number - 1] = self._visit(number)
        self._made = made
        return list(made)

    def _visit(self, number: int) -> Visit:
        step, parent, sender, relation, message, began, ended, emission, error = self.visits[number - 1]
        sent = list(self._sent.get(number, ()))
        told, pairs = _outcome(ended, emission, error, message)
        sent += [(taken(step, left_by), out) for left_by, out in pairs]
        return Visit(
            number=number,
            parent=parent,
            chain_id=step.owner.id,
            chain_version=step.owner.version,
            node_id=step.node_id,
            node_type=step.node.type,
            relation=str(relation),
            sender=sender.node_id if sender else "",
            message=message,
            started_ms=self.started_ms + int((began - self._began) * _MS_PER_S),
            sent=sent,
            error=told,
            duration_s=None if ended is None else ended - began,
            items=list(self._items.get(number, ())),
        )


def _outcome(
    ended: float | None, emission: Any, error: BaseException | str, message: Message
) -> tuple[str, list[tuple[Relation | str, Message]]]:
    """Give why a visit failed, in words, and what it returned."""
    if isinstance(error, BaseException):
        pairs: list[Any] = [failure(error, message)]
    elif error or ended is None or emission is SENT:
        return error, []
    else:
        pairs = pairs_of(emission, message)
    told = ""
    for relation, sent in pairs:
        if isinstance(relation, Failed):
            told = str(relation.error)
        elif relation == FAILURE:
            told = metadata_text(sent.metadata.get("errorMsg")) or "failed"
    return told, pairs


def taken(step: Step, relation: Relation | str) -> str:
    """Give the relation by which a message went on: the other one when the first of an `OrElse` is not connected."""
    if isinstance(relation, OrElse) and relation not in step.routes and relation.default in step.routes:
        return relation.default
    return str(relation)


def leave(ctx: Context, entry: list[Any], emission: Any, error: BaseException | None = None) -> None:
    """Note that a visit is over."""
    entry[ENDED] = perf_counter()
    cut = cut_text(ctx, error)
    if cut == SUSPENDED:
        emission, error = PAUSED, None
    elif cut:
        entry[ERROR] = cut
        return
    entry[EMISSION] = emission if emission.__class__ is not list else list(emission)
    if error is not None:
        entry[ERROR] = error


def cut_text(ctx: Context, error: BaseException | None) -> str:
    """Give why nothing of a visit goes on, in words; empty when the run lets it."""
    run = ctx._run
    assert run is not None
    root = run.root
    if root.live and run.live:
        if not isinstance(error, (CancelledError, GeneratorExit)):
            return ""
        task = asyncio.current_task() if root.has_loop else None
        if task is None or task.cancelling() <= ctx.cancelling:
            return ""
    return root.stopping or CANCELLED


def ending(ctx: Any, message: Message) -> Any:
    """End a branch at an `end` node: the `run` of one that is visited because somebody looks."""
    ctx._run.end(ctx._step, ctx._relation, message, is_end_node=True)
    return SENT


def recorded(placed: Placed) -> Placed:
    """Give a node whose visits are noted on the run's tape."""
    if placed.component.ends:
        return replace(placed, run=_noted(ending), is_visited=True)
    if placed.is_async:
        return replace(placed, run=_noted_awaited(placed.run))
    return replace(placed, run=_noted_join(placed.run) if placed.component.collects else _noted(placed.run))


def _noted_awaited(run: Callable[..., Any]) -> Callable[..., Any]:
    async def awaited(ctx: Any, message: Any) -> Any:
        entry = ctx._run.watch.tape.enter(ctx, first_of(message))
        try:
            emission = await run(ctx, message)
        except BaseException as error:
            leave(ctx, entry, None, error)
            raise
        leave(ctx, entry, emission)
        return emission

    return awaited


def _noted_join(run: Callable[..., Any]) -> Callable[..., Any]:
    def called(ctx: Any, arrivals: Any) -> Any:
        first = arrivals[0].message  # the list belongs to the join: it may sort it
        began = perf_counter()
        try:
            emission = run(ctx, arrivals)
        except BaseException as error:
            note(ctx, first, began, None, error)
            raise
        note(ctx, first, began, emission, "")
        return emission

    return called


def note(ctx: Any, message: Message, began: float, emission: Any, error: BaseException | str) -> None:
    """Note a visit of a plain `def` that is over."""
    run = ctx._run
    sent = list(emission) if emission.__class__ is list else emission
    place = ctx._step, run.parent_visit, ctx._sender, ctx._relation, message
    run.watch.note((*place, began, perf_counter(), sent, error))


def _noted(run: Callable[..., Any]) -> Callable[..., Any]:
    def called(ctx: Any, message: Any) -> Any:
        began = perf_counter()
        try:
            emission = run(ctx, message)
        except BaseException as error:
            note(ctx, message, began, None, error)
            raise
        owner = ctx._run  # as `note` does it, without its frame: this is what every hop pays
        step, sender, relation = ctx._step, ctx._sender, ctx._relation
        sent = list(emission) if emission.__class__ is list else emission
        owner.watch.note((step, owner.parent_visit, sender, relation, message, began, perf_counter(), sent, ""))
        return emission

    return called
