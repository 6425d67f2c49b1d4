"""Functions on values of any kind: what they are, and turning one kind into another."""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import TYPE_CHECKING, Final, cast

from catenary.expr.functions.function import Function, adder
from catenary.expr.kinds import EvaluationError, is_number, kind_of
from catenary.expr.operators import as_float, item
from catenary.expr.text import json_text, text_of
from catenary.jsontext import loads

if TYPE_CHECKING:
    from catenary.jsontext import Json

TABLE: Final[dict[str, Function]] = {}
function = adder(TABLE, "Values")

_INTEGER = re.compile(r"[+-]?\d{1,4000}")
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?[iI]nf|NaN")


@function("len", 1, takes="string|array|map|bytes", examples=(("len('é')", 1), ("len([1, 2])", 2), ("len({a: 1})", 1)))
def length(value: Json) -> int:
    """Give the characters of a string, or the elements of a list or map."""
    if isinstance(value, str | list | tuple | dict | bytes):
        return len(cast("str", value))
    raise EvaluationError(f"len() cannot take {kind_of(value)}")


@function("type", 1, takes=".", examples=(("type(1)", "int"), ("type(nil)", "nil"), ("type([])", "array")))
def type_name(value: Json) -> str:
    """Give the kind of a value: nil, bool, int, float, string, array, map, bytes, time.Time, time.Duration."""
    kind = kind_of(value)
    return {"time": "time.Time", "duration": "time.Duration"}.get(kind, kind)


@function("int", 1, takes="number|string", examples=(("int(1.9)", 1), ("int('-12')", -12)))
def to_int(value: Json) -> int:
    """Make a whole number: a fraction is cut off, a string must be plain decimal."""
    if isinstance(value, str) and _INTEGER.fullmatch(value) and value.isascii():
        return int(value)
    if is_number(value) and (isinstance(value, int) or math.isfinite(cast("float", value))):
        return int(value)
    raise EvaluationError(f"int() cannot take {_shown(value)}")


@function("float", 1, takes="number|string", examples=(("float('1.5')", 1.5),))
def to_float(value: Json) -> float:
    """Make a number with a fraction."""
    if isinstance(value, str) and _FLOAT.fullmatch(value) and value.isascii():
        return float(value)
    if is_number(value):
        return as_float(value)
    raise EvaluationError(f"float() cannot take {_shown(value)}")


def _shown(value: Json) -> str:
    return repr(value[:40]) if isinstance(value, str) else kind_of(value)


@function(
    "string", 1, takes=".", examples=(("string(41.0)", "41"), ("string([1, 'a'])", "[1 a]"), ("string(nil)", "<nil>"))
)
def to_string(value: Json) -> str:
    """Make a string."""
    if isinstance(value, dict):
        entries = cast("dict[str, Json]", value)
        return f"map[{' '.join(f'{key}:{to_string(entries[key])}' for key in sorted(entries))}]"
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(to_string, cast('list[Json]', value)))}]"
    if isinstance(value, float):
        return _general_float(value)
    return "<nil>" if value is None else text_of(value)


def _general_float(value: float) -> str:
    """Write a float with an exponent when it is below 0.0001 or has more than 20 digits before the dot."""
    if not math.isfinite(value) or value == 0 or 1e-4 <= abs(value) < 1e21:
        return text_of(value)
    digits, _, exponent = repr(value).partition("e")
    number = int(exponent)
    return f"{digits.removesuffix('.0')}e{'-' if number < 0 else '+'}{abs(number):02d}"


@function("toJSON", 1, takes=".", examples=(("toJSON('<')", '"\\u003c"'), ("toJSON([])", "[]")))
def to_json(value: Json) -> str:
    """Write a value as JSON, indented by two blanks, keys sorted."""
    return json_text(value, indent="  ", escape_html=True)


@function("fromJSON", 1, takes="string|bytes", examples=(("fromJSON('[1, {\"a\": 2}]')", [1, {"a": 2}]),))
def from_json(text: Json) -> Json:
    """Read JSON text."""
    if not isinstance(text, str | bytes):
        raise EvaluationError(f"fromJSON() takes a string, not {kind_of(text)}")
    try:
        return loads(text)
    except ValueError as error:
        raise EvaluationError(f"fromJSON(): not JSON: {error}") from None


@function("toBase64", 1, takes="string|bytes", examples=(("toBase64('a')", "YQ=="),))
def to_base64(value: Json) -> str:
    """Write a string as Base64."""
    if not isinstance(value, str | bytes):
        raise EvaluationError(f"toBase64() takes a string, not {kind_of(value)}")
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()


@function("fromBase64", 1, takes="string", examples=(("fromBase64('YQ==')", "a"),))
def from_base64(text: Json) -> str:
    """Read Base64."""
    try:
        return base64.b64decode(cast("str", text), validate=True).decode("utf-8", "replace")
    except (binascii.Error, TypeError, ValueError) as error:
        raise EvaluationError(f"fromBase64(): {error}") from None


