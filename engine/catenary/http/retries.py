"""When a request may be sent again, and after how long."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST_RETRY_AFTER_S: Final = 60.0
"""A server that asks for a longer wait is asked again earlier."""

_LONGEST_WAIT_S: Final = 30.0


def retryable_status(status: int) -> bool:
    """Tell whether a request answered with this status may succeed when it is sent again."""
    return status == 429 or (500 <= status <= 599 and status not in (501, 505))


def retry_after_s(header: str, now_ms: int) -> float | None:
    """Read `Retry-After`, seconds or a date, as seconds from now on; `None` when it says nothing usable."""
    text = header.strip()
    if text.replace(".", "", 1).isdecimal() and text.isascii():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.fromtimestamp(now_ms / 1000, UTC)).total_seconds())


def wait_before(retry: int, first_wait_s: float, asked_s: float | None = None) -> float:
    """Give the seconds to wait before a retry.

    Args:
        retry: Its number, from 1.
        first_wait_s: The wait before the first one; it doubles with each further one, up to 30 seconds, and varies by
            up to a half so that not all clients come back at once.
        asked_s: What the server asked for; it counts instead, up to 60 seconds.
    """
    if asked_s is not None:
        return min(asked_s, LONGEST_RETRY_AFTER_S)
    return min(_LONGEST_WAIT_S, first_wait_s * 2.0 ** min(retry - 1, 32)) * random.uniform(0.5, 1.0)
