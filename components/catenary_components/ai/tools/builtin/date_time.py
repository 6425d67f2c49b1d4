"""`datetime`: the time it is, here or somewhere else."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field

from catenary.component import Config, option
from catenary.jsontext import dumps
from catenary_components.ai.tools.builtin.base import Arguments, Builtin, ToolFailure, ToolSettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.component import Context
    from catenary_components.ai.tools.builtin.base import Workplace

_CITIES: Final = {
    "Asia/Shanghai": "beijing shenzhen guangzhou hangzhou chengdu wuhan nanjing xian tianjin suzhou",
    "America/New_York": "nyc washington boston miami atlanta philadelphia",
    "America/Los_Angeles": "sanfrancisco sf la seattle sandiego lasvegas",
    "America/Chicago": "dallas houston austin",
    "Asia/Kolkata": "delhi newdelhi mumbai bangalore bengaluru chennai hyderabad",
    "Asia/Tokyo": "osaka kyoto",
    "Europe/Berlin": "munich hamburg frankfurt cologne",
    "Europe/Zurich": "geneva basel bern",
}
"""Cities that are no names of time zones."""


class DateTimeConfig(Config):
    """Settings of `datetime`."""

    timezone: str = option("UTC", help="The time zone when the model names none.", examples=["Europe/Berlin"])


class DateTimeArguments(Arguments):
    """Where."""

    timezone: str = Field("", description="Name of a time zone, such as Europe/Berlin, UTC or +02:00.")
    city: str = Field("", description="A large city in place of a time zone, such as Tokyo.")


class DateTime(Builtin[DateTimeConfig, DateTimeArguments]):
    """Tell the date and time it is now, with the day of the week, in a time zone or a large city."""

    name = "datetime"
    config_type = DateTimeConfig
    arguments_type = DateTimeArguments
    is_read_only = True
    main_argument = "timezone"

    def __init__(self, config: DateTimeConfig, workplace: Workplace) -> None:
        super().__init__(config, workplace)
        try:
            self._usual = _zone(config.timezone)
        except ToolFailure as error:
            raise ToolSettingError("timezone", str(error)) from error

    async def run(self, ctx: Context, arguments: DateTimeArguments) -> str:  # noqa: ARG002 - it needs no run
        """Ask the engine's clock."""
        name, zone = self._usual
        if arguments.timezone.strip():
            name, zone = _zone(arguments.timezone)
        elif arguments.city.strip():
            name, zone = _zone_of_city(arguments.city)
        now = datetime.fromtimestamp(self.workplace.clock.time_ms() / 1000, UTC).astimezone(zone)
        now = now.replace(microsecond=0)
        return dumps({
            "timezone": name,
            "date": now.date().isoformat(),
            "time": now.time().isoformat(),
            "weekday": now.strftime("%A"),
            "iso": now.isoformat(),
            "source": "system-clock",
        })  # fmt: skip


def _zone(name: str) -> tuple[str, tzinfo]:
    wanted = name.strip()
    if wanted.upper() in ("UTC", "Z", "GMT"):
        return "UTC", UTC
    if wanted[:1] in "+-":
        try:
            offset = datetime.strptime(wanted, "%z").tzinfo
        except ValueError:
            offset = None
        if offset is not None:
            return wanted, offset
    try:
        return wanted, ZoneInfo(wanted)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolFailure(f"there is no time zone {wanted!r}; it must be a name such as Europe/Berlin") from None


def _zone_of_city(city: str) -> tuple[str, tzinfo]:
    zone = _zones_of_cities().get(_folded(city.partition(",")[0]))
    if zone is None:
        raise ToolFailure(f"the time zone of {city!r} is not known; give its name as timezone, such as Europe/Berlin")
    return zone, ZoneInfo(zone)


@cache
def _zones_of_cities() -> Mapping[str, str]:
    named = {_folded(zone.rpartition("/")[2]): zone for zone in sorted(available_timezones()) if "/" in zone}
    named |= {city: zone for zone, cities in _CITIES.items() for city in cities.split()}
    return named


def _folded(city: str) -> str:
    """Give a name as small letters without marks, blanks and the like, so that `São Paulo` is `sao_paulo`."""
    plain = unicodedata.normalize("NFKD", city).casefold()
    return "".join(letter for letter in plain if letter.isalnum() and not unicodedata.combining(letter))
