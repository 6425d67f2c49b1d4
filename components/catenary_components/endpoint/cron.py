"""When something is due: cron expressions with seconds, `@daily` and the like, and `@every 5m`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from importlib.util import find_spec
from itertools import count, takewhile
from typing import TYPE_CHECKING, Final, Protocol
from zoneinfo import ZoneInfo, available_timezones

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS: Final = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
"""What the short forms stand for."""

FIELDS: Final = (
    ("second", "0-59"),
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day-of-month", "1-31, L or LW"),
    ("month", "1-12 or JAN-DEC"),
    ("day-of-week", "0-7 or SUN-SAT, as in MON#1 and 5L"),
)
_EVERY: Final = "@every"
_UNIT_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_ZONE: Final = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)", re.DOTALL)
_RANGE: Final = re.compile(r"[^,/-]-[^,/-]")
_SHORTEST_MS: Final = 1000
_LONGEST_MS: Final = 50 * 366 * 86_400_000
_ALL_HOURS: Final = 24


class Schedule(Protocol):
    """Tells when something is due; times are milliseconds since 1970."""

    @property
    def zone(self) -> ZoneInfo:
        """By whose clocks its times are shown."""
        ...

    def after(self, time_ms: int) -> Iterator[int]:
        """Give the times that are later than this one, in order; they end when none comes within 50 years."""
        ...


@dataclass(frozen=True, slots=True)
class Every:
    """Due again and again after the same time.

    Attributes:
        interval_ms: The time between two.
        start_ms: From when it counts.
        zone: By whose clocks its times are shown.
    """

    interval_ms: int
    start_ms: int
    zone: ZoneInfo

    def after(self, time_ms: int) -> Iterator[int]:
        """Give the times that are later than this one, without end."""
        return count(time_ms + self.interval_ms - (time_ms - self.start_ms) % self.interval_ms, self.interval_ms)


@dataclass(frozen=True, slots=True)
class Cron:
    """Due whenever the wall clock of a zone shows what an expression says.

    With certain hours it goes by the calendar. A time that the clocks skip in spring is due once, at the moment of the
    skip; one that they show twice in autumn is due the first time. With all hours, or an hour field that begins with
    `*`, it goes by the time that passes: nothing is made up for the hour that is skipped, and the hour that comes
    twice counts twice.

    Attributes:
        fields: Six fields, the seconds first.
        zone: The zone.
        is_steady: True when it goes by the time that passes.
    """

    fields: str
    zone: ZoneInfo
    is_steady: bool

    def after(self, time_ms: int) -> Iterator[int]:
        """Give the times that are later than this one, in order; they end when none comes within 50 years."""
        return self._by_time(time_ms) if self.is_steady else self._by_calendar(time_ms)

    def _by_calendar(self, time_ms: int) -> Iterator[int]:
        from cronsim import CronSim

        for due in CronSim(self.fields, datetime.fromtimestamp(time_ms // 1000, self.zone).replace(tzinfo=None)):
            due_ms = _milliseconds(_first_time(due, self.zone))
            if due_ms > time_ms:
                time_ms = due_ms
                yield due_ms

    def _by_time(self, time_ms: int) -> Iterator[int]:
        """Go from one change of the clocks to the next; between two, all times are as far from UTC."""
        from cronsim import CronSim

        time = datetime.fromtimestamp(time_ms // 1000, UTC)
        shown = time.astimezone(self.zone)
        start = shown.replace(tzinfo=None)
        while True:
            offset = shown.utcoffset() or timedelta()
            for due in CronSim(self.fields, start):
                then = (due - offset).replace(tzinfo=UTC)
                change = _first_change(time, then, self.zone)
                if change is not None:
                    break
                time = then
                yield _milliseconds(then)
            else:
                return
            time, shown = change, change.astimezone(self.zone)
            start = shown.replace(tzinfo=None) - timedelta(seconds=1)


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp()) * 1000


def _first_time(shown: datetime, zone: ZoneInfo) -> datetime:
    """Give when the clocks of a zone show a time for the first time; when they skip it, the moment of the skip."""
    time = shown.replace(tzinfo=zone, fold=0)
    if time.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == shown:
        return time
    # Of a time that is skipped, fold 0 goes by the clock before the skip, and fold 1 by that after it.
    before, after = time.utcoffset(), time.replace(fold=1).utcoffset()
    assert before is not None
    assert after is not None
    late = time.astimezone(UTC)
    return _change(late - (after - before), late, zone)


def _first_change(low: datetime, high: datetime, zone: ZoneInfo) -> datetime | None:
    """Give the second in which the clocks of a zone change first after one time and up to another one."""
    before = low.astimezone(zone).utcoffset()
    while low < high:
        later = min(low + timedelta(days=1), high)
        if later.astimezone(zone).utcoffset() != before:
            return _change(low, later, zone)
        low = later
    return None


def _change(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """Give the second in which the clocks of a zone change, between two times."""
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        middle = middle.replace(microsecond=0) if middle.replace(microsecond=0) > low else low + timedelta(seconds=1)
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high


def read_schedule(text: str, zone: ZoneInfo, start_ms: int = 0) -> Schedule:
    """Read an expression.

    Args:
        text: Six fields with the seconds first, `@daily` and the like, or `@every 1h30m`; `TZ=ZONE` may stand in front.
        zone: Whose clocks count.
        start_ms: From when `@every` counts.

    Raises:
        ValueError: When it is none; the text says what is wrong and what to write.
    """
    written = text.strip()
    if (named := _ZONE.fullmatch(written)) is not None:
        zone, written = read_zone(named[1]), named[2].strip()
    if not written:
        raise ValueError("there is no cron expression in from.path; write six fields, such as `0 30 2 * * *`")
    if written.startswith("@"):
        word, _, rest = written.partition(" ")
        if word.lower() == _EVERY:
            return Every(_interval(rest.strip(), text), start_ms, zone)
        written = _expanded(word, rest, text)
    return _cron(written, text, zone)


def _expanded(word: str, rest: str, text: str) -> str:
    known = [*WORDS, _EVERY]
    if word.lower() in WORDS and not rest.strip():
        return WORDS[word.lower()]
    if word.lower() == "@reboot":
        raise ValueError(f"the schedule {text!r} is not known: nothing is due once at the start")
    close = get_close_matches(word.lower(), known, n=1)
    cure = f"did you mean {close[0]!r}?" if close else f"write one of {', '.join(known)} 5m"
    raise ValueError(f"the schedule {text!r} is not known; {cure}")


def _interval(written: str, text: str) -> int:
    """Read a time such as `1h30m`. Returns: milliseconds."""
    parts = list(_PART.finditer(written))
    if not parts or "".join(part[0] for part in parts) != written:
        raise ValueError(
            f"the schedule {text!r} has no time that can be read; write it as in `@every 1h30m` or `@every 5s`"
        )
    interval_ms = round(sum(float(part[1]) * _UNIT_MS[part[2]] for part in parts))
    if not _SHORTEST_MS <= interval_ms <= _LONGEST_MS:
        raise ValueError(f"the schedule {text!r} must be between one second and 50 years")
    return interval_ms


def _cron(written: str, text: str, zone: ZoneInfo) -> Cron:
    fields = written.upper().split()
    if "${" in written:
        raise ValueError(f"the cron expression {text!r} has a placeholder that stands for nothing; set what it names")
    if len(fields) != len(FIELDS):
        given = f"{len(fields)} field" + "s" * (len(fields) != 1)
        cure = f"put `0` for the second in front: `0 {written}`" if len(fields) == len(FIELDS) - 1 else _names()
        raise ValueError(f"the cron expression {text!r} has {given}, and must have 6; {cure}")
    for index in (3, 5):
        if fields[index] == "?":
            fields[index] = "*"
    fields[5] = re.sub(r"-SUN\b", "-7", fields[5])
    _need_package()
    problems = list(_wrong_fields(fields))
    if problems:
        raise ValueError(f"the cron expression {text!r} is wrong: {'; '.join(problems)}")
    return _checked(" ".join(fields), text, zone)


def _checked(fields: str, text: str, zone: ZoneInfo) -> Cron:
    from cronsim import CronSim, CronSimError

    never = ValueError(f"the cron expression {text!r} is never due: there is no such day; change its day or month")
    try:
        hours = CronSim(fields, datetime(2000, 1, 1)).hours  # noqa: DTZ001 - no time of any zone
    except CronSimError:
        raise never from None
    cron = Cron(fields, zone, fields.split()[2].startswith("*") or len(hours) == _ALL_HOURS)
    if next(cron.after(0), None) is None:
        raise never
    return cron


def _names() -> str:
    return "they are " + " ".join(name for name, _ in FIELDS) + ", as in `0 30 2 * * *`"


def _wrong_fields(fields: list[str]) -> Iterator[str]:
    """Tell of each field that no other part of the expression could make right."""
    from cronsim import CronSim, CronSimError

    for index, (field, (name, takes)) in enumerate(zip(fields, FIELDS, strict=True)):
        alone = ["*"] * len(fields)
        alone[index] = field
        if index == 3:
            alone[5] = "0"  # a day that is in no month is told once, for the whole expression
        try:
            CronSim(" ".join(alone), datetime(2000, 1, 1))  # noqa: DTZ001 - no time of any zone
        except (CronSimError, ValueError):
            cure = "; a range goes up: write 22-23,0-4 for 22-4" if _RANGE.search(field) else ""
            yield f"{name} {field!r} (it takes {takes}{cure})"


def read_zone(name: str) -> ZoneInfo:
    """Give a time zone by its name. Raises: ValueError: when there is none; the text names one spelt alike."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # also names that are paths out of the data, and folders of it
        pass
    known = {zone.lower(): zone for zone in available_timezones()}
    close = get_close_matches(name.lower(), known, n=1)
    right = known.get(name.lower()) or (known[close[0]] if close else "")
    cure = f"did you mean {right!r}?" if right else "write it as in 'Europe/Berlin' or 'UTC'"
    if not known:
        cure = "this machine has no time zones; install the package tzdata"
    raise ValueError(f"there is no time zone {name!r}; {cure}")


def _need_package() -> None:
    if find_spec("cronsim") is None:
        raise ValueError("cron expressions need the package cronsim; run: pip install 'catenary[schedule]'")


def latest(schedule: Schedule, first_ms: int, now_ms: int, limit: int) -> list[int]:
    """Give the last times that have come, oldest first, without looking through all of a long time.

    Args:
        schedule: When it is due.
        first_ms: The first time that counts; it is due.
        now_ms: Up to when, inclusive.
        limit: How many at most.
    """
    window_ms = 1000
    while True:
        start = max(first_ms, now_ms - window_ms) - 1
        found = list(takewhile(lambda due: due <= now_ms, schedule.after(start)))
        if len(found) >= limit or start < first_ms:
            return found[-limit:]
        window_ms *= 2
