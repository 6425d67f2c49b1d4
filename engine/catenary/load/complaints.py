"""Says in the words of a chain author what pydantic found wrong with an option."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.errors import ExpressionError
from catenary.jsontext import dumps
from catenary.load.names import closest
from catenary.load.places import ABSENT

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from catenary.jsontext import Json


def expression_error(details: ErrorDetails) -> ExpressionError | None:
    """Give the error of an expression, template or script that is behind an error; `None` when there is none."""
    error = details.get("ctx", {}).get("error")
    while isinstance(error, BaseException):
        if isinstance(error, ExpressionError):
            return error
        error = error.__cause__
    return None


_COMPLAINTS: Final = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string_type": "must be a text",
    "list": "must be a list",
    "tuple": "must be a list",
    "dict": "must be a mapping",
    "model": "must be a mapping",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be greater than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "finite_number": "must be a finite number",
}


EMPTY: Final = "must not be empty"


def complaint(details: ErrorDetails) -> str:
    """Give what follows the option's name: mostly `must be ...`."""
    kind = details["type"]
    context = details.get("ctx", {})
    if kind in {"value_error", "assertion_error"}:
        return str(context.get("error", details["msg"])) or details["msg"]
    if context.get("min_length") == 1:
        return EMPTY
    for name in (kind, kind.split("_", maxsplit=1)[0]):
        template = _COMPLAINTS.get(name)
        if template:
            return template.format(**context)
    message = details["msg"]
    return message[:1].lower() + message[1:]


def not_this(value: Json) -> str:
    """Give the end of a complaint, which quotes the value."""
    if value is ABSENT:
        return ""
    shown = dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return f", not {shown}" if len(shown) <= 60 else f", not {shown[:57]}..."


def guess(details: ErrorDetails, value: Json) -> str:
    """Give a hint about a value that is none of those allowed."""
    expected = details.get("ctx", {}).get("expected")
    if details["type"] in {"literal_error", "enum"} and isinstance(value, str) and isinstance(expected, str):
        choices = [part.strip(" '") for part in expected.replace(" or ", ",").split(",")]
        best = closest(value, choices)
        return f"did you mean {best!r}?" if best else ""
    return ""
