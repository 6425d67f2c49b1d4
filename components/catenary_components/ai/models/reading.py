"""Read what a model answers with: events up to the end of a reply, or all of it at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from catenary.errors import Refused, ResourceError
from catenary.http import sse_events
from catenary.jsontext import loads_small
from catenary_components.ai.models.assemble import ReplyBuilder
from catenary_components.ai.models.halves import HalfJoiner, parsed_with_halves
from catenary_components.ai.models.types import CallPiece, ModelError, Piece

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
    from typing import Self

    from catenary.http import HttpResponse
    from catenary.jsontext import Json
    from catenary_components.ai.models.client import Wire
    from catenary_components.ai.models.types import Reply

_LONGEST_REST_S: Final = 0.1
_EVENTS: Final = "text/event-stream"


class EventReader(Protocol):
    """Reads the events of one streamed reply."""

    @property
    def is_over(self) -> bool:
        """Whether all of the reply was there when the last event was read, but perhaps how long it is."""
        ...

    @property
    def is_at_end(self) -> bool:
        """Whether the last event that was read is the last one of the stream."""
        ...

    def read(self, event: str, data: Json) -> Piece:
        """Give the piece that an event is; an empty one if it says nothing. Raises: ModelError: when it is an error."""
        ...


class EventPieces:
    """The pieces of a streamed reply up to its end; iterate it once.

    Args:
        answer: The answer.
        reader: Reads its events.
        pieces: What the body is made of, when it was read already.

    Raises:
        ModelError: From `anext`, when the reply tells an error, is no event stream, or ends too soon.
    """

    def __init__(self, answer: HttpResponse, reader: EventReader, pieces: AsyncIterable[bytes] | None = None) -> None:
        self._answer = answer
        self._reader = reader
        self._events = sse_events(pieces or answer)
        self._has_rest = pieces is None
        self._halves = HalfJoiner()
        self._is_stream = answer.media_type == _EVENTS
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Piece:
        if not self._is_over:
            async for event in self._events:
                data = event.data.strip()
                if data == "[DONE]":
                    break
                if not data:  # some services keep the connection alive this way
                    continue
                self._is_stream = True
                piece = self._halves.join(self._reader.read(event.event, _parsed(data, self._halves)))
                self._is_over = self._reader.is_at_end
                return piece
            else:
                self._refuse_if_too_short()
            self._is_over = True
        if rest := self._halves.end():
            return Piece(rest)
        if self._has_rest:
            await _read_rest(self._answer)
        raise StopAsyncIteration

    def _refuse_if_too_short(self) -> None:
        answer = self._answer
        if not self._is_stream:
            kind = answer.media_type or "no content type"
            raise ModelError(
                f"the answer of {answer.place} is no event stream ({kind}); is this the service's address?",
                kind="server_error",
            )
        if not self._reader.is_over:
            raise ModelError("the stream broke off before the reply was complete", retryable=True, kind="network")


async def whole_reply(answer: HttpResponse, wire: Wire) -> Reply:
    """Give the reply in an answer that was read whole; of a service that streams unasked, the events make it up.

    Raises:
        ModelError: When it is none.
    """
    if answer.media_type != _EVENTS:
        return wire.read_reply(whole_answer(answer))
    builder = ReplyBuilder()
    async for piece in EventPieces(answer, wire.reader(), _once(answer.content)):
        builder.add(piece)
    return builder.reply()


async def _once(content: bytes) -> AsyncGenerator[bytes, None]:
    yield content


def whole_answer(answer: HttpResponse) -> Json:
    """Give the value of an answer that was read whole. Raises: ModelError: when it is no JSON."""
    try:
        return answer.json()
    except Refused as error:
        try:
            return parsed_with_halves(answer.text)
        except (ValueError, RecursionError):
            pass
        raise ModelError(str(error), kind="server_error") from error


async def _read_rest(answer: HttpResponse) -> None:
    """Read what is behind the end of a reply, if it comes at once: only then the connection can be used again."""
    try:
        async with asyncio.timeout(_LONGEST_REST_S):
            async for _ in answer:
                pass
    except (TimeoutError, ResourceError):
        pass


def _parsed(data: str, halves: HalfJoiner) -> Json:
    try:
        return loads_small(data)
    except (ValueError, RecursionError):
        pass
    try:
        return halves.parsed(data)
    except (ValueError, RecursionError):
        raise ModelError(f"an event of the stream is not JSON: {data}", retryable=True, kind="network") from None


async def one_piece(reply: Reply) -> AsyncIterator[Piece]:
    """Give a whole reply as one piece."""
    calls = [
        CallPiece(index, call.id, call.name, call.arguments, call.metadata)
        for index, call in enumerate(reply.tool_calls)
    ]
    thought = reply.thoughts[0] if reply.thoughts else None
    yield Piece(reply.content, reply.reasoning, tuple(calls), reply.finish_reason, reply.usage, thought, id=reply.id)
