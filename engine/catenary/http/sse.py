"""Server-sent events, read by bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catenary.errors import Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DEFAULT_MAX_EVENT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event of a stream.

    Args:
        event: Its name; `message` when the stream gave none.
        data: Its data lines, joined with newlines.
        id: The last id the stream gave, with this event or before it; empty if none.
        retry: Milliseconds to wait before a reconnect, when this event carried it.
    """

    event: str = "message"
    data: str = ""
    id: str = ""
    retry: int | None = None


class SseParser:
    """Cuts bytes into events, wherever the pieces were cut: within a character, within a line end.

    Lines end with CR, LF or CRLF. Bytes that are no UTF-8 read as U+FFFD. An event without data is none, as the
    standard says; a `retry` that it carried comes with the next event.

    Args:
        max_event_bytes: Largest event, so that a stream without line ends cannot fill the memory.
    """

    def __init__(self, *, max_event_bytes: int = _DEFAULT_MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._line = bytearray()  # the line that has not ended yet
        self._size = 0  # bytes of the event so far
        self._skip_newline = False  # the piece before ended with CR: an LF belongs to it
        self._at_start = True
        self._event = ""
        self._data: list[str] = []
        self._id = ""
        self._retry: int | None = None

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Take the next bytes and give the events that are complete with them.

        Raises:
            Refused: When an event is larger than `max_event_bytes`.
        """
        if not piece:
            return []
        if self._skip_newline and piece.startswith(b"\n"):
            piece = piece[1:]
        self._skip_newline = piece.endswith(b"\r") if piece else False
        # CR as line end is rare: where none is, the text is cut as it is.
        lines = piece.split(b"\n") if b"\r" not in piece else _unified(piece).split(b"\n")
        events: list[SseEvent] = []
        for index, part in enumerate(lines):
            self._take(part)
            if index < len(lines) - 1:
                event = self._end_line()
                if event is not None:
                    events.append(event)
        return events

    def end(self) -> list[SseEvent]:
        """Give the event that the stream did not finish with a blank line, if there is one."""
        if self._line:
            self._end_line()
        event = self._end_event()
        self._skip_newline, self._at_start = False, True
        return [event] if event is not None else []

    def _take(self, part: bytes) -> None:
        self._line += part
        self._size += len(part)
        if self._size > self._max_event_bytes:
            raise Refused(f"an event of the stream is larger than {self._max_event_bytes} bytes")

    def _end_line(self) -> SseEvent | None:
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            return self._end_event()
        name, _, value = line.decode("utf-8", "replace").partition(":")
        self._take_field(name, value.removeprefix(" "))
        return None

    def _take_field(self, name: str, value: str) -> None:
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._retry = int(value[:18])

    def _end_event(self) -> SseEvent | None:
        self._size = 0
        name, self._event = self._event, ""
        if not self._data:
            return None
        event = SseEvent(name or "message", "\n".join(self._data), self._id, self._retry)
        self._data = []
        self._retry = None
        return event


def _unified(piece: bytes) -> bytes:
    return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def sse_events(pieces: AsyncIterable[bytes], *, max_event_bytes: int = _DEFAULT_MAX_EVENT_BYTES) -> SseEvents:
    """Give the events of a streamed answer as they come.

    An event at the end of the stream that lacks its blank line is given too: some servers leave it out.

    Args:
        pieces: An `HttpResponse`, or any pieces of bytes.
        max_event_bytes: As for `SseParser`.
    """
    return SseEvents(pieces, SseParser(max_event_bytes=max_event_bytes))


class SseEvents:
    """The events of a stream; iterate it once. Nothing has to be closed: whoever opened the pieces closes them."""

    def __init__(self, pieces: AsyncIterable[bytes], parser: SseParser) -> None:
        self._pieces: AsyncIterator[bytes] | None = pieces.__aiter__()
        self._parser = parser
        self._ready: list[SseEvent] = []  # in reverse order

    def __aiter__(self) -> SseEvents:
        return self

    async def __anext__(self) -> SseEvent:
        while not self._ready:
            if self._pieces is None:
                raise StopAsyncIteration
            try:
                events = self._parser.feed(await self._pieces.__anext__())
            except StopAsyncIteration:
                self._pieces = None
                events = self._parser.end()
            self._ready = events[::-1]
        return self._ready.pop()
