"""`endpoint/schedule`: run chains at certain times."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, cast

from pydantic import field_validator

from catenary import Message
from catenary.component import Config, Example, option, register
from catenary.endpoints import Endpoint, EndpointConfig, Exchange
from catenary.expr import text_of
from catenary.load.decode import decode
from catenary_components.endpoint.cron import read_schedule, read_zone
from catenary_components.endpoint.ticks import Ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from zoneinfo import ZoneInfo

    from catenary.clock import Timer
    from catenary.endpoints import Router
    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.shared.resource import ConnectionStatus

LONGEST_WAIT_S: Final = 60.0
"""How long it sleeps at most before it looks at the clock again, which may have been set, or have slept."""

_DATA_TYPES: Final = ("JSON", "TEXT", "BINARY")
_NAMES: Final[tuple[str, ...]] = ("data", "dataType", "metadata", "type")

_log = logging.getLogger(__name__)


class Timing(Config):
    """What may be said about times for a whole endpoint, and for one router in `from.configuration`."""

    timezone: str = option(
        "UTC", help="Whose clocks count: the name of a time zone.", examples=["Europe/Berlin", "America/New_York"]
    )
    missed: Literal["skip", "once", "all"] = option(
        "once",
        help="What becomes of times that went by while the machine slept or the program was busy: `skip` leaves out "
        "what is later than `tolerance`, `once` makes one run of all of them, `all` runs for each of them.",
    )
    tolerance: float = option(
        60.0, ge=1, unit="seconds", help="How late a run may begin and still count as in time, for `missed: skip`."
    )
    overlap: Literal["allow", "skip", "queue"] = option(
        "allow",
        help="When the run before is still going: `allow` begins beside it, `skip` leaves the new one out, `queue` "
        "begins it afterwards.",
    )
    max_waiting: int = option(
        100, ge=1, unit="runs", help="How many missed or queued runs are kept at most; the oldest are left out."
    )

    @field_validator("timezone")
    @classmethod
    def _is_zone(cls, name: str) -> str:
        read_zone(name)
        return name


class ScheduleConfig(EndpointConfig, Timing):
    """Settings of one `schedule` endpoint."""


class Payload(NamedTuple):
    """The message of each run, as the `params` of a router say."""

    data: Json | bytes
    type: str
    data_type: str
    metadata: Mapping[str, str]


@register("endpoint/schedule", category="endpoint", since="0.2", aliases=("endpoint/timer",))
class ScheduleEndpoint(Endpoint[ScheduleConfig, object]):
    """Run chains at certain times.

    The `from.path` of each router says when: a cron expression with six fields, of which the first is the second, such
    as `0 30 2 * * MON-FRI`; `@hourly`, `@daily` (or `@midnight`), `@weekly`, `@monthly`, `@yearly` (or `@annually`); or
    `@every 1h30m`, which counts from the start of the endpoint. Fields take `*`, lists, ranges and steps; the day of
    the month also `L` (the last) and `LW` (the last from Monday to Friday), the day of the week `MON#1` (the first
    Monday) and `5L` (the last Friday). When both days are given, one of them is enough.

    Its `params` are the message: data, data type (`JSON`) and metadata, in this order, or by name as `data`,
    `dataType`, `metadata` and `type`. The metadata of a message also has `_scheduledTime`, the time for which it
    was sent.

    Where clocks are changed, an expression with certain hours goes by the calendar: a time that is skipped is due at
    the moment of the skip, one that comes twice is due the first time. With all hours, or with an hour field that
    begins with `*`, it goes by the time that passes. Times that went by while the program did not run are not known.

    A router without an id has its number. What a chain answers goes to the processors of `to`; a run that fails is
    logged.
    """

    trigger_source: ClassVar[str] = "endpoint/schedule"
    always_waits: ClassVar[bool] = True
    examples = (
        Example(
            "an endpoint by the clocks of Berlin; needs a chain around it",
            config={"timezone": "Europe/Berlin", "overlap": "skip"},
            runs=False,
        ),
    )

    def __init__(self, config: ScheduleConfig) -> None:
        super().__init__(config)
        self._count = 0
        self._ticks: dict[str, tuple[Any, Ticks]] = {}
        self._runs: set[asyncio.Task[None]] = set()
        self._timer: Timer | None = None
        self._before: ScheduleEndpoint | None = None
        self._stopped_ms = 0

    def bind(
        self, engine: Engine, chain_id: str, endpoint_id: str, on_state: Callable[[ConnectionStatus], None]
    ) -> None:
        """Keep in mind which endpoint is here before, to go on from where that stops."""
        super().bind(engine, chain_id, endpoint_id, on_state)
        before = engine.endpoints.find(chain_id, endpoint_id)
        if isinstance(before, ScheduleEndpoint) and before is not self:
            self._before = before

    def id_of(self, params: tuple[Json, ...], path: str) -> str:  # noqa: ARG002 - it is the number
        """Give the number of the router in the endpoint, from 1."""
        return str(self._count + 1)

    def check_router(self, router: Router) -> Iterable[str]:
        """Tell of times and parameters that cannot be read."""
        self._count += 1
        timing, problems = _timing(self.config, router)
        yield from problems
        for read in (partial(read_schedule, router.path, read_zone(timing.timezone)), partial(read_payload, router)):
            try:
                read()
            except ValueError as error:
                yield str(error)

    @property
    def address(self) -> str:
        """When it is due next."""
        due = [(ticks.due_ms, ticks.zone) for _, ticks in self._ticks.values() if ticks.due_ms is not None]
        return f"next {shown_time(*min(due, key=lambda one: one[0]))}" if due else ""

    def next_times(self) -> list[str]:
        """Give when each router is due next, by the clocks of its zone; empty text for one that never is again."""
        ticks = [self._ticks[router_id][1] for router_id in self.routers if router_id in self._ticks]
        return ["" if one.due_ms is None else shown_time(one.due_ms, one.zone) for one in ticks]

    async def start(self) -> None:
        """Count from now on, or from when the endpoint was stopped that was here before."""
        before, self._before = self._before, None
        self._route(self.engine.clock.time_ms() if before is None else before._stopped_ms)

    async def stop(self) -> None:
        """Begin nothing any more."""
        due = [ticks.due_ms for _, ticks in self._ticks.values() if ticks.due_ms is not None]
        self._stopped_ms = min([self.engine.clock.time_ms(), *(due_ms - 1 for due_ms in due)])
        for _, ticks in self._ticks.values():
            ticks.stop()
        self._ticks = {}
        self._wait()

    async def idle(self) -> None:
        """Wait until no run is going."""
        while self._runs:
            await asyncio.wait(self._runs)
        await super().idle()

    async def cancel_all(self) -> None:
        """Cancel the runs that are going, and wait until they are over."""
        runs = list(self._runs)
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        await super().cancel_all()

    def routed(self) -> None:
        """Go by other routers from now on; those whose times are the same keep the time at which they are due next."""
        self._route(self.engine.clock.time_ms())

    def _route(self, now_ms: int) -> None:
        before = self._ticks
        self._ticks = {}
        for router in self.routers.values():
            timing, _ = _timing(self.config, router)
            key = (router.path, timing.timezone)
            known = before.get(router.id)
            if known is not None and known[0] == key:
                del before[router.id]
                known[1].timing = timing
                self._ticks[router.id] = known
            else:
                self._ticks[router.id] = (key, self._new_ticks(router, timing, now_ms))
        for _, gone in before.values():
            gone.stop()
        self._wait()

    def _new_ticks(self, router: Router, timing: Timing, now_ms: int) -> Ticks:
        schedule = read_schedule(router.path, read_zone(timing.timezone), now_ms)
        run = partial(self._run, router.id, schedule.zone)
        leave_out = partial(self._leave_out, router.id)
        return Ticks(timing, schedule, now_ms, run=run, spawn=self._begin, leave_out=leave_out)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._runs.add(task)
        task.add_done_callback(self._runs.discard)
        return task

    # Waiting

    def _wait(self) -> None:
        """Have the clock call at the time at which something is due next."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = [ticks.due_ms for _, ticks in self._ticks.values() if ticks.due_ms is not None]
        if not due:
            return
        clock = self.engine.clock
        wait_s = max(min(due) - clock.time_ms(), 0) / 1000
        self._timer = clock.call_at(clock.monotonic() + min(wait_s, LONGEST_WAIT_S), self._look)

    def _look(self) -> None:
        """Begin what is due."""
        now_ms = self.engine.clock.time_ms()
        for _, ticks in self._ticks.values():
            ticks.tick(now_ms)
        self._wait()

    def _leave_out(self, router_id: str, reason: str) -> None:
        _log.warning("a run of a schedule is left out", extra={**self._place(router_id), "reason": reason})

    def _place(self, router_id: str) -> dict[str, str]:
        return {"chain_id": self.chain_id, "endpoint_id": self.id, "router_id": router_id}

    # Running

    async def _run(self, router_id: str, zone: ZoneInfo, due_ms: int) -> None:
        router = self.routers.get(router_id)
        if router is None:
            return
        payload = read_payload(router)
        own = {"_triggerSource": self.trigger_source, "_scheduledTime": shown_time(due_ms, zone)}
        message = Message(payload.data, payload.type, payload.data_type, {**payload.metadata, **own})
        exchange = Exchange(message)
        await self.handle(router, exchange)
        answer = exchange.answer
        if answer.error is not None or (exchange.outcome is None and answer.status is not None):
            reason = answer.reason or str(answer.body)
            _log.error("a run of a schedule failed", extra={**self._place(router_id), "reason": reason})


