"""Values as text: how they stand in templates, in data and in metadata."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final, cast

from catenary.expr.kinds import MAX_TEXT, EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json

_encode_text = json.JSONEncoder(ensure_ascii=False).encode
_LINE_SEPARATORS: Final = {0x2028: "\\u2028", 0x2029: "\\u2029"}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HTML: Final = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def text_of(value: Json) -> str:
    """Give the text form of a value: nil is empty, floats have no exponent, lists and maps are compact JSON.

    Raises:
        EvaluationError: When a list or map holds what JSON cannot (infinity, a function), or is far too large; for what
            has no text of its own, whose place in memory Python would tell.
    """
    kind = value.__class__
    if kind is str:
        return value
    if kind is int:
        return str(value)
    if kind is float:
        return float_text(value)
    if value is None:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping | list | tuple):
        return json_text(cast("Json", value))
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, timedelta):
        return duration_text(value)
    if kind.__str__ is object.__str__ and not isinstance(cast("object", value), set):
        raise EvaluationError(f"a value of kind {kind.__name__} has no text")
    return str(value)


def float_text(value: float) -> str:
    """Give the shortest digits that mean this number, never with an exponent."""
    text = repr(value)
    if "n" in text:  # nan, inf
        return "NaN" if text == "nan" else "+Inf" if value > 0 else "-Inf"
    if "e" in text:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def json_float(value: float) -> str:
    """Give a number as JSON: whole ones without a dot, an exponent for the very large and very small."""
    if not math.isfinite(value):
        raise EvaluationError(f"{float_text(value)} cannot be written as JSON")
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return float_text(value)
    digits, _, exponent = repr(value).partition("e")
    if not exponent:
        digits, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
    number = int(exponent)
    return f"{digits.removesuffix('.0')}e{'+' if number > 0 else '-'}{abs(number)}"


def time_text(value: datetime) -> str:
    """Give a time as RFC 3339; one without a zone is taken as UTC."""
    text = value.isoformat()
    if value.tzinfo is None or text.endswith("+00:00"):
        return text.removesuffix("+00:00") + "Z"
    return text


def duration_text(value: timedelta) -> str:
    """Give a duration as in `1h30m0s`, `1.5s`, `250ms`."""
    micros = value // timedelta(microseconds=1)
    sign, micros = ("-" if micros < 0 else ""), abs(micros)
    if micros == 0:
        return "0s"
    if micros < 1_000:
        return f"{sign}{micros}µs"
    if micros < 1_000_000:
        return f"{sign}{float_text(micros / 1_000)}ms"
    minutes, rest = divmod(micros, 60_000_000)
    seconds = f"{float_text(rest / 1_000_000)}s"
    if not minutes:
        return sign + seconds
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{f'{hours}h' if hours else ''}{minutes}m{seconds}"


def json_quoted(text: str) -> str:
    """Write a text as JSON. Half a surrogate pair becomes an escape: it is no character that can be sent."""
    quoted = _encode_text(text)
    if quoted.isascii():
        return quoted
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted.translate(_LINE_SEPARATORS))


def json_text(value: Json, *, indent: str = "", escape_html: bool = False) -> str:
    """Write a value as JSON with sorted keys.

    Args:
        value: The value.
        indent: Blanks for one level; compact when empty.
        escape_html: True writes `<`, `>` and `&` as escapes.

    Raises:
        EvaluationError: When the value cannot be written as JSON, or its text is far too long.
    """
    pieces: list[str] = []
    length = 0
    for piece in _pieces(value, indent, "\n" if indent else "", ": " if indent else ":"):
        pieces.append(piece)
        length += len(piece)
        if length > 10 * MAX_TEXT:
            raise EvaluationError("the value is too large to be written as JSON")
    text = "".join(pieces)
    return text.translate(_HTML) if escape_html else text


def _pieces(value: Json, indent: str, line: str, colon: str) -> Iterator[str]:
    if value is None or value is True or value is False:
        yield "null" if value is None else text_of(value)
    elif isinstance(value, str):
        yield json_quoted(value)
    elif isinstance(value, int):
        yield str(value)
    elif isinstance(value, float):
        yield json_float(value)
    elif isinstance(value, Mapping):
        yield from _map_pieces(cast("Mapping[Json, Json]", value), indent, line, colon)
    elif isinstance(value, list | tuple):
        yield from _list_pieces(cast("list[Json]", value), indent, line, colon)
    elif isinstance(value, bytes | datetime | timedelta):
        yield json_quoted(text_of(value))
    else:
        raise EvaluationError(f"a value of kind {type(value).__name__} cannot be written as JSON")


def _map_pieces(value: Mapping[Json, Json], indent: str, line: str, colon: str) -> Iterator[str]:
    if not all(isinstance(key, str) for key in value):
        raise EvaluationError("a map whose keys are no strings cannot be written as JSON")
    deeper = line + indent
    lead = "{" + deeper
    for key in sorted(value):
        yield f"{lead}{json_quoted(key)}{colon}"
        yield from _pieces(value[key], indent, deeper, colon)
        lead = "," + deeper
    yield f"{line}}}" if value else "{}"


def _list_pieces(value: list[Json], indent: str, line: str, colon: str) -> Iterator[str]:
    deeper = line + indent
    lead = "[" + deeper
    for element in value:
        yield lead
        yield from _pieces(element, indent, deeper, colon)
        lead = "," + deeper
    yield f"{line}]" if value else "[]"
