"""Functions on times and durations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from catenary.durations import go_parts_s
from catenary.expr.functions.function import Function, adder
from catenary.expr.kinds import EvaluationError, kind_of
from catenary.expr.layouts import LAYOUTS, parse_layout

if TYPE_CHECKING:
    from catenary.clock import Clock
    from catenary.jsontext import Json

TABLE: Final[dict[str, Function]] = {}
function = adder(TABLE, "Times and durations")


@function("now", 0, contextual=True, examples=(("now() > date('2020-01-01')", True),))
def now(ctx: object = None) -> datetime:
    """Give the present time by the clock of the run; as text it is RFC 3339."""
    clock: Clock | None = getattr(ctx, "clock", None)
    moment = datetime.now(UTC) if clock is None else datetime.fromtimestamp(clock.time_ms() / 1000, UTC)
    return moment.astimezone()


@function("duration", 1, takes="string", examples=(("duration('90s')", "1m30s"), ("duration('1h30m').Minutes()", 90.0)))
def duration(text: Json) -> timedelta:
    """Read a duration such as `1h30m` or `250ms`."""
    if not isinstance(text, str):
        raise EvaluationError(f"duration() takes a string, not {kind_of(text)}")
    body = text.lstrip("+-") if text[:1] in {"+", "-"} else text
    if body == "0":
        return timedelta()
    parts = go_parts_s(body)
    if parts is None:
        raise EvaluationError(f"duration(): {text[:40]!r} is no duration; write it as in '1h30m', '250ms'")
    try:
        total = sum((timedelta(seconds=seconds) for seconds in parts), timedelta())
    except OverflowError:
        raise EvaluationError(f"duration(): {text[:40]!r} is too long") from None
    return -total if text.startswith("-") else total


@function(
    "timezone",
    1,
    takes="string",
    examples=(("date('2024-02-03').In(timezone('Asia/Tokyo'))", "2024-02-03T09:00:00+09:00"),),
)
def zone(name: Json) -> tzinfo:
    """Give a time zone by its name, such as `Europe/Berlin`."""
    if not isinstance(name, str):
        raise EvaluationError(f"timezone() takes a string, not {kind_of(name)}")
    if name in {"UTC", "Z", ""}:
        return UTC
    if name == "Local":
        return datetime.now(UTC).astimezone().tzinfo or timezone(timedelta())
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise EvaluationError(f"there is no time zone {name[:40]!r}") from None


@function(
    "date",
    1,
    3,
    takes="string string string",
    examples=(
        ("date('2024-02-03')", "2024-02-03T00:00:00Z"),
        ("date('03.02.2024 04:05', '02.01.2006 15:04', 'Europe/Berlin')", "2024-02-03T04:05:00+01:00"),
        ("(date('2024-02-03') - date('2024-02-01')).Hours()", 48.0),
    ),
)
def date(text: Json, layout: Json = None, zone_name: Json = None) -> datetime:
    """Read a time, by a layout such as `2006-01-02 15:04:05`, or in one of the usual forms."""
    if isinstance(text, datetime):
        return text
    if not isinstance(text, str) or not isinstance(layout, str | None):
        raise EvaluationError(f"date() takes strings, not {kind_of(text)}")
    where = UTC if zone_name is None else zone_name if isinstance(zone_name, tzinfo) else zone(zone_name)
    for form in LAYOUTS if layout is None else (layout,):
        found = parse_layout(text, form)
        if found is not None:
            return found if found.tzinfo is not None else found.replace(tzinfo=where)
    raise EvaluationError(f"date(): {text[:40]!r} is no time" + (f" of the form {layout!r}" if layout else ""))
