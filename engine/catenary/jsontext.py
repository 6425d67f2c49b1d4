"""JSON text in and out: orjson when it is installed (extra `fast`), the standard library else.

Both give the same: integers of any size survive, `NaN` and `Infinity` are refused, text is compact with sorted keys.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable

Json: TypeAlias = Any
"""A JSON value: `None`, `bool`, `int`, `float`, `str`, `list` or `dict` with text keys."""


_TOO_DEEP: Final = "it is nested too deeply"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if value - value != 0:
        raise ValueError(f"{digits} is too large for a number")
    return value


def _stdlib_loads(text: str | bytes) -> Json:
    if not isinstance(text, str):
        text = text.decode()
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if "\\ud" in text or "\\uD" in text:
        _stdlib_dumps(value).encode()  # half of a surrogate pair is a ValueError
    return value


def _stdlib_dumps(value: Json, *, sort_keys: bool = True) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys, allow_nan=False)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return _escaped(text)


def _stdlib_dumps_in_order(value: Json) -> str:
    return _stdlib_dumps(value, sort_keys=False)


def _escaped(text: str) -> str:
    """Write the line separators of Unicode as escapes: JavaScript once took them for the end of a line."""
    if "\u2028" in text or "\u2029" in text:
        return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text


loads: Callable[[str | bytes], Json]
"""Parse JSON text. Raises: ValueError: when it is not JSON."""

loads_small: Callable[[str | bytes], Json]
"""Parse JSON text that has no integers beyond 64 bits, quicker than `loads`. Raises: ValueError: as `loads`."""

dumps: Callable[[Json], str]
"""Write compact JSON text with sorted keys. Raises: TypeError, ValueError: when the value is not JSON."""

dumps_in_order: Callable[[Json], str]
"""Write compact JSON text with keys as they come. Raises: TypeError, ValueError: when the value is not JSON."""

try:
    import orjson
except ImportError:
    loads, dumps, dumps_in_order = _stdlib_loads, _stdlib_dumps, _stdlib_dumps_in_order
    loads_small = loads
else:
    # Passed through, dates and dataclasses are refused as the standard library refuses them.
    _in_order = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
    _sorted_keys = orjson.OPT_SORT_KEYS | _in_order

    _orjson_loads = loads_small = orjson.loads

    def _fast_loads(text: str | bytes) -> Json:
        value = _orjson_loads(text)
        # orjson reads an integer beyond 64 bits as a float: such texts are long, and read again exactly.
        try:
            is_exact = len(text) < 19 or not _has_huge_float(value)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        return value if is_exact else _stdlib_loads(text)

    def _has_huge_float(value: Json) -> bool:
        kind = value.__class__
        if kind is float:
            return value >= 9.2e18 or value <= -9.2e18
        if kind is dict:
            value = value.values()
        elif kind is not list:
            return False
        for item in value:
            kind = item.__class__
            # A plain loop: this runs once for each value of every message.
            if kind is str or kind is int:
                continue
            if kind is float:
                if item >= 9.2e18 or item <= -9.2e18:
                    return True
            elif (kind is dict or kind is list) and _has_huge_float(item):
                return True
        return False

    def _fast_dumps(value: Json) -> str:
        try:
            text = orjson.dumps(value, None, _sorted_keys).decode()
        except TypeError:
            return _stdlib_dumps(value)  # integers beyond 64 bits, lone surrogates; or a true error, raised anew
        # orjson writes NaN and Infinity as null: look again where a null came out.
        if "null" in text:
            return _stdlib_dumps(value)
        return text if text.isascii() else _escaped(text)

    def _fast_dumps_in_order(value: Json) -> str:
        try:
            text = orjson.dumps(value, None, _in_order).decode()
        except TypeError:
            return _stdlib_dumps_in_order(value)
        if "null" in text:
            return _stdlib_dumps_in_order(value)
        return text if text.isascii() else _escaped(text)

    loads, dumps, dumps_in_order = _fast_loads, _fast_dumps, _fast_dumps_in_order


def encodable(text: str) -> str:
    """Give a text that UTF-8 can hold: halves of surrogate pairs become U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_number(value: Any) -> bool:
    """Tell whether a value is a number; `true` and `false` are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Tell whether a value is a whole number of 0 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_MOST_BITS: Final = 14_000  # Python writes no larger number in digits


def writable(value: Any) -> Json:
    """Give a value itself when it is JSON; or one in which what JSON has no form for is as Python shows it."""
    try:
        dumps(value)
    except (TypeError, ValueError):
        try:
            return _writable(value)
        except RecursionError:
            return f"a value nested too deeply, of type {type(value).__name__}"
    return value


def _writable(value: Any) -> Json:
    if isinstance(value, dict):
        return {str(key): _writable(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_writable(item) for item in cast("list[Any]", value)]
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a whole number of {value.bit_length()} bits"
    is_json = value is None or isinstance(value, (str, int)) or (isinstance(value, float) and isfinite(value))
    return value if is_json else repr(value)
