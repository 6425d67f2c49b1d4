"""`restApiCall` that tries again: when, how long it waits, with which key; and who is told."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.stepping import stepped
from tests.programs import eventually

from catenary import ChainInvalid, Engine, Message
from catenary.testing import Answer, FakeClock, RecordingApi, mock, serve

PATIENT = {"readTimeoutMs": 15_000}
EVENT_STREAM = {"Content-Type": "text/event-stream"}


def chain_of(configuration, **node):
    written = {"id": "a", "type": "restApiCall", "configuration": configuration, **node}
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": [written]}}


@pytest.fixture
def api():
    return RecordingApi()


@pytest.fixture
def clock():
    return FakeClock(start_ms=60_000, auto=True)


@pytest.fixture
def call(api, clock):
    """Call an API that gives these answers, with two retries unless told otherwise; gives all ends."""

    def call(*answers, message=None, listener=None, **configuration):
        api._answers.extend(answers)
        with serve(api) as server, Engine(clock=clock) as engine:
            settings = {"url": server.url, "maxRetries": 2, "retryIntervalMs": 200, **PATIENT, **configuration}
            if listener is not None:
                engine.subscribe(listener)
            return engine.load(chain_of(settings)).run_sync(message or Message("x")).ends

    return call


@pytest.mark.parametrize("trouble", [Answer(status=429), Answer(status=500), Answer(status=503), Answer(drop=True)])
def test_passing_trouble_is_tried_again(call, api, trouble):
    (end,) = call(trouble, trouble, "fine")
    assert (end.relation, end.message.data) == ("Success", "fine")
    assert "errorBody" not in end.message.metadata
    assert len(api.requests) == 3


def test_the_last_answer_counts_when_none_is_better(call, api):
    (end,) = call(Answer(status=500, body="a"), Answer(status=500, body="b"), Answer(status=503, body="c"), "late")
    assert (end.relation, str(end.error), end.message.metadata["statusCode"]) == ("Failure", "c", "503")
    assert len(api.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 501, 505])
def test_a_plain_no_is_not_tried_again(call, api, status):
    (end,) = call(Answer(status=status), "fine")
    assert end.message.metadata["statusCode"] == str(status)
    assert len(api.requests) == 1


def test_what_must_not_be_sent_is_not_tried_again(call, clock):
    (end,) = call(url="http://169.254.169.254/")
    assert "link-local" in str(end.error)
    assert clock.slept == []


def test_nothing_is_tried_again_unless_asked_for(call, api):
    (end,) = call(Answer(status=503), "fine", maxRetries=0)
    assert end.relation == "Failure"
    assert len(api.requests) == 1


def test_nobody_listening_is_tried_again(call, clock, free_port):
    (end,) = call(url=f"http://127.0.0.1:{free_port}")
    assert "nothing listens there" in str(end.error)
    assert len(clock.slept) == 2


def test_a_slow_answer_is_tried_again_each_try_with_its_own_time(api, clock):
    api._answers.extend([Answer(delay_s=30_000), Answer(delay_s=150)])
    with mock("slow", api) as url, Engine(clock=clock) as engine:
        chain = engine.load(chain_of({"url": url, "maxRetries": 2, "readTimeoutMs": 250_000}))
        assert stepped(chain.run(Message("x"))).ok
    assert len(api.requests) == 2


def test_waits_double_and_vary(call, clock):
    call(*[Answer(status=500)] * 4, maxRetries=3)
    for longest, wait in zip((0.2, 0.4, 0.8), clock.slept, strict=True):
        assert longest / 2 <= wait <= longest


@pytest.mark.parametrize(
    ("header", "wait"),
    [("7", 7), ("0", 0), ("3600", 60), ("Thu, 01 Jan 1970 00:01:30 GMT", 30), ("Thu, 01 Jan 1970 00:00:00 GMT", 0)],
)
@pytest.mark.parametrize("status", [429, 503])
def test_what_the_server_asks_for_counts_up_to_a_minute(call, clock, header, wait, status):
    (end,) = call(Answer(status=status, headers={"Retry-After": header}), "fine")
    assert end.relation == "Success"
    assert clock.slept == [wait]


def test_a_wish_that_nobody_understands_does_not_count(call, clock):
    call(Answer(status=429, headers={"Retry-After": "soon"}), "fine")
    assert clock.slept[0] <= 0.2


def test_each_retry_is_an_event(call):
    events = []
    call(Answer(status=503, body="busy", headers={"Retry-After": "2"}), "fine", listener=events.append)
    told = [dict(event.data) for event in events if event.name == "http.retry"]
    assert told == [{"retry": 1, "waitS": 2.0, "error": "busy"}]


def test_a_stream_that_has_begun_is_not_asked_for_again(call, api):
    ends = call(Answer(pieces=["data: a\n\n"], drop=True, headers=EVENT_STREAM), "fine")
    assert [end.relation for end in ends] == ["Stream", "Failure"]
    assert len(api.requests) == 1


def test_a_stream_that_breaks_before_its_first_line_is_asked_for_again(call, api):
    ends = call(Answer(drop=True), Answer(pieces=["data: a\n\n"], headers=EVENT_STREAM))
    assert [(end.relation, end.message.data) for end in ends] == [("Stream", "a"), ("Success", "a")]
    assert len(api.requests) == 2


async def test_cancelling_ends_the_wait_before_a_retry(api):
    api._answers.append(Answer(status=503, headers={"Retry-After": "50"}))
    with serve(api) as server:
        async with Engine() as engine:
            engine.load(chain_of({"url": server.url, "maxRetries": 1, **PATIENT}))
            running = asyncio.create_task(engine.run("c", Message("x")))
            await eventually(lambda: bool(api.requests))
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
    assert len(api.requests) == 1


# The key


def test_the_key_is_the_same_for_all_tries_and_another_one_for_each_message(call, api):
    for name in ("m1", "m2"):
        call(Answer(status=503), Answer(status=503), idempotencyKey="order-${id}", message=Message("x", id=name))
        api._answers.clear()
    keys = [request.headers["idempotency-key"] for request in api.requests]
    assert keys[:3] == ["order-m1"] * 3
    assert set(keys[3:]) == {"order-m2"}


def test_the_key_stays_when_the_node_is_retried_by_the_engine(api):
    api._answers.append(Answer(status=503))
    with serve(api) as server, Engine() as engine:
        node = chain_of(
            {"url": server.url, "idempotencyKey": "${id}", **PATIENT}, retry={"maxRetries": 1, "delay": "1ms"}
        )
        assert engine.load(node).run_sync(Message("x")).ok
    first, second = (request.headers["idempotency-key"] for request in api.requests)
    assert first == second


@pytest.mark.parametrize("key", ["", "  ", "${metadata.none}"])
def test_a_blank_key_is_not_sent(call, api, key):
    call(idempotencyKey=key)
    assert "idempotency-key" not in api.requests[0].headers


def test_the_key_takes_the_place_of_a_header(call, api):
    call(idempotencyKey="mine", headers={"IDEMPOTENCY-KEY": "other"})
    assert api.requests[0].headers["idempotency-key"] == "mine"


def test_a_key_with_a_line_break_is_refused(call, api):
    (end,) = call(idempotencyKey="${msg.k}", message=Message({"k": "a\r\nX-B: c"}))
    assert "value of header 'Idempotency-Key' has a line break" in str(end.error)
    assert api.requests == []


# The engine's own retry


@pytest.mark.parametrize(("retries", "codes"), [(1, ["chain.double-retry"]), (0, [])])
def test_two_kinds_of_retries_are_a_warning(retries, codes):
    with Engine() as engine:
        problems = engine.check(chain_of({"url": "http://a.test", "maxRetries": retries}, retry=3))
        assert [problem.code for problem in problems] == codes
        assert all("the component retries by itself" in problem.text for problem in problems)


@pytest.mark.parametrize("retries", [-1, "many"])
def test_a_number_of_retries_that_is_none_is_refused(retries):
    with Engine() as engine, pytest.raises(ChainInvalid, match="maxRetries"):
        engine.load(chain_of({"url": "http://a.test", "maxRetries": retries}))
