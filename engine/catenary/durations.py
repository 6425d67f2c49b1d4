"""Lengths of time as texts: those of chains, and those of expressions, which Go writes."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catenary.jsontext import Json

_UNIT_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION: Final = re.compile(r"(?:(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:ms|s|m|h|d))+")
_DURATION_PART: Final = re.compile(r"([0-9.]+)(ms|s|m|h|d)")
_GO_UNIT_S: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_GO_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_LONGEST: Final = 100


def duration_s(value: Json) -> float:
    """Read a length of time in seconds: a number of seconds, or a text such as `"500ms"`, `"5s"`, `"1m30s"`.

    Raises:
        ValueError: When it is neither, negative, or not finite.
    """
    seconds = math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value) if abs(value) < 1e15 else math.nan
    elif isinstance(value, str):
        text = value.replace(" ", "")
        if _DURATION.fullmatch(text):
            seconds = sum(float(number) * _UNIT_S[unit] for number, unit in _DURATION_PART.findall(text))
        elif re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", text):
            seconds = float(text)
    if not seconds >= 0 or math.isinf(seconds):
        raise ValueError(f"must be a number of seconds or a text such as '5s' or '500ms', not {value!r}")
    return seconds


def go_parts_s(text: str) -> list[float] | None:
    """Give the seconds of each part of a text such as `1h30m` or `250ms`, without a sign; `None` when it is none."""
    parts = list(_GO_PART.finditer(text)) if len(text) <= _LONGEST else []
    if not parts or "".join(part[0] for part in parts) != text:
        return None
    return [float(part[1]) * _GO_UNIT_S[part[2]] for part in parts]
