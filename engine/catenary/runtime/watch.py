"""Who looks at a run: its listeners and recorders; and the observed compilation, which makes events for the former."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from catenary.events import (
    BranchEnded,
    Event,
    NodeEmitted,
    NodeEvent,
    NodeFinished,
    NodeStarted,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunStarted,
    RunWasCancelled,
    deliver,
)
from catenary.recording import RunRecord
from catenary.relation import Failed
from catenary.runtime.emission import failure, first_of, pairs_of
from catenary.runtime.inline import SENT
from catenary.runtime.tape import Tape, cut_text, ending, leave

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.chain import Chain
    from catenary.events import Listener
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.options import RunOptions
    from catenary.recording import Recorder, RecordStatus
    from catenary.relation import Relation
    from catenary.runtime.compiled import Compiled, Placed
    from catenary.runtime.context import Context
    from catenary.runtime.ends import Arrival, End
    from catenary.runtime.run import Run

logger = logging.getLogger(__name__)

_STATUSES: Final[Mapping[type[Event], RecordStatus]] = {
    RunCompleted: "completed",
    RunFailed: "failed",
    RunPaused: "paused",
    RunWasCancelled: "cancelled",
}


class Watch:
    """The listeners to one run at the top and its sub-runs, the numbers of its events and visits, and its record.

    Attributes:
        is_heard: True when somebody listens to events; False when the run is recorded only.
        tape: What is noted for the recorders; None when there are none.
        record: The record of the run, once it began.
        note: Adds a visit to the tape.
    """

    __slots__ = (
        "_chain",
        "_listeners",
        "_recorders",
        "_run",
        "_seq",
        "_visits",
        "is_heard",
        "note",
        "record",
        "tape",
    )

    def __init__(self, chain: Chain, listeners: tuple[Listener, ...], recorders: tuple[Recorder, ...] = ()) -> None:
        self._chain = chain
        self._listeners = listeners
        self._recorders = recorders
        self._seq = 0
        self._visits = 0
        self._run: Run
        self.is_heard = bool(listeners)
        self.record: RunRecord | None = None
        self.tape = Tape() if recorders else None
        self.note: Callable[[Any], None] = self.tape.note if self.tape is not None else _ignore

    def compiled_of(self, chain: Chain) -> Compiled:
        """Give the compiled form of a chain that those who look need."""
        return chain.observed if self.is_heard else chain.recorded

    def attach(self, run: Run) -> None:
        """Be the watch of a run at the top."""
        self._run = run
        run.watch = self
        if self.is_heard:
            run.attended = True

    @property
    def visit(self) -> int:
        """The number of the visit that a plain `def` is at when the run is recorded only."""
        return len(self.tape.visits) + 1 if self.tape is not None else self._visits

    def publish(self, kind: type[Event], chain_id: str, **parts: Any) -> None:
        """Make an event of this kind and hand it to the listeners; note where a run begins and ends."""
        if self.tape is not None and (kind is RunStarted or kind in _STATUSES):
            self._keep(kind, self.tape, parts)
        if not self.is_heard:
            return
        self._seq += 1
        event = kind(
            seq=self._seq, timestamp=time.time_ns() // 1_000_000, run_id=self._run.id, chain_id=chain_id, **parts
        )
        deliver(event, self._listeners)

    def _keep(self, kind: type[Event], tape: Tape, parts: Mapping[str, Any]) -> None:
        if kind is RunStarted:
            chain = self._chain
            self.record = RunRecord(
                run_id=self._run.id,
                chain_id=chain.id,
                chain_version=chain.version,
                definition=chain.as_written,
                message=parts["message"],
                started_ms=tape.started_ms,
                visits=tape.read,
                ends=self._run.ends,
            )
            self._tell("began", self.record)
            return
        record = self.record
        if record is None:  # it never began
            return
        record.ended_ms = time.time_ns() // 1_000_000
        record.status = _STATUSES[kind]
        record.error = str(parts.get("error") or "")
        self._tell("ended", record)

    def _tell(self, moment: str, record: RunRecord) -> None:
        for recorder in self._recorders:
            try:
                getattr(recorder, moment)(record)
            except Exception:
                logger.exception("a recorder raised", extra={"run_id": record.run_id})

    def notify(self, ctx: Context, name: str, data: Mapping[str, Json]) -> None:
        """Publish what a component reports of its visit."""
        if self.tape is not None:
            self.tape.report(ctx.visit, name, data)
        if self.is_heard:
            self.publish(NodeEvent, ctx.chain_id, dotted=name, data=data, **_place(ctx))

    def enter(self, ctx: Context, message: Message) -> list[Any] | None:
        """Publish that a visit begins, and give it its number. Returns: its place on the tape."""
        entry = None
        if self.tape is not None:
            entry = self.tape.enter(ctx, message)
        else:
            self._visits += 1
            ctx._visit = self._visits
        sender = ctx._sender.node_id if ctx._sender else ""
        run = ctx._run
        self._seq += 1
        event = NodeStarted(
            seq=self._seq,
            timestamp=time.time_ns() // 1_000_000,
            run_id=self._run.id,
            chain_id=ctx.chain_id,
            node_id=ctx.node_id,
            visit=ctx._visit,
            parent=run.parent_visit if run else 0,
            message=message,
            relation=str(ctx._relation),
            sender=sender,
        )
        deliver(event, self._listeners)
        return entry

    def emitted(self, ctx: Context, relation: Relation | str, message: Message) -> None:
        """Publish that a visit sent something on the way."""
        if self.tape is not None:
            self.tape.send(ctx.visit, str(relation), message)
        if self.is_heard:
            self.publish(NodeEmitted, ctx.chain_id, relation=str(relation), message=message, **_place(ctx))

    def leave(self, ctx: Context, message: Message, emission: Any, error: BaseException | None, took: float) -> None:
        """Publish that a visit is over."""
        cut = cut_text(ctx, error)
        pairs: list[Any] = []
        if error is not None and not cut:
            pairs = [failure(error, message)]
        elif not cut and emission is not SENT:
            pairs = pairs_of(emission, message)
        errors = [str(relation.error) for relation, _ in pairs if isinstance(relation, Failed)]
        self.publish(
            NodeFinished,
            ctx.chain_id,
            relations=tuple(str(relation) for relation, _ in pairs),
            messages=tuple(sent for _, sent in pairs),
            error=cut or (errors[-1] if errors else ""),
            duration_s=took,
            **_place(ctx),
        )

    def ended(self, run: Run, end: End) -> None:
        """Publish that a branch ended."""
        if not self.is_heard:
            return
        self.publish(
            BranchEnded,
            run.compiled.chain_id,
            node_id=end.node_id,
            parent=run.parent_visit,
            relation=str(end.relation),
            message=end.message,
            error=str(end.error) if end.error is not None else "",
            gated=end.gated,
        )


def watch_of(chain: Chain, options: RunOptions) -> Watch | None:
    """Give the watch that a run of a chain needs; None when nobody looks."""
    bus = chain.engine.bus
    listeners, recorders = bus.listeners, bus.recorders
    if options:
        listener, recorder = options.get("listener"), options.get("recorder")
        if listener is not None:
            listeners = (*listeners, listener)
        if recorder is not None:
            recorders = (*recorders, recorder)
    return Watch(chain, listeners, recorders) if listeners or recorders else None


def _ignore(_visit: Any) -> None:
    """Stand in for a tape."""


def _place(ctx: Context) -> dict[str, Any]:
    run = ctx._run
    return {"node_id": ctx.node_id, "visit": ctx.visit, "parent": run.parent_visit if run else 0}


def observed(placed: Placed) -> Placed:
    """Give a node whose visits are published to the run's `watch`, and noted on its tape if it has one."""
    run = ending if placed.component.ends else placed.run

    def enter(ctx: Context, message: Message | list[Arrival]) -> _Visiting:
        assert ctx._run is not None
        watch = ctx._run.watch
        assert watch is not None
        shown = first_of(message)
        return _Visiting(watch, shown, watch.enter(ctx, shown))

    async def awaited(ctx: Context, message: Any) -> Any:
        visiting = enter(ctx, message)
        try:
            emission = await run(ctx, message)
        except BaseException as error:
            visiting.leave(ctx, None, error)
            raise
        visiting.leave(ctx, emission)
        return emission

    def called(ctx: Context, message: Any) -> Any:
        visiting = enter(ctx, message)
        try:
            emission = run(ctx, message)
        except BaseException as error:
            visiting.leave(ctx, None, error)
            raise
        visiting.leave(ctx, emission)
        return emission

    return replace(placed, run=awaited if placed.is_async else called, is_visited=placed.component.ends)


class _Visiting:
    """A visit that goes on."""

    __slots__ = ("_began", "_entry", "_message", "_watch")

    def __init__(self, watch: Watch, message: Message, entry: list[Any] | None) -> None:
        self._watch = watch
        self._message = message
        self._entry = entry
        self._began = time.perf_counter()

    def leave(self, ctx: Context, emission: Any, error: BaseException | None = None) -> None:
        """Tell that the visit is over."""
        took = time.perf_counter() - self._began
        if self._entry is not None:
            leave(ctx, self._entry, emission, error)
        self._watch.leave(ctx, self._message, emission, error, took)
