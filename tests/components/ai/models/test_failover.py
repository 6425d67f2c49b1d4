"""Backups: services in their order, circuits, and a fallback model."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from catenary.testing import FakeClock
from catenary_components.ai.models.failover import Circuits, FailoverModel, FallbackModel, Place
from catenary_components.ai.models.types import ChatRequest, ModelError, Piece, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from catenary.jsontext import Json

REQUEST = ChatRequest(())
DOWN = ModelError("down", retryable=True, endpoint="e", kind="server_error")
REFUSED = ModelError("refused", status=400, kind="client_error")


class Answers:
    """A model that answers from a list: texts, errors, and errors behind a text."""

    def __init__(self, name: str, *answers: Any) -> None:
        self.name = name
        self._answers = list(answers)
        self.asked = 0

    def _next(self) -> Any:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    async def generate(self, request: ChatRequest) -> Reply:
        answer = self._next()
        if isinstance(answer, BaseException):
            raise answer
        return Reply(answer)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        answer = self._next()
        yield Piece()
        for part in answer if isinstance(answer, list) else [answer]:
            if isinstance(part, ModelError):
                raise part
            yield Piece(part)


class Bench:
    """Two models with a circuit each."""

    def __init__(self, first: Answers, *others: Answers) -> None:
        self.clock = FakeClock()
        self.circuits = Circuits(self.clock, 60)
        self.models = (first, *others)
        self.model = FailoverModel(
            [Place(one, self.circuits.of(f"{one.name}.example", one.name)) for one in self.models]
        )

    @property
    def states(self) -> list[str]:
        return [state.state for state in self.circuits.states()]

    @property
    def asked(self) -> list[int]:
        return [model.asked for model in self.models]


async def said(model: Any, request: ChatRequest = REQUEST) -> str:
    async with aclosing(model.stream(request)) as pieces:
        return "".join([piece.content async for piece in pieces])


async def test_the_next_service_answers_when_the_first_cannot() -> None:
    bench = Bench(Answers("a", DOWN), Answers("b", "hello"))
    assert (await bench.model.generate(REQUEST)).content == "hello"
    assert bench.states == ["open", "closed"]
    assert await said(bench.model) == "hello"
    assert bench.asked == [1, 2]


@pytest.mark.parametrize("kind", ["auth", "billing", "model_not_found", "empty_response", "server_error"])
async def test_errors_that_another_service_cures_switch(kind: Any) -> None:
    bench = Bench(Answers("a", ModelError("no", status=401, kind=kind)), Answers("b", "hello"))
    assert await said(bench.model) == "hello"


async def test_a_model_that_is_not_there_says_nothing_about_its_service() -> None:
    bench = Bench(Answers("a", ModelError("no", status=404, kind="model_not_found")), Answers("b", "hello"))
    assert (await bench.model.generate(REQUEST)).content == "hello"
    assert bench.states == ["closed", "closed"]


async def test_a_refused_request_is_told_at_once() -> None:
    bench = Bench(Answers("a", REFUSED), Answers("b", "hello"))
    with pytest.raises(ModelError, match="refused"):
        await bench.model.generate(REQUEST)
    assert (bench.asked, bench.states) == ([1, 0], ["closed", "closed"])


async def test_when_all_fail_the_error_names_them() -> None:
    bench = Bench(Answers("a", DOWN), Answers("b", ModelError("off", retryable=True, endpoint="f", attempts=4)))
    with pytest.raises(ModelError) as raised:
        await bench.model.generate(REQUEST)
    assert str(raised.value) == "Generate failed over all endpoints: e: down; f: off"
    assert raised.value.attempts == 5
    with pytest.raises(ModelError, match=r"Stream failed over all endpoints: all are left alone .* tried in 60 s"):
        await said(bench.model)
    assert bench.asked == [1, 1]


async def test_an_open_circuit_lets_one_try_through_when_its_time_is_over() -> None:
    bench = Bench(Answers("a", DOWN, DOWN, "back"), Answers("b", "hello"))
    expected = [60, 120]
    for cooldown in expected:
        assert (await bench.model.generate(REQUEST)).content == "hello"
        bench.clock.advance(cooldown - 1)
        await bench.model.generate(REQUEST)
        assert bench.circuits.states()[0].cooldown_s == cooldown
        bench.clock.advance(1)
    assert (await bench.model.generate(REQUEST)).content == "back"
    assert (bench.states, bench.circuits.states()[0].cooldown_s) == (["closed", "closed"], 60)


def test_the_time_doubles_up_to_ten_minutes() -> None:
    clock = FakeClock()
    circuit = Circuits(clock, 60).of("e", "m")
    times: list[float] = []
    for _ in range(6):
        assert circuit.admit()
        circuit.failed()
        times.append(circuit.state.cooldown_s)
        clock.advance(circuit.state.cooldown_s)
    assert times == [60, 120, 240, 480, 600, 600]


def test_only_one_call_at_a_time_tries() -> None:
    clock = FakeClock()
    circuit = Circuits(clock, 60).of("e", "m")
    circuit.failed()
    clock.advance(60)
    assert circuit.admit()
    assert circuit.state.state == "half_open"
    assert not circuit.admit()
    circuit.undecided()
    assert (circuit.state.state, circuit.state.cooldown_s, circuit.admit()) == ("open", 60, False)


async def test_a_try_that_is_cancelled_leaves_the_next_one_free() -> None:
    bench = Bench(Answers("a", DOWN, "x", "y"), Answers("b", "hello"))
    await bench.model.generate(REQUEST)
    bench.clock.advance(60)
    stream = bench.model.stream(REQUEST)
    await anext(stream)
    await stream.aclose()
    assert bench.states[0] == "closed"


async def test_a_try_that_was_cancelled_before_an_answer_is_made_again_at_once() -> None:
    bench = Bench(Answers("a", DOWN, asyncio.CancelledError(), "back"), Answers("b", "hello"))
    await bench.model.generate(REQUEST)
    bench.clock.advance(60)
    with pytest.raises(asyncio.CancelledError):
        await bench.model.generate(REQUEST)
    assert (await bench.model.generate(REQUEST)).content == "back"
    assert bench.states[0] == "closed"


async def test_an_error_that_is_the_requests_fault_opens_again_for_as_long_as_before() -> None:
    bench = Bench(Answers("a", DOWN, REFUSED, "back"), Answers("b", "hello"))
    await bench.model.generate(REQUEST)
    bench.clock.advance(60)
    with pytest.raises(ModelError, match="refused"):
        await bench.model.generate(REQUEST)
    state = bench.circuits.states()[0]
    assert (state.state, state.cooldown_s, state.open_for_s) == ("open", 60, 60)


async def test_answers_at_once_and_streams_share_the_state_of_a_service() -> None:
    bench = Bench(Answers("a", DOWN), Answers("b", "hello"))
    assert await said(bench.model) == "hello"
    assert (await bench.model.generate(REQUEST)).content == "hello"
    assert bench.asked == [1, 2]


async def test_a_stream_that_broke_after_something_was_said_is_not_begun_anew() -> None:
    bench = Bench(Answers("a", ["he", DOWN]), Answers("b", "hello"))
    with pytest.raises(ModelError, match="down"):
        await said(bench.model)
    assert bench.asked == [1, 0]


async def test_an_empty_reply_goes_to_the_next_service_but_the_last_may_be_empty() -> None:
    bench = Bench(Answers("a", ""), Answers("b", "hello"))
    assert await said(bench.model) == "hello"
    assert (await bench.model.generate(REQUEST)).content == "hello"
    assert bench.states == ["closed", "closed"]
    silent = Bench(Answers("a", ""), Answers("b", ""))
    assert (await silent.model.generate(REQUEST)).is_empty
    assert await said(silent.model) == ""


async def test_a_switch_is_told() -> None:
    told: list[tuple[str, dict[str, Json]]] = []
    request = ChatRequest((), tell=lambda event, what: told.append((event, dict(what))))
    await Bench(Answers("a", DOWN), Answers("b", "hello")).model.generate(request)
    assert told == [
        (
            "model.failover",
            {"model": "a", "endpoint": "a.example", "circuit": "open", "error": "down", "kind": "server_error",
             "status": 0},
        )
    ]  # fmt: skip


@pytest.mark.parametrize("error", [DOWN, REFUSED])
async def test_the_fallback_model_answers_whatever_the_reason(error: ModelError) -> None:
    told: list[str] = []
    request = ChatRequest((), tell=lambda event, what: told.append(event))
    model = FallbackModel(Answers("a", error), Answers("b", "hello"))
    assert (await model.generate(request)).content == "hello"
    assert await said(model, request) == "hello"
    assert told == ["model.fallback"] * 2


async def test_no_fallback_after_something_was_said() -> None:
    with pytest.raises(ModelError, match="down"):
        await said(FallbackModel(Answers("a", ["he", DOWN]), Answers("b", "hello")))


async def test_when_the_fallback_fails_too_both_are_told() -> None:
    model = FallbackModel(Answers("a", DOWN), Answers("b", REFUSED))
    for work in (model.generate(REQUEST), said(model)):
        with pytest.raises(ModelError, match="down; the fallback model: refused"):
            await work
