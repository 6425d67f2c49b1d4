"""The operators of the language, guarded: what is no number is never added, and nothing grows without bound.

Numbers of a payload are integers or floats as they are written there. Integers are exact at any size and never wrap, so
that what was sent comes out again digit by digit; a literal has at most 64 bits, and the functions on bits work on 64.
An integer and a float make a float; `/` and `**` always do.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

from catenary.expr.habits import converting_hint
from catenary.expr.kinds import MAX_BITS, MAX_ITEMS, EvaluationError, TextMap, bounded_text, is_number, kind_of
from catenary.expr.regex import pattern_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json


def _unfit(operator: str, left: Json, right: Json) -> EvaluationError:
    kinds = kind_of(left), kind_of(right)
    return EvaluationError(f"'{operator}' cannot take {kinds[0]} and {kinds[1]}{converting_hint(operator, {*kinds})}")


def add(left: Json, right: Json) -> Json:
    """`+`: numbers, texts, durations, or a time and a duration."""
    if is_number(left) and is_number(right):
        return left + right
    if isinstance(left, str) and isinstance(right, str):
        bounded_text(len(left) + len(right))
        return left + right
    if isinstance(left, datetime) and isinstance(right, timedelta):
        return left + right
    if isinstance(left, timedelta) and isinstance(right, datetime | timedelta):
        return right + left
    raise _unfit("+", left, right)


def subtract(left: Json, right: Json) -> Json:
    """`-`: numbers, times (a duration), durations, or a duration from a time."""
    if is_number(left) and is_number(right):
        return left - right
    if isinstance(left, datetime) and isinstance(right, datetime | timedelta):
        return left - right
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left - right
    raise _unfit("-", left, right)


def multiply(left: Json, right: Json) -> Json:
    """`*`: numbers only; a duration may be multiplied by one."""
    if is_number(left) and is_number(right):
        if left.__class__ is int and right.__class__ is int and left.bit_length() + right.bit_length() > MAX_BITS:
            raise EvaluationError("the number is too large")
        return left * right
    if isinstance(left, timedelta) and is_number(right):
        return left * right
    if isinstance(right, timedelta) and is_number(left):
        return cast("float", left) * right
    raise _unfit("*", left, right)


def divide(left: Json, right: Json) -> float:
    """`/`: always a float; by zero it is infinite, or NaN for zero."""
    if not (is_number(left) and is_number(right)):
        raise _unfit("/", left, right)
    if right == 0:
        if left == 0 or left != left:
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    try:
        return float(left / right)
    except OverflowError:
        return math.inf if (left > 0) == (right > 0) else -math.inf


def modulo(left: Json, right: Json) -> int:
    """`%`: whole numbers only, with the sign of the dividend."""
    a, b = _whole(left), _whole(right)
    if a is None or b is None:
        if is_number(left) and is_number(right):
            raise EvaluationError("'%' takes whole numbers only; `int(x)` makes one")
        raise _unfit("%", left, right)
    if b == 0:
        raise EvaluationError("'%' by zero")
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


def _whole(value: Json) -> int | None:
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_float(value: Json) -> float:
    """Give a number as a float: one that is too large for that is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def power(left: Json, right: Json) -> float:
    """`**`: always a float; what is too large is infinite, what is not real is NaN."""
    if not (is_number(left) and is_number(right)):
        raise _unfit("**", left, right)
    base, exponent = as_float(left), as_float(right)
    try:
        return math.pow(base, exponent)
    except OverflowError:
        is_odd = exponent.is_integer() and exponent % 2 == 1
        return -math.inf if base < 0 and is_odd else math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def negate(value: Json) -> Json:
    """Unary `-`."""
    if is_number(value) or isinstance(value, timedelta):
        return -value
    raise EvaluationError(f"'-' cannot take {kind_of(value)}")


def positive(value: Json) -> Json:
    """Unary `+`."""
    if is_number(value):
        return value
    raise EvaluationError(f"'+' cannot take {kind_of(value)}")


def invert(value: Json) -> bool:
    """`not`."""
    if value is True:
        return False
    if value is False:
        return True
    raise EvaluationError(f"'not' takes a bool, not {kind_of(value)}; it binds tighter than comparisons and `in`")


def equal(left: Json, right: Json) -> bool:
    """`==`: by value, whatever the kind of number; different kinds are different. Lists and maps go deep."""
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        mine, other = cast("dict[str, Json]", left), cast("dict[str, Json]", right)
        return len(mine) == len(other) and all(key in other and equal(mine[key], other[key]) for key in mine)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        mine, other = cast("list[Json]", left), cast("list[Json]", right)
        return len(mine) == len(other) and all(map(equal, mine, other))
    return bool(left == right)


def unequal(left: Json, right: Json) -> bool:
    """`!=`."""
    return not equal(left, right)


def _comparable(left: Json, right: Json) -> bool:
    return (
        (is_number(left) and is_number(right))
        or (isinstance(left, str) and isinstance(right, str))
        or (isinstance(left, datetime) and isinstance(right, datetime))
        or (isinstance(left, timedelta) and isinstance(right, timedelta))
    )


def less(left: Json, right: Json) -> bool:
    """`<`."""
    if _comparable(left, right):
        return left < right
    raise _unfit("<", left, right)


def less_equal(left: Json, right: Json) -> bool:
    """`<=`."""
    if _comparable(left, right):
        return left <= right
    raise _unfit("<=", left, right)


def greater(left: Json, right: Json) -> bool:
    """`>`."""
    if _comparable(left, right):
        return left > right
    raise _unfit(">", left, right)


def greater_equal(left: Json, right: Json) -> bool:
    """`>=`."""
    if _comparable(left, right):
        return left >= right
    raise _unfit(">=", left, right)


