"""What the attributes of an agent's record look like, beyond what their defaults tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast, get_args

from catenary.jsontext import is_count, is_number
from catenary_components.ai.messages import CallState, ResultState, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.jsontext import Json

_STATES: Final = {*get_args(CallState), *get_args(ResultState)}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, cast("list[Any]", value)))


def _object_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: _is_object(value) and all(map(fits, value.values()))


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


def _is_permission(value: Any) -> bool:
    """Whether it is what a session keeps of permissions: a rule that cannot be read is dealt with where it is used."""
    if not _is_object(value) or not isinstance(value.get("mode", ""), str):
        return False
    return all(isinstance(value.get(name, []), list) for name in ("rules", "log"))


def _is_model(value: Any) -> bool:
    return _is_object(value) and _is_text(value.get("name", "")) and _is_object(value.get("fields", {}))


_SHAPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "role": lambda value: value in get_args(Role),
    "state": lambda value: isinstance(value, str) and value in _STATES,
    "time_ms": is_count,
    "permissions": _is_permission,
    "model": _is_model,
    "groups": _or_none(_list_of(_is_text)),
    "recent_calls": _list_of(_is_text),
    "recent_rounds": _list_of(_is_text),
    "cost": _or_none(is_number),
    "cost_by_model": _object_of(is_number),
    "shown": _list_of(_is_text),
    "observed": _list_of(is_count),
    "spent": _object_of(is_number),
    "journal": _object_of(_is_object),
    "later": _list_of(_is_text),
}
"""By the names of attributes."""


def fits(name: str, value: Json, *, default: Any, has_default: bool) -> bool:
    """Whether a value can be that of an attribute.

    Args:
        name: The attribute.
        value: What the record has.
        default: What it is without a value; values are of its kind.
        has_default: False for attributes that every record has, which are texts.
    """
    shape = _SHAPES.get(name)
    if shape is not None:
        return shape(value)
    if not has_default:
        return isinstance(value, str)
    if default is None:
        return True
    return is_count(value) if isinstance(default, int) else isinstance(value, type(default))
