"""`delay`: how long messages wait, how many may, and that none is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from queue import Queue
from typing import Any

import pytest

from catenary import Chain, ChainInvalid, End, Engine, Message, Outcome
from catenary.clock import SystemClock
from catenary.testing import FakeClock

Send = Callable[..., End]


class House:
    """An engine on a clock that is told the time, with one `delay` node."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.engine = Engine(clock=self.clock)

    def chain(self, **configuration: Any) -> dict[str, Any]:
        return {
            "ruleChain": {"id": "c"},
            "metadata": {
                "nodes": [
                    {"id": "wait", "type": "delay", "configuration": configuration},
                    {"id": "after", "type": "exprTransform", "configuration": {"expr": "upper(msg)"}},
                ],
                "connections": [{"fromId": "wait", "toId": "after", "type": "Success"}],
            },
        }

    def load(self, **configuration: Any) -> Chain:
        return self.engine.reload(self.chain(**configuration))

    async def begin(self, data: str, **metadata: Any) -> asyncio.Task[Outcome]:
        run = self.engine.run("c", Message(data, data_type="TEXT", metadata=metadata))
        task = asyncio.create_task(run)
        await self.settle()
        return task

    async def settle(self) -> None:
        for _ in range(30):
            await asyncio.sleep(0)

    async def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.settle()


@pytest.fixture
async def house() -> AsyncGenerator[House]:
    made = House()
    yield made
    await made.engine.close()


def ended(task: asyncio.Task[Outcome]) -> tuple[str, str, Any]:
    assert task.done()
    (end,) = task.result().ends
    return end.node_id, end.relation, end.message.data


# How long


@pytest.mark.parametrize(
    ("configuration", "seconds"),
    [
        ({"delayMs": 1500}, 1.5),
        ({"delayMs": "1500"}, 1.5),
        ({"delayMs": 1500.0}, 1.5),
        ({"delayMs": "${metadata.wait}"}, 0.25),
        ({"delayMs": "${metadata.wait}0"}, 2.5),
        ({"delayMs": "${int(metadata.wait) * 2}"}, 0.5),
        ({"periodInSeconds": 2}, 2),
        ({"periodInSecondsPattern": "${wait}"}, 250),
        ({"periodInSecondsPattern": "1${ odd-key }"}, 17),
        ({"periodInSeconds": 2, "periodInSecondsPattern": "3"}, 3),
        ({"periodInSeconds": 2, "periodInSecondsPattern": "3", "delayMs": 10}, 0.01),
        ({"periodInSeconds": 2, "delayMs": " "}, 2),
    ],
)
async def test_a_message_waits_as_long_as_it_is_told_and_leaves_as_it_came(
    house: House, configuration: dict[str, Any], seconds: float
) -> None:
    house.load(**configuration)
    task = await house.begin("a", **{"wait": "250", "odd-key": "7"})
    await house.pass_time(seconds - 0.005)
    assert not task.done()
    await house.pass_time(0.005)
    assert ended(task) == ("after", "Success", "A")


@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {"delayMs": None},
        {"delayMs": "0"},
        {"delayMs": 0},
        {"delayMs": -5},
        {"delayMs": "-5"},
        {"delayMs": "${msg}"},
        {"delayMs": "-${msg}1"},
        {"periodInSeconds": -1},
        {"overwrite": True},
    ],
)
def test_without_a_wait_a_message_passes_at_once_and_needs_no_event_loop(
    send: Send, configuration: dict[str, Any]
) -> None:
    message = Message("0", data_type="TEXT")
    end = send("delay", configuration, message)
    assert (end.relation, end.message) == ("Success", message)
    assert end.message is message


def test_the_options_in_seconds_are_deprecated(engine: Engine, send: Send) -> None:
    configuration = {"periodInSeconds": 30, "periodInSecondsPattern": "${key}"}
    nodes = [{"id": "node", "type": "delay", "configuration": configuration}]
    problems = engine.check({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes}})
    assert [(one.code, one.severity, one.hint) for one in problems] == [
        ("config.deprecated-option", "warning", "use `delayMs`")
    ] * 2
    assert send("delay", {"periodInSecondsPattern": "${wait}"}, Message("{}", metadata={"wait": "0"})).error is None


@pytest.mark.parametrize("value", ["abc", "150.5", "1s", "", "1_000", "0x10", "٣", "1" * 16])
@pytest.mark.parametrize("configuration", [{"delayMs": "${msg}"}, {"periodInSecondsPattern": "${wait}"}])
def test_a_result_that_is_no_whole_number_is_a_failure(send: Send, configuration: dict[str, Any], value: str) -> None:
    end = send("delay", configuration, Message(value, data_type="TEXT", metadata={"wait": value}))
    assert (end.relation, end.message.data) == ("Failure", value)
    assert end.message.metadata["errorMsg"].startswith("failed to parse delay time")


def test_a_pattern_without_its_key_is_a_failure(send: Send) -> None:
    end = send("delay", {"periodInSecondsPattern": "${absent}"})
    assert end.message.metadata["errorMsg"].startswith("failed to parse delay time")


