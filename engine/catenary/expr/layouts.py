"""Layouts of times: a form is shown by how it would write one certain moment, `2006-01-02 15:04:05`."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

_CODES: Final = {
    "2006": "%Y", "January": "%B", "Jan": "%b", "Monday": "%A", "Mon": "%a", "MST": "%Z",
    "01": "%m", "02": "%d", "15": "%H", "03": "%I", "04": "%M", "05": "%S", "06": "%y", "002": "%j",
    "1": "%m", "2": "%d", "_2": "%d", "3": "%I", "4": "%M", "5": "%S",
    "PM": "%p", "pm": "%p", "Z07:00": "%z", "Z0700": "%z", "-07:00": "%z", "-0700": "%z",
}  # fmt: skip
_TOKEN = re.compile(
    r"2006|January|Jan|Monday|Mon|MST|Z07:00|Z0700|-07:00|-0700|002|01|02|03|04|05|06|15|_2|[12345]|PM|pm"
    r"|[.,](?:0+|9+)(?!\d)"
)

LAYOUTS: Final = (
    "2006-01-02",
    "15:04:05",
    "2006-01-02 15:04:05",
    "RFC3339",
    "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST",
    "Mon, 02 Jan 2006 15:04:05 MST",
    "02 Jan 06 15:04 -0700",
    "Mon, 02 Jan 2006 15:04:05 -0700",
)
"""What `date` tries when no layout is given."""

_UNIVERSAL: Final = re.compile(r"\b(?:UTC|GMT)\b", re.IGNORECASE)


def parse_layout(text: str, layout: str) -> datetime | None:
    """Read a time; `None` when the text does not have this form. Times without a zone come without one."""
    if layout == "RFC3339" or layout.startswith("2006-01-02T15:04:05"):
        try:
            return datetime.fromisoformat(text) if "T" in text else None
        except ValueError:
            return None
    tokens = _tokens(layout)
    if (True, "MST") in tokens and _UNIVERSAL.search(text) is None:
        return None  # Python would take the names of the machine's own zone too, and forget which one it was
    form = "".join(_code(token) if is_token else token.replace("%", "%%") for is_token, token in tokens)
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007 - the caller adds the zone
    except (ValueError, re.error):  # a layout that names the same part twice is no pattern to Python
        return None


def _code(token: str) -> str:
    """Give the code by which `strptime` reads a token."""
    if token[0] in ".,":
        return f"{token[0]}%f"
    return _CODES[token]


def format_layout(moment: datetime, layout: str) -> str:
    """Write a time by a layout."""
    pieces: list[str] = []
    for is_token, token in _tokens(layout):
        if not is_token:
            pieces.append(token)
        elif token[0] in ".,":
            pieces.append(_fraction(moment, token))
        elif token == "2006":
            pieces.append(f"{moment.year:04d}")  # `%Y` leaves out the zeros of the first thousand years
        elif token in _ZONES:
            pieces.append(_zone(moment, token))
        else:
            text = moment.strftime(_CODES[token])
            pieces.append(_short(text, token))
    return "".join(pieces)


_ZONES: Final = frozenset({"Z07:00", "Z0700", "-07:00", "-0700"})


def _zone(moment: datetime, token: str) -> str:
    offset = moment.strftime("%z") or "+0000"
    if token[0] == "Z" and offset == "+0000":
        return "Z"
    return f"{offset[:3]}:{offset[3:5]}" if ":" in token else offset[:5]


def _short(text: str, token: str) -> str:
    """Take off the zero that a token without one does not want."""
    if token == "_2":
        return f"{text.removeprefix('0'):>2}"
    if token == "pm":
        return text.lower()
    return text.removeprefix("0") if len(token) == 1 else text


def _fraction(moment: datetime, token: str) -> str:
    digits = f"{moment.microsecond:06d}000"[: len(token) - 1]
    if token[1] == "9":
        digits = digits.rstrip("0")
    return token[0] + digits if digits else ""


def _tokens(layout: str) -> list[tuple[bool, str]]:
    """Cut a layout into `(is a token, text)`."""
    pieces: list[tuple[bool, str]] = []
    at = 0
    for match in _TOKEN.finditer(layout):
        if match.start() > at:
            pieces.append((False, layout[at : match.start()]))
        pieces.append((True, match.group()))
        at = match.end()
    if at < len(layout):
        pieces.append((False, layout[at:]))
    return pieces
