"""Try a model again when that may help: back-off, `Retry-After`, and breaks of a stream."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from tenacity import AsyncRetrying, retry_if_exception

from catenary_components.ai.messages import ThinkingPart
from catenary_components.ai.models.types import ModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Self, TypeAlias, TypeVar

    from tenacity import RetryCallState

    from catenary.jsontext import Json
    from catenary_components.ai.models.types import ChatModel, ChatRequest, ErrorKind, Piece, Pieces, Reply

    T = TypeVar("T")
    Tell: TypeAlias = Callable[[str, Mapping[str, Json]], None]

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
        retries_by_kind: For errors of these kinds, in place of `max_retries`.
        count: Is told the kind of the error before each retry.
    """

    sleep: Callable[[float], Awaitable[None]]
    max_retries: int = 3
    jitter: Callable[[], float] = lambda: random.uniform(0.5, 1.5)
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    longest_retry_after_s: float = 60.0
    retries_by_kind: Mapping[ErrorKind, int] = field(default_factory=dict["ErrorKind", int])
    count: Callable[[ErrorKind], None] | None = None

    @property
    def tries_again(self) -> bool:
        """Whether there is any error after which it is tried again."""
        return self.max_retries > 0 or any(self.retries_by_kind.values())

    def wait_s(self, retry: int, retry_after_s: float | None = None) -> float:
        """Give the seconds to wait before a retry, counted from 1."""
        if retry_after_s is not None:
            return min(max(retry_after_s, 0.0), self.longest_retry_after_s)
        return min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(retry - 1, 32) * self.jitter())

    async def run(self, what: str, work: Callable[[], Awaitable[T]], tell: Tell | None = None) -> T:
        """Do the work until it succeeds, fails for good, or has been tried often enough.

        Args:
            what: The beginning of the error text: `Generate` or `Stream`.
            work: One attempt; a retryable `ModelError` leads to another.
            tell: Is told of each wait, as `model.retry`.

        Raises:
            ModelError: the error of the last attempt, with the number of `attempts`.
        """
        try:
            return await work()
        except ModelError as error:
            failed: list[ModelError] = [error]
        attempts = 0

        async def attempt() -> T:
            nonlocal attempts
            attempts += 1
            if failed:
                raise failed.pop()
            return await work()

        retrying = AsyncRetrying(
            sleep=self.sleep,
            stop=self._is_enough,
            wait=self._wait,
            retry=retry_if_exception(_is_retryable),
            before_sleep=lambda state: self._note(state, tell),
            reraise=True,
        )
        try:
            return await retrying(attempt)
        except ModelError as error:
            raise _final(error, what, attempts) from error

    def _note(self, state: RetryCallState, tell: Tell | None) -> None:
        error = _error_of(state)
        if self.count is not None and isinstance(error, ModelError):
            self.count(error.kind)
        if tell is not None:
            tell("model.retry", _told(state))

    def _is_enough(self, state: RetryCallState) -> bool:
        error = _error_of(state)
        kind = error.kind if isinstance(error, ModelError) else "unknown"
        return state.attempt_number > self.retries_by_kind.get(kind, self.max_retries)

    def _wait(self, state: RetryCallState) -> float:
        error = _error_of(state)
        return self.wait_s(state.attempt_number, error.retry_after_s if isinstance(error, ModelError) else None)


def _error_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _is_retryable(error: BaseException) -> bool:
    return isinstance(error, ModelError) and error.retryable


def _told(state: RetryCallState) -> dict[str, Json]:
    error = _error_of(state)
    wait_ms = round((state.next_action.sleep if state.next_action else 0.0) * 1000)
    return {"attempt": state.attempt_number, "waitMs": wait_ms, **_facts(error)}


def _facts(error: BaseException | None) -> dict[str, Json]:
    told: dict[str, Json] = {"error": str(error)}
    return {**told, "kind": error.kind, "status": error.status} if isinstance(error, ModelError) else told


def _final(error: ModelError, what: str, attempts: int) -> ModelError:
    """Tell how often it was tried; an error that no retry can cure keeps its own text."""
    text = f"{what} failed after {attempts} attempts: {error}" if error.retryable else str(error)
    return error.said(text, attempts=attempts)


