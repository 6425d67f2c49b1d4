"""`Metrics`: counts and latencies of each chain and of each node."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Unpack
from weakref import WeakKeyDictionary

from catenary.aspects.base import Aspect, error_of, has
from catenary.aspects.histogram import Histogram
from catenary.aspects.runs import when_over
from catenary.clock import SystemClock
from catenary.outcome import Outcome
from catenary.relation import FAILURE, SUCCESS

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.aspects.base import Cut, Proceed
    from catenary.chain import Chain
    from catenary.component import Component, Context
    from catenary.definition import NodeDefinition
    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.message import Message


_OFTEN: Final = 1023
"""Of so many visits, less one, all but one leave the notes of their durations unsorted."""


_STATUSES: Final = ("completed", "failed", "paused", "cancelled")


class NodeCounts:
    """What is counted of one node.

    Attributes:
        entered: Visits that began.
        failed: Visits that ended as `Failure`.
        latency: How long the visits took that are over.
    """

    __slots__ = ("entered", "failed", "latency")

    def __init__(self) -> None:
        self.entered = self.failed = 0
        self.latency = Histogram()

    def clear(self) -> None:
        """Begin anew, but for the visits that go on."""
        self.entered -= self.latency.count
        self.failed = 0
        self.latency.clear()

    def to_dict(self) -> dict[str, Json]:
        """Give `total`, `current`, `success`, `failed` and `latency`."""
        left, failed, entered = self.latency.count, self.failed, self.entered
        return {
            "total": entered,
            "current": entered - left,
            "success": left - failed,
            "failed": failed,
            "latency": self.latency.to_dict(),
        }


class ChainCounts:
    """What is counted of one chain: messages, and, apart from them, the ends of their branches.

    Attributes:
        total: Messages that came, sub-runs included.
        current: Messages that are under way.
        statuses: How many messages came to each status.
        success: Ends of branches without an error; those that `end` nodes gate are left out.
        failed: Ends of branches as `Failure`.
        latency: How long messages took.
        nodes: The nodes by id.
    """

    def __init__(self) -> None:
        self.total = self.current = self.success = self.failed = 0
        self.statuses = dict.fromkeys(_STATUSES, 0)
        self.latency = Histogram()
        self.nodes: dict[str, NodeCounts] = {}

    def clear(self) -> None:
        """Begin anew, but for what goes on."""
        self.total = self.current
        self.success = self.failed = 0
        self.statuses = dict.fromkeys(_STATUSES, 0)
        self.latency.clear()
        for node in self.nodes.values():
            node.clear()

    def to_dict(self) -> dict[str, Json]:
        """Give `messages`, `ends`, `latency` and `nodes`."""
        return {
            "messages": {"total": self.total, "current": self.current, **self.statuses},
            "ends": {"success": self.success, "failed": self.failed},
            "latency": self.latency.to_dict(),
            "nodes": {name: node.to_dict() for name, node in list(self.nodes.items())},
        }


class Metrics(Aspect):
    """Counts messages, ends of branches and visits, with latencies: `engine.metrics` gives them as a plain dict.

    `messages` of a chain counts messages: one is `completed` or `failed` as a whole. `ends` counts branches: a message
    that is split in three ends three times. Reloading a chain keeps its counts. Engines never share counts, be it one
    `Metrics` that is given to several.

    Args:
        **cut: `types`, `nodes`, `chains` and `order`, as the attributes of `Aspect`; types and ids choose the nodes.
    """

    order = 20

    def __init__(self, **cut: Unpack[Cut]) -> None:
        self.place(cut)
        self._books: WeakKeyDictionary[Engine, dict[str, ChainCounts]] = WeakKeyDictionary()

    def counts_of(self, engine: Engine) -> dict[str, ChainCounts]:
        """Give what was counted in an engine, by chain id."""
        return self._books.setdefault(engine, {})

    def read(self, engine: Engine) -> dict[str, Json]:
        """Give what was counted in an engine as plain values: `{"chains": {id: ...}}`."""
        return {"chains": {name: counts.to_dict() for name, counts in list(self.counts_of(engine).items())}}

    def reset(self, engine: Engine) -> None:
        """Begin anew, but for what goes on."""
        for counts in self.counts_of(engine).values():
            counts.clear()

    def start(self, ctx: Context, msg: Message, /) -> None:
        """Count a message, and see how it ends."""
        counts = _of(self.counts_of(ctx.chain.engine), ctx.chain_id)
        clock = _clock_of(ctx.chain)
        began = clock()
        counts.total += 1
        counts.current += 1
        run = ctx._run
        assert run is not None

        def over() -> None:
            counts.current -= 1
            counts.latency.note(clock() - began)
            if not counts.total & _OFTEN:
                counts.latency.settle()
            counts.statuses[Outcome(run, msg).status] += 1
            for end in run.ends:
                if end.relation == FAILURE:
                    counts.failed += 1
                elif not end.gated:
                    counts.success += 1

        when_over(ctx, over)

    def for_node(self, chain: Chain, node: NodeDefinition, component: Component[Any]) -> Aspect | None:  # noqa: ARG002
        """Give the counts of the node, as what is woven around it."""
        nodes = _of(self.counts_of(chain.engine), chain.id).nodes
        return NodeMetrics(nodes.setdefault(node.id, NodeCounts()), _clock_of(chain), self)


class NodeMetrics(Aspect):
    """Counts the visits of one node."""

    def __init__(self, counts: NodeCounts, clock: Callable[[], float], settings: Metrics) -> None:
        self.order = settings.order
        self._counts = counts
        self._clock = clock
        if has(settings, "point_cut"):
            self.point_cut = settings.point_cut

    def wrap(self, run: Callable[..., Any], is_awaited: bool) -> Callable[..., Any]:
        """Count the visits of a node."""
        counts, clock = self._counts, self._clock
        note, settle = counts.latency.note, counts.latency.settle

        def called(ctx: Context, message: Any) -> Any:
            entered = counts.entered = counts.entered + 1
            if not entered & _OFTEN:
                settle()
            began = clock()
            try:
                emission = run(ctx, message)
            except BaseException:
                counts.failed += 1
                note(clock() - began)
                raise
            note(clock() - began)
            if emission is not SUCCESS and has_failed(emission):
                counts.failed += 1
            return emission

        async def awaited(ctx: Context, message: Any) -> Any:
            entered = counts.entered = counts.entered + 1
            if not entered & _OFTEN:
                settle()
            began = clock()
            try:
                emission = await run(ctx, message)
            except BaseException:
                counts.failed += 1
                note(clock() - began)
                raise
            note(clock() - began)
            if emission is not SUCCESS and has_failed(emission):
                counts.failed += 1
            return emission

        return awaited if is_awaited else called

    def around(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Any:
        """Count a visit that a point-cut lets in."""
        return self.wrap(_past_context(proceed), is_awaited=False)(ctx, msg)

    async def around_awaited(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Any:
        """Count a visit that a point-cut lets in, of a node that is awaited."""
        return await self.wrap(_past_context(proceed), is_awaited=True)(ctx, msg)


def _past_context(proceed: Proceed) -> Callable[..., Any]:
    def run(_ctx: Context, message: Message) -> Any:
        return proceed(message)

    return run


def has_failed(emission: Any) -> bool:
    """Tell whether an emission is a `Failure`, or has one in it."""
    if emission.__class__ is tuple:
        return bool(emission) and emission[0] == FAILURE
    if isinstance(emission, str):
        return emission == FAILURE
    return emission is not None and error_of(emission) is not None


def _of(book: dict[str, ChainCounts], chain_id: str) -> ChainCounts:
    counts = book.get(chain_id)
    return book.setdefault(chain_id, ChainCounts()) if counts is None else counts


def _clock_of(chain: Chain) -> Callable[[], float]:
    """Give what tells the time, without a Python frame where the clock is that of the machine."""
    clock = chain.engine.clock
    return time.perf_counter if type(clock) is SystemClock else clock.monotonic