def is_in(item: Json, container: Json) -> bool:
    """`in`: an element of a list, a key of a map; nothing is in nil."""
    if container is None:
        return False
    if container.__class__ is list and item.__class__ is str:
        return item in container
    if isinstance(container, dict):
        return isinstance(item, Hashable) and item in container
    if isinstance(container, list | tuple):
        if item not in container:  # quick; what Python finds may still be 1 for true
            return False
        return any(equal(item, element) for element in cast("list[Json]", container))
    if isinstance(container, str):
        raise EvaluationError("'in' does not look into text; use `text contains part`")
    raise _unfit("in", item, container)


def not_in(item: Json, container: Json) -> bool:
    """`not in`."""
    return not is_in(item, container)


def _texts(operator: str, left: Json, right: Json) -> bool:
    """Tell whether both are texts; False for nil on the left. Raises: EvaluationError: for all else."""
    if isinstance(left, str) and isinstance(right, str):
        return True
    if left is None:
        return False
    raise _unfit(operator, left, right)


def contains(left: Json, right: Json) -> bool:
    """`contains`: a text within a text."""
    return _texts("contains", left, right) and right in left


def starts_with(left: Json, right: Json) -> bool:
    """`startsWith`."""
    return _texts("startsWith", left, right) and left.startswith(right)


def ends_with(left: Json, right: Json) -> bool:
    """`endsWith`."""
    return _texts("endsWith", left, right) and left.endswith(right)


def matches(left: Json, right: Json) -> bool:
    """`matches`: a regular expression found anywhere in a text."""
    return _texts("matches", left, right) and pattern_of(right)(left)


def span_of(low: Json, high: Json) -> list[int]:
    """`low..high`: whole numbers from `low` to `high`, both included; fractions are cut off."""
    if not (is_number(low) and is_number(high)):
        raise _unfit("..", low, high)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise EvaluationError("'..' needs finite numbers")
    first, last = int(low), int(high)
    if last - first + 1 >= MAX_ITEMS:
        raise EvaluationError(f"memory budget exceeded: a range has fewer than {MAX_ITEMS} elements")
    return list(range(first, last + 1))


def test(value: Json) -> bool:
    """Check what stands before `?`."""
    if value is True or value is False:
        return value
    raise EvaluationError(f"a condition must be a bool, not {kind_of(value)}")


def and_left(value: Json) -> bool:
    """Check what stands left of `and`; nil counts as false."""
    if value is True:
        return True
    if value is False or value is None:
        return False
    raise EvaluationError(f"'and' takes a bool, not {kind_of(value)}")


def or_left(value: Json) -> bool:
    """Check what stands left of `or`."""
    if value is True or value is False:
        return value
    advice = "; `a ?? b` is b where a is nil" if value is None else ""
    raise EvaluationError(f"'or' takes a bool, not {kind_of(value)}{advice}")


def field(target: Json, name: str) -> Json:
    """`.name`: what a map holds under this key, nil if nothing."""
    if isinstance(target, dict):
        found = cast("dict[str, Json]", target).get(name)
        return "" if found is None and isinstance(target, TextMap) and name not in target else found
    if target is None:
        raise EvaluationError(f"cannot fetch {name} from nil; `?.{name}` gives nil there")
    advice = "; write `len(x)`" if name in {"length", "size"} else ""
    raise EvaluationError(f"cannot fetch {name} from {kind_of(target)}{advice}")


def item(target: Json, index: Json) -> Json:
    """`[index]`: an element of a list, a byte of a text, or what a map holds under this key."""
    if isinstance(target, dict):
        if isinstance(index, str):
            return field(target, index)
        if isinstance(index, Hashable) and index in target:  # a map of `groupBy` has keys of any kind
            return cast("dict[Json, Json]", target)[index]
        raise EvaluationError(f"a key of a map is a string, not {kind_of(index)}")
    if isinstance(target, list | tuple | str | bytes):
        if not is_number(index) or index != index or index in (math.inf, -math.inf):
            raise EvaluationError(f"an index is a number, not {kind_of(index)}")
        elements = target.encode("utf-8", "surrogatepass") if isinstance(target, str) else cast("list[Json]", target)
        place = int(index)
        if -len(elements) <= place < len(elements):
            return elements[place]
        raise EvaluationError(f"index out of range: {place} (length is {len(elements)})")
    raise EvaluationError(f"cannot fetch {_shown(index)} from {kind_of(target)}")


def _shown(index: Json) -> str:
    return str(index)[:60] if isinstance(index, str | int | float) else kind_of(index)


def section(target: Json, low: Json, high: Json) -> Json:
    """`[low:high]`: a part of a list, or of a text by bytes; bounds may be negative and are never out of range."""
    for bound in (low, high):
        if bound is not None and not (is_number(bound) and math.isfinite(bound)):
            raise EvaluationError(f"a bound of a slice is a number, not {kind_of(bound)}")
    part = slice(None if low is None else int(low), None if high is None else int(high))
    if isinstance(target, str):
        return target[part] if target.isascii() else target.encode()[part].decode("utf-8", "replace")
    if isinstance(target, list | tuple | bytes):
        return cast("list[Json]", target)[part]
    raise EvaluationError(f"cannot take a slice of {kind_of(target)}")


def key(value: Json) -> str:
    """Check a computed key of a map literal."""
    if isinstance(value, str):
        return value
    raise EvaluationError(f"a key of a map is a string, not {kind_of(value)}")


OPERATORS: Final[dict[str, Callable[..., Json]]] = {
    "$contains": contains,
    "$startsWith": starts_with,
    "$endsWith": ends_with,
    "$matches": matches,
    "$range": span_of,
    "$slice": section,
    "$key": key,
}
"""The operators that a lowered tree calls by name, for Python has no such operator."""
