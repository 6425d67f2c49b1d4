"""Compares what was expected with what came: every difference is told, each with its way into the value."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.errors import ConfigError
from catenary.json_schema import same
from catenary.jsontext import dumps
from catenary.load.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json

ABSENT: Final[Any] = object()
"""Stands for a value that is not there."""

_KINDS: Final[dict[str, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
    "mapping": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def differences(expected: Json, got: Any, *, part: bool = False, way: str = "") -> list[str]:
    """Give what is different, a line each; nothing when all is as expected.

    Args:
        expected: A JSON value, in which a mapping with one key that begins with `$` is a matcher.
        got: The value, or `ABSENT`.
        part: True lets mappings have other keys besides.
        way: Where the value stands, for the lines.

    Raises:
        ConfigError: When a matcher cannot be used.
    """
    if isinstance(expected, dict):
        mapping = cast("dict[str, Json]", expected)
        if len(mapping) == 1 and next(iter(mapping)).startswith("$"):
            return _matched(*next(iter(mapping.items())), got, way)
        if isinstance(got, dict):
            return _in_mapping(mapping, cast("dict[str, Json]", got), part, way)
    if isinstance(expected, list) and isinstance(got, list):
        return _in_list(cast("list[Json]", expected), cast("list[Json]", got), part, way)
    return [] if same(expected, got) else [told(way, shown(expected), got)]


def shown(value: Any) -> str:
    """Give a value as a short text."""
    if value is ABSENT:
        return "nothing"
    text = repr(value) if isinstance(value, str) else dumps(value)
    return text if len(text) <= 300 else f"{text[:300]}..."


def told(way: str, expected: str, got: Any) -> str:
    """Give the line for one difference."""
    return f"{way or 'data'}: expected {expected}, got {shown(got)}"


def _in_mapping(expected: dict[str, Json], got: dict[str, Json], part: bool, way: str) -> list[str]:
    found: list[str] = []
    for key, value in expected.items():
        found += differences(value, got.get(key, ABSENT), part=part, way=f"{way}.{key}" if way else key)
    if not part:
        more = [key for key in got if key not in expected]
        found += [f"{way}{'.' if way else ''}{key}: not expected, got {shown(got[key])}" for key in more]
    return found


def _in_list(expected: list[Json], got: list[Json], part: bool, way: str) -> list[str]:
    if len(expected) != len(got):
        return [f"{way or 'data'}: expected {len(expected)} items, got {len(got)}: {shown(got)}"]
    return [
        line
        for index, (one, other) in enumerate(zip(expected, got, strict=True))
        for line in differences(one, other, part=part, way=f"{way}[{index}]")
    ]


# Matchers


def _matched(name: str, argument: Json, got: Any, way: str) -> list[str]:
    if name in {"$exact", "$contains"} and isinstance(argument, dict):
        return differences(argument, got, part=name == "$contains", way=way)
    if name == "$all":
        return [line for one in _items(name, argument) for line in differences(one, got, way=way)]
    matcher = _MATCHERS.get(name)
    if matcher is None:
        hint = did_you_mean(name, _MATCHERS, f"matchers: {', '.join(_NAMES)}")
        raise ConfigError(f"{way or 'data'}: there is no matcher {name!r}", hint=hint)
    try:
        is_met = matcher(argument, got)
    except (TypeError, ValueError, re.error) as error:
        if got is ABSENT or not isinstance(error, TypeError):
            raise ConfigError(f"{way or 'data'}: {name}: {shown(argument)} cannot be used here: {error}") from None
        is_met = False
    return [] if is_met else [told(way, f"{name} {shown(argument)}", got)]


def _items(name: str, argument: Json) -> list[Json]:
    if not isinstance(argument, list):
        raise ConfigError(f"{name} takes a list")
    return cast("list[Json]", argument)


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def matcher(argument: Any, got: Any) -> bool:
        return got is not ABSENT and type(argument) is not bool and type(got) is not bool and test(got, argument)

    return matcher


def _contains(argument: Any, got: Any) -> bool:
    if isinstance(got, str):
        return isinstance(argument, str) and argument in got
    return isinstance(got, list) and any(not differences(argument, item) for item in cast("list[Json]", got))


def _kind(argument: Any, got: Any) -> bool:
    if argument not in _KINDS:
        raise ValueError(f"one of {', '.join(_KINDS)}")
    return got is not ABSENT and _KINDS[argument](got)


def _length(argument: Any, got: Any) -> bool:
    return isinstance(got, (str, list, dict)) and not differences(argument, len(cast("list[Json]", got)))


def _approx(argument: Any, got: Any) -> bool:
    pair: tuple[Any, Any] = tuple(cast("list[Any]", argument)) if isinstance(argument, list) else (argument, 1e-6)
    value, within = pair
    if not _KINDS["number"](value) or not _KINDS["number"](within):
        raise ValueError("a number, or [number, tolerance]")
    return _KINDS["number"](got) and math.isclose(got, value, rel_tol=1e-9, abs_tol=within)


_MATCHERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$any": lambda _, got: got is not ABSENT,
    "$absent": lambda argument, got: (got is ABSENT) is bool(argument),
    "$type": _kind,
    "$regex": lambda argument, got: isinstance(got, str) and re.search(argument, got) is not None,
    "$contains": _contains,
    "$length": _length,
    "$approx": _approx,
    "$gt": _ordered(lambda got, argument: got > argument),
    "$ge": _ordered(lambda got, argument: got >= argument),
    "$lt": _ordered(lambda got, argument: got < argument),
    "$le": _ordered(lambda got, argument: got <= argument),
    "$not": lambda argument, got: bool(differences(argument, got)),
    "$oneOf": lambda argument, got: any(not differences(one, got) for one in _items("$oneOf", argument)),
}
_NAMES: Final = ("$exact", "$all", *_MATCHERS)
