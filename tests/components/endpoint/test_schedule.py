"""`endpoint/schedule`: what runs when, by a clock that is told the time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from catenary import SUCCESS, ChainInvalid, Engine, Message, Relation
from catenary.events import Event
from catenary.testing import FakeClock

START = round(datetime.fromisoformat("2026-05-20T10:00:00+00:00").timestamp() * 1000)


class Seen:
    """What a function of the chain was called with; it may be held."""

    def __init__(self, engine: Engine) -> None:
        self.messages: list[Message] = []
        self.free = asyncio.Event()
        self.free.set()
        self.going = 0
        self.most = 0
        engine.function("seen")(self._see)

    async def _see(self, ctx: Any, msg: Message) -> Relation:
        self.messages.append(msg)
        self.going += 1
        self.most = max(self.most, self.going)
        try:
            await self.free.wait()
        finally:
            self.going -= 1
        return SUCCESS

    @property
    def times(self) -> list[str]:
        return [message.metadata["_scheduledTime"][11:19] for message in self.messages]


def router(path: str = "0 * * * * *", configuration: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    return {"from": {"path": path, "configuration": configuration or {}}, **keys}


def chain(*routers: dict[str, Any], **configuration: Any) -> dict[str, Any]:
    node = {"id": "a", "type": "functions", "configuration": {"functionName": "seen"}}
    endpoint = {"id": "clock", "type": "schedule", "configuration": configuration, "routers": list(routers)}
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": [node], "connections": [], "endpoints": [endpoint]}}


class Bench:
    """An engine with a fake clock, and what its chain has seen."""

    def __init__(self, engine: Engine, clock: FakeClock, seen: Seen) -> None:
        self.engine = engine
        self.clock = clock
        self.seen = seen

    async def load(self, *routers: dict[str, Any], **configuration: Any) -> None:
        self.engine.load(chain(*routers, **configuration))
        await self.engine.endpoints.settled()

    async def pass_s(self, seconds: float) -> list[str]:
        """Let time pass, and what comes of it. Returns: the times of all runs so far."""
        self.clock.advance(seconds)
        await turns()
        return self.seen.times


async def turns() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    clock = FakeClock(start_ms=START)
    async with Engine(clock=clock) as engine:
        yield Bench(engine, clock, Seen(engine))


def problems(*routers: Any, **configuration: Any) -> str:
    with pytest.raises(ChainInvalid) as error:
        Engine().load(chain(*routers, **configuration))
    return str(error.value)


async def test_a_chain_runs_when_it_is_due() -> None:
    async with bench() as b:
        await b.load(router("30 * * * * *"))
        assert await b.pass_s(29.999) == []
        assert await b.pass_s(0.001) == ["10:00:30"]
        assert await b.pass_s(59) == ["10:00:30"]
        assert await b.pass_s(1) == ["10:00:30", "10:01:30"]


async def test_each_message_says_where_it_comes_from_and_for_which_time() -> None:
    async with bench() as b:
        await b.load(router("0 0 13 * * *", {"timezone": "Europe/Berlin"}))
        await b.pass_s(3600)
        (message,) = b.seen.messages
        assert message.metadata == {
            "_triggerSource": "endpoint/schedule",
            "_scheduledTime": "2026-05-20T13:00:00+02:00",
        }
        assert (message.type, message.data_type, message.data) == ("", "JSON", "")
        assert message.value == {}


async def test_the_time_of_a_message_is_shown_by_the_clocks_of_its_expression() -> None:
    async with bench() as b:
        await b.load(router("TZ=Asia/Tokyo @daily"))
        assert b.engine.endpoints.status()[0].address == "next 2026-05-21T00:00:00+09:00"
        await b.pass_s(5 * 3600)
        assert b.seen.messages[0].metadata["_scheduledTime"] == "2026-05-21T00:00:00+09:00"


@pytest.mark.parametrize(
    ("params", "data", "data_type", "type_", "metadata"),
    [
        ([], "", "JSON", "", {}),
        (["hello"], "hello", "JSON", "", {}),
        ([{"a": 1}], '{"a":1}', "JSON", "", {}),
        ([[1, 2], "json"], "[1,2]", "JSON", "", {}),
        (["t", "text", {"n": 1, "on": True, "list": [1], "no": None}], "t", "TEXT", "",
         {"n": "1", "on": "true", "list": "[1]", "no": ""}),
        (["bytes", "BINARY"], b"bytes", "BINARY", "", {}),
        ({"data": {"a": 1}, "metadata": {"k": "v"}, "type": "REPORT"}, '{"a":1}', "JSON", "REPORT", {"k": "v"}),
        ([{"dataType": "TEXT", "data": 5}], "5", "TEXT", "", {}),
        ([{"data": {"data": 1}}], '{"data":1}', "JSON", "", {}),
    ],
)  # fmt: skip
async def test_the_params_are_the_message(
    params: Any, data: Any, data_type: str, type_: str, metadata: dict[str, str]
) -> None:
    async with bench() as b:
        await b.load(router(params=params))
        await b.pass_s(60)
        (message,) = b.seen.messages
        assert (message.data, message.data_type, message.type) == (data, data_type, type_)
        assert {key: value for key, value in message.metadata.items() if key[0] != "_"} == metadata


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (router("* * * * *"), "put `0` for the second in front: `0 * * * * *`"),
        (router("@dayly"), "did you mean '@daily'?"),
        (router(params=["x", "XML"]), "data type 'XML' is not one of JSON, TEXT, BINARY"),
        (router(params=["x", "TEXT", "m"]), "metadata 'm' must be an object"),
        (router(params=[1, "JSON", {}, 4]), "params has 4 values"),
        (router(configuration={"timezone": "Europe/Berln"}), "did you mean 'Europe/Berlin'?"),
        (router(configuration={"timezon": "UTC"}), "did you mean 'timezone'?"),
        (router(configuration={"overlap": "maybe"}), "overlap"),
        (router(configuration={"tolerance": 0}), "tolerance must be at least 1"),
    ],
)
def test_what_is_wrong_with_a_router_is_told_at_load(wrong: dict[str, Any], told: str) -> None:
    text = problems(wrong)
    assert told in text
    assert "endpoint 'clock' (schedule), router '1'" in text


def test_an_unknown_zone_of_the_endpoint_is_told_at_load() -> None:
    assert "did you mean 'America/New_York'?" in problems(router(), timezone="America/NewYork")


def test_all_that_is_wrong_is_told_at_once() -> None:
    text = problems(router("x"), router("0 0 0 30 2 *", params=[1, "XML"]))
    assert "has 1 field" in text
    assert "is never due" in text
    assert "'XML'" in text


@pytest.mark.parametrize("name", ["schedule", "timer", "endpoint/schedule"])
def test_it_is_found_by_its_names(name: str) -> None:
    definition = chain(router())
    definition["metadata"]["endpoints"][0]["type"] = name
    with Engine(endpoints=False) as engine:
        assert engine.load(definition).endpoints[0].component.trigger_source == "endpoint/schedule"


def test_a_router_without_id_has_its_number() -> None:
    with Engine(endpoints=False) as engine:
        loaded = engine.load(chain(router(), router("@daily", id="report"), router("@hourly")))
        assert list(loaded.endpoints[0].routers) == ["1", "report", "3"]


async def test_each_router_has_its_own_time_and_zone() -> None:
    async with bench() as b:
        await b.load(
            router("0 0 12 * * *", params=["berlin"]),
            router("0 0 12 * * *", {"timezone": "UTC"}, params=["utc"]),
            timezone="Europe/Berlin",
        )
        assert await b.pass_s(0) == []
        b.clock.advance(7200)
        await turns()
        assert [message.text for message in b.seen.messages] == ["utc"]
        b.clock.advance(20 * 3600 + 7200)
        await turns()
        assert [message.text for message in b.seen.messages] == ["utc", "berlin"]


# Missed times


async def test_of_missed_times_one_run_is_made() -> None:
    async with bench() as b:
        await b.load(router())
        assert await b.pass_s(3600 + 30) == ["11:00:00"]
        assert await b.pass_s(30) == ["11:00:00", "11:01:00"]


async def test_missed_times_are_skipped_when_they_are_too_late(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        await b.load(router("0 0 * * * *", {"missed": "skip", "tolerance": 10}))
        assert await b.pass_s(3600 + 10) == ["11:00:00"]
        assert await b.pass_s(3600 + 1) == ["11:00:00"]
        (record,) = [one for one in caplog.records if "left out" in one.message]
        assert (record.levelno, vars(record)["reason"]) == (logging.WARNING, "it was missed")
        assert await b.pass_s(3600) == ["11:00:00"]
        assert await b.pass_s(3600 - 11) == ["11:00:00", "14:00:00"]


async def test_all_missed_times_are_run_in_order_the_newest_of_too_many(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        await b.load(router(configuration={"missed": "all", "maxWaiting": 3}))
        assert await b.pass_s(120) == ["10:01:00", "10:02:00"]
        assert left_out(caplog) == []
        assert await b.pass_s(3600) == ["10:01:00", "10:02:00", "11:00:00", "11:01:00", "11:02:00"]
        assert left_out(caplog) == ["more wait than may wait (maxWaiting)"]
        assert b.seen.most == 1


def left_out(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Give why times were left out, as logged."""
    return [vars(one)["reason"] for one in caplog.records if "left out" in one.message]


