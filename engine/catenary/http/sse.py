"""Server-sent events, read by bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, Self, TypeVar

from catenary.errors import Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DEFAULT_MAX_BYTES = 16 * 1024 * 1024


class SseEvent(NamedTuple):
    """One event of a stream.

    Attributes:
        event: Its name; `message` when the stream gave none.
        data: Its data lines, joined with newlines.
        id: The last id the stream gave, with this event or before it; empty if none.
        retry: Milliseconds to wait before a reconnect, when this event carried it.
    """

    event: str = "message"
    data: str = ""
    id: str = ""
    retry: int | None = None


class SseLines:
    """Cuts bytes into lines, wherever the pieces were cut: within a character, within a line end.

    Lines end with CR, LF or CRLF. Bytes that are no UTF-8 read as U+FFFD.

    Args:
        max_line_bytes: Longest line, so that a stream without line ends cannot fill the memory.
    """

    def __init__(self, *, max_line_bytes: int = _DEFAULT_MAX_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._open = bytearray()  # the line that has not ended yet
        self._skip_newline = False  # the piece before ended with CR: an LF belongs to it
        self._at_start = True

    @property
    def is_open(self) -> bool:
        """Whether a line has begun, or may begin with the second half of a line end."""
        return self._skip_newline or self._at_start or bool(self._open)

    def feed(self, piece: bytes) -> list[str]:
        """Take the next bytes and give the lines that are complete with them, without their ends.

        Raises:
            Refused: When a line is longer than `max_line_bytes`.
        """
        if self._skip_newline and piece:
            piece = piece.removeprefix(b"\n")
            self._skip_newline = False
        if not piece:
            return []
        self._skip_newline = piece.endswith(b"\r")
        *ended, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        lines = [self._end(part) for part in ended]
        if rest:
            self._append(rest)
        return lines

    def end(self) -> list[str]:
        """Give the line that the stream did not end, if there is one."""
        return [self._end(b"")] if self._open else []

    def _end(self, part: bytes) -> str:
        if not self._open and not self._at_start and len(part) <= self._max_line_bytes:
            return part.decode("utf-8", "replace")
        self._append(part)
        line = bytes(self._open)
        self._open.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        return line.decode("utf-8", "replace")

    def _append(self, part: bytes) -> None:
        self._open += part
        if len(self._open) > self._max_line_bytes:
            raise Refused(f"a line of the event stream is longer than {self._max_line_bytes} bytes")


class SseParser:
    """Cuts bytes into events; the pieces may be cut anywhere, as for `SseLines`.

    An event without data is none, as the standard says; a `retry` that it carried comes with the next event.

    Args:
        max_event_bytes: Largest event, roughly: longest line, and most characters of data in one event.
    """

    def __init__(self, *, max_event_bytes: int = _DEFAULT_MAX_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._lines = SseLines(max_line_bytes=max_event_bytes)
        self._size = 0
        self._event = ""
        self._data: list[str] = []
        self._id = ""
        self._retry: int | None = None

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Take the next bytes and give the events that are complete with them.

        Raises:
            Refused: When an event is larger than `max_event_bytes`.
        """
        if piece[:6] == b"data: " and not (self._data or self._event or self._lines.is_open):
            event = self._lone_event(piece)
            if event is not None:
                return [event]
        events = (self._take(line) for line in self._lines.feed(piece))
        return [event for event in events if event is not None]

    def _lone_event(self, piece: bytes) -> SseEvent | None:
        """Give the event that a piece is as a whole, as most are that come while somebody waits, if it has one line."""
        is_alone = piece.find(b"\n") == len(piece) - 2 and piece[-1:] == b"\n" and b"\r" not in piece
        if not is_alone or len(piece) > self._max_event_bytes:
            return None
        retry, self._retry = self._retry, None
        return SseEvent("message", piece[6:-2].decode("utf-8", "replace"), self._id, retry)

    def end(self) -> list[SseEvent]:
        """Give the event that the stream did not finish with a blank line, if there is one."""
        events = (self._take(line) for line in [*self._lines.end(), ""])
        return [event for event in events if event is not None]

    def _take(self, line: str) -> SseEvent | None:
        if not line:
            return self._end_event()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._add_data(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._retry = int(value[:18])
        return None

    def _add_data(self, value: str) -> None:
        self._data.append(value)
        self._size += len(value) + 1
        if self._size > self._max_event_bytes:
            raise Refused(f"an event of the stream is larger than {self._max_event_bytes} bytes")

    def _end_event(self) -> SseEvent | None:
        name, self._event = self._event, ""
        if not self._data:
            return None
        event = SseEvent(name or "message", "\n".join(self._data), self._id, self._retry)
        self._data, self._size, self._retry = [], 0, None
        return event


def sse_events(pieces: AsyncIterable[bytes], *, max_event_bytes: int = _DEFAULT_MAX_BYTES) -> SseReader[SseEvent]:
    """Give the events of a streamed answer as they come.

    An event at the end of the stream that lacks its blank line is given too: some servers leave it out.

    Args:
        pieces: An `HttpResponse`, or any pieces of bytes.
        max_event_bytes: As for `SseParser`.
    """
    parser = SseParser(max_event_bytes=max_event_bytes)
    return SseReader(pieces, parser.feed, parser.end)


def sse_lines(pieces: AsyncIterable[bytes], *, max_line_bytes: int = _DEFAULT_MAX_BYTES) -> SseReader[str]:
    """Give the lines of a streamed answer as they come, as `sse_events` gives the events."""
    lines = SseLines(max_line_bytes=max_line_bytes)
    return SseReader(pieces, lines.feed, lines.end)


ItemT = TypeVar("ItemT")


class SseReader(Generic[ItemT]):
    """What is cut out of a stream; iterate it once. Nothing has to be closed: whoever opened the pieces closes them."""

    def __init__(
        self, pieces: AsyncIterable[bytes], feed: Callable[[bytes], list[ItemT]], end: Callable[[], list[ItemT]]
    ) -> None:
        self._pieces: AsyncIterator[bytes] | None = pieces.__aiter__()
        self._feed = feed
        self._end = end
        self._ready: list[ItemT] = []  # in reverse order

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ItemT:
        while not self._ready:
            if self._pieces is None:
                raise StopAsyncIteration
            try:
                items = self._feed(await self._pieces.__anext__())
            except StopAsyncIteration:
                self._pieces = None
                items = self._end()
            self._ready = items[::-1]
        return self._ready.pop()
