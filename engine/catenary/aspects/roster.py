"""The aspects of one engine, and their instances for each of its chains."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Self

from catenary.aspects.base import LOADING, Aspect, has, matches
from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.chain import Chain


class Roster:
    """Which aspects an engine has. Chains see those that were there before they were loaded or reloaded.

    Args:
        aspects: Those given at creation.
    """

    def __init__(self, aspects: Iterable[Aspect] = ()) -> None:
        self.given: list[Aspect] = []
        self._kept: dict[str, list[tuple[Aspect, Aspect]]] = {}
        for aspect in aspects:
            self.add(aspect)

    def add(self, aspect: Aspect) -> None:
        """Take in an aspect. Raises: EngineError: when it is none, or waits where nobody can."""
        if not isinstance(aspect, Aspect):  # type: ignore[redundant-expr] - a class instead of an instance, mostly
            raise EngineError(f"{aspect!r} is no aspect", hint="give an instance of a subclass of Aspect")
        for point in (*LOADING, "point_cut"):
            if has(aspect, point) and inspect.iscoroutinefunction(getattr(aspect, point)):
                hint = "what is called when chains are loaded is a plain def, and so is point_cut"
                raise EngineError(f"{type(aspect).__name__}.{point} is an async def", hint=hint)
        self.given.append(aspect)

    def of_chain(self, chain_id: str) -> ChainAspects:
        """Give the instances for a chain: those of its version before, where there are any."""
        kept = self._kept.get(chain_id, ())
        found: list[tuple[Aspect, Aspect]] = []
        for aspect in self.given:
            if matches(aspect.chains, (chain_id,)):
                present = next((one for given, one in kept if given is aspect), None)
                found.append((aspect, aspect.new() if present is None else present))
        return ChainAspects(found)

    def keep(self, chain: Chain) -> None:
        """Keep the instances of a chain that is in service for its versions to come."""
        if isinstance(chain.aspects, ChainAspects):
            self._kept[chain.id] = chain.aspects.pairs

    def forget(self, chain_id: str) -> None:
        """Let go of the instances of a chain that was removed."""
        self._kept.pop(chain_id, None)


class ChainAspects(tuple[Aspect, ...]):  # noqa: SLOT001 - a tuple of any length can have no slots
    """The aspects of one chain, the outermost first.

    Attributes:
        pairs: Each aspect as it was given, with the instance for this chain.
    """

    pairs: list[tuple[Aspect, Aspect]]

    def __new__(cls, pairs: list[tuple[Aspect, Aspect]]) -> Self:
        """Sort instances by their order."""
        found = super().__new__(cls, sorted((one for _, one in pairs), key=lambda one: one.order))
        found.pairs = pairs
        return found
