"""When a model is asked again, and how long is waited."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from catenary_components.ai.models.retry import RetryingModel, RetryPolicy
from catenary_components.ai.models.types import ChatRequest, ModelError, Piece, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

REQUEST = ChatRequest(())
BUSY = ModelError("busy", retryable=True, status=503)


@dataclass
class Waits:
    """Notes the waits and does not wait."""

    seconds: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


@dataclass
class Fake:
    """Plays one attempt after the other: pieces, and errors at the place where they break in."""

    attempts: list[list[Piece | ModelError]]
    closed: int = 0
    name: str = "fake"

    async def generate(self, request: ChatRequest) -> Reply:
        first = self.attempts.pop(0)[0]
        if isinstance(first, ModelError):
            raise first
        return Reply(first.content)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        try:
            for step in self.attempts.pop(0):
                if isinstance(step, ModelError):
                    raise step
                yield step
        finally:
            self.closed += 1


def policy(waits: Waits, **settings: float) -> RetryPolicy:
    return RetryPolicy(waits.sleep, jitter=lambda: 1.0, **settings)  # type: ignore[arg-type]


async def texts(model: RetryingModel) -> list[str]:
    async with aclosing(model.stream(REQUEST)) as pieces:
        return [piece.content async for piece in pieces]


def pieces(text: str) -> list[Piece | ModelError]:
    return [Piece(letter) for letter in text]


async def test_waits_double_up_to_the_longest() -> None:
    waits = Waits()
    model = RetryingModel(Fake([[BUSY]] * 8 + [pieces("a")]), policy(waits, max_retries=8))
    assert (await model.generate(REQUEST)).content == "a"
    assert waits.seconds == [1, 2, 4, 8, 16, 30, 30, 30]


def test_jitter_is_between_half_and_one_and_a_half() -> None:
    waits = [RetryPolicy(asyncio.sleep).wait_s(1) for _ in range(300)]
    assert 0.5 <= min(waits) < 0.7
    assert 1.3 < max(waits) < 1.5


async def test_what_the_service_asks_for_wins_up_to_a_ceiling() -> None:
    waits = Waits()
    asked = [[ModelError("busy", retryable=True, retry_after_s=seconds)] for seconds in (0.0, 7.0, 500.0)]
    await RetryingModel(Fake([*asked, pieces("a")]), policy(waits)).generate(REQUEST)
    assert waits.seconds == [0, 7, 60]


async def test_exhausted_tries_are_told() -> None:
    model = RetryingModel(Fake([[BUSY]] * 4), policy(Waits()))
    with pytest.raises(ModelError) as raised:
        await model.generate(REQUEST)
    assert str(raised.value) == "Generate failed after 4 attempts: busy"
    assert (raised.value.attempts, raised.value.status) == (4, 503)
    with pytest.raises(ModelError, match=r"^Stream failed after 1 attempts: busy$"):
        await texts(RetryingModel(Fake([[BUSY]]), policy(Waits(), max_retries=0)))


async def test_an_error_no_retry_can_cure_keeps_its_text() -> None:
    waits = Waits()
    with pytest.raises(ModelError, match=r"^bad request$") as raised:
        await RetryingModel(Fake([[ModelError("bad request", status=400)]]), policy(waits)).generate(REQUEST)
    assert (raised.value.attempts, waits.seconds) == (1, [])


async def test_cancelling_ends_the_wait_at_once() -> None:
    waits = asyncio.Event()

    async def for_ever(seconds: float) -> None:
        waits.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(RetryingModel(Fake([[BUSY]] * 4), RetryPolicy(for_ever)).generate(REQUEST))
    await waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("before", ["", "x", "xy"])
async def test_a_stream_that_breaks_early_is_tried_again_unseen(before: str) -> None:
    fake = Fake([[*pieces(before), BUSY], pieces("abcd")])
    assert await texts(RetryingModel(fake, policy(Waits()))) == ["a", "b", "c", "d"]
    assert fake.closed == 2


async def test_a_later_break_is_passed_on() -> None:
    model = RetryingModel(Fake([[*pieces("abcd"), BUSY], pieces("zzzz")]), policy(Waits()))
    seen: list[str] = []
    with pytest.raises(ModelError, match=r"^busy$"):
        async with aclosing(model.stream(REQUEST)) as stream:
            async for piece in stream:
                seen += [piece.content]
    assert seen == ["a", "b", "c", "d"]


async def test_a_short_stream_that_ends_passes() -> None:
    assert await texts(RetryingModel(Fake([pieces("a")]), policy(Waits()))) == ["a"]


async def test_in_full_mode_any_break_is_tried_again() -> None:
    fake = Fake([[*pieces("abcd"), BUSY], pieces("abcde")])
    assert await texts(RetryingModel(fake, policy(Waits()), "full")) == ["a", "b", "c", "d", "e"]


async def test_closing_the_stream_closes_the_one_behind_it() -> None:
    fake = Fake([pieces("abcdef")])
    model = RetryingModel(fake, policy(Waits()))
    async with aclosing(model.stream(REQUEST)) as stream:
        await anext(stream)
    assert fake.closed == 1
    assert model.name == "fake"


async def test_at_most_one_piece_that_says_something_is_held_back() -> None:
    """What says nothing is no sign of a stream that works, however much of it comes."""
    drops = [*[Piece()] * 5, Piece("a"), BUSY]
    fake = Fake([drops, [*[Piece()] * 5, Piece("b"), Piece("c"), Piece("d")]])
    model = RetryingModel(fake, policy(Waits()))
    assert "".join(await texts(model)) == "bcd"
    read: list[str] = []

    class Noting(Fake):
        async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
            async for piece in super().stream(request):
                read.append(piece.content)
                yield piece

    async with aclosing(RetryingModel(Noting([[Piece(), *pieces("abcd")]]), policy(Waits())).stream(REQUEST)) as stream:
        await anext(stream)
    assert read == ["", "a", "b"]


async def test_the_number_of_pieces_held_back_can_be_chosen() -> None:
    seen: list[str] = []
    model = RetryingModel(Fake([[*pieces("a"), BUSY], pieces("zzz")]), policy(Waits()), probe=1)
    with pytest.raises(ModelError, match=r"^busy$"):
        async with aclosing(model.stream(REQUEST)) as stream:
            async for piece in stream:
                seen += [piece.content]
    assert seen == ["a"]
    fake = Fake([[*pieces("abcd"), BUSY], pieces("12345")])
    assert await texts(RetryingModel(fake, policy(Waits()), probe=5)) == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (ModelError("slow down", retryable=True, status=429, kind="rate_limit"), 3),
        (ModelError("broken", retryable=True, status=500, kind="server_error"), 6),
        (ModelError("gone", retryable=True, kind="network"), 2),
        (ModelError("no", status=400, kind="client_error"), 1),
    ],
)
async def test_each_kind_of_error_may_have_its_number_of_retries(error: ModelError, attempts: int) -> None:
    retries = RetryPolicy(Waits().sleep, 1, retries_by_kind={"rate_limit": 2, "server_error": 5})
    with pytest.raises(ModelError) as raised:
        await RetryingModel(Fake([[error]] * 9), retries).generate(REQUEST)
    assert raised.value.attempts == attempts