def shown_time(time_ms: int, zone: ZoneInfo) -> str:
    """Write a time as the clocks of a zone show it, with the difference to UTC: `2026-03-29T03:00:00+02:00`."""
    time = datetime.fromtimestamp(time_ms / 1000, zone)
    return time.isoformat(timespec="milliseconds" if time_ms % 1000 else "seconds")


def _timing(config: ScheduleConfig, router: Router) -> tuple[Timing, list[str]]:
    """Give what counts for a router, and what is wrong with what it says."""
    common = {name: getattr(config, name) for name in Timing.model_fields}
    timing, problems, unknown = decode(Timing, dict(router.configuration), None)
    texts = [f"from.configuration: {one.text}" + f"; {one.hint}" * bool(one.hint) for one in (*problems, *unknown)]
    if timing is None:
        return Timing(**common), texts
    return timing.model_copy(
        update={name: common[name] for name in common if name not in timing.model_fields_set}
    ), texts


def read_payload(router: Router) -> Payload:
    """Read the `params` of a router. Raises: ValueError: when they are none; the text says what they must be."""
    params = list(router.params)
    named: Mapping[str, Json] | None = _named(params)
    if named is None:
        if len(params) > 3:
            raise ValueError(f"params has {len(params)} values; it takes data, data type and metadata, in this order")
        named = dict(zip(_NAMES, params, strict=False))
    data_type = _data_type(named.get("dataType"))
    return Payload(_data(named.get("data"), data_type), text_of(named.get("type")), data_type, _metadata(named))


def _named(params: list[Json]) -> dict[str, Json] | None:
    """Give params that are given by name: one object that has no other keys than the names."""
    if len(params) != 1 or not isinstance(params[0], dict):
        return None
    given = cast("dict[str, Json]", params[0])
    return given if given and set(given) <= set(_NAMES) else None


def _data_type(given: Json) -> str:
    name = str(given or "JSON").strip().upper()
    if name not in _DATA_TYPES:
        raise ValueError(f"params: the data type {given!r} is not one of {', '.join(_DATA_TYPES)}")
    return name


def _data(given: Json, data_type: str) -> Json | bytes:
    if data_type == "JSON":
        return "" if given is None else given
    text = text_of(given)
    return text.encode() if data_type == "BINARY" else text


def _metadata(named: Mapping[str, Json]) -> dict[str, str]:
    given = named.get("metadata")
    if given is not None and not isinstance(given, dict):
        raise ValueError(f"params: the metadata {given!r} must be an object")
    return {key: text_of(value) for key, value in cast("dict[str, Json]", given or {}).items()}