@function(
    "get", 2, picks=True, takes=". .", examples=(("get([1, 2], -1)", 2), ("get([1], 5)", None), ("get(nil, 'a')", None))
)
def get(container: Json, index: Json) -> Json:
    """Give what `container[index]` gives, but nil where that is an error."""
    try:
        return item(container, index)
    except EvaluationError:
        return None


@function("keys", 1, takes="map", examples=(("keys({b: 1, a: 2})", ["b", "a"]),))
def keys(value: Json) -> list[Json]:
    """Give the keys of a map."""
    return list(_map("keys", value))


@function("values", 1, takes="map", examples=(("values({b: 1, a: 2})", [1, 2]),))
def values(value: Json) -> list[Json]:
    """Give the values of a map."""
    return list(_map("values", value).values())


@function("toPairs", 1, takes="map", examples=(("toPairs({a: 1})", [["a", 1]]),))
def to_pairs(value: Json) -> list[Json]:
    """Give a map as a list of `[key, value]`."""
    return [[name, held] for name, held in _map("toPairs", value).items()]


@function("fromPairs", 1, takes="array", examples=(("fromPairs([['a', 1]])", {"a": 1}),))
def from_pairs(value: Json) -> dict[str, Json]:
    """Make a map of a list of `[key, value]`."""
    pairs = cast("list[Json]", value) if isinstance(value, list) else None
    if pairs is None or not all(isinstance(pair, list) and len(cast("list[Json]", pair)) == 2 for pair in pairs):
        raise EvaluationError("fromPairs() takes a list of [key, value]")
    if not all(isinstance(pair[0], str) for pair in pairs):
        raise EvaluationError("fromPairs(): a key of a map is a string")
    return {pair[0]: pair[1] for pair in pairs}


def _map(name: str, value: Json) -> dict[str, Json]:
    if isinstance(value, dict):
        return cast("dict[str, Json]", value)
    raise EvaluationError(f"{name}() takes a map, not {kind_of(value)}")


def _integers(name: str, *values: Json) -> list[int]:
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool):
            raise EvaluationError(f"{name}() takes whole numbers, not {kind_of(value)}")
        if not -_HALF <= value < _HALF:
            raise EvaluationError(f"{name}() takes whole numbers of 64 bits")
    return list(values)


_HALF: Final = 2**63
_UNSIGNED: Final = 2**64


def _shift(name: str, value: Json, by: Json) -> tuple[int, int]:
    number, places = _integers(name, value, by)
    if places < 0:
        raise EvaluationError(f"{name}(): a shift is not negative")
    return number, min(places, 64)


@function("bitand", 2, takes="number number", examples=(("bitand(6, 3)", 2),))
def bit_and(a: Json, b: Json) -> int:
    """Give the bits that both whole numbers have."""
    first, second = _integers("bitand", a, b)
    return first & second


@function("bitor", 2, takes="number number", examples=(("bitor(6, 3)", 7),))
def bit_or(a: Json, b: Json) -> int:
    """Give the bits that one of two whole numbers has."""
    first, second = _integers("bitor", a, b)
    return first | second


@function("bitxor", 2, takes="number number", examples=(("bitxor(6, 3)", 5),))
def bit_xor(a: Json, b: Json) -> int:
    """Give the bits that just one of two whole numbers has."""
    first, second = _integers("bitxor", a, b)
    return first ^ second


@function("bitnand", 2, takes="number number", examples=(("bitnand(6, 3)", 4),))
def bit_nand(a: Json, b: Json) -> int:
    """Give the bits of the first whole number that the second has not."""
    first, second = _integers("bitnand", a, b)
    return first & ~second


@function("bitnot", 1, takes="number", examples=(("bitnot(0)", -1),))
def bit_not(a: Json) -> int:
    """Turn all bits of a whole number."""
    return ~_integers("bitnot", a)[0]


@function("bitshl", 2, takes="number number", examples=(("bitshl(1, 4)", 16),))
def bit_shift_left(a: Json, by: Json) -> int:
    """Shift 64 bits of a whole number to the left; what leaves them is lost."""
    number, places = _shift("bitshl", a, by)
    return ((number << places) + _HALF) % _UNSIGNED - _HALF


@function("bitshr", 2, takes="number number", examples=(("bitshr(-8, 1)", -4),))
def bit_shift_right(a: Json, by: Json) -> int:
    """Shift the bits of a whole number to the right, keeping its sign."""
    number, places = _shift("bitshr", a, by)
    return number >> places


@function("bitushr", 2, takes="number number", examples=(("bitushr(-1, 63)", 1),))
def bit_shift_right_unsigned(a: Json, by: Json) -> int:
    """Shift 64 bits of a whole number to the right, zeros coming in."""
    number, places = _shift("bitushr", a, by)
    return (number % _UNSIGNED) >> places
