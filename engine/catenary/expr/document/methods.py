"""The methods of values in documents: few, and none that changes anything."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from catenary.expr.functions import texts
from catenary.expr.methods import call_method

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.jsontext import Json


class Method:
    """A method of a value, ready to be called."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Json]) -> None:
        self._call = call

    def __call__(self, *arguments: Json) -> Json:
        return self._call(*arguments)


def _joined(separator: str, items: Json) -> str:
    return texts.join(items, separator)


def _replaced(text: str, old: Json, new: Json, count: Json = None) -> str:
    return texts.replace(text, old, new, count)


def _pairs(value: Mapping[str, Json]) -> list[Json]:
    return [[key, entry] for key, entry in value.items()]


def _keys(value: Mapping[str, Json]) -> list[Json]:
    return list(value)


def _values(value: Mapping[str, Json]) -> list[Json]:
    return list(value.values())


def _get(value: Mapping[str, Json], key: Json, other: Json = None) -> Json:
    return value.get(key, other) if isinstance(key, str) else other


_TEXT_METHODS: Final = (
    "capitalize", "count", "endswith", "find", "isalpha", "isdigit", "islower", "isspace", "isupper", "lower", "lstrip",
    "removeprefix", "removesuffix", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper",
)  # fmt: skip
_METHODS: Final[dict[type, dict[str, Any]]] = {
    str: {**{name: getattr(str, name) for name in _TEXT_METHODS}, "join": _joined, "replace": _replaced},
    dict: {"items": _pairs, "keys": _keys, "values": _values, "get": _get},
}


def method_of(value: Any, name: str) -> Method | None:
    """Give a method of a value by its name; `None` when it has no such method."""
    if isinstance(value, datetime | timedelta):
        return Method(partial(call_method, value, name))
    for kind, methods in _METHODS.items():
        if isinstance(value, kind) and name in methods:
            return Method(partial(methods[name], value))
    return None
