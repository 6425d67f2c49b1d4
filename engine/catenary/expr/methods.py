"""Methods of times and durations, such as `now().Format('2006-01-02')`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Final

from catenary.expr.habits import call_hint
from catenary.expr.kinds import EvaluationError, kind_of
from catenary.expr.layouts import format_layout
from catenary.expr.text import duration_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json


def _of(value: Json, kind: type[Any]) -> Any:
    if isinstance(value, kind):
        return value
    raise EvaluationError(f"a method cannot take {kind_of(value)} here")


def _format(moment: datetime, layout: Json) -> str:
    return format_layout(moment, _of(layout, str))


def _in_zone(moment: datetime, zone: Json) -> datetime:
    return moment.astimezone(_of(zone, tzinfo))


def _later(moment: datetime, duration: Json) -> datetime:
    return moment + _of(duration, timedelta)


def _since(moment: datetime, other: Json) -> timedelta:
    return moment - _of(other, datetime)


def _is_before(moment: datetime, other: Json) -> bool:
    return moment < _of(other, datetime)


def _is_after(moment: datetime, other: Json) -> bool:
    return moment > _of(other, datetime)


def _is_equal(moment: datetime, other: Json) -> bool:
    return moment == _of(other, datetime)


def _unix(moment: datetime) -> int:
    return int(moment.timestamp())


def _unix_milli(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _year_day(moment: datetime) -> int:
    return moment.timetuple().tm_yday


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)


def _seconds(duration: timedelta) -> float:
    return duration.total_seconds()


def _minutes(duration: timedelta) -> float:
    return duration.total_seconds() / 60


def _hours(duration: timedelta) -> float:
    return duration.total_seconds() / 3600


# method -> (number of arguments, what is called with the target before them)
_TIME: Final[dict[str, tuple[int, Callable[..., Json]]]] = {
    "Year": (0, attrgetter("year")),
    "Month": (0, attrgetter("month")),
    "Day": (0, attrgetter("day")),
    "Hour": (0, attrgetter("hour")),
    "Minute": (0, attrgetter("minute")),
    "Second": (0, attrgetter("second")),
    "Weekday": (0, methodcaller("strftime", "%A")),
    "YearDay": (0, _year_day),
    "Unix": (0, _unix),
    "UnixMilli": (0, _unix_milli),
    "UTC": (0, methodcaller("astimezone", UTC)),
    "String": (0, time_text),
    "Format": (1, _format),
    "In": (1, _in_zone),
    "Add": (1, _later),
    "Sub": (1, _since),
    "Before": (1, _is_before),
    "After": (1, _is_after),
    "Equal": (1, _is_equal),
}
_DURATION: Final[dict[str, tuple[int, Callable[..., Json]]]] = {
    "Hours": (0, _hours),
    "Minutes": (0, _minutes),
    "Seconds": (0, _seconds),
    "Milliseconds": (0, _milliseconds),
    "String": (0, duration_text),
}


def call_method(target: Json, name: str, *arguments: Json) -> Json:
    """Call a method of a time or a duration; nothing else has methods."""
    methods = _TIME if isinstance(target, datetime) else _DURATION if isinstance(target, timedelta) else {}
    if name not in methods:
        raise EvaluationError(f"{kind_of(target)} has no method {name!r}{_instead(name)}")
    takes, method = methods[name]
    if takes != len(arguments):
        raise EvaluationError(f"{name}() takes {takes} argument{'' if takes == 1 else 's'}, not {len(arguments)}")
    return method(target, *arguments)


def _instead(name: str) -> str:
    from catenary.expr.functions.table import FUNCTIONS

    told = call_hint(name, FUNCTIONS)
    return f"; {told}" if told else ""
