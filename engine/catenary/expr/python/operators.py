"""The operators of Python expressions, guarded where Python's own may take for ever or fill the memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.expr.budget import FREE_S, SECONDS, Budget
from catenary.expr.kinds import MAX_BITS, MAX_ITEMS, EvaluationError, bounded_integer, bounded_text, kind_of
from catenary.expr.text import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.jsontext import Json

COLLECTIONS: Final = (list, tuple, dict, set, str)
_CONTAINERS: Final = frozenset({list, tuple, dict, set})
_TIME_FIELDS: Final = frozenset({"year", "month", "day", "hour", "minute", "second", "microsecond"})
_DURATION_FIELDS: Final = frozenset({"days", "seconds", "microseconds"})


class Work(Budget):
    """What one evaluation of a Python expression may use up."""

    __slots__ = ()

    def look(self) -> None:
        """Look at the clock. Raises: EvaluationError: when there is no more time."""
        now = monotonic()
        if not self.deadline:
            self.deadline = now + FREE_S
        elif now > self.deadline:
            self.prolong(SECONDS, "expression")


def size_of(value: Json, most: int = MAX_ITEMS) -> int:
    """Count the elements at all depths; what is there twice counts twice.

    Raises:
        EvaluationError: When there are more than `most`.
    """
    total = 1
    waiting: list[Json] = [value]
    while waiting:
        container = waiting.pop()
        if container.__class__ not in _CONTAINERS:
            continue
        total += len(container)
        if total > most:
            raise EvaluationError("memory budget exceeded: the expression makes too many values")
        waiting.extend(cast("dict[Json, Json]", container).values() if container.__class__ is dict else container)
    return total


def charge(work: Work, value: Json) -> Json:
    """Pay for a value that was made where things are made again and again, and give it back."""
    work.look()
    kind = value.__class__
    if kind is str:
        work.spend(len(value) >> 6)
    elif kind is int:
        bounded_integer(value)
    elif kind in _CONTAINERS and value:
        work.spend(size_of(value, work.left))
    return value


def elements(work: Work, values: Json) -> list[Json]:
    """Give what a comprehension goes through, all of it paid."""
    work.look()
    if isinstance(values, COLLECTIONS):
        found = cast("list[Json]", values)
        work.spend(len(found))
        return found if found.__class__ is list else list(found)
    if isinstance(values, Mapping):
        return list(cast("Mapping[str, Json]", values))
    raise EvaluationError(f"cannot go through {kind_of(values)}")


def steps(work: Work, values: Json) -> Iterable[Json]:
    """Give what a comprehension goes through one by one, with a look at the time before each."""
    yield from work.timed(elements(work, values))


def listed(values: Json) -> list[Json]:
    """Give the elements of a collection as a list. Raises: EvaluationError: for what is none, or has far too many."""
    if isinstance(values, (*COLLECTIONS, Mapping)):
        return list(cast("Iterable[Json]", values))
    if isinstance(values, (zip, enumerate, range, reversed)):
        made: list[Json] = list(islice(cast("Iterable[Json]", values), MAX_ITEMS + 1))
        if len(made) <= MAX_ITEMS:
            return made
        raise EvaluationError(f"memory budget exceeded: a list has at most {MAX_ITEMS} elements")
    raise TypeError(f"{type(values).__name__!r} object is not iterable")


def add(left: Json, right: Json) -> Json:
    """`+`."""
    if isinstance(left, str) and isinstance(right, str):
        bounded_text(len(left) + len(right))
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        size = len(cast("list[Json]", left)) + len(cast("list[Json]", right))
        if size > MAX_ITEMS:
            raise EvaluationError(f"memory budget exceeded: a list has at most {MAX_ITEMS} elements")
    return bounded_integer(cast("Json", left) + right)


def multiply(left: Json, right: Json) -> Json:
    """`*`."""
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > MAX_BITS:
            raise EvaluationError("the number is too large")
        return left * right
    for value, times in ((left, right), (right, left)):
        if isinstance(value, str) and isinstance(times, int):
            bounded_text(len(value) * max(times, 0))
        elif isinstance(value, list | tuple) and isinstance(times, int) and times > 0:
            size_of(value, MAX_ITEMS // times)
    return left * right


def modulo(left: Json, right: Json) -> Json:
    """`%`: of numbers; it writes no text."""
    if isinstance(left, str | bytes):
        raise EvaluationError("'%' takes numbers; an f-string puts values into a text")
    return left % right


def power(left: Json, right: Json) -> Json:
    """`**`."""
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        if left not in (-1, 0, 1) and right * left.bit_length() > MAX_BITS:
            raise EvaluationError("the number is too large")
        return left**right
    result = left**right
    if isinstance(result, complex):
        raise EvaluationError("the result is no real number")
    return result


def shift_left(left: Json, right: Json) -> Json:
    """`<<`."""
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right > MAX_BITS:
        raise EvaluationError("the number is too large")
    return left << right


def attribute(target: Json, name: str) -> Json:
    """`target.name`: the key of a map, or a part of a time; objects have no other attributes."""
    if isinstance(target, Mapping):
        return cast("Mapping[str, Json]", target)[name]
    if isinstance(target, datetime) and name in _TIME_FIELDS:
        return getattr(target, name)
    if isinstance(target, timedelta) and name in _DURATION_FIELDS:
        return getattr(target, name)
    raise EvaluationError(f"cannot fetch {name} from {kind_of(target)}")


def as_text(value: Json) -> str:
    """Give a value as Python's `str` does; times as everywhere in the language."""
    if isinstance(value, datetime | timedelta):
        return text_of(value)
    if value.__class__ not in _PRINTED:
        raise EvaluationError(f"{type(value).__name__} has no text form")
    text = str(value)
    bounded_text(len(text))
    return text


_PRINTED: Final = frozenset({str, int, float, bool, type(None), *_CONTAINERS})


def formatted(value: Json, conversion: str, spec: str) -> str:
    """Give one part of an f-string; `spec` was checked when the expression was compiled."""
    if conversion == "r":
        as_text(value)
        value = repr(value)
    elif conversion or not spec:
        value = as_text(value)
    if not spec:
        return value
    if value.__class__ not in {str, int, float, bool}:
        raise EvaluationError(f"{kind_of(value)} cannot be formatted with {spec!r}")
    return format(value, spec)


def joined(parts: list[Any]) -> str:
    """Put the parts of an f-string together."""
    bounded_text(sum(map(len, parts)))
    return "".join(parts)
