"""Plain functions as aspects: `@engine.around`, `@engine.before`, `@engine.after`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.aspects.base import Aspect
from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class FunctionAspect(Aspect):
    """One function at one join point.

    Args:
        point: The join point.
        function: What is called there.
        order: Where it stands among the others.
        types: Node types that it applies to; `nodes` and `chains` are ids.
    """

    def __init__(
        self,
        point: str,
        function: Callable[..., Any],
        *,
        order: int = 100,
        types: Sequence[str] = (),
        nodes: Sequence[str] = (),
        chains: Sequence[str] = (),
    ) -> None:
        if not callable(function):
            raise EngineError(f"{function!r} cannot be called, so it cannot be woven {point!r} nodes")
        self.order = order
        self.types, self.nodes, self.chains = _names(types), _names(nodes), _names(chains)
        setattr(self, point, function)  # called as it is, without a frame between


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
