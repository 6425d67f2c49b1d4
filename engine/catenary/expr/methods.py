"""Methods of times and durations, such as `now().Format('2006-01-02')`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final

from catenary.expr.layouts import format_layout
from catenary.expr.operators import EvaluationError, kind_of
from catenary.expr.text import duration_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json


def _written(moment: datetime, layout: Json) -> str:
    return format_layout(moment, _of(layout, str))


def _of(value: Json, kind: type[Any]) -> Any:
    if isinstance(value, kind):
        return value
    raise EvaluationError(f"a method cannot take {kind_of(value)} here")


_TIME: Final[dict[str, tuple[int, Callable[..., Json]]]] = {
    "Year": (0, lambda t: t.year),
    "Month": (0, lambda t: t.month),
    "Day": (0, lambda t: t.day),
    "Hour": (0, lambda t: t.hour),
    "Minute": (0, lambda t: t.minute),
    "Second": (0, lambda t: t.second),
    "Weekday": (0, lambda t: t.strftime("%A")),
    "YearDay": (0, lambda t: t.timetuple().tm_yday),
    "Unix": (0, lambda t: int(t.timestamp())),
    "UnixMilli": (0, lambda t: int(t.timestamp() * 1000)),
    "UTC": (0, lambda t: t.astimezone(UTC)),
    "String": (0, time_text),
    "Format": (1, _written),
    "In": (1, lambda t, where: t.astimezone(_of(where, tzinfo))),
    "Add": (1, lambda t, other: t + _of(other, timedelta)),
    "Sub": (1, lambda t, other: t - _of(other, datetime)),
    "Before": (1, lambda t, other: t < _of(other, datetime)),
    "After": (1, lambda t, other: t > _of(other, datetime)),
    "Equal": (1, lambda t, other: t == _of(other, datetime)),
}
_DURATION: Final[dict[str, tuple[int, Callable[..., Json]]]] = {
    "Hours": (0, lambda d: d.total_seconds() / 3600),
    "Minutes": (0, lambda d: d.total_seconds() / 60),
    "Seconds": (0, lambda d: d.total_seconds()),
    "Milliseconds": (0, lambda d: d // timedelta(milliseconds=1)),
    "String": (0, duration_text),
}


def call_method(target: Json, name: str, *arguments: Json) -> Json:
    """Call a method of a time or a duration; nothing else has methods."""
    methods = _TIME if isinstance(target, datetime) else _DURATION if isinstance(target, timedelta) else {}
    if name not in methods:
        raise EvaluationError(f"{kind_of(target)} has no method {name!r}")
    takes, method = methods[name]
    if takes != len(arguments):
        raise EvaluationError(f"{name}() takes {takes} argument{'' if takes == 1 else 's'}, not {len(arguments)}")
    return method(target, *arguments)
