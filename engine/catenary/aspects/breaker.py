"""`SkipFallback`: a breaker around each node that fails too often."""

from __future__ import annotations

import copy
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Unpack
from weakref import WeakKeyDictionary

from catenary.aspects.base import Aspect, Proceed, error_of
from catenary.errors import EngineError
from catenary.relation import NodeFailure

if TYPE_CHECKING:
    from catenary.aspects.base import Cut
    from catenary.chain import Chain
    from catenary.clock import Clock
    from catenary.component import Component, Context, Emission
    from catenary.definition import NodeDefinition
    from catenary.message import Message

SKIPPED_TEXT: Final = "skip fallback error"


class SkipFallback(Aspect):
    """Skips a node that failed too often, and tries it again after a while.

    After `error_count_limit` failures without a success between them, within `window_s`, the node is skipped: messages
    leave it by `Failure` with `skip fallback error`, and it is not called. When `limit_duration_s` has passed, one
    message is let through to try it; the others are skipped meanwhile. Does it succeed, all is as before; does it
    fail, the node is skipped for as long again. Skips do not count as failures.

    Each node has a count of its own; reloading the node or its chain begins anew.

    Args:
        error_count_limit: How many failures it takes.
        limit_duration_s: For how many seconds the node is skipped then.
        window_s: Failures that lie further back than this do not count.
        **cut: `types`, `nodes`, `chains` and `order`, as the attributes of `Aspect`.
    """

    order = 10

    def __init__(
        self,
        error_count_limit: int = 3,
        limit_duration_s: float = 10.0,
        *,
        window_s: float = 60.0,
        **cut: Unpack[Cut],
    ) -> None:
        if error_count_limit < 1 or limit_duration_s < 0 or window_s <= 0:
            raise EngineError("of a SkipFallback, error_count_limit is at least 1 and the times are not negative")
        self.error_count_limit = error_count_limit
        self.limit_duration_s = limit_duration_s
        self.window_s = window_s
        self.place(cut)
        self._breaker: Breaker
        self._breakers: WeakKeyDictionary[Component[Any], Breaker] = WeakKeyDictionary()

    def for_node(self, chain: Chain, node: NodeDefinition, component: Component[Any]) -> Aspect | None:  # noqa: ARG002
        """Give one with a count of its own."""
        one = copy.copy(self)
        breaker = self._breakers.get(component)  # other versions of the chain may have the node in common
        if breaker is None:
            breaker = self._breakers[component] = Breaker(self, chain.engine.clock)
        one._breaker = breaker
        return one

    def around(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Emission:  # noqa: ARG002
        """Skip the node, or go on to it and count. Raises: NodeFailure: when it is skipped."""
        breaker = self._breaker
        is_probe = breaker.enter()
        try:
            emission = proceed(msg)
        except Exception:
            breaker.failed(is_probe=is_probe)
            raise
        except BaseException:
            breaker.abandoned(is_probe=is_probe)
            raise
        breaker.left(emission, is_probe=is_probe)
        return emission

    async def around_awaited(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Emission:  # noqa: ARG002
        """Do the same at a node that is awaited. Raises: NodeFailure: when it is skipped."""
        breaker = self._breaker
        is_probe = breaker.enter()
        try:
            emission = await proceed(msg)
        except Exception:
            breaker.failed(is_probe=is_probe)
            raise
        except BaseException:
            breaker.abandoned(is_probe=is_probe)
            raise
        breaker.left(emission, is_probe=is_probe)
        return emission


class Breaker:
    """Counts the failures of one node. Safe to use from many threads.

    Attributes:
        state: `closed` when messages go through, `open` when they are skipped, `half-open` while one tries the node.
    """

    def __init__(self, settings: SkipFallback, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._failures: deque[float] = deque(maxlen=settings.error_count_limit)
        self._opened = 0.0
        self._lock = Lock()
        self.state = "closed"

    def enter(self) -> bool:
        """Let a message in, or not.

        Returns:
            True when it is the one that tries the node.

        Raises:
            NodeFailure: When the node is skipped.
        """
        if self.state == "closed":
            return False
        with self._lock:
            if self.state == "closed":
                return False
            is_over = self._clock.monotonic() - self._opened >= self._settings.limit_duration_s
            if self.state == "half-open" or not is_over:
                raise NodeFailure(SKIPPED_TEXT)
            self.state = "half-open"
            return True

    def left(self, emission: Any, *, is_probe: bool) -> None:
        """Count what the node sent out."""
        if error_of(emission) is not None:
            self.failed(is_probe=is_probe)
        elif is_probe or (self._failures and self.state == "closed"):
            with self._lock:
                if is_probe or self.state == "closed":  # one that began before the node was skipped tells nothing
                    self._failures.clear()
                    self.state = "closed"

    def failed(self, *, is_probe: bool) -> None:
        """Count a failure."""
        now = self._clock.monotonic()
        with self._lock:
            if is_probe:
                self._open(now)
            elif self.state == "closed":
                failures = self._failures
                failures.append(now)
                if len(failures) == failures.maxlen and now - failures[0] <= self._settings.window_s:
                    self._open(now)

    def abandoned(self, *, is_probe: bool) -> None:
        """Let another message try the node: this one was cancelled on the way."""
        if is_probe:
            with self._lock:
                self.state = "open"

    def _open(self, now: float) -> None:
        self.state = "open"
        self._opened = now
        self._failures.clear()
