"""The filter `format`: printf patterns such as `%.2f`, whose result is known to be bounded before it is made."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from catenary.expr.kinds import EvaluationError, bounded_text, is_number
from catenary.expr.text import text_of

if TYPE_CHECKING:
    from catenary.jsontext import Json

_FORM: Final = re.compile(r"%(?:\([^()%]*\))?[-+ #0]*([0-9]{0,3})(?:\.([0-9]{0,3}))?[hlL]?[diouxXeEfFgGcrsa%]")
_NUMBER_LENGTH: Final = 400  # of a float without exponent; integers have a bound of their own


def format_text(pattern: Json, *values: Json, **named: Json) -> str:
    """Fill a printf pattern with values in their order, or by name.

    Raises:
        EvaluationError: When the pattern has forms that are not known, does not fit the values, or makes too much.
    """
    text = text_of(pattern)
    bounded_text(len(text))
    forms = _FORM.findall(text)
    if "%" in _FORM.sub("", text):
        raise EvaluationError(f"a form in {text[:40]!r} is none such as `%s`, `%5d`, `%.2f`, or is too wide")
    given = {name: _plain(value) for name, value in named.items()}
    plain = tuple(map(_plain, values))
    widths = sum(int(width or 0) + int(precision or 0) for width, precision in forms)
    lengths = len(forms) * max(map(_length, given.values()), default=0) if given else sum(map(_length, plain))
    bounded_text(len(text) + widths + lengths)
    try:
        filled = text % (given or plain)
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise EvaluationError(f"the pattern {text[:40]!r} does not fit the values: {error}") from None
    bounded_text(len(filled))
    return filled


def _plain(value: Json) -> Json:
    return value if is_number(value) else text_of(value)


def _length(value: Json) -> int:
    if isinstance(value, str):
        return len(value)
    return value.bit_length() // 3 if isinstance(value, int) else _NUMBER_LENGTH
