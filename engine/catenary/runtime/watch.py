"""Who looks at a run: its listeners and recorders, and the events that they are told."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from catenary.debugging import Debugger
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
from catenary.relation import PAUSED, Failed, OrElse
from catenary.runlog import run_log_mode
from catenary.runtime.cancelling import SUSPENDED
from catenary.runtime.emission import failure, pairs_of
from catenary.runtime.exits import Exits, masked
from catenary.runtime.inline import SENT
from catenary.runtime.later import Later
from catenary.runtime.tape import Tape, cut_text, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.chain import Chain
    from catenary.events import Listener
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.options import OnDebug, RunOptions
    from catenary.outcome import Outcome
    from catenary.recording import Recorder, RecordStatus, Visit
    from catenary.relation import Relation
    from catenary.runtime.compiled import Compiled, Step
    from catenary.runtime.context import Context
    from catenary.runtime.ends import End
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
        is_heard: True when somebody is told of visits as they happen; False when the run is recorded only.
        tape: What is noted for the recorders; None when there are none.
        record: The record of the run, once it began.
        note: Adds a visit to the tape.
        later: What callbacks gave to be awaited; it has to be settled before the run is over.

    Args:
        keeps: True to make a record also when there is no recorder.
        exits: Gets each exit of a node, as a visit that sent one message.
        debugged: The debug callbacks, and what the run says of debug mode.
    """

    __slots__ = (
        "_chain",
        "_debugger",
        "_exits",
        "_listeners",
        "_masker",
        "_recorders",
        "_run",
        "_seq",
        "_visits",
        "is_heard",
        "later",
        "note",
        "record",
        "tape",
    )

    def __init__(
        self,
        chain: Chain,
        listeners: tuple[Listener, ...] = (),
        recorders: tuple[Recorder, ...] = (),
        *,
        keeps: bool = False,
        exits: Callable[[Visit], Any] | None = None,
        debugged: tuple[tuple[OnDebug, ...], bool | None] | None = None,
    ) -> None:
        self._chain = chain
        self._listeners = listeners
        self._recorders = recorders
        self._seq = 0
        self._visits = 0
        self._run: Run
        self.later = Later()
        self._exits = Exits(exits, self.later.put) if exits is not None else None
        self._debugger = Debugger(*debugged, self.later.put) if debugged is not None else None
        self._masker = chain.engine.masker
        self.is_heard = bool(listeners) or self._exits is not None or self._debugger is not None
        self.record: RunRecord | None = None
        self.tape = Tape() if recorders or keeps else None
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
        if not self._listeners:
            return
        self._seq += 1
        if self._masker:
            parts = masked(self._masker, parts)
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
                message=self._masker.message(parts["message"]),
                started_ms=tape.started_ms,
                visits=self._read,
                ends=self._run.ends,
            )
            self._tell("began", self.record)
            return
        record = self.record
        if record is None:  # it never began
            return
        record.ended_ms = time.time_ns() // 1_000_000
        record.status = _STATUSES[kind]
        record.error = self._masker.text(str(parts.get("error") or ""))
        if self._masker:
            record.ends = [self._masker.end(end) for end in record.ends]
        self._tell("ended", record)

    def _read(self) -> list[Visit]:
        assert self.tape is not None
        visits = self.tape.read()
        return list(map(self._masker.visit, visits)) if self._masker else visits

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
        if not self.is_heard:
            return
        if self._listeners:
            self.publish(NodeEvent, ctx.chain_id, dotted=name, data=data, **_place(ctx))
        if self._debugger is not None:
            self._debugger.logged(ctx._step, name, self._masker.items(data))
        if self._exits is not None:
            self._exits.logged(ctx, name, data)

    def enter(self, ctx: Context, message: Message) -> list[Any] | None:
        """Publish that a visit begins, and give it its number. Returns: its place on the tape."""
        entry = None
        if self.tape is not None:
            entry = self.tape.enter(ctx, message)
        else:
            self._visits += 1
            ctx._visit = self._visits
        if self._exits is not None:
            self._exits.entered(ctx, message)
        if self._masker:
            message = self._masker.message(message)
        if self._listeners:
            step, sender, run = ctx._step, ctx._sender, ctx._run
            self._seq += 1
            event = NodeStarted(
                seq=self._seq,
                timestamp=time.time_ns() // 1_000_000,
                run_id=self._run.id,
                chain_id=step.owner.id,
                node_id=step.node_id,
                visit=ctx._visit,
                parent=run.parent_visit if run else 0,
                message=message,
                relation=str(ctx._relation),
                sender=sender.node_id if sender else "",
            )
            deliver(event, self._listeners)
        if self._debugger is not None:
            self._debugger.entered(ctx._step, message, ctx._relation)
        return entry

    def emitted(self, ctx: Context, relation: Relation | str, message: Message) -> None:
        """Publish that a visit sent something on the way."""
        if self.tape is not None:
            self.tape.send(ctx.visit, taken(ctx._step, relation), message)
        if not self.is_heard:
            return
        self.publish(NodeEmitted, ctx.chain_id, relation=taken(ctx._step, relation), message=message, **_place(ctx))
        self._left(ctx, relation, message)

    def _left(self, ctx: Context, relation: Relation | str, message: Message, cut: str = "") -> None:
        """Tell callbacks that a message left a node, or with `cut` that its visit was cut off."""
        if self._masker:
            message = self._masker.message(message)
        error: BaseException | str | None = cut or None
        if isinstance(relation, Failed):
            error = relation.error
        if self._masker and error is not None:
            error = self._masker.text(str(error))
        if self._debugger is not None:
            self._debugger.left(ctx._step, message, _told(ctx._step, relation), error)
        if self._exits is not None:
            self._exits.left(ctx, message, taken(ctx._step, relation), error)

    def leave(self, ctx: Context, message: Message, emission: Any, error: BaseException | None, took: float) -> None:
        """Publish that a visit is over."""
        cut = cut_text(ctx, error)
        if cut == SUSPENDED:
            cut, emission, error = "", PAUSED, None
        pairs: list[Any] = []
        if error is not None and not cut:
            pairs = [failure(error, message)]
        elif not cut and emission is not SENT:
            pairs = pairs_of(emission, message)
        if self._listeners:
            self._publish_left(ctx, pairs, cut, took)
        if self._debugger is None and self._exits is None:
            return
        for relation, sent in pairs:
            self._left(ctx, relation, sent)
        if cut:
            self._left(ctx, "", message, cut)
        if self._exits is not None:
            self._exits.over(ctx)

    def _publish_left(self, ctx: Context, pairs: list[Any], error: str, took: float) -> None:
        step, run = ctx._step, ctx._run
        relations: list[str] = []
        messages: list[Message] = []
        for relation, sent in pairs:
            relations.append(taken(step, relation))
            messages.append(sent)
            if isinstance(relation, Failed):
                error = str(relation.error)
        if self._masker:
            messages = list(map(self._masker.message, messages))
            error = self._masker.text(error)
        self._seq += 1
        event = NodeFinished(
            seq=self._seq,
            timestamp=time.time_ns() // 1_000_000,
            run_id=self._run.id,
            chain_id=step.owner.id,
            node_id=step.node_id,
            visit=ctx._visit,
            parent=run.parent_visit if run else 0,
            relations=tuple(relations),
            messages=tuple(messages),
            error=error,
            duration_s=took,
        )
        deliver(event, self._listeners)

    def ended(self, run: Run, end: End) -> None:
        """Publish that a branch ended."""
        if not self._listeners:
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
    listeners, recorders, debugs = bus.listeners, bus.recorders, ()
    hooks = bus.hooks
    if options:
        listener, recorder, on_debug = options.get("listener"), options.get("recorder"), options.get("on_debug")
        listeners = listeners if listener is None else (*listeners, listener)
        recorders = recorders if recorder is None else (*recorders, recorder)
        debugs = () if on_debug is None else (on_debug,)
    if hooks is not None:
        debugs = (*hooks.on_debug, *debugs)
    override = options.get("debug")
    if override is None and chain.definition.debug_mode:
        override = True  # in the chains that it runs as well
    exits = options.get("on_node_completed")
    keeps = options.get("on_completed") is not None
    if hooks is not None and hooks.on_completed:
        keeps = keeps or run_log_mode(chain.definition, chain.engine.defaults.run_log_mode) != "off"
    debugged = (debugs, override) if debugs and override is not False else None
    if not (listeners or recorders or keeps or exits or debugged):
        return None
    return Watch(chain, listeners, recorders, keeps=keeps, exits=exits, debugged=debugged)


def bare_record(chain: Chain, outcome: Outcome) -> RunRecord:
    """Give the record of a run that nobody recorded: without visits."""
    masker = chain.engine.masker
    error, ended = outcome.error, time.time_ns() // 1_000_000
    return RunRecord(
        run_id=outcome.run_id,
        chain_id=chain.id,
        chain_version=chain.version,
        definition=chain.as_written,
        message=masker.message(outcome._message),
        started_ms=ended,
        ended_ms=ended,
        status=outcome.status,
        error=masker.text(str(error)) if error is not None else "",
        ends=[masker.end(end) for end in outcome.ends],
    )


def _told(step: Step, relation: Relation | str) -> Relation | str:
    return taken(step, relation) if isinstance(relation, OrElse) else relation


def _ignore(_visit: Any) -> None:
    """Stand in for a tape."""


def _place(ctx: Context) -> dict[str, Any]:
    run = ctx._run
    return {"node_id": ctx.node_id, "visit": ctx.visit, "parent": run.parent_visit if run else 0}