@pytest.mark.parametrize("value", ["abc", "150.5", 150.5, "1s", True])
def test_a_delay_that_is_wrong_for_every_message_is_refused_at_load(send: Send, value: Any) -> None:
    with pytest.raises(ChainInvalid, match="failed to parse delay time"):
        send("delay", {"delayMs": value})


@pytest.mark.parametrize(("offset", "seconds"), [("400", 0.6), (400, 0.6), ("-400", 1.4), ("", 1), (" 400 ", 0.6)])
async def test_an_offset_is_taken_off_the_wait(house: House, offset: Any, seconds: float) -> None:
    house.load(delayMs=1000)
    task = await house.begin("a", _delayOffsetMs=offset)
    await house.pass_time(seconds - 0.01)
    assert not task.done()
    await house.pass_time(0.02)
    assert ended(task)[1] == "Success"


@pytest.mark.parametrize("offset", ["1000", "5000"])
def test_an_offset_as_long_as_the_wait_lets_the_message_pass_at_once(send: Send, offset: str) -> None:
    assert send("delay", {"delayMs": 1000}, metadata={"_delayOffsetMs": offset}).relation == "Success"


@pytest.mark.parametrize("offset", ["soon", "1.5"])
def test_an_offset_that_is_no_whole_number_is_a_failure(send: Send, offset: str) -> None:
    end = send("delay", {"delayMs": 1000}, metadata={"_delayOffsetMs": offset})
    assert end.relation == "Failure"
    assert "_delayOffsetMs" in end.message.metadata["errorMsg"]


def test_a_wait_takes_its_time_on_the_clock_of_the_machine(send: Send) -> None:
    began = time.monotonic()
    assert send("delay", {"delayMs": 50}).relation == "Success"
    assert 0.04 < time.monotonic() - began < 15  # not 50 s


# How many


async def test_one_message_too_many_is_a_failure_and_room_comes_back(house: House) -> None:
    house.load(delayMs=1000, maxPendingMsgs=2)
    first, second = await house.begin("a"), await house.begin("b")
    third = await house.begin("c")
    assert ended(third)[:2] == ("wait", "Failure")
    assert third.result().message.metadata["errorMsg"] == "max limit of pending messages"
    await house.pass_time(1)
    assert (ended(first)[2], ended(second)[2]) == ("A", "B")
    fourth = await house.begin("d")
    assert not fourth.done()
    await house.pass_time(1)
    assert ended(fourth)[2] == "D"


@pytest.mark.parametrize("most", [0, -1, None])
async def test_no_limit_means_a_thousand(house: House, most: int | None) -> None:
    house.load(delayMs=1000, maxPendingMsgs=most)
    tasks = [asyncio.create_task(house.engine.run("c", Message("a"))) for _ in range(1001)]
    await house.settle()
    assert sum(task.done() for task in tasks) == 1  # the last one, if none was held up on its way
    await house.pass_time(1)
    await asyncio.gather(*tasks)


async def test_ten_thousand_messages_wait_at_once_and_hold_up_nothing(house: House) -> None:
    house.load(delayMs="${metadata.wait}", maxPendingMsgs=20_000)
    tasks = [
        asyncio.create_task(house.engine.run("c", Message("a", data_type="TEXT", metadata={"wait": "1000"})))
        for _ in range(10_000)
    ]
    await house.settle()
    quick = await house.begin("b", wait="0")
    assert ended(quick)[2] == "B"
    assert not any(task.done() for task in tasks)
    await house.pass_time(1)
    assert all(outcome.ok for outcome in await asyncio.gather(*tasks))


async def test_every_arrival_waits_on_its_own_whatever_its_id_and_type(house: House) -> None:
    chain = house.chain(delayMs=1000)
    chain["metadata"]["nodes"].insert(0, {"id": "split", "type": "fork"})
    chain["metadata"]["connections"].append({"fromId": "split", "toId": "wait", "type": "Success"})
    chain["metadata"]["nodes"].insert(1, {"id": "other", "type": "fork"})
    chain["metadata"]["connections"] += [
        {"fromId": "split", "toId": "other", "type": "Success"},
        {"fromId": "other", "toId": "wait", "type": "Success"},
    ]
    house.engine.load(chain)
    message = Message("a", "DELAY_NODE_MSG_TYPE", "TEXT", id="same")
    task = asyncio.create_task(house.engine.run("c", message))
    await house.settle()
    await house.pass_time(1)
    ends = task.result().ends
    assert [(end.relation, end.message.data, end.message.type) for end in ends] == [
        ("Success", "A", "DELAY_NODE_MSG_TYPE")
    ] * 2


# Overwriting


