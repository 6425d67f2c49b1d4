"""The answer to a request."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from catenary.errors import Refused
from catenary.jsontext import Json, loads

if TYPE_CHECKING:
    from asyncio import Timeout
    from collections.abc import AsyncGenerator, Callable, Mapping
    from typing import Self

    import httpx

    from catenary.http.chunked import ChunkedBody
    from catenary.http.options import HttpOptions


class HttpResponse:
    """The answer to a request: read it whole (`read`), or piece by piece (`async for piece in answer`), once.

    Attributes:
        status: The status code.
        reason: The words behind it; the usual ones when the server sent none.
        headers: By name, upper and lower case are the same.
        place: `host:port` that answered.
        tap: Is handed each piece of the body that is read.
    """

    def __init__(self, response: httpx.Response, options: HttpOptions, limit: Timeout) -> None:
        from catenary.http.failures import place_of

        self._response = response
        self._options = options
        self._limit = limit
        self._pieces: AsyncGenerator[bytes] | ChunkedBody | None = None
        self._size = 0
        self._content: bytes | None = None
        self.tap: Callable[[bytes], object] | None = None
        self.status: int = response.status_code
        self.reason: str = response.reason_phrase
        self.headers: Mapping[str, str] = response.headers
        self.place: str = place_of(response.request.url)

    @property
    def is_success(self) -> bool:
        """True for 200 to 299."""
        return 200 <= self.status <= 299

    @property
    def media_type(self) -> str:
        """The content type in lower case without parameters, such as `application/json`; empty if none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def content(self) -> bytes:
        """The body that was read.

        Raises:
            RuntimeError: When `read` was not awaited yet.
        """
        if self._content is None:
            raise RuntimeError("the answer was not read yet; await read() first")
        return self._content

    @property
    def text(self) -> str:
        """The body that was read as text, by its charset or as UTF-8; what does not fit reads as U+FFFD."""
        return self.decode(self.content)

    def json(self) -> Json:
        """Give the body that was read as a JSON value.

        Raises:
            Refused: When it is no JSON; the text says what it was instead.
        """
        try:
            return loads(self.content)
        except (ValueError, RecursionError) as error:
            kind = self.media_type or "no content type"
            raise Refused(f"the answer of {self.place} is not JSON ({kind}, {len(self.content)} bytes)") from error

    def decode(self, body: bytes) -> str:
        """Read bytes of this answer as text."""
        charset = self._response.charset_encoding or "utf-8"
        try:
            codecs.lookup(charset)
        except LookupError:
            charset = "utf-8"
        return body.decode(charset, "replace")

    async def read(self) -> bytes:
        """Read the whole body; reading again gives the same.

        Raises:
            ConnectFailed, TooSlow: When the connection breaks or falls silent.
            Refused: When the body is larger than `max_response_bytes`.
        """
        if self._content is None:
            self._content = b"".join([piece async for piece in self])
        return self._content

    async def read_start(self, most_bytes: int) -> bytes:
        """Read not more than the first `most_bytes` of the body: enough of an error page."""
        start = bytearray()
        async for piece in self:
            start += piece
            if len(start) >= most_bytes:
                break
        self._content = bytes(start[:most_bytes])
        return self._content

    def lift_total_timeout(self) -> None:
        """Let the rest of the answer take as long as it likes, as long as it is never silent for too long."""
        self._limit.reschedule(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._pieces is None:
            self._pieces = self._begin()
        try:
            piece = await self._pieces.__anext__()
        except StopAsyncIteration:
            raise
        except Exception:
            from catenary.http.failures import translated

            with translated(self._response.request.url, self._options):
                raise
        self._size += len(piece)
        most = self._options.max_response_bytes
        if most is not None and self._size > most:
            raise self._too_large(most)
        if self.tap is not None:
            self.tap(piece)
        return piece

    def _begin(self) -> AsyncGenerator[bytes] | ChunkedBody:
        self._refuse_if_told_too_large()
        if "," in self.headers.get("content-encoding", ""):
            # The size of a piece is known when it is unfolded: each layer multiplies it by up to a thousand.
            raise Refused(f"the answer of {self.place} is compressed more than once")
        return _pieces_of(self._response, self._options.read_timeout_s)

    def _refuse_if_told_too_large(self) -> None:
        """Read nothing of an answer that says itself that it is too large."""
        most = self._options.max_response_bytes
        told = self.headers.get("content-length", "")
        if most is not None and self.is_success and told.isdecimal() and int(told) > most:
            raise self._too_large(most)

    def _too_large(self, most: int) -> Refused:
        return Refused(f"the answer of {self.place} is larger than {most} bytes")

    async def close(self) -> None:
        """Let go of the connection; an answer that was not read to its end is broken off."""
        # The generator is closed by hand: left to the garbage collector it would be closed some time later.
        if self._pieces is not None:
            await self._pieces.aclose()
        await self._response.aclose()
        vars(self._response).pop("stream", None)  # it knows the answer: nothing is left to the garbage collector


def _pieces_of(response: httpx.Response, timeout_s: float | None) -> AsyncGenerator[bytes] | ChunkedBody:
    from catenary.http.chunked import ChunkedBody

    return ChunkedBody.of(response, timeout_s) or _closable(response)


async def _closable(response: httpx.Response) -> AsyncGenerator[bytes]:
    """Give the pieces of the body, decompressed."""
    async for piece in response.aiter_bytes():
        yield piece
