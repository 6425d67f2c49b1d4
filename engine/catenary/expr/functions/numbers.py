"""Functions on numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from catenary.expr.functions.function import Function, adder
from catenary.expr.kinds import EvaluationError, is_number, kind_of
from catenary.expr.operators import as_float, divide

if TYPE_CHECKING:
    from catenary.jsontext import Json

TABLE: Final[dict[str, Function]] = {}
function = adder(TABLE, "Numbers")


def _number(name: str, value: Json) -> Json:
    if is_number(value):
        return value
    raise EvaluationError(f"{name}() takes a number, not {kind_of(value)}")


@function("abs", 1, takes="number", examples=(("abs(-2)", 2), ("abs(-2.5)", 2.5)))
def absolute(value: Json) -> Json:
    """Give a number without its sign."""
    return abs(_number("abs", value))


@function("ceil", 1, takes="number", examples=(("ceil(1.2)", 2.0),))
def ceil(value: Json) -> float:
    """Round up."""
    number = as_float(_number("ceil", value))
    return float(math.ceil(number)) if math.isfinite(number) else number


@function("floor", 1, takes="number", examples=(("floor(-1.2)", -2.0),))
def floor(value: Json) -> float:
    """Round down."""
    number = as_float(_number("floor", value))
    return float(math.floor(number)) if math.isfinite(number) else number


@function("round", 1, takes="number", examples=(("round(2.5)", 3.0), ("round(-2.5)", -3.0)))
def round_half_away(value: Json) -> float:
    """Round to the nearest whole number; a half goes away from zero."""
    number = as_float(_number("round", value))
    if not math.isfinite(number) or number.is_integer():
        return number
    whole = math.floor(abs(number))
    return math.copysign(whole + (abs(number) - whole >= 0.5), number)


def flat_numbers(name: str, arguments: tuple[Json, ...]) -> list[Json]:
    """Give all numbers among numbers and lists of them at any depth."""
    numbers: list[Json] = []
    stack = [*reversed(arguments)]
    while stack:
        value = stack.pop()
        if isinstance(value, list | tuple):
            stack.extend(reversed(cast("list[Json]", value)))
        else:
            numbers.append(_number(name, value))
    return numbers


@function("max", 1, None, takes="number|array", examples=(("max(1, [2, 5], 3)", 5), ("max([])", None)))
def largest(*values: Json) -> Json:
    """Give the largest of numbers and lists of numbers; nil when there is none."""
    return max(flat_numbers("max", values), default=None)


@function("min", 1, None, takes="number|array", examples=(("min([3, 1, 2])", 1),))
def smallest(*values: Json) -> Json:
    """Give the smallest of numbers and lists of numbers; nil when there is none."""
    return min(flat_numbers("min", values), default=None)


@function("mean", 1, None, takes="number|array", examples=(("mean(1, 2)", 1.5), ("mean([])", 0.0)))
def mean(*values: Json) -> float:
    """Give the average of numbers and lists of numbers; 0 when there is none."""
    numbers = flat_numbers("mean", values)
    return divide(sum(numbers), len(numbers)) if numbers else 0.0


@function("median", 1, None, takes="number|array", examples=(("median([3, 1, 2])", 2.0),))
def median(*values: Json) -> float:
    """Give the middle of numbers and lists of numbers; 0 when there is none."""
    numbers = sorted(flat_numbers("median", values))
    if not numbers:
        return 0.0
    middle = len(numbers) // 2
    return as_float(numbers[middle] if len(numbers) % 2 else divide(numbers[middle - 1] + numbers[middle], 2))
