"""`tool`: settings that a Python function has as a tool, wherever an agent lists it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")

_MARK: Final = "__agent_tool__"
_SETTINGS: Final = (
    *("description", "read_only", "serial", "timeout", "retry"),
    *("may_repeat", "return_direct", "presets", "group", "strict"),
)


@overload
def tool(function: FunctionT, **settings: Any) -> FunctionT: ...
@overload
def tool(function: None = None, **settings: Any) -> Callable[[FunctionT], FunctionT]: ...
def tool(function: FunctionT | None = None, **settings: Any) -> FunctionT | Callable[[FunctionT], FunctionT]:
    """Say how a function is used as a tool: `@tool(read_only=True)`. What a chain says about it goes before.

    Args:
        function: The function; without one, what takes it is given.
        **settings: Of a tool in a chain, in snake_case: `description`, `read_only`, `serial`, `timeout` (milliseconds),
            `retry`, `may_repeat`, `return_direct`, `presets`, `group`, `strict`.

    Returns: the function itself.

    Raises:
        TypeError: When there is no such setting, or nothing can be kept with the function.
        pydantic.ValidationError: When the value of one is wrong.
    """
    from catenary_components.ai.tools.listing import ToolConfig

    unknown = settings.keys() - set(_SETTINGS)
    if unknown:
        raise TypeError(f"a tool has no setting {min(unknown)!r}; there are {', '.join(_SETTINGS)}")
    ToolConfig(name="tool", **settings)

    def mark(function: FunctionT) -> FunctionT:
        try:
            setattr(function, _MARK, {**settings_of(function), **settings})
        except AttributeError:
            raise TypeError(f"nothing can be kept with {function!r}; write a function that calls it") from None
        return function

    return mark if function is None else mark(function)


def settings_of(function: Callable[..., Any] | None) -> Mapping[str, Any]:
    """Give what was said of a function by `tool`, by the names of fields."""
    return getattr(function, _MARK, {})
