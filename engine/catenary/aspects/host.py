"""What an engine offers for aspects: `add_aspect`, `around`, `before`, `after`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast, overload

from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catenary.aspects.base import Aspect, Cut
    from catenary.aspects.metrics import ChainCounts, Metrics
    from catenary.aspects.roster import Roster
    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.life.pool import ChainPool

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")


class AspectHost:
    """The part of an engine that takes aspects. They hold for chains that are loaded, or reloaded, afterwards."""

    _pool: ChainPool
    _roster: Roster | None = None

    @property
    def roster(self) -> Roster:
        """The aspects of this engine."""
        if self._roster is None:
            from catenary.aspects.loading import hear_of_chains
            from catenary.aspects.roster import Roster

            self._roster = Roster()
            hear_of_chains(self._pool, self._roster)
        return self._roster

    def aspects_of(self, chain_id: str) -> Sequence[Aspect]:
        """Give the instances of the aspects for a chain, the outermost first."""
        return () if self._roster is None else self._roster.of_chain(chain_id)

    def add_aspect(self, aspect: Aspect) -> None:
        """Add an aspect. Chains see it that are loaded or reloaded afterwards.

        Raises:
            EngineError: When it is no aspect, or waits where nobody can.
        """
        self.roster.add(aspect)

    def rule(self, function: FunctionT) -> FunctionT:
        """Add a rule that chains must keep: `@engine.rule` above `def f(definition)`, see `catenary.aspects.Validator`.

        It gives a text, or an `Objection`, for what is wrong, several of these, or nothing.
        """
        from catenary.aspects.validator import Validator

        given = [aspect for aspect in self.roster.given if isinstance(aspect, Validator)]
        if not given:
            given = [Validator()]
            self.add_aspect(given[0])
        given[-1].rules.append(function)
        return function

    @property
    def metrics(self) -> dict[str, Json]:
        """What `Metrics` counted in this engine: `{"chains": {id: ...}}`.

        Raises:
            EngineError: When the engine has no `Metrics`.
        """
        return self._metrics().read(cast("Engine", self))

    def metrics_by_chain(self) -> dict[str, ChainCounts]:
        """Give what `Metrics` counted in this engine, by chain id. Raises: EngineError: as `metrics`."""
        return dict(self._metrics().counts_of(cast("Engine", self)))

    def reset_metrics(self) -> None:
        """Begin to count anew, but for what goes on. Raises: EngineError: when the engine has no `Metrics`."""
        self._metrics().reset(cast("Engine", self))

    def _metrics(self) -> Metrics:
        from catenary.aspects.metrics import Metrics

        given = () if self._roster is None else self._roster.given
        found = next((aspect for aspect in given if isinstance(aspect, Metrics)), None)
        if found is None:
            hint = "give it `Metrics` before chains are loaded: Engine(aspects=[Metrics()])"
            raise EngineError("this engine has no metrics: nothing is counted unless it is asked for", hint=hint)
        return found

    @overload
    def around(self, function: FunctionT) -> FunctionT: ...
    @overload
    def around(self, **cut: Unpack[Cut]) -> Callable[[FunctionT], FunctionT]: ...

    def around(self, function: Callable[..., Any] | None = None, **cut: Unpack[Cut]) -> Any:
        """Weave a function around nodes: `@engine.around(types=["restApiCall"])` above `def f(ctx, msg, proceed)`.

        It stands in the place of the node, goes on to it with `proceed(msg)` (awaited in an `async def`), and returns
        what the node sends out. Without brackets it holds for all nodes.

        Args:
            function: The function.
            **cut: Where it holds: `types`, `nodes`, `chains` and `order`, as the attributes of `Aspect`.
        """
        return self._add_function("around", function, cut)

    @overload
    def before(self, function: FunctionT) -> FunctionT: ...
    @overload
    def before(self, **cut: Unpack[Cut]) -> Callable[[FunctionT], FunctionT]: ...

    def before(self, function: Callable[..., Any] | None = None, **cut: Unpack[Cut]) -> Any:
        """Have a function look at messages before nodes get them: `def f(ctx, msg, relation)`.

        The message that it returns is the one that the node gets; `None` changes nothing. For the rest see `around`.
        """
        return self._add_function("before", function, cut)

    @overload
    def after(self, function: FunctionT) -> FunctionT: ...
    @overload
    def after(self, **cut: Unpack[Cut]) -> Callable[[FunctionT], FunctionT]: ...

    def after(self, function: Callable[..., Any] | None = None, **cut: Unpack[Cut]) -> Any:
        """Have a function look at messages that nodes send: `def f(ctx, msg, relation, error)`.

        The message that it returns is the one that goes on; `None` changes nothing. For the rest see `around`.
        """
        return self._add_function("after", function, cut)

    def _add_function(self, point: str, function: Callable[..., Any] | None, cut: Cut) -> Any:
        from catenary.aspects.functions import FunctionAspect

        def register(function: FunctionT) -> FunctionT:
            self.add_aspect(FunctionAspect(point, function, cut))
            return function

        return register if function is None else register(function)
