"""The loop that runs plain `def` nodes, one after the other, without a coroutine and without a task.

`InlineRun.glide` is one long function on purpose: one more call for each hop would cost as much as the hop itself.
"""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.message import Message
from catenary.relation import OrElse, Relation
from catenary.runtime.compiled import AsyncStep, Step
from catenary.runtime.context import Context
from catenary.runtime.emission import failure, first_of, is_pair, malformed, spread
from catenary.runtime.tokens import Core

if TYPE_CHECKING:
    from catenary.runtime.run import Run
    from catenary.runtime.tokens import Ready, Token

STRIDE = 64  # hops between two looks at the clock

ATTEND: Final[Any] = object()
"""Stands in the place of the step of a token when ends came that somebody is to be told of: those since `made`, or
those that stand in the place of its message."""

SENT: Final[Any] = object()
"""Stands for what a node gave back when all it had to say has been sent already."""

_PAUSE: Final[Token] = (ATTEND, None, None, "")
_NOT_AWAITED: Final[Any] = object()
_new: Final = object.__new__


class InlineRun(Core):
    """The core, and the loop over `def` nodes around it.

    Attributes:
        attended: True when somebody is to be told of each end as it comes.
        made: How many ends there were before those that somebody is to be told of.
        stride: Hops between two looks at the clock.
    """

    attended = False
    made = 0
    stride = STRIDE

    def glide(self, ready: Ready, token: Token, awaited: Any = _NOT_AWAITED) -> Token | None:  # noqa: C901, PLR0912
        """Visit a token, what follows it, and whatever else is ready, until something has to be awaited.

        Args:
            ready: The tokens that may be visited besides.
            token: The first one.
            awaited: What its node gave back, when that was an async one and has been awaited.

        Returns:
            What is to be awaited: the token of an async node; the token of a `def` node before which the clock is
            to be looked at; a token with `ATTEND` when ends came that somebody is to be told of. None when nothing
            is ready any more.

        Raises:
            StepLimitReached: When a step on a cycle would be visited too often.
        """
        ctx: Context | None = None
        attended = self.attended
        countdown = self.stride + 1
        visits: dict[Step, int] | None = None
        max_visits = made = 0
        step: Step
        message: Any  # at a join, the list of arrivals
        emission: Any  # what a node returned may be anything
        leaving: Any
        kind: Any
        step, message, sender, relation = token
        while True:
            if attended:
                made = len(self.ends)
            kind = step.__class__
            if kind is Step:
                countdown -= 1
                if not countdown:
                    return step, message, sender, relation
                if ctx is None:
                    ctx = _new(Context)  # the one that all `def` nodes get; the rest is set below, at each hop
                    ctx._run = cast("Run", self)
                    ctx._crew = None
                ctx._step = step
                ctx._sender = sender
                ctx._relation = relation
                try:
                    emission = step.run(ctx, message)
                except (Exception, CancelledError) as error:
                    emission = failure(error, message, ctx)
            elif kind is AsyncStep:
                if awaited is _NOT_AWAITED:
                    return step, message, sender, relation
                emission = awaited
                awaited = _NOT_AWAITED
            elif step is ATTEND:
                return step, message, sender, relation
            else:
                self.end(step, relation, message, is_end_node=True)
                emission = SENT

            kind = emission.__class__
            if kind is Relation:
                leaving = emission
            elif kind is tuple:
                if (
                    len(emission) == 2 and emission[1].__class__ is Message and isinstance(emission[0], str)
                ) or is_pair(emission):
                    leaving, message = emission
                else:
                    leaving, message = malformed(emission, message)
            elif emission is None:
                self.finish(step, first_of(message))
                leaving = None
            elif emission is SENT:
                self.finish(step)
                leaving = None
            elif kind is str:
                leaving = emission
            else:
                spread(self, step, emission, message, ready)
                leaving = None

            if leaving is not None:
                following = step.plain.get(leaving)
                if following is not None:
                    sender = step
                    step = following
                    relation = leaving
                    continue
                following = step.loops.get(leaving)
                if following is not None:
                    if visits is None:
                        visits = self.visits
                        if visits is None:
                            visits = self.visits = {}
                        max_visits = self.compiled.limits.max_visits
                    count = visits.get(following, 0)
                    if count >= max_visits:
                        self.count(following, message)  # raises, and says which cycle it is
                    visits[following] = count + 1
                    sender = step
                    step = following
                    relation = leaving
                    continue
                route = step.routes.get(leaving)
                if route is not None:
                    self.take(route, step, leaving, message, ready)
                elif leaving.__class__ is OrElse:
                    self.follow(step, leaving, message, ready)
                else:
                    self.end(step, leaving, message)
                    if step.reach:
                        self.finish(step)
            if attended and len(self.ends) > made:
                self.made = made
                return _PAUSE
            if not ready:
                return None
            step, message, sender, relation = ready.pop()
