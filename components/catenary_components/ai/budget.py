"""Budgets: what a run may use up, with everything below it. A budget lies in the scope of the run."""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from catenary.errors import CatenaryError
from catenary.time_limit import TimeLimit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, MutableMapping

    from catenary.clock import Clock
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.messages import Usage
    from catenary_components.ai.models.types import ChatModel, ChatRequest, Piece, Reply
    from catenary_components.ai.options.budget import BudgetOptions

WARNED_AT: Final = 0.8
"""The share of a budget at which those who listen are warned."""

_NAMES: Final = {
    "tokens": "tokens",
    "cost": "US dollars",
    "model_calls": "model calls",
    "tool_calls": "tool calls",
    "seconds": "seconds",
}
_WRITTEN: Final = {"model_calls": "modelCalls", "tool_calls": "toolCalls"}


class BudgetExceeded(CatenaryError):  # noqa: N818 - a limit, named like those of runs
    """A run would use up more than its budget allows.

    Usual cause: The work needs more than the budget has, or the model goes on and on.

    Cure: Raise the `budget` that the text names, or set `onLimit: answer` to get what is known by then.

    Attributes:
        kind: Of what there is not enough: `tokens`, `cost`, `model_calls`, `tool_calls` or `seconds`.
        limit: How much there was.
        spent: How much is used up.
    """

    code = "budget.exceeded"

    def __init__(self, kind: str, limit: float, spent: float, wanted: int = 0) -> None:
        self.kind = kind
        self.limit = limit
        self.spent = spent
        more = f", and {wanted} more were asked for" if wanted else ""
        super().__init__(
            f"the budget of this run is used up: {spent:.6g} of {limit:.6g} {_NAMES[kind]}{more}",
            hint=f"raise `{_WRITTEN.get(kind, kind)}` of the budget, or set `onLimit: answer`",
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of each kind there is; 0 is no limit."""

    tokens: int = 0
    cost: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, options: BudgetOptions) -> Limits:
        """Give the limits that an agent's settings name."""
        return cls(options.tokens, options.cost, options.model_calls, options.tool_calls, options.seconds)


class Budget:
    """What a run may use up. Lay one into the scope of a run, and all agents in it share it; one of their own is part
    of it.

    Args:
        limits: How much there is.
        clock: Tells the time; the engine's.
        outer: The budget that this one is a part of.
        tell: Is told of a warning, with its name and what it carries.
        spent: What is used up already, by kind; it is kept up to date.
    """

    def __init__(
        self,
        limits: Limits,
        clock: Clock,
        *,
        outer: Budget | None = None,
        tell: Callable[..., None] | None = None,
        spent: MutableMapping[str, Json] | None = None,
    ) -> None:
        self.limits = limits
        self.spent: MutableMapping[str, Json] = {} if spent is None else spent
        self.is_timed = False
        self._clock = clock
        self._outer = outer
        self._tell = tell
        self._warned: set[str] = set()

    def used(self, kind: str) -> float:
        """Give how much of a kind is used up."""
        value = self.spent.get(kind, 0)
        return value if isinstance(value, (int, float)) else 0

    def left(self, kind: str) -> float | None:
        """Give how much of a kind is left, in this budget and those around it; `None` when there is no limit."""
        limit = getattr(self.limits, kind)
        own = max(limit - self.used(kind), 0) if limit else None
        around = self._outer.left(kind) if self._outer else None
        return min((one for one in (own, around) if one is not None), default=None)

    def begin_model_call(self, count: int = 1) -> None:
        """Count a model call that is about to be made. Raises: BudgetExceeded: when nothing is left for it.

        Args:
            count: How many it counts as; 0 for one that has no part in `modelCalls`.
        """
        for kind in ("tokens", "cost", "seconds"):
            self._need(kind)
        if count:
            self._need("model_calls", count)
            self.add("model_calls", count)

    def end_model_call(self, usage: Usage, cost: float | None) -> None:
        """Count what a model call has used up; its reply stands, even when that was more than there is."""
        self.add("tokens", usage.total or usage.prompt + usage.completion)
        self.add("cost", cost or 0.0)
        if cost is None:
            self.tell_unpriced()

    def tell_unpriced(self) -> None:
        """Tell that a limit of money cannot hold, because nobody knows what a model call has cost; once."""
        if self.limits.cost and self._tell is not None and "unpriced" not in self._warned:
            self._warned.add("unpriced")
            self._tell("budget.unpriced", limit=self.limits.cost)
        if self._outer is not None:
            self._outer.tell_unpriced()

    def take_tool_calls(self, count: int) -> None:
        """Count calls of tools that are about to be run. Raises: BudgetExceeded: when not all of them may."""
        self._need("tool_calls", count)
        self.add("tool_calls", count)

    def add(self, kind: str, amount: float) -> None:
        """Count what is used up, here and in the budgets around, and warn when little is left."""
        if amount:
            self.spent[kind] = self.used(kind) + amount
        limit = getattr(self.limits, kind)
        if limit and self.used(kind) >= WARNED_AT * limit:
            self.warn(kind)
        if self._outer is not None and kind != "seconds":  # each budget measures its own time
            self._outer.add(kind, amount)

    def warn(self, kind: str) -> None:
        """Tell that little of a kind is left; once."""
        if kind in self._warned:
            return
        self._warned.add(kind)
        if self._tell is not None:
            limit = getattr(self.limits, kind)
            self._tell("budget.warning", kind=_WRITTEN.get(kind, kind), spent=self.used(kind), limit=limit)

    def _need(self, kind: str, count: int = 0) -> None:
        limit = getattr(self.limits, kind)
        used = self.used(kind)
        if limit and (used + count > limit if count else used >= limit):
            raise BudgetExceeded(kind, limit, used, count if count > 1 else 0)
        if self._outer is not None:
            self._outer._need(kind, count)

    def model(self, model: ChatModel) -> ChatModel:
        """Give a model whose calls are counted."""
        return _CountedModel(model, self)

    def shown(self) -> dict[str, Json]:
        """Give what is used up and what there is, as JSON."""
        limits = {field.name: getattr(self.limits, field.name) for field in fields(Limits)}
        return {"spent": dict(self.spent), "limits": {kind: limit for kind, limit in limits.items() if limit}}


def budget_of(ctx: Context, options: BudgetOptions | None, spent: MutableMapping[str, Json]) -> Budget | None:
    """Give the budget of an agent's run: its own as part of the one around, or that one; `None` when there is none."""
    outer = ctx.scope.get(Budget)
    if options is None:
        return outer
    return Budget(Limits.of(options), ctx.clock, outer=outer, tell=ctx.notify, spent=spent)


@asynccontextmanager
async def timed(budget: Budget | None, ctx: Context) -> AsyncGenerator[Mapping[type, object]]:
    """Limit the time of a block as the budget says, and give what has to lie in the scope of what runs in it.

    Raises:
        BudgetExceeded: At the end of the block, when the time was over.
    """
    scope: dict[type, object] = {} if budget is None else {Budget: budget}
    if budget is None or not budget.limits.seconds or budget.is_timed:
        yield scope
        return
    left_s = budget.limits.seconds - budget.used("seconds")
    if left_s <= 0:
        raise BudgetExceeded("seconds", budget.limits.seconds, budget.used("seconds"))
    limit = _Time(ctx, left_s, budget)
    budget.is_timed = True
    try:
        async with limit:
            yield {**scope, TimeLimit: limit}
    except TimeoutError as error:
        if not limit.is_over:
            raise
        raise BudgetExceeded("seconds", budget.limits.seconds, budget.used("seconds")) from error
    finally:
        budget.is_timed = False


class _Time(TimeLimit):
    """The time of a budget: stands still while somebody is asked, and is counted as it passes."""

    __slots__ = ("_begun", "_budget", "_warning")

    def __init__(self, ctx: Context, seconds: float, budget: Budget) -> None:
        super().__init__(ctx, seconds)
        self._budget = budget
        self._begun: float | None = None
        self._warning = None

    @property
    def is_over(self) -> bool:
        return self._is_over

    def _start(self) -> None:
        super()._start()
        budget = self._budget
        begun = self._begun = self._clock.monotonic()
        until_warned = max(WARNED_AT * budget.limits.seconds - budget.used("seconds"), 0.0)
        self._warning = self._clock.call_at(begun + until_warned, self._count)

    def _stop(self) -> None:
        super()._stop()
        if self._warning is not None:
            self._warning.cancel()
            self._warning = None
        self._count()
        self._begun = None

    def _count(self) -> None:
        if self._begun is not None:
            passed = self._clock.monotonic()
            self._budget.add("seconds", passed - self._begun)
            self._begun = passed


def not_numbered(model: ChatModel) -> ChatModel:
    """Give a model for one more call that has no part in `modelCalls`; its tokens and its cost count as ever."""
    return replace(model, count=0) if isinstance(model, _CountedModel) else model


@dataclass(frozen=True, slots=True)
class _CountedModel:
    """A model whose calls are counted in a budget; each as so many."""

    inner: ChatModel
    budget: Budget
    count: int = 1

    @property
    def name(self) -> str:
        return self.inner.name

    async def generate(self, request: ChatRequest) -> Reply:
        self.budget.begin_model_call(self.count)
        reply = await self.inner.generate(request)
        self.budget.end_model_call(reply.usage, reply.cost)
        return reply

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        self.budget.begin_model_call(self.count)
        last: Piece | None = None
        try:
            async with aclosing(self.inner.stream(request)) as pieces:
                async for piece in pieces:
                    if piece.usage is not None:
                        last = piece
                    yield piece
        finally:
            if last is not None and last.usage is not None:
                self.budget.end_model_call(last.usage, last.cost)
