"""One model of one service, over HTTP: sends a request, reads a reply at once or as events, tells what goes wrong."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from catenary.errors import ConnectFailed, ResourceError, TooSlow
from catenary.http import retry_after_s, retryable_status
from catenary.jsontext import dumps, loads
from catenary_components.ai.models.faults import kind_of
from catenary_components.ai.models.legal import legal_request, true_piece, true_reply
from catenary_components.ai.models.reading import EventPieces, one_piece, whole_answer, whole_reply
from catenary_components.ai.models.registry import PLAIN, Profile, host_of
from catenary_components.ai.models.types import ModelError, Piece
from catenary_components.ai.models.wire import error_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
    from typing import NoReturn

    from catenary.http import HttpClient, HttpResponse
    from catenary.jsontext import Json
    from catenary_components.ai.messages import Usage
    from catenary_components.ai.models.key import ApiKey
    from catenary_components.ai.models.prices import Price
    from catenary_components.ai.models.reading import EventReader
    from catenary_components.ai.models.types import ChatRequest, Reply

_LONGEST_ERROR_BYTES = 16 * 1024
_LONGEST_ERROR_TEXT = 500


class Wire(Protocol):
    """A wire format: requests as JSON values, JSON values as replies and pieces."""

    def address(self, url: str) -> str:
        """Give the address of a chat call, below the base address of the service."""
        ...

    def headers(self, key: ApiKey) -> dict[str, str]:
        """Give the headers that carry the key."""
        ...

    def body(
        self, request: ChatRequest, model: str, parameters: Mapping[str, Json], profile: Profile, *, stream: bool
    ) -> dict[str, Json]:
        """Give the body of a request."""
        ...

    def read_reply(self, body: Json) -> Reply:
        """Read a whole reply. Raises: ModelError: when it is none."""
        ...

    def reader(self) -> EventReader:
        """Give what reads the events of one reply."""
        ...


@dataclass(frozen=True, slots=True)
class HttpModel:
    """One model of one service. Each call is one request; retrying is somebody else's work.

    Attributes:
        http: Sends the requests; not closed here.
        url: The service's base address.
        key: Sent as the wire format wants it; an empty one is not sent.
        name: The model's name.
        time_ms: Tells the time in milliseconds since 1970, for a `Retry-After` that names a date.
        parameters: Members of the request's body besides conversation and tools, as they are sent.
        profile: How the service differs from others.
        price: What its tokens cost; `None` when that is not known.
        headers: Sent besides the usual ones.
        query: Put behind the address, such as `api-version=2024-10-21`.
        path: Appended to the base address in place of what the wire format has.
        first_byte_s: Longest time until the first piece, or a whole reply, comes, in seconds; `None` for as long as
            any other silence.
        silence_s: Longest time between two pieces, in seconds, where the client itself allows for more.
    """

    wire: ClassVar[Wire]

    http: HttpClient
    url: str
    key: ApiKey
    name: str
    time_ms: Callable[[], int]
    parameters: Mapping[str, Json] = field(default_factory=dict[str, "Json"])
    profile: Profile = PLAIN
    price: Price | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    query: str = ""
    path: str = ""
    first_byte_s: float | None = None
    silence_s: float | None = None

    @property
    def endpoint(self) -> str:
        """The host, and the port if the address names one: all of an address that may be shown."""
        return host_of(self.url)

    async def generate(self, request: ChatRequest) -> Reply:
        """Answer at once. Raises: ModelError: when the service cannot be reached or answers with an error."""
        request, names = self._legal(request)
        try:
            async with self._limit():
                answer = await self.http.request(
                    "POST",
                    self._address,
                    headers=self._headers("application/json"),
                    content=self._body(request, stream=False),
                )
            if not answer.is_success:
                self._refuse(answer)
            reply = true_reply(await whole_reply(answer, self.wire), names)
        except ResourceError as error:
            raise self._told(error) from error
        return replace(reply, model=self.name, cost=self._cost(reply.usage))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """Answer in pieces; closing the generator closes the connection.

        Raises:
            ModelError: when the service cannot be reached, answers with an error, or breaks off before the end.
        """
        request, names = self._legal(request)
        content = self._body(request, stream=True)
        headers = self._headers("text/event-stream")
        reader = self.wire.reader()
        try:
            async with (
                self._limit() as limit,
                self.http.stream("POST", self._address, headers=headers, content=content) as answer,
            ):
                async for piece in await self._pieces(answer, reader):
                    if limit is not None:
                        limit.reschedule(None)
                    if names:
                        piece = true_piece(piece, names)  # noqa: PLW2901 - the same piece
                    yield self._marked(piece) if piece.usage or piece.finish_reason else piece
                    if limit is not None and self.silence_s is not None:
                        limit.reschedule(asyncio.get_running_loop().time() + self.silence_s)
        except ResourceError as error:
            if reader.is_over and isinstance(error, ConnectFailed | TooSlow):
                return  # what comes behind the end of a reply is not worth its loss
            raise self._told(error) from error

    def _legal(self, request: ChatRequest) -> tuple[ChatRequest, Mapping[str, str]]:
        return legal_request(request, with_ids=self.profile.wire == "anthropic")

    @asynccontextmanager
    async def _limit(self) -> AsyncGenerator[asyncio.Timeout | None]:
        """Bound the wait for the first piece; whoever gets one moves the bound."""
        if self.first_byte_s is None:
            yield None
            return
        limit = asyncio.timeout(self.first_byte_s)
        first: float | None = None
        try:
            async with limit:
                first = limit.when()
                yield limit
        except TimeoutError as error:
            if not limit.expired():
                raise
            is_first = limit.when() == first
            seconds, what = (self.first_byte_s, "begin to answer") if is_first else (self.silence_s or 0.0, "go on")
            raise TooSlow(f"{self.endpoint} did not {what} within {seconds:g} s", retryable=True) from error

    async def _pieces(self, answer: HttpResponse, reader: EventReader) -> AsyncIterator[Piece]:
        if not answer.is_success:
            await answer.read_start(_LONGEST_ERROR_BYTES)
            self._refuse(answer)
        if answer.media_type == "application/json":  # a service that cannot stream answers at once
            await answer.read()
            return one_piece(self.wire.read_reply(whole_answer(answer)))
        return EventPieces(answer, reader)

    @property
    def _address(self) -> str:
        return full_address(self.wire, self.url, self.path, self.query)

    def _headers(self, accepted: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": accepted, **self.headers}
        if self.key:
            headers |= self.wire.headers(self.key)
        return headers

    def _body(self, request: ChatRequest, *, stream: bool) -> str:
        return dumps(self.wire.body(request, self.name, self.parameters, self.profile, stream=stream))

    def _marked(self, piece: Piece) -> Piece:
        return replace(piece, model=self.name, cost=None if piece.usage is None else self._cost(piece.usage))

    def _cost(self, usage: Usage) -> float | None:
        return None if self.price is None else self.price.of(usage)

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
            kind=kind_of(answer.status, answer.text),
        )

    def _told(self, error: ResourceError) -> ModelError:
        """Give the error with the endpoint named, the key masked, and only then cut: half a key is no longer found."""
        text = self.key.hide_in(str(error))
        text = text if len(text) <= _LONGEST_ERROR_TEXT else f"{text[:_LONGEST_ERROR_TEXT]}..."
        if isinstance(error, ModelError):
            return error.said(text, endpoint=self.endpoint)
        kind = "network" if isinstance(error, ConnectFailed | TooSlow) else "unknown"
        return ModelError(text, retryable=error.retryable, endpoint=self.endpoint, kind=kind)


def full_address(wire: Wire, url: str, path: str = "", query: str = "") -> str:
    """Give the address of a chat call.

    Args:
        wire: Knows the usual path.
        url: The base address; what stands behind a question mark in it goes to the end.
        path: In place of the usual path.
        query: Put behind the address.
    """
    base, _, own = url.partition("?")
    base = base.rstrip("/")
    address = f"{base}/{path.lstrip('/')}" if path else wire.address(base)
    whole = "&".join(filter(None, (own, query)))
    return f"{address}?{whole}" if whole else address
