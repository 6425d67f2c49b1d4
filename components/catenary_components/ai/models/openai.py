"""A client of services that speak the OpenAI chat wire format."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from catenary.errors import ResourceError
from catenary.http import sse_events
from catenary.jsontext import dumps, loads
from catenary_components.ai.models.types import CallPiece, ModelError, Piece
from catenary_components.ai.models.wire import error_text, read_piece, read_reply, request_body, retryable_status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from typing import NoReturn

    from catenary.http import HttpClient, HttpResponse
    from catenary.jsontext import Json
    from catenary_components.ai.models.key import ApiKey
    from catenary_components.ai.models.types import ChatRequest, Reply

_LONGEST_ERROR_BYTES = 16 * 1024
_LONGEST_ERROR_TEXT = 500


@dataclass(frozen=True, slots=True)
class OpenAIModel:
    """One model of one service. Each call is one request; retrying is somebody else's work.

    Attributes:
        http: Sends the requests; not closed here.
        url: The service's base address; `/chat/completions` is appended.
        key: Sent as bearer token; an empty one is not sent.
        name: The model's name.
        parameters: Members of the request's body besides conversation and tools, as they are sent.
        time_ms: Tells the time in milliseconds since 1970, for a `Retry-After` that names a date.
    """

    http: HttpClient
    url: str
    key: ApiKey
    name: str
    time_ms: Callable[[], int]
    parameters: Mapping[str, Json] = field(default_factory=dict[str, "Json"])

    @property
    def endpoint(self) -> str:
        """The host, and the port if the address names one: all of an address that may be shown."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        return f"{host}:{parts.port}" if parts.port else host

    async def generate(self, request: ChatRequest) -> Reply:
        """Answer at once. Raises: ModelError: when the service cannot be reached or answers with an error."""
        try:
            answer = await self.http.request(
                "POST",
                self._address,
                headers=self._headers("application/json"),
                content=self._body(request, stream=False),
            )
            if not answer.is_success:
                self._refuse(answer)
            return read_reply(answer.json())
        except ResourceError as error:
            raise self._told(error) from error

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """Answer in pieces; closing the generator closes the connection.

        Raises:
            ModelError: when the service cannot be reached, answers with an error, or breaks off before the end.
        """
        content = self._body(request, stream=True)
        headers = self._headers("text/event-stream")
        try:
            async with self.http.stream("POST", self._address, headers=headers, content=content) as answer:
                if not answer.is_success:
                    await answer.read_start(_LONGEST_ERROR_BYTES)
                    self._refuse(answer)
                if answer.media_type == "application/json":  # a service that cannot stream answers at once
                    await answer.read()
                    yield _as_piece(read_reply(answer.json()))
                    return
                async with aclosing(_pieces(answer)) as pieces:
                    async for piece in pieces:
                        yield piece
        except ResourceError as error:
            raise self._told(error) from error

    @property
    def _address(self) -> str:
        return f"{self.url.rstrip('/')}/chat/completions"

    def _headers(self, accepted: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": accepted}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key.reveal()}"
        return headers

    def _body(self, request: ChatRequest, *, stream: bool) -> str:
        return dumps(request_body(request, self.name, self.parameters, stream=stream))

    def _refuse(self, answer: HttpResponse) -> NoReturn:
        status = f"{answer.status} {answer.reason}".strip()
        try:
            detail = error_text(loads(answer.content))
        except ValueError:
            detail = answer.text.strip() or "no further word"
        raise ModelError(
            f"error, status code: {answer.status}, status: {status}, message: {detail}",
            retryable=retryable_status(answer.status),
            status=answer.status,
            retry_after_s=retry_after_s(answer.headers.get("retry-after", ""), self.time_ms()),
        )

    def _told(self, error: ResourceError) -> ModelError:
        """Give the error with the endpoint named, the key masked, and only then cut: half a key is no longer found."""
        is_ours = isinstance(error, ModelError)
        text = self.key.hide_in(str(error))
        return ModelError(
            text if len(text) <= _LONGEST_ERROR_TEXT else f"{text[:_LONGEST_ERROR_TEXT]}...",
            retryable=error.retryable,
            status=error.status if is_ours else 0,
            endpoint=self.endpoint,
            retry_after_s=error.retry_after_s if is_ours else None,
        )


async def _pieces(answer: HttpResponse) -> AsyncGenerator[Piece, None]:
    """Read a streamed reply up to its end.

    Raises:
        ModelError: When it tells an error, is no event stream, or ends too soon.
    """
    is_stream, is_over = answer.media_type == "text/event-stream", False
    async for event in sse_events(answer):
        if event.data.strip() == "[DONE]":
            return
        if not event.data.strip():  # some services keep the connection alive this way
            continue
        is_stream = True
        piece = read_piece(_parsed(event.data), is_error=event.event == "error")
        is_over = is_over or bool(piece.finish_reason)
        yield piece
    if not is_stream:
        kind = answer.media_type or "no content type"
        raise ModelError(f"the answer of {answer.place} is no event stream ({kind}); is this the service's address?")
    if not is_over:
        raise ModelError("the stream broke off before the reply was complete", retryable=True)


def _parsed(data: str) -> Json:
    try:
        return loads(data)
    except (ValueError, RecursionError):
        raise ModelError(f"an event of the stream is not JSON: {data}") from None


def _as_piece(reply: Reply) -> Piece:
    calls = [CallPiece(index, call.id, call.name, call.arguments) for index, call in enumerate(reply.tool_calls)]
    return Piece(reply.content, reply.reasoning, tuple(calls), reply.finish_reason, reply.usage)


def retry_after_s(header: str, now_ms: int) -> float | None:
    """Read `Retry-After`, seconds or a date, as seconds from now on; `None` when it says nothing usable."""
    text = header.strip()
    if text.replace(".", "", 1).isdecimal() and text.isascii():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.fromtimestamp(now_ms / 1000, UTC)).total_seconds())
