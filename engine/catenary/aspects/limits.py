"""`ConcurrencyLimit` and `RateLimit`: how many runs, or visits of nodes, there may be at a time or in a time."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, Literal, Self, Unpack

from catenary.aspects.base import Aspect, Objection, Proceed
from catenary.aspects.buckets import Buckets
from catenary.aspects.keys import Key
from catenary.aspects.runs import when_over
from catenary.aspects.slots import Slots
from catenary.errors import EngineError
from catenary.relation import NodeFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from catenary.aspects.base import Cut
    from catenary.aspects.keys import KeySource
    from catenary.component import Context, Emission
    from catenary.definition import ChainDefinition
    from catenary.message import Message

CONCURRENCY_TEXT: Final = "concurrency limit reached"
RATE_TEXT: Final = "rate limit reached"

Across = Literal["chain", "engine"]


class _Limit(Aspect):
    """A limit on runs; with node types or ids, on visits of those nodes."""

    order = 10

    def __init__(self, key: KeySource, across: Across, cut: Cut) -> None:
        if across not in {"chain", "engine"}:
            raise EngineError(f"across is 'chain' or 'engine', not {across!r}")
        self.place(cut)
        self._across = across
        self._key = Key(key, type(self).__name__)
        self._is_at_nodes = bool(self.types or self.nodes)
        self.leaves_out = frozenset({"start"} if self._is_at_nodes else {"around"})

    def reads(self, definition: ChainDefinition, /) -> Iterable[str]:
        """Have kept what the key reads."""
        return self._key.reads(node.id for node in definition.nodes)

    def objections(self, definition: ChainDefinition, /) -> Iterable[Objection]:
        """Refuse a key that reads what nodes send, where no node has sent anything."""
        for node_id in () if self._is_at_nodes else sorted(self.reads(definition)):
            told = f"the key {self._key.source!r} of a {type(self).__name__} reads what node {node_id!r} sends"
            hint = (
                "runs are let in before the first node: take the key from msg or metadata, or limit nodes by their id"
            )
            yield Objection(f"{told}, and is asked for before that", hint=hint)


class ConcurrencyLimit(_Limit):
    """Lets a few messages at a time into a chain, or into some of its nodes; others wait in a queue or are refused.

    A message that is refused ends as `Failure` with `concurrency limit reached`: of its run, which does not begin, or
    of the node. A slot is given back however the run or the visit ends. What runs inside of a run, or a visit, that has
    a slot with the same key goes along on it: it never waits for what it is a part of.

    Args:
        most: How many at a time; 0 refuses all.
        queue: How many may wait.
        queue_timeout_s: How long one of them waits before it is refused.
        key: An expression or a function `(ctx, msg)`; each value has slots and a queue of its own.
        across: Whether each chain has slots of its own, or all chains of the engine share them.
        **cut: `types`, `nodes`, `chains` and `order`. With node types or ids, it is visits of those nodes that are
            counted, of all of them together.
    """

    def __init__(
        self,
        most: int,
        *,
        queue: int = 0,
        queue_timeout_s: float = 30.0,
        key: KeySource = None,
        across: Across = "chain",
        **cut: Unpack[Cut],
    ) -> None:
        super().__init__(key, across, cut)
        if most < 0 or queue < 0 or queue_timeout_s < 0:
            raise EngineError("most, queue and queue_timeout_s of a ConcurrencyLimit are not negative")
        self.most = most
        self.queue = queue
        self.queue_timeout_s = queue_timeout_s
        self.slots = Slots(most, queue)

    def new(self) -> Self:
        """Give one with slots of its own, unless they are shared across the engine."""
        if self._across == "engine":
            return self
        one = copy.copy(self)
        one.slots = Slots(self.most, self.queue)
        return one

    def start(self, ctx: Context, msg: Message, /) -> Awaitable[None] | None:
        """Take a slot for the run, or wait for one. Raises: NodeFailure: when there is none."""
        key = self._key.of(ctx, msg)
        if self.slots.is_held(key):
            return None
        if not self._take(key):
            return self._start_later(ctx, key)
        when_over(ctx, self.slots.hold(key))
        return None

    async def _start_later(self, ctx: Context, key: str) -> None:
        await self._wait(ctx, key)
        when_over(ctx, self.slots.hold(key))

    async def around(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Emission:
        """Hold a slot during the visit. Raises: NodeFailure: when there is none."""
        key = self._key.of(ctx, msg)
        if self.slots.is_held(key):
            return await proceed(msg)
        if not self._take(key):
            await ctx.need_loop()
            await self._wait(ctx, key)
        release = self.slots.hold(key)
        try:
            return await proceed(msg)
        finally:
            release()

    def _take(self, key: str) -> bool:
        try:
            return self.slots.take(key)
        except LookupError:
            raise NodeFailure(CONCURRENCY_TEXT) from None

    async def _wait(self, ctx: Context, key: str) -> None:
        try:
            await self.slots.wait(key, ctx.clock, self.queue_timeout_s)
        except LookupError:
            raise NodeFailure(CONCURRENCY_TEXT) from None


class RateLimit(_Limit):
    """Lets so many messages in a second into a chain, or into some of its nodes; others wait or are refused.

    It is a bucket of `burst` tokens that fills at `rate` tokens a second; a message takes one. One that would wait
    longer than `max_wait_s` is refused: it ends as `Failure` with `rate limit reached`.

    Args:
        rate: Messages in a second, such as `0.5` or `100`.
        burst: How many may come at once; what comes in a second, and at least 1, if absent.
        max_wait_s: How long a message may wait for a token; 0 refuses at once.
        key: An expression or a function `(ctx, msg)`; each value has a bucket of its own.
        across: Whether each chain has buckets of its own, or all chains of the engine share them.
        **cut: `types`, `nodes`, `chains` and `order`. With node types or ids, it is visits of those nodes that are
            counted, of all of them together.
    """

    def __init__(
        self,
        rate: float,
        *,
        burst: int | None = None,
        max_wait_s: float = 0.0,
        key: KeySource = None,
        across: Across = "chain",
        **cut: Unpack[Cut],
    ) -> None:
        super().__init__(key, across, cut)
        if rate <= 0 or (burst is not None and burst < 1) or max_wait_s < 0:
            raise EngineError("of a RateLimit, rate is more than 0, burst at least 1, and max_wait_s not negative")
        self.rate = rate
        self.burst = max(1, int(rate)) if burst is None else burst
        self.max_wait_s = max_wait_s
        self._buckets = Buckets(rate, self.burst)

    def new(self) -> Self:
        """Give one with buckets of its own, unless they are shared across the engine."""
        if self._across == "engine":
            return self
        one = copy.copy(self)
        one._buckets = Buckets(self.rate, self.burst)
        return one

    def start(self, ctx: Context, msg: Message, /) -> Awaitable[None] | None:
        """Take a token for the run, or wait for one. Raises: NodeFailure: when that would take too long."""
        return self._enter(ctx, self._key.of(ctx, msg))

    async def around(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Emission:
        """Take a token for the visit, or wait for one. Raises: NodeFailure: when that would take too long."""
        waiting = self._enter(ctx, self._key.of(ctx, msg))
        if waiting is not None:
            await waiting
        return await proceed(msg)

    def _enter(self, ctx: Context, key: str) -> Awaitable[None] | None:
        if self._take(ctx, key) == 0:
            return None
        self._buckets.give_back(key)  # for who is to wait may never come to it
        return self._wait(ctx, key)

    def _take(self, ctx: Context, key: str) -> float:
        wait_s = self._buckets.take(key, ctx.clock.monotonic(), self.max_wait_s)
        if wait_s is None:
            raise NodeFailure(RATE_TEXT)
        return wait_s

    async def _wait(self, ctx: Context, key: str) -> None:
        await ctx.need_loop()
        wait_s = self._take(ctx, key)
        try:
            await ctx.clock.sleep(wait_s)
        except BaseException:
            self._buckets.give_back(key)
            raise
