"""Plain functions as hooks: `@engine.agent_hook(at="before_tool")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from catenary.aspects.functions import takes
from catenary_components.ai.hooks.base import POINTS, TIMES, AgentHook

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS: Final = (*(f"{time}_{point}" for point in POINTS for time in TIMES), "completed")
"""All that a hook may fill."""


class FunctionHook(AgentHook):
    """One function at one point.

    Args:
        method: What it fills, such as `before_tool`.
        function: What is called there, with the arguments of that method.
        order: Where it stands among the others.

    Raises:
        ValueError: When there is no such method, or the function cannot be called as it is.
    """

    def __init__(self, method: str, function: Callable[..., Any], order: int = 100) -> None:
        if method not in METHODS:
            raise ValueError(f"agents have no point {method!r}; there are {', '.join(METHODS)}")
        count = 2 if method.startswith(("around_", "chunk_")) else 1
        self._function_name = getattr(function, "__name__", type(function).__name__)
        if not takes(function, count):
            arguments = ("step", "proceed" if method.startswith("around_") else "piece")[:count]
            raise ValueError(f"{self._function_name} cannot be called with ({', '.join(arguments)}), as {method} is")
        self.order = order
        setattr(self, method, function)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._function_name
