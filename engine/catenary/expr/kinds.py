"""The kinds of values that expressions work on, how large one that is made may be, and the error of what is not."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catenary.jsontext import Json

MAX_TEXT: Final = 1_000_000
"""Characters a text made by an expression may have."""

MAX_ITEMS: Final = 1_000_000
"""Elements a list made by an expression may have."""

MAX_BITS: Final = 14_000
"""Bits an integer made by an expression may have: what Python still writes as decimal digits."""


class EvaluationError(Exception):
    """An operator or function was given what it cannot work on. The text is the reason, without the place."""


class TextMap(dict[str, "Json"]):
    """A map in which a missing key is empty text: metadata, properties and chain variables taken as a whole."""

    __slots__ = ()


def kind_of(value: Json) -> str:
    """Name the kind of a value as the language's own `type` does."""
    if value is None:
        return "nil"
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "func" if callable(value) else type(value).__name__


_KINDS: Final[list[tuple[type, str]]] = [
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (str, "string"),
    (list, "array"),
    (tuple, "array"),
    (dict, "map"),
    (bytes, "bytes"),
    (datetime, "time"),
    (timedelta, "duration"),
]


def is_number(value: Json) -> bool:
    """Tell whether this is an int or a float (a bool is neither)."""
    kind = value.__class__
    if kind is int or kind is float:
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def bounded_integer(value: Json) -> Json:
    """Give `value` back. Raises: EvaluationError: when it is an integer with too many digits."""
    if value.__class__ is int and value.bit_length() > MAX_BITS:
        raise EvaluationError("the number is too large")
    return value


def bounded_text(length: int) -> None:
    """Raises: EvaluationError: when a text of this length is too long."""
    if length > MAX_TEXT:
        raise EvaluationError(f"the text is longer than {MAX_TEXT} characters")
