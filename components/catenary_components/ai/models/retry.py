"""Try a model again when that may help: back-off, `Retry-After`, and breaks of a stream."""

from __future__ import annotations

import random
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

from catenary_components.ai.models.types import ModelError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from typing import TypeVar

    from tenacity import RetryCallState

    from catenary_components.ai.models.types import ChatModel, ChatRequest, Piece, Reply

    T = TypeVar("T")

StreamRetryMode = Literal["off", "full"]

PROBED_PIECES = 3
"""A stream that breaks before it has given this many pieces is tried again."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When and how often to try again.

    Attributes:
        max_retries: Tries after the first; 0 means none.
        sleep: Waits so many seconds; cancelling it ends the wait.
        jitter: Gives a factor in [0.5, 1.5) for each wait.
        first_wait_s: The wait before the first retry, in seconds; it doubles with each further one.
        longest_wait_s: The computed wait is never longer, in seconds.
        longest_retry_after_s: Nor is the wait that a service asks for by `Retry-After`, in seconds.
    """

    sleep: Callable[[float], Awaitable[None]]
    max_retries: int = 3
    jitter: Callable[[], float] = lambda: random.uniform(0.5, 1.5)
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    longest_retry_after_s: float = 60.0

    def wait_s(self, retry: int, retry_after_s: float | None = None) -> float:
        """Give the seconds to wait before a retry, counted from 1."""
        if retry_after_s is not None:
            return min(max(retry_after_s, 0.0), self.longest_retry_after_s)
        return min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(retry - 1, 32) * self.jitter())

    async def run(self, what: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work until it succeeds, fails for good, or has been tried often enough.

        Args:
            what: The beginning of the error text: `Generate` or `Stream`.
            work: One attempt; a retryable `ModelError` leads to another.

        Raises:
            ModelError: the error of the last attempt, with the number of `attempts`.
        """
        attempts = 0

        async def attempt() -> T:
            nonlocal attempts
            attempts += 1
            return await work()

        retrying = AsyncRetrying(
            sleep=self.sleep,
            stop=stop_after_attempt(self.max_retries + 1),
            wait=self._wait,
            retry=retry_if_exception(_is_retryable),
            reraise=True,
        )
        try:
            return await retrying(attempt)
        except ModelError as error:
            raise _final(error, what, attempts) from error

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        return self.wait_s(state.attempt_number, error.retry_after_s if isinstance(error, ModelError) else None)


def _is_retryable(error: BaseException) -> bool:
    return isinstance(error, ModelError) and error.retryable


def _final(error: ModelError, what: str, attempts: int) -> ModelError:
    """Tell how often it was tried; an error that no retry can cure keeps its own text."""
    text = f"{what} failed after {attempts} attempts: {error}" if error.retryable else str(error)
    return ModelError(
        text,
        retryable=error.retryable,
        status=error.status,
        attempts=attempts,
        endpoint=error.endpoint,
        retry_after_s=error.retry_after_s,
    )


@dataclass(frozen=True, slots=True)
class RetryingModel:
    """A model that is asked again by a policy.

    Attributes:
        stream_mode: `off` tries a stream again only when it breaks within its first pieces, and passes later breaks on;
            `full` holds a whole reply back until it is complete.
    """

    model: ChatModel
    policy: RetryPolicy
    stream_mode: StreamRetryMode = "off"

    @property
    def name(self) -> str:
        """The model's name as the service knows it."""
        return self.model.name

    async def generate(self, request: ChatRequest) -> Reply:
        """Answer at once. Raises: ModelError: when all attempts failed."""
        return await self.policy.run("Generate", lambda: self.model.generate(request))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """Answer in pieces; nothing of a broken attempt is given out. Raises: ModelError."""
        whole = self.stream_mode == "full"
        start = await self.policy.run("Stream", lambda: self._start(request, whole=whole))
        async with aclosing(start.rest):
            for piece in start.pieces:
                yield piece
            async for piece in start.rest:
                yield piece

    async def _start(self, request: ChatRequest, *, whole: bool) -> _Started:
        stream = self.model.stream(request)
        pieces: list[Piece] = []
        try:
            async for piece in stream:
                pieces.append(piece)
                if len(pieces) == PROBED_PIECES and not whole:
                    break
        except BaseException:
            await stream.aclose()
            raise
        return _Started(pieces, stream)


@dataclass(frozen=True, slots=True)
class _Started:
    pieces: list[Piece]
    rest: AsyncGenerator[Piece, None]
