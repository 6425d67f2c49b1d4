"""Values of databases as JSON, and JSON values as what drivers bind."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.jsontext import dumps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary.jsontext import Json

_ZONE: Final = re.compile(r"([+-])(\d\d)(?::?(\d\d))?(:\d\d)?$")


def json_of(value: Any) -> Json:
    """Give a value out of a database as JSON.

    Bytes are text, or lower-case hex when they are no UTF-8. Decimals are text, which keeps their digits. Times are
    text in the form of ISO 8601 (`Z` for UTC), durations `HH:MM:SS`, UUIDs text. What JSON has no number for is text.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return text_of_bytes(bytes(cast("bytes", value)))
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else _not_finite(float(value))
    if isinstance(value, (datetime, time)):
        return zoned(value.isoformat())
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _clock(value)
    if isinstance(value, dict):
        return {str(key): json_of(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [json_of(item) for item in cast("Sequence[Any]", value)]
    return str(value)


def text_of_bytes(value: bytes) -> str:
    """Give bytes as text, or as lower-case hex when they are no UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def zoned(text: str) -> str:
    """Give a time in the form of ISO 8601, with `Z` for UTC and minutes in other zones."""
    found = _ZONE.search(text) if ":" in text else None
    if found is None:
        return text
    minutes = found[3] or "00"
    if found[2] == minutes == "00" and not found[4]:
        return text[: found.start()] + "Z"
    return f"{text[: found.start()]}{found[1]}{found[2]}:{minutes}{found[4] or ''}"


def bound_of(value: Json) -> Any:
    """Give what a driver binds that knows no maps and lists: these go as JSON text."""
    return dumps(value) if isinstance(value, (dict, list)) else value


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _clock(value: timedelta) -> str:
    """Give a duration as hours, minutes and seconds, however many hours that are."""
    sign = "-" if value < timedelta(0) else ""
    left = abs(value)
    seconds = left.days * 86400 + left.seconds
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{left.microseconds:06}" if left.microseconds else text
