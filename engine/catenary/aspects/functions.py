"""Plain functions as aspects: `@engine.around`, `@engine.before`, `@engine.after`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from catenary.aspects.base import Aspect
from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.aspects.base import Cut

_ARGUMENTS: Final = {
    "before": ("ctx", "msg", "relation"),
    "around": ("ctx", "msg", "proceed"),
    "after": ("ctx", "msg", "relation", "error"),
}


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
        arguments = _ARGUMENTS[point]
        if not takes(function, len(arguments)):
            name = getattr(function, "__name__", function)
            raise EngineError(f"{name!r} cannot be called with ({', '.join(arguments)}), as is done {point} nodes")
        self.place(cut)
        setattr(self, point, function)  # called as it is, without a frame between


def takes(function: Callable[..., Any], count: int) -> bool:
    """Tell whether a function can be called with so many arguments; one that does not say, can."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # some of those that are not written in Python
        return True
    return True
