"""The methods that values have in Python expressions: those that change nothing, with bounded results."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.expr.kinds import MAX_TEXT, EvaluationError, bounded_text, kind_of
from catenary.expr.methods import call_method as call_time_method
from catenary.expr.python.operators import listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json


def _padded(method: Callable[..., str]) -> Callable[..., str]:
    """Guard a method that takes a width."""

    def guarded(text: str, width: Json = 8, *rest: Json) -> str:
        if isinstance(width, int) and width > MAX_TEXT:
            bounded_text(width)
        return method(text, width, *rest)

    return guarded


def _expandtabs(text: str, tabsize: Json = 8) -> str:
    if isinstance(tabsize, int):
        bounded_text(len(text) + text.count("\t") * max(tabsize, 0))
    return text.expandtabs(tabsize)


def _replace(text: str, old: Json, new: Json, count: Json = -1) -> str:
    if isinstance(old, str) and isinstance(new, str) and len(new) > len(old):
        found = text.count(old)
        bounded_text(len(text) + (min(found, count) if count >= 0 else found) * (len(new) - len(old)))
    return text.replace(old, new, count)


def _join(separator: str, parts: Json) -> str:
    texts = listed(parts)
    bounded_text(sum(len(text) for text in texts if isinstance(text, str)) + len(separator) * len(texts))
    return separator.join(texts)


def _get(mapping: dict[str, Json], key: Json, default: Json = None) -> Json:
    return mapping.get(key, default)


def _views(name: str) -> Callable[..., list[Json]]:
    """Give what lists the keys, values or items of a map."""

    def view(mapping: dict[str, Json]) -> list[Json]:
        return list(getattr(mapping, name)())

    return view


_PLAIN_TEXT: Final = (
    "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal",
    "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "lower",
    "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split",
    "splitlines", "startswith", "strip", "swapcase", "title", "upper",
)  # fmt: skip
_PLAIN_SET: Final = (
    "difference", "intersection", "isdisjoint", "issubset", "issuperset", "symmetric_difference", "union",
)  # fmt: skip

METHODS: Final[dict[type, dict[str, Callable[..., Any]]]] = {
    str: {
        **{name: getattr(str, name) for name in _PLAIN_TEXT},
        **{name: _padded(getattr(str, name)) for name in ("center", "ljust", "rjust", "zfill")},
        "expandtabs": _expandtabs,
        "join": _join,
        "replace": _replace,
    },
    dict: {"get": _get, **{name: _views(name) for name in ("items", "keys", "values")}},
    list: {name: getattr(list, name) for name in ("count", "index")},
    tuple: {name: getattr(tuple, name) for name in ("count", "index")},
    set: {name: getattr(set, name) for name in _PLAIN_SET},
    int: {"bit_count": int.bit_count, "bit_length": int.bit_length},
    float: {"is_integer": float.is_integer},
    datetime: {"isoformat": datetime.isoformat, "timestamp": datetime.timestamp, "weekday": datetime.weekday},
    timedelta: {"total_seconds": timedelta.total_seconds},
}
"""The methods of each kind of value."""

QUICK: Final[dict[str, type]] = {
    "get": dict, "endswith": str, "lower": str, "startswith": str, "strip": str, "upper": str,
}  # fmt: skip
"""Methods that need no guard, and the kind of value that has them."""

_CHANGING: Final = frozenset({
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update",
})  # fmt: skip
_HINTS: Final = {"format": "write an f-string", "format_map": "write an f-string", "copy": "values never change"}


def call_method(target: Json, name: str, *arguments: Json, **named: Json) -> Json:
    """Call a method of a value."""
    methods = METHODS.get(target.__class__)
    if methods is None and isinstance(target, Mapping):
        target, methods = dict(cast("Mapping[str, Json]", target)), METHODS[dict]
    method = (methods or {}).get(name)
    if method is not None:
        return method(target, *arguments, **named)
    if isinstance(target, datetime | timedelta) and not named:
        return call_time_method(target, name, *arguments)
    if name in _CHANGING:
        raise EvaluationError(f"{kind_of(target)} has no method {name!r}: nothing can be changed here")
    hint = _HINTS.get(name)
    raise EvaluationError(f"{kind_of(target)} has no method {name!r}" + (f"; {hint}" if hint else ""))
