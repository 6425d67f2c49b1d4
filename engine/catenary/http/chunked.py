"""Bodies of many small pieces, read past the layers of the HTTP library, each of which costs as much as the piece."""

from __future__ import annotations

import re
from typing import Final, Self

import httpcore
import httpx

from catenary.http.network import Stream

_READ_BYTES: Final = 64 * 1024
_LONGEST_LINE: Final = 16 * 1024
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?")
_END: Final = b"0\r\n\r\n"
_TOO_SHORT: Final = "peer closed connection without sending complete message body (incomplete chunked read)"


class Malformed(ValueError):  # noqa: N818 - named as the other errors are
    """The body does not follow the transfer coding."""


class Chunks:
    """Takes a body in the transfer coding `chunked` apart (RFC 9112, 7.1), wherever the pieces are cut.

    Attributes:
        is_over: Whether the end has come.
        rest: What has come behind the end, or is not understood yet.
    """

    def __init__(self) -> None:
        self.is_over = False
        self.rest = b""
        self._left = 0  # of the open chunk, its line end included
        self._in_trailer = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Take the next bytes and give the data in them. Raises: Malformed."""
        piece = self.rest + piece if self.rest else piece
        found: list[bytes] = []
        at = 0
        while at < len(piece) and not self.is_over:
            after = self._data(piece, at, found) if self._left else self._line(piece, at)
            if after == at:
                break
            at = after
        self.rest = piece[at:]
        return found

    def _data(self, piece: bytes, at: int, found: list[bytes]) -> int:
        """Take what there is of the open chunk; give the place behind it."""
        end = at + self._left
        if end <= len(piece):
            if piece[end - 2 : end] != b"\r\n":
                raise Malformed("a chunk does not end where it says")
            self._left = 0
            if end - 2 > at:
                found.append(piece[at : end - 2])
            return end
        until = min(len(piece), end - 2)
        if until <= at:  # the line end is not whole yet
            return at
        found.append(piece[at:until])
        self._left -= until - at
        return until

    def _line(self, piece: bytes, at: int) -> int:
        """Take the line that says the size of a chunk, or one of the trailer; give the place behind it."""
        end = piece.find(b"\r\n", at)
        if end < 0:
            if len(piece) - at > _LONGEST_LINE:
                raise Malformed("the line of a chunk is too long")
            return at
        if self._in_trailer:
            self.is_over = end == at
            return end + 2
        told = _SIZE.fullmatch(piece, at, end)
        if told is None:
            raise Malformed("a chunk does not say its size")
        size = int(told[1], 16)
        self._in_trailer = not size
        self._left = size + 2 if size else 0
        return end + 2


class ChunkedBody:
    """The body of an answer, read from its connection; iterate it once.

    The library sees an empty body when it is over, and keeps the connection for the next request.
    """

    def __init__(self, response: httpx.Response, stream: Stream, timeout_s: float | None) -> None:
        self._response = response
        self._stream = stream
        self._timeout_s = timeout_s
        self._chunks = Chunks()

    @classmethod
    def of(cls, response: httpx.Response, timeout_s: float | None) -> Self | None:
        """Give the body of an answer if it is an event stream that can be read in this way."""
        headers = response.headers
        stream = response.extensions.get("network_stream")
        is_plain = headers.get("transfer-encoding", "").strip().lower() == "chunked" and not (
            "content-length" in headers or "content-encoding" in headers
        )
        is_events = headers.get("content-type", "").lower().startswith("text/event-stream")
        if not (is_plain and is_events and response.status_code == 200 and response.request.method != "HEAD"):
            return None
        return cls(response, stream, timeout_s) if isinstance(stream, Stream) and stream.is_at_body else None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not self._chunks.is_over:
            try:
                piece = await self._stream.read(_READ_BYTES, self._timeout_s)
                found = self._chunks.feed(piece)
            except (httpcore.ReadTimeout, httpcore.ReadError, Malformed) as error:
                raise self._told(error) from error
            if not piece:
                raise self._told(Malformed(_TOO_SHORT))
            if self._chunks.is_over:
                await self._finish()
            if found:
                return found[0] if len(found) == 1 else b"".join(found)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing is left open: the connection is closed with its answer."""

    async def _finish(self) -> None:
        if self._chunks.rest:  # nobody asked for that: the connection is closed with the answer
            return
        self._stream.put_back(_END)
        async for _ in self._response.aiter_raw():
            pass

    def _told(self, error: Exception) -> httpx.TransportError:
        """Give what the library would raise."""
        request = self._response.request
        if isinstance(error, httpcore.ReadTimeout):
            return httpx.ReadTimeout(str(error), request=request)
        if isinstance(error, httpcore.ReadError):
            return httpx.ReadError(str(error), request=request)
        return httpx.RemoteProtocolError(str(error), request=request)
