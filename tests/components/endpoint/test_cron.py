"""When schedules are due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.endpoint.cron import WORDS, Cron, Every, latest, read_schedule, read_zone

GREENWICH = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
HAVANA = ZoneInfo("America/Havana")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
APIA = ZoneInfo("Pacific/Apia")


def ms(text: str, zone: ZoneInfo = GREENWICH) -> int:
    time = datetime.fromisoformat(text)
    return round((time if time.tzinfo else time.replace(tzinfo=zone)).timestamp() * 1000)


def due(expression: str, start: str, count: int = 4, zone: ZoneInfo = GREENWICH) -> list[str]:
    schedule = read_schedule(expression, zone)
    found = islice(schedule.after(ms(start, zone)), count)
    return [datetime.fromtimestamp(one / 1000, zone).isoformat() for one in found]


def test_the_first_of_six_fields_is_the_second() -> None:
    assert due("15 30 2 * * *", "2026-01-01T00:00:00", 2) == ["2026-01-01T02:30:15+00:00", "2026-01-02T02:30:15+00:00"]


def test_a_time_that_is_now_is_not_due_again() -> None:
    assert due("0 0 12 * * *", "2026-01-01T12:00:00", 1) == ["2026-01-02T12:00:00+00:00"]
    assert due("0 0 12 * * *", "2026-01-01T11:59:59.999", 1) == ["2026-01-01T12:00:00+00:00"]


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("@yearly", "2027-01-01T00:00:00"),
        ("@annually", "2027-01-01T00:00:00"),
        ("@monthly", "2026-06-01T00:00:00"),
        ("@weekly", "2026-05-24T00:00:00"),
        ("@daily", "2026-05-21T00:00:00"),
        ("@midnight", "2026-05-21T00:00:00"),
        ("@hourly", "2026-05-20T11:00:00"),
        ("@Hourly", "2026-05-20T11:00:00"),
        ("  @hourly ", "2026-05-20T11:00:00"),
    ],
)
def test_short_forms_stand_for_expressions(word: str, first: str) -> None:
    assert due(word, "2026-05-20T10:10:10", 1) == [f"{first}+00:00"]


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("0 0 8 L * *", "2026-02-28T08:00:00"),
        ("0 0 8 LW * *", "2026-02-27T08:00:00"),
        ("0 0 8 * * MON#1", "2026-03-02T08:00:00"),
        ("0 0 8 * * 5L", "2026-02-27T08:00:00"),
        ("0 0 8 * * mon-fri", "2026-02-23T08:00:00"),
        ("0 0 8 ? * SUN", "2026-02-22T08:00:00"),
        ("0 0 8 1,15 * ?", "2026-03-01T08:00:00"),
        ("0 0 8 13 * FRI", "2026-02-27T08:00:00"),
        ("*/20 * * * * *", "2026-02-22T00:00:20"),
        ("0 0/15 9-17 * * 7", "2026-02-22T09:00:00"),
        ("0 0 8 * * FRI-SUN", "2026-02-22T08:00:00"),
        ("0 0 8 * * MON,SAT-sun", "2026-02-22T08:00:00"),
        ("CRON_TZ=Asia/Tokyo 0 0 9 * * *", "2026-02-23T00:00:00"),
        ("TZ=Asia/Tokyo @daily", "2026-02-22T15:00:00"),
    ],
)
def test_fields_take_lists_ranges_steps_and_names(expression: str, first: str) -> None:
    assert due(expression, "2026-02-22T00:00:00", 1) == [f"{first}+00:00"]


@pytest.mark.parametrize(
    ("text", "interval_ms"),
    [
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("90s", 90_000),
        ("1.5h", 5_400_000),
        ("1500ms", 1500),
        ("2d", 172_800_000),
    ],
)
def test_every_counts_from_its_start(text: str, interval_ms: int) -> None:
    schedule = read_schedule(f"@every {text}", BERLIN, 1000)
    assert schedule == Every(interval_ms, 1000, BERLIN)
    assert list(islice(schedule.after(1000), 2)) == [1000 + interval_ms, 1000 + 2 * interval_ms]
    assert next(iter(schedule.after(1000 + 2 * interval_ms - 1))) == 1000 + 2 * interval_ms


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("", "there is no cron expression"),
        ("* * * * *", "has 5 fields, and must have 6; put `0` for the second in front: `0 * * * * *`"),
        ("* * *", "has 3 fields, and must have 6; they are second minute hour day-of-month month day-of-week"),
        ("*", "has 1 field, and"),
        ("0 0 0 * * * 2026", "has 7 fields"),
        ("60 * * * * *", "wrong: second '60' (it takes 0-59)"),
        ("0 x 25 * * *", "wrong: minute 'X' (it takes 0-59); hour '25' (it takes 0-23)"),
        ("0 0 0 0 * *", "day-of-month '0'"),
        ("0 0 0 * 13 *", "month '13'"),
        ("0 0 0 * * 8", "day-of-week '8'"),
        ("0 */0 * * * *", "minute '*/0'"),
        ("0 0 22-4 * * *", "hour '22-4' (it takes 0-23; a range goes up: write 22-23,0-4 for 22-4)"),
        ("0 0 8 * * SAT-MON", "day-of-week 'SAT-MON' (it takes 0-7 or SUN-SAT, as in MON#1 and 5L; a range goes up"),
        ("${global.when}", "has a placeholder that stands for nothing; set what it names"),
        ("0 0 0 30 2 *", "is never due"),
        ("0 0 0 31 4,6 *", "is never due"),
        ("0 0 0 */30 2 MON#5", "is never due"),
        ("@dayly", "is not known; did you mean '@daily'?"),
        ("@reboot", "nothing is due once at the start"),
        ("@x", "write one of @yearly,"),
        ("@daily 5", "is not known"),
        ("@every", "has no time that can be read"),
        ("@every 5", "has no time that can be read"),
        ("@every 5 m", "has no time that can be read"),
        ("@every 0s", "must be between one second"),
        ("@every 999ms", "must be between one second"),
        ("@every 99999999h", "must be between one second and 50 years"),
        ("TZ=Mars/Base 0 0 0 * * *", "there is no time zone 'Mars/Base'"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_write(expression: str, told: str) -> None:
    with pytest.raises(ValueError) as error:
        read_schedule(expression, BERLIN)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Europe/Berln", "did you mean 'Europe/Berlin'?"),
        ("europe/berlin", "did you mean 'Europe/Berlin'?"),
        ("qqqq", "write it as in 'Europe/Berlin'"),
        ("", "there is no time zone ''"),
        ("/etc/localtime", "there is no time zone"),
        ("../UTC", "there is no time zone"),
        ("Europe", "there is no time zone"),
        ("a\0b", "there is no time zone"),
    ],
)
def test_an_unknown_zone_is_told_with_one_spelt_alike(name: str, told: str) -> None:
    if name == "europe/berlin":  # some machines find names in any case
        try:
            ZoneInfo(name)
        except KeyError:
            pass
        else:
            return
    with pytest.raises(ValueError) as error:
        read_zone(name)
    assert told in str(error.value)


def test_a_machine_without_time_zones_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catenary_components.endpoint.cron.available_timezones", set)
    with pytest.raises(ValueError, match="install the package tzdata"):
        read_zone("Mars/Base")


# Clocks that are changed: Berlin skips 02:00 to 03:00 on 2026-03-29, and has it twice on 2026-10-25


def test_a_certain_time_that_is_skipped_is_due_at_the_skip() -> None:
    assert due("0 30 2 * * *", "2026-03-28T12:00:00", 2, BERLIN) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]


def test_several_times_that_are_skipped_are_due_once() -> None:
    assert due("0 */10 2 * * *", "2026-03-29T00:00:00", 2, BERLIN) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:00:00+02:00",
    ]
    assert due("0 0 2,3 * * *", "2026-03-29T00:00:00", 2, BERLIN) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:00:00+02:00",
    ]


def test_a_certain_time_that_comes_twice_is_due_the_first_time() -> None:
    assert due("0 30 2 * * *", "2026-10-25T00:00:00", 2, BERLIN) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]
    second_pass = "2026-10-25T02:15:00+01:00"
    assert due("0 30 2 * * *", second_pass, 1, BERLIN) == ["2026-10-26T02:30:00+01:00"]


def test_all_hours_go_by_the_time_that_passes() -> None:
    assert due("0 30 * * * *", "2026-03-29T01:00:00", 2, BERLIN) == [
        "2026-03-29T01:30:00+01:00",
        "2026-03-29T03:30:00+02:00",
    ]
    assert due("0 30 * * * *", "2026-10-25T02:00:00+02:00", 3, BERLIN) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T03:30:00+01:00",
    ]
    assert due("0 30 0-23 * * *", "2026-10-25T02:00:00+02:00", 2, BERLIN)[1] == "2026-10-25T02:30:00+01:00"


def test_every_does_not_mind_the_clocks() -> None:
    schedule = read_schedule("@every 1h", BERLIN, ms("2026-03-29T01:30:00", BERLIN))
    found = islice(schedule.after(ms("2026-03-29T01:30:00", BERLIN)), 2)
    assert [datetime.fromtimestamp(one / 1000, BERLIN).hour for one in found] == [3, 4]


def test_midnight_that_is_skipped_or_comes_twice() -> None:
    assert due("@daily", "2026-03-07T12:00:00", 1, HAVANA) == ["2026-03-08T01:00:00-04:00"]
    assert due("@daily", "2026-10-31T12:00:00", 2, HAVANA) == ["2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"]


def test_clocks_that_are_changed_by_half_an_hour() -> None:
    assert due("0 15 2 * * *", "2026-10-04T00:00:00", 1, LORD_HOWE) == ["2026-10-04T02:30:00+11:00"]


def test_a_day_that_was_left_out_is_due_at_the_skip() -> None:
    assert due("0 0 12 * * *", "2011-12-29T13:00:00", 2, APIA) == [
        "2011-12-31T00:00:00+14:00",
        "2011-12-31T12:00:00+14:00",
    ]


ZONES = st.sampled_from([BERLIN, HAVANA, LORD_HOWE, APIA, ZoneInfo("UTC"), ZoneInfo("America/Sao_Paulo")])
START = st.integers(ms("2010-01-01T00:00:00"), ms("2030-01-01T00:00:00"))
FIELD = st.sampled_from(["*", "0", "30", "*/20", "5,50"])
EXPRESSION = st.tuples(FIELD, FIELD, st.sampled_from(["*", "*/2", "2", "0,1,2,3", "0-23"])).map(" ".join)


@given(expression=EXPRESSION, zone=ZONES, start=START)
@settings(max_examples=times(150))
def test_times_rise_and_are_shown_by_the_clocks(expression: str, zone: ZoneInfo, start: int) -> None:
    schedule = read_schedule(f"{expression} * * *", zone)
    assert isinstance(schedule, Cron)
    found = list(islice(schedule.after(start), 20))
    assert found == sorted(set(found))
    assert found[0] > start
    shown = [datetime.fromtimestamp(one / 1000, zone) for one in found]
    fields = expression.split()
    for time in shown:
        is_skip = time.utcoffset() != datetime.fromtimestamp(time.timestamp() - 1, zone).utcoffset()
        assert is_skip or _matches(fields[1], time.minute)


def _matches(field: str, value: int) -> bool:
    if field == "*":
        return True
    return value % 20 == 0 if field == "*/20" else str(value) in field.split(",")


CHANGING = [
    "Europe/Berlin",
    "America/Havana",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "Antarctica/Troll",
    "Pacific/Apia",
]
HOURS = {
    "*": range(24),
    "*/2": range(0, 24, 2),
    "*/3": range(0, 24, 3),
    "0-23": range(24),
    "2": [2],
    "0,1,3": [0, 1, 3],
}
MINUTES = {"*": range(60), "0": [0], "45": [45], "*/20": range(0, 60, 20), "5,50": [5, 50]}


@cache
def days_of_change(name: str) -> list[datetime]:
    """Give the days, from 2009 to 2030, after which the clocks of a zone are changed."""
    zone = ZoneInfo(name)
    days = [datetime(2009, 1, 1, tzinfo=UTC) + timedelta(days=number) for number in range(21 * 365)]
    later = [(day + timedelta(days=1)).astimezone(zone).utcoffset() for day in days]
    return [day for day, after in zip(days, later, strict=True) if day.astimezone(zone).utcoffset() != after]


@given(
    data=st.data(), name=st.sampled_from(CHANGING), hour=st.sampled_from([*HOURS]), minute=st.sampled_from([*MINUTES])
)
@settings(max_examples=times(30))
def test_around_changes_of_the_clocks_it_is_due_when_a_slow_model_says(
    data: st.DataObject, name: str, hour: str, minute: str
) -> None:
    zone = ZoneInfo(name)
    start = data.draw(st.sampled_from(days_of_change(name))) - timedelta(minutes=data.draw(st.integers(0, 600)))
    moments = [start + timedelta(minutes=number) for number in range(2800)]
    shown = [moment.astimezone(zone).replace(tzinfo=None) for moment in moments]
    walls = [
        shown[0] + timedelta(minutes=number) for number in range(int((shown[-1] - shown[0]).total_seconds()) // 60)
    ]
    if hour in {"*", "*/2", "*/3", "0-23"}:
        expected = {at for at, wall in zip(moments, shown, strict=True) if fits(wall, hour, minute)}
    else:
        expected = {moments[first_shown(shown, wall)] for wall in walls if fits(wall, hour, minute)}
    schedule = read_schedule(f"0 {minute} {hour} * * *", zone)
    found = takewhile(lambda one: one < moments[-1].timestamp() * 1000, schedule.after(ms(start.isoformat())))
    late = moments[-200]
    assert [one for one in found if one < late.timestamp() * 1000] == sorted(
        round(at.timestamp() * 1000) for at in expected if start < at < late
    )


def first_shown(shown: list[datetime], wall: datetime) -> int:
    """Give the first minute at which the clocks show a time or a later one."""
    return next(index for index, one in enumerate(shown) if one >= wall)


def fits(wall: datetime, hour: str, minute: str) -> bool:
    return wall.hour in HOURS[hour] and wall.minute in MINUTES[minute]


def test_clocks_that_are_changed_by_half_an_hour_leave_no_time_out_that_they_show() -> None:
    assert due("0 0 */3 * * *", "2026-10-04T01:00:00", 1, LORD_HOWE) == ["2026-10-04T03:00:00+11:00"]
    assert due("0 45 * * * *", "2026-04-05T01:00:00", 3, LORD_HOWE) == [
        "2026-04-05T01:45:00+11:00",
        "2026-04-05T01:45:00+10:30",
        "2026-04-05T02:45:00+10:30",
    ]


def test_a_schedule_of_one_day_a_year_sees_the_hour_that_comes_twice() -> None:
    assert due("0 30 */24 1 11 *", "2025-12-01T00:00:00", 2, HAVANA) == [
        "2026-11-01T00:30:00-04:00",
        "2026-11-01T00:30:00-05:00",
    ]


@given(expression=EXPRESSION, zone=ZONES, start=START, jump=st.integers(1, 200_000))
@settings(max_examples=times(60))
def test_it_does_not_matter_from_where_one_looks(expression: str, zone: ZoneInfo, start: int, jump: int) -> None:
    schedule = read_schedule(f"{expression} * * *", zone)
    first, second = islice(schedule.after(start), 2)
    assert next(schedule.after(min(start + jump, first - 1))) == first
    assert next(schedule.after(first)) == second


@given(text=st.text() | st.text("0123456789*/,-#LW? @TZ=MONJANevery", max_size=30))
@settings(max_examples=times(300))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        schedule = read_schedule(text, BERLIN)
    except ValueError as error:
        assert str(error)
    else:
        assert next(schedule.after(0)) > 0


def test_every_expression_of_the_short_forms_is_read() -> None:
    assert all(isinstance(read_schedule(text, BERLIN), Cron) for text in WORDS.values())


@pytest.mark.parametrize("expression", ["* * * * * *", "0 0 0 1 1 *", "* * 2 * * *", "@every 7s"])
def test_the_last_times_are_those_that_looking_at_all_gives(expression: str) -> None:
    schedule = read_schedule(expression, BERLIN)
    now = ms("2026-01-02T03:30:00")
    first = next(schedule.after(now - 40 * 3_600_000))
    times_all = list(takewhile(lambda one: one <= now, schedule.after(first - 1)))
    assert latest(schedule, first, now, 5) == times_all[-5:]
    assert latest(schedule, first, now, 1) == times_all[-1:]
    assert latest(schedule, first, first, 5) == [first]
