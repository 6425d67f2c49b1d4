"""Parameters of tool functions that the model is not told of: they get what the run has, by their type."""

from __future__ import annotations

import re
import types
import typing
from dataclasses import is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, cast

from pydantic import BaseModel, PydanticUserError, TypeAdapter

from catenary.component import Context
from catenary_components.ai.runtime_context import RuntimeContext
from catenary_components.ai.sessions.slot import Slot
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.live import CURRENT, ToolCallInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")
_MARK: Final = object()

Injected: TypeAlias = Annotated[T, _MARK]
"""`customer: Injected[Customer]`: the value that the run has of this type, though a model could write one."""

CONTEXT_PARAMETER: Final = "ctx"
"""A parameter of this name gets the context of the run, whatever its type."""

_KNOWN: Final = {kind.__name__: kind for kind in (Context, AgentState, RuntimeContext, Slot, ToolCallInfo)}
_NAME: Final = re.compile(r"(?:\w+\.)*(\w+)(?:\s*\|\s*None)?")


def known_type(hint: str) -> type | None:
    """Give the type that a hint names which only type checkers can read; `None` when it is none of those for tools."""
    found = _NAME.fullmatch(hint.strip())
    return _KNOWN.get(found[1]) if found else None


def injected_type(hint: Any) -> type[Any] | None:
    """Give the type by which a parameter is injected; `None` for one that the model fills in.

    Injected are the contexts of the run (`Context`, `RuntimeContext`), the state of the agent, its session (`Slot`),
    the call itself (`ToolCallInfo`), what is marked as `Injected`, and any class of which no JSON Schema can be made.
    They come from the scope of the run, else from its `RuntimeContext`.
    """
    marked = typing.get_origin(hint) is Annotated and _MARK in typing.get_args(hint)[1:]
    bare = _bare(typing.get_args(hint)[0] if marked else hint)
    if not isinstance(bare, type) or typing.get_origin(bare) is not None:
        return None
    kind = cast("type[Any]", bare)
    return kind if marked or kind in _KNOWN.values() or not _has_schema(kind) else None


def value_of(kind: type[Any], ctx: Context, default: object) -> object:
    """Give what a parameter gets: the default, or `None`, when the run has no such value."""
    if kind is Context:
        return ctx
    if kind is ToolCallInfo:
        return CURRENT.get(None)
    found: object = ctx.scope.get(kind)
    if found is None and RuntimeContext in ctx.scope:
        found = ctx.scope[RuntimeContext].get(kind)
    return default if found is None else found


def _bare(hint: Any) -> Any:
    """Give the type of an optional one."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else hint
    return hint


def _has_schema(kind: type[Any]) -> bool:
    if kind.__module__ == "builtins" or issubclass(kind, (BaseModel, Enum)) or is_dataclass(kind):
        return True
    try:
        TypeAdapter[Any](kind).json_schema()
    except PydanticUserError:
        return False
    return True


def hidden(parameters: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, type]:
    """Give the parameters of a function that the model is not told of, and the type of each.

    Args:
        parameters: The parameters by name.
        hints: Their types by name; a text for one that could not be read.
    """
    found: dict[str, type] = {}
    for name in parameters:
        hint = hints.get(name, Any)
        kind = Context if name == CONTEXT_PARAMETER else known_type(hint) if isinstance(hint, str) else None
        kind = kind or (None if isinstance(hint, str) else injected_type(hint))
        if kind is not None:
            found[name] = kind
    return found
