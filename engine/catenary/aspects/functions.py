"""Plain functions as aspects: `@engine.around`, `@engine.before`, `@engine.after`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.aspects.base import Aspect
from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.aspects.base import Cut


class FunctionAspect(Aspect):
    """One function at one join point.

    Args:
        point: The join point.
        function: What is called there.
        cut: Where it holds.
    """

    def __init__(self, point: str, function: Callable[..., Any], cut: Cut) -> None:
        if not callable(function):
            raise EngineError(f"{function!r} cannot be called, so it cannot be woven {point!r} nodes")
        self.place(cut)
        setattr(self, point, function)  # called as it is, without a frame between