async def test_a_clock_that_is_set_back_makes_nothing_due_twice() -> None:
    async with bench() as b:
        await b.load(router("0 0 * * * *"))
        await b.pass_s(3600)
        b.clock._start_ms -= 1_800_000
        assert await b.pass_s(1800) == ["11:00:00"]
        assert await b.pass_s(3600) == ["11:00:00", "12:00:00"]


@pytest.mark.parametrize("path", ["*/10 * * * * *", "@every 10s", "*/10 * 9-11 * * *"])
async def test_a_clock_that_is_set_back_does_not_silence_what_is_due_often(path: str) -> None:
    async with bench() as b:
        await b.load(router(path))
        await b.pass_s(1805)
        b.clock._start_ms -= 1_800_000
        await b.pass_s(10)
        assert (await b.pass_s(10))[-1] == "10:00:20"


async def test_a_clock_that_is_set_back_a_little_makes_nothing_due_twice() -> None:
    async with bench() as b:
        await b.load(router("* * * * * *"))
        await b.pass_s(1)
        b.clock._start_ms -= 900
        await b.pass_s(1)
        assert await b.pass_s(1) == ["10:00:01", "10:00:02"]


async def test_a_clock_that_was_far_ahead_does_not_stop_a_schedule() -> None:
    async with bench() as b:
        await b.load(router("0 0 * * * *"))
        b.clock._start_ms -= 365 * 86_400_000
        await b.pass_s(60)
        assert await b.pass_s(3540) == ["11:00:00"]
        assert b.seen.messages[0].metadata["_scheduledTime"].startswith("2025-05-20")