async def test_the_last_message_goes_on_when_the_time_of_the_first_is_over(house: House) -> None:
    house.load(delayMs=1000, overwrite=True)
    first = await house.begin("a")
    await house.pass_time(0.4)
    second = await house.begin("b")
    assert ended(first) == ("wait", "", "a")
    await house.pass_time(0.5)
    third = await house.begin("c")
    assert ended(second)[:2] == ("wait", "")
    assert not third.done()
    await house.pass_time(0.1)
    assert ended(third) == ("after", "Success", "C")


async def test_the_next_message_starts_the_clock_again(house: House) -> None:
    house.load(delayMs=1000, overwrite=True)
    first = await house.begin("a")
    await house.pass_time(1)
    second = await house.begin("b")
    await house.pass_time(0.9)
    assert ended(first)[2] == "A"
    assert not second.done()
    await house.pass_time(0.1)
    assert ended(second)[2] == "B"


async def test_a_message_that_takes_the_place_of_another_needs_no_delay_of_its_own(house: House) -> None:
    house.load(delayMs="${metadata.wait}", overwrite=True)
    first = await house.begin("a", wait="1000")
    second = await house.begin("b", wait="0")
    wrong = await house.begin("c", wait="soon")
    assert ended(first)[1] == ""
    assert ended(wrong)[1] == "Failure"
    assert not second.done()
    await house.pass_time(1)
    assert ended(second)[2] == "B"


async def test_a_message_that_comes_in_the_very_moment_goes_on_in_place_of_the_other(house: House) -> None:
    house.load(delayMs=1000, overwrite=True)
    first = await house.begin("a")
    house.clock.advance(1)
    second = await house.begin("b")
    await house.settle()
    assert sorted([ended(first)[1], ended(second)[1]]) == ["", "Success"]


async def test_a_message_that_is_cancelled_leaves_room_for_a_new_start(house: House) -> None:
    house.load(delayMs=1000, overwrite=True)
    first = await house.begin("a")
    await house.pass_time(0.5)
    first.cancel()
    await house.settle()
    assert first.cancelled()
    second = await house.begin("b")
    await house.pass_time(0.5)
    assert not second.done()
    await house.pass_time(0.5)
    assert ended(second)[2] == "B"


class Gate(SystemClock):
    """A clock on which a sleep is over when the gate opens."""

    def __init__(self) -> None:
        self.is_open = threading.Event()

    async def sleep(self, seconds: float) -> None:
        while not self.is_open.is_set():  # noqa: ASYNC110 - several loops wait for it
            await asyncio.sleep(0.005)


def test_messages_of_several_threads_take_each_others_place() -> None:
    gate = Gate()
    with Engine(clock=gate) as engine:
        chain = engine.load(House().chain(delayMs=60_000, overwrite=True))
        sent = Message("a", data_type="TEXT")
        relations: Queue[str] = Queue()
        threads = [
            threading.Thread(target=lambda: relations.put(str(chain.run_sync(sent).ends[0].relation))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        assert [relations.get(timeout=15) for _ in range(3)] == ["", "", ""]
        gate.is_open.set()
        assert relations.get(timeout=15) == "Success"
        for thread in threads:
            thread.join(15)


# Nothing is lost


async def test_a_cancelled_run_stops_waiting_and_makes_room(house: House) -> None:
    house.load(delayMs=1000, maxPendingMsgs=1)
    task = await house.begin("a")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    after = await house.begin("b")
    await house.pass_time(1)
    assert ended(after)[2] == "B"


async def test_a_run_out_of_time_stops_waiting(engine: Engine, load: Callable[..., Chain]) -> None:
    chain = load([("wait:delay", {"delayMs": 60_000})])
    outcome = await engine.run(chain.id, Message("{}"), timeout=0.05)
    assert outcome.status == "cancelled"


@pytest.mark.parametrize("overwrite", [False, True])
async def test_a_reload_loses_no_message_that_waits(house: House, overwrite: bool) -> None:
    house.load(delayMs=1000, overwrite=overwrite)
    waiting = await house.begin("a")
    house.load(delayMs=10, overwrite=overwrite)
    quick = await house.begin("b")
    await house.pass_time(0.01)
    assert ended(quick)[2] == "B"
    assert not waiting.done()
    await house.pass_time(1)
    assert ended(waiting)[2] == "A"


async def test_taking_the_chain_out_of_service_loses_no_message_that_waits(house: House) -> None:
    house.load(delayMs=1000)
    waiting = await house.begin("a")
    house.engine.remove("c")
    await house.pass_time(1)
    assert ended(waiting)[2] == "A"


async def test_closing_the_engine_waits_for_messages_that_wait(house: House) -> None:
    house.load(delayMs=1000)
    waiting = await house.begin("a")
    closing = asyncio.create_task(house.engine.close())
    await house.settle()
    assert not closing.done()
    await house.pass_time(1)
    await closing
    assert ended(waiting)[2] == "A"


async def test_a_message_that_waits_longer_than_closing_may_take_fails(house: House) -> None:
    house.load(delayMs=1000)
    waiting = await house.begin("a")
    await house.engine.close(grace_s=0)
    assert ended(waiting) == ("wait", "Failure", "a")