def _without_what_was_refused(request: ChatRequest, error: ModelError) -> ChatRequest:
    """Give a request without what a service does not take; the same one when it is something else."""
    if error.kind == "thinking_block":
        return without_thinking(request)
    if error.status == 400 and request.tool_choice not in ("auto", "none") and "tool_choice" in str(error):
        return replace(request, tool_choice="auto")  # models that think may not be told that they must call a tool
    return request


def without_thinking(request: ChatRequest) -> ChatRequest:
    """Give a request without the thoughts of the model; the same one when there are none in it."""
    if not any(isinstance(block, ThinkingPart) for message in request.messages for block in message.blocks):
        return request
    messages = (
        replace(message, blocks=tuple(block for block in message.blocks if not isinstance(block, ThinkingPart)))
        for message in request.messages
    )
    return replace(request, messages=tuple(messages))


@dataclass(frozen=True, slots=True)
class RetryingModel:
    """A model that is asked again by a policy; and once without what is refused: thoughts, or that a tool is needed.

    Attributes:
        stream_mode: `off` tries a stream again only when it breaks within its first pieces, and passes later breaks on;
            `full` holds a whole reply back until it is complete.
        probe: How many pieces a stream must have given before breaks are passed on. What comes before is held back,
            so that nothing of a broken attempt is seen; 1 holds nothing back. Of the pieces that say nothing only the
            first counts, for a service may send many of them.
    """

    model: ChatModel
    policy: RetryPolicy
    stream_mode: StreamRetryMode = "off"
    probe: int = PROBED_PIECES

    @property
    def name(self) -> str:
        """The model's name as the service knows it."""
        return self.model.name

    async def generate(self, request: ChatRequest) -> Reply:
        """Answer at once. Raises: ModelError: when all attempts failed."""
        return await self._run("Generate", request, self.model.generate)

    def stream(self, request: ChatRequest) -> Pieces:
        """Answer in pieces; nothing of a broken attempt is given out."""
        return _PiecesOfOneAttempt(lambda: self._run("Stream", request, self._start))

    async def _run(self, what: str, request: ChatRequest, ask: Callable[[ChatRequest], Awaitable[T]]) -> T:
        try:
            return await self.policy.run(what, lambda: ask(request), request.tell)
        except ModelError as error:
            plain = _without_what_was_refused(request, error)
            if plain is request:
                raise
            if request.tell is not None:
                request.tell("model.retry", {"attempt": 1, "waitMs": 0, **_facts(error)})
        return await self.policy.run(what, lambda: ask(plain), request.tell)

    async def _start(self, request: ChatRequest) -> _Started:
        whole = self.stream_mode == "full"
        stream = self.model.stream(request)
        pieces: list[Piece] = []
        count = 0
        try:
            async for piece in stream:
                count += not pieces or piece.says_something or bool(piece.finish_reason)
                pieces.append(piece)
                if count >= self.probe and not whole:
                    break
        except BaseException:
            await stream.aclose()
            raise
        return _Started(pieces, stream)


@dataclass(frozen=True, slots=True)
class _Started:
    pieces: list[Piece]
    rest: Pieces


class _PiecesOfOneAttempt:
    """The pieces of the attempt that began well: those that were held back, then the rest as it comes.

    The rest is handed on as it is: no frame of this class stands between the service and whoever reads then.
    """

    __slots__ = ("_held", "_rest", "_start")

    def __init__(self, start: Callable[[], Awaitable[_Started]]) -> None:
        self._start = start
        self._held: list[Piece] = []  # in reverse order
        self._rest: Pieces | None = None

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[Piece]:
        return self._first() if self._rest is None or self._held else self._rest.__anext__()

    async def _first(self) -> Piece:
        if self._rest is None:
            started = await self._start()
            self._held = started.pieces[::-1]
            self._rest = started.rest
        return self._held.pop() if self._held else await self._rest.__anext__()

    async def aclose(self) -> None:
        if self._rest is not None:
            await self._rest.aclose()