async def test_a_clock_that_is_set_ahead_is_seen_within_a_minute() -> None:
    async with bench() as b:
        await b.load(router("0 0 0 * * *"))
        b.clock._start_ms += 14 * 3_600_000
        assert await b.pass_s(60) == ["00:00:00"]


# Runs that overlap


async def test_runs_may_overlap() -> None:
    async with bench() as b:
        await b.load(router())
        b.seen.free.clear()
        await b.pass_s(60)
        await b.pass_s(60)
        assert b.seen.going == 2
        b.seen.free.set()


async def test_a_run_is_skipped_while_another_is_going(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        await b.load(router(), overlap="skip")
        b.seen.free.clear()
        await b.pass_s(60)
        assert await b.pass_s(60) == ["10:01:00"]
        b.seen.free.set()
        await turns()
        assert await b.pass_s(60) == ["10:01:00", "10:03:00"]
        assert left_out(caplog) == ["the run before it is still going"]


async def test_runs_queue_and_the_oldest_of_too_many_are_left_out() -> None:
    async with bench() as b:
        await b.load(router(), overlap="queue", maxWaiting=2)
        b.seen.free.clear()
        for _ in range(5):
            await b.pass_s(60)
        assert b.seen.times == ["10:01:00"]
        b.seen.free.set()
        await turns()
        assert b.seen.times == ["10:01:00", "10:04:00", "10:05:00"]
        assert b.seen.most == 1
        assert (await b.pass_s(60))[-1] == "10:06:00"


@pytest.mark.parametrize("to", [{"wait": True}, {"wait": False}, {"wait": True, "answer": "list"}])
async def test_wait_does_not_matter_to_overlap(to: dict[str, Any]) -> None:
    async with bench() as b:
        await b.load(router(to=to), overlap="skip")
        b.seen.free.clear()
        await b.pass_s(60)
        assert await b.pass_s(60) == ["10:01:00"]
        b.seen.free.set()


# Reload, stop


async def test_a_reload_keeps_when_unchanged_routers_are_due() -> None:
    async with bench() as b:
        await b.load(router("@every 5m"))
        await b.pass_s(240)
        b.engine.reload(chain(router("@every 5m", params=["new"]), router("@every 10m")))
        await b.engine.endpoints.settled()
        assert await b.pass_s(60) == ["10:05:00"]
        assert b.seen.messages[0].text == "new"
        assert await b.pass_s(540) == ["10:05:00", "10:10:00", "10:14:00"]


async def test_a_router_that_changed_counts_anew_and_one_that_is_gone_stops() -> None:
    async with bench() as b:
        await b.load(router("@every 5m", id="a"), router("@every 1m", id="b"))
        await b.pass_s(30)
        b.engine.reload(chain(router("@every 2m", id="a")))
        await b.engine.endpoints.settled()
        assert await b.pass_s(119) == []
        assert await b.pass_s(1) == ["10:02:30"]


async def test_policies_change_by_a_reload_without_a_new_count() -> None:
    async with bench() as b:
        await b.load(router("@every 1m", {"overlap": "allow"}))
        await b.pass_s(30)
        b.engine.reload(chain(router("@every 1m", {"overlap": "skip"})))
        await b.engine.endpoints.settled()
        b.seen.free.clear()
        await b.pass_s(30)
        assert await b.pass_s(60) == ["10:01:00"]
        b.seen.free.set()


@pytest.mark.parametrize("before", ["allow", "skip"])
async def test_runs_queue_behind_those_that_began_before_a_reload(before: str) -> None:
    async with bench() as b:
        await b.load(router(configuration={"overlap": before}))
        b.seen.free.clear()
        await b.pass_s(60)
        b.engine.reload(chain(router(configuration={"overlap": "queue"})))
        await b.engine.endpoints.settled()
        assert await b.pass_s(60) == ["10:01:00"]
        b.seen.free.set()
        await turns()
        assert (b.seen.times, b.seen.most) == (["10:01:00", "10:02:00"], 1)


async def test_times_that_come_while_a_restart_waits_for_a_run_are_not_lost() -> None:
    async with bench() as b:
        await b.load(router(), overlap="queue")
        b.seen.free.clear()
        await b.pass_s(60)
        b.engine.reload(chain(router(), overlap="allow"))
        await turns()
        assert await b.pass_s(60) == ["10:01:00"]
        b.seen.free.set()
        await b.engine.endpoints.settled()
        assert await b.pass_s(0) == ["10:01:00", "10:02:00"]
        assert await b.pass_s(60) == ["10:01:00", "10:02:00", "10:03:00"]


async def test_an_endpoint_that_was_gone_for_a_while_counts_anew() -> None:
    async with bench() as b:
        await b.load(router())
        await b.engine.stop("c")
        await b.pass_s(600)
        await b.load(router())
        assert await b.pass_s(60) == ["10:11:00"]


async def test_closing_waits_for_a_run_and_begins_none(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        await b.load(router(), overlap="queue")
        b.seen.free.clear()
        await b.pass_s(60)
        await b.pass_s(60)
        closing = asyncio.create_task(b.engine.close())
        await turns()
        assert not closing.done()
        b.clock.advance(600)
        b.seen.free.set()
        await closing
        assert b.seen.times == ["10:01:00"]
        assert left_out(caplog) == ["it was in line when its router was stopped"]


async def test_a_run_that_has_just_been_due_is_not_lost_by_a_restart() -> None:
    async with bench() as b:
        await b.load(router())
        b.clock.advance(60)
        b.engine.reload(chain(router(), tolerance=5))
        await b.engine.endpoints.settled()
        assert b.seen.times == ["10:01:00"]
        assert await b.pass_s(60) == ["10:01:00", "10:02:00"]


async def test_runs_that_do_not_end_are_cancelled_when_the_time_is_over() -> None:
    async with bench() as b:
        await b.load(router())
        b.seen.free.clear()
        await b.pass_s(60)
        await b.engine.close(grace_s=0.01)
        assert b.seen.going == 0


async def test_a_chain_that_is_deleted_runs_no_more() -> None:
    async with bench() as b:
        await b.load(router())
        await b.engine.stop("c")
        assert await b.pass_s(600) == []


async def test_the_status_says_when_it_is_due_next() -> None:
    async with bench() as b:
        await b.load(router("@daily"), router("0 0 12 * * *", {"timezone": "Europe/Berlin"}))
        (status,) = b.engine.endpoints.status()
        assert (status.state, status.address) == ("connected", "next 2026-05-21T00:00:00+00:00")
        await b.pass_s(86_400 - 36_000)
        assert b.engine.endpoints.status()[0].address == "next 2026-05-21T12:00:00+02:00"


# Targets and failures


async def test_processors_and_targets_are_those_of_the_router() -> None:
    async with bench() as b:
        got: list[Any] = []
        b.engine.endpoints.processors.add("keep", lambda router, exchange: got.append(exchange.answer.message.value))
        b.engine.load(
            {
                "ruleChain": {"id": "other"},
                "metadata": {
                    "nodes": [
                        {"id": "x", "type": "exprTransform", "configuration": {"mapping": {"who": "metadata.who"}}}
                    ]
                },
            }
        )
        params = {"data": {}, "metadata": {"chain": "other", "who": "Ann"}}
        await b.load(router(params=params, to={"path": "chain:${chain}", "processors": ["keep"]}))
        await b.pass_s(60)
        assert got == [{"who": "Ann"}]
        assert b.seen.messages == []


async def test_a_run_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        await b.load(router(to={"path": "chain:nobody"}), router(to={"path": "component:jsFilter",
            "configuration": {"jsScript": "throw new Error('broken')"}}))  # fmt: skip
        await b.pass_s(60)
        records = [one for one in caplog.records if one.message == "a run of a schedule failed"]
        reasons = sorted(vars(one)["reason"] for one in records)
        assert "broken" in reasons[0]
        assert reasons[1] == "chainId=nobody not found error"
        assert {vars(one)["router_id"] for one in records} == {"1", "2"}


async def test_runs_beyond_max_in_flight_are_refused_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        await b.load(router(), maxInFlight=1)
        b.seen.free.clear()
        await b.pass_s(60)
        await b.pass_s(60)
        assert b.seen.times == ["10:01:00"]
        (record,) = [one for one in caplog.records if one.message == "a run of a schedule failed"]
        assert "maxInFlight" in vars(record)["reason"]
        b.seen.free.set()


async def test_routers_come_and_go_without_a_restart() -> None:
    async with bench() as b:
        b.engine.load(chain(router("0 0 0 1 1 *")))
        endpoints = b.engine.endpoints
        endpoints.add({"id": "alone", "type": "schedule", "routers": []})
        await endpoints.settled()
        states: list[Event] = []
        b.engine.subscribe(lambda event: states.append(event) if event.name == "connection.change" else None)
        name = endpoints.add_router("alone", router("@every 10s", to={"path": "c"}))
        assert name == "1"
        assert await b.pass_s(10) == ["10:00:10"]
        endpoints.remove_router("alone", name)
        assert await b.pass_s(60) == ["10:00:10"]
        assert states == []


async def test_a_router_that_is_removed_the_moment_it_is_due_does_not_run() -> None:
    async with bench() as b:
        b.engine.load(chain(router("0 0 0 1 1 *")))
        b.engine.endpoints.add({"id": "alone", "type": "timer", "routers": [router(to={"path": "c"})]})
        await b.engine.endpoints.settled()
        b.clock.advance(60)
        b.engine.endpoints.remove_router("alone", "1")
        await turns()
        assert b.seen.messages == []
        assert [one.address for one in b.engine.endpoints.status() if one.id == "alone"] == [""]


async def test_a_message_is_in_time_by_the_clock_of_the_machine() -> None:
    async with Engine() as engine:
        came: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        engine.function("seen")(lambda ctx, msg: came.done() or came.set_result(msg))
        engine.load(chain(router("* * * * * *")))
        message = await came
        due = datetime.fromisoformat(message.metadata["_scheduledTime"]).timestamp() * 1000
        assert due <= message.ts < due + 15_000


def test_without_the_package_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catenary_components.endpoint.cron.find_spec", lambda name: None)
    assert "pip install 'catenary[schedule]'" in problems(router())
    with Engine(endpoints=False) as engine:
        assert engine.load(chain(router("@every 5m"))).endpoints
