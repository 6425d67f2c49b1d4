"""The observed compilation: events of a run, made only for runs that somebody watches."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catenary.events import BranchEnded, Event, NodeEmitted, NodeEvent, NodeFinished, NodeStarted, deliver
from catenary.relation import Failed
from catenary.runtime.emission import failure, first_of, pairs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.events import Listener
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.relation import Relation
    from catenary.runtime.compiled import Placed
    from catenary.runtime.context import Context
    from catenary.runtime.ends import Arrival, End
    from catenary.runtime.run import Run


class Watch:
    """The listeners to one run at the top and its sub-runs, and the numbers of its events and visits."""

    __slots__ = ("_listeners", "_run_id", "_seq", "_visits")

    def __init__(self, run_id: str, listeners: tuple[Listener, ...]) -> None:
        self._run_id = run_id
        self._listeners = listeners
        self._seq = 0
        self._visits = 0

    def publish(self, kind: type[Event], chain_id: str, **parts: Any) -> None:
        """Make an event of this kind and hand it to the listeners."""
        self._seq += 1
        event = kind(
            seq=self._seq, timestamp=time.time_ns() // 1_000_000, run_id=self._run_id, chain_id=chain_id, **parts
        )
        deliver(event, self._listeners)

    def notify(self, ctx: Context, name: str, data: Mapping[str, Json]) -> None:
        """Publish what a component reports of its visit."""
        self.publish(NodeEvent, ctx.chain_id, dotted=name, data=data, **_place(ctx))

    def enter(self, ctx: Context, message: Message) -> None:
        """Publish that a visit begins, and give it its number."""
        self._visits += 1
        ctx._visit = self._visits
        sender = ctx._sender.node_id if ctx._sender else ""
        run = ctx._run
        self._seq += 1
        event = NodeStarted(
            seq=self._seq,
            timestamp=time.time_ns() // 1_000_000,
            run_id=self._run_id,
            chain_id=ctx.chain_id,
            node_id=ctx.node_id,
            visit=self._visits,
            parent=run.parent_visit if run else 0,
            message=message,
            relation=str(ctx._relation),
            sender=sender,
        )
        deliver(event, self._listeners)

    def emitted(self, ctx: Context, relation: Relation | str, message: Message) -> None:
        """Publish that a visit sent something on the way."""
        self.publish(NodeEmitted, ctx.chain_id, relation=str(relation), message=message, **_place(ctx))

    def leave(self, ctx: Context, message: Message, emission: Any, took: float) -> None:
        """Publish that a visit is over."""
        pairs = pairs_of(emission, message)
        errors = [str(relation.error) for relation, _ in pairs if isinstance(relation, Failed)]
        self.publish(
            NodeFinished,
            ctx.chain_id,
            relations=tuple(str(relation) for relation, _ in pairs),
            messages=tuple(sent for _, sent in pairs),
            error=errors[-1] if errors else "",
            duration_s=took,
            **_place(ctx),
        )

    def ended(self, run: Run, end: End) -> None:
        """Publish that a branch ended."""
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


def _place(ctx: Context) -> dict[str, Any]:
    run = ctx._run
    return {"node_id": ctx.node_id, "visit": ctx.visit, "parent": run.parent_visit if run else 0}


def observed(placed: Placed) -> Placed:
    """Give a node whose visits are published to the run's `watch`."""
    run = placed.run

    def enter(ctx: Context, message: Message | list[Arrival]) -> tuple[Watch, Message, float]:
        assert ctx._run is not None
        watch = ctx._run.watch
        assert watch is not None
        shown = first_of(message)
        watch.enter(ctx, shown)
        return watch, shown, time.perf_counter()

    async def awaited(ctx: Context, message: Any) -> Any:
        watch, shown, began = enter(ctx, message)
        try:
            emission = await run(ctx, message)
        except BaseException as error:
            watch.leave(ctx, shown, failure(error, message), time.perf_counter() - began)
            raise
        watch.leave(ctx, shown, emission, time.perf_counter() - began)
        return emission

    def called(ctx: Context, message: Any) -> Any:
        watch, shown, began = enter(ctx, message)
        try:
            emission = run(ctx, message)
        except BaseException as error:
            watch.leave(ctx, shown, failure(error, message), time.perf_counter() - began)
            raise
        watch.leave(ctx, shown, emission, time.perf_counter() - began)
        return emission

    return replace(placed, run=awaited if placed.is_async else called)
