"""A small HTTP API that keeps what it is asked and answers as it is told."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import parse_qsl

from catenary.http.asgi import BREAK_OFF, headers_of, read_body, send_head, send_piece, watch_disconnect
from catenary.jsontext import Json, dumps, loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from catenary.http.inprocess import AsgiEvent, AsgiReceive, AsgiSend


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API answers.

    Args:
        status: The status code.
        body: Text and bytes are sent as they are, other values as JSON.
        headers: Additional headers.
        delay_s: Seconds before the answer begins.
        pieces: The body in pieces, in place of `body`.
        piece_delay_s: Seconds between two pieces.
        drop: True cuts the connection: in place of the answer, or after `pieces` if there are some.
    """

    status: int = 200
    body: Json = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    delay_s: float = 0.0
    pieces: Iterable[str | bytes] | None = None
    piece_delay_s: float = 0.0
    drop: bool = False


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request that the API got; headers are by lower-case name, `query` holds the last value of each name."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    gone: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Json:
        """The body as a JSON value. Raises: ValueError: when it is none."""
        return loads(self.body)

    @property
    def disconnected(self) -> bool:
        """True when the client went away before it had the whole answer."""
        return self.gone.is_set()


AnswerSource: TypeAlias = "Answer | Json | Callable[[RecordedRequest], Answer | Json]"
"""An `Answer`, the body of one, or a function that gives either to a request."""


class RecordingApi:
    """An ASGI application that records requests and gives answers.

    Args:
        answers: The answers to the first requests, in order of arrival; after them `default` answers.
        default: An answer, a body, or a function of the request.

    Attributes:
        requests: What came in, in order of arrival.
    """

    def __init__(self, answers: Iterable[AnswerSource] = (), *, default: AnswerSource = "ok") -> None:
        self._answers = list(answers)
        self._default = default
        self._lock = threading.Lock()
        self.requests: list[RecordedRequest] = []

    async def __call__(self, scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend) -> Any:
        """Answer one request, as ASGI wants it."""
        query = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
        body = await read_body(receive)
        request = RecordedRequest(scope["method"], scope["path"], query, headers_of(scope), body)
        with self._lock:
            source = self._answers[len(self.requests)] if len(self.requests) < len(self._answers) else self._default
            self.requests.append(request)
        given = cast("Any", source)(request) if callable(source) else source
        answer = given if isinstance(given, Answer) else Answer(body=given)
        try:
            async with watch_disconnect(receive, request.gone.set):
                return await _send_answer(send, answer)
        except asyncio.CancelledError:
            if not request.disconnected:
                raise
            return None


async def _send_answer(send: AsgiSend, answer: Answer) -> Any:
    await asyncio.sleep(answer.delay_s)
    if answer.drop and answer.pieces is None:
        return BREAK_OFF
    body, kind = _encoded(answer.body)
    pieces = [_encoded(piece)[0] for piece in answer.pieces] if answer.pieces is not None else [body]
    await send_head(send, answer.status, {"Content-Type": kind, **answer.headers})
    for piece in pieces:
        await send_piece(send, piece)
        await asyncio.sleep(answer.piece_delay_s)
    if answer.drop:
        return BREAK_OFF
    await send_piece(send, b"", more=False)
    return None


def _encoded(body: Json) -> tuple[bytes, str]:
    if isinstance(body, bytes):
        return body, "application/octet-stream"
    if isinstance(body, str):
        return body.encode(), "text/plain; charset=utf-8"
    return dumps(body).encode(), "application/json"
