"""A model that answers from a script, over the wire formats of OpenAI-compatible services and of Anthropic."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from catenary.http.asgi import BREAK_OFF, headers_of, read_body, send_head, send_piece, watch_disconnect
from catenary.jsontext import Json, dumps, loads
from catenary.testing.anthropic_wire import message, message_events
from catenary.testing.replies import Reply
from catenary.testing.wire import completion, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from catenary.http.inprocess import AsgiEvent, AsgiReceive, AsgiSend

_JSON = {"Content-Type": "application/json"}
_MESSAGES = "/messages"
_EVENT_STREAM = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


class ModelRequest:
    """One request that a scripted model got.

    Attributes:
        path: Its path, such as `/v1/chat/completions`.
        headers: By lower-case name.
        body: The body as a JSON value; `None` when it is no JSON.
    """

    def __init__(self, path: str, headers: dict[str, str], raw: bytes) -> None:
        self.path = path
        self.headers = headers
        self.body: Json = _parsed(raw)
        self._fields: dict[str, Any] = self.body if raw.lstrip()[:1] == b"{" and self.body else {}
        self._disconnected = threading.Event()

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The messages of the conversation."""
        return self._field("messages", [])

    @property
    def user_text(self) -> str:
        """The text of the last user message; parts of a list are joined."""
        users = [message for message in self.messages if message.get("role") == "user"]
        return _text(users[-1].get("content")) if users else ""

    @property
    def system_text(self) -> str:
        """The text of the first system message, or what stands in the place of one; empty if none."""
        if "system" in self._fields:
            return _text(self._fields["system"])
        return next((_text(m.get("content")) for m in self.messages if m.get("role") == "system"), "")

    @property
    def tools(self) -> list[str]:
        """The names of the tools on offer."""
        return [tool.get("function", tool)["name"] for tool in self._field("tools", [])]

    @property
    def is_stream(self) -> bool:
        """True when a stream is asked for."""
        return bool(self._field("stream", False))

    @property
    def disconnected(self) -> bool:
        """True when the client went away before it had the whole answer."""
        return self._disconnected.is_set()

    def wait_disconnected(self, timeout_s: float = 10.0) -> bool:
        """Wait until the client goes away; False when it did not in that time. Blocks the thread."""
        return self._disconnected.wait(timeout_s)

    def note_disconnect(self) -> None:
        """Take note that the client went away."""
        self._disconnected.set()

    def _field(self, name: str, default: Any) -> Any:
        return self._fields.get(name) or default


ReplySource: TypeAlias = "Json | Reply | Callable[[ModelRequest], Json | Reply]"
"""What `Reply.of` reads, or a function that gives such a reply to a request."""


class ScriptedModel:
    """An ASGI application that answers `POST .../chat/completions`, and `POST .../messages`, from a script.

    A text answers in plain or as a stream, as the request asks for. After the last reply of the script, requests get
    an error that says so, unless there is a `default`. `GET .../models` lists the model.

    Args:
        replies: The answers, in order: what `Reply.of` reads, or functions of the request.
        default: Answers when the script is over.
        model: The name of the model when the request names none.

    Raises:
        TypeError: When the script is a single reply.

    Attributes:
        requests: What came in, in order of arrival.
    """

    def __init__(
        self, replies: Iterable[ReplySource] = (), *, default: ReplySource | None = None, model: str = "scripted"
    ) -> None:
        if isinstance(replies, str | Mapping | Reply) or callable(replies):
            raise TypeError("a script is a list of replies: ScriptedModel([...]); `default` answers every request")
        self._replies = list(replies)
        self._default = default
        self._model = model
        self._lock = threading.Lock()
        self._given = 0
        self.requests: list[ModelRequest] = []

    def add(self, *replies: ReplySource) -> None:
        """Add replies at the end of the script."""
        with self._lock:
            self._replies.extend(replies)

    @property
    def left(self) -> int:
        """How many replies of the script were not given yet."""
        return max(len(self._replies) - self._given, 0)

    async def __call__(self, scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend) -> Any:
        """Answer one request, as ASGI wants it."""
        raw = await read_body(receive)
        if scope["method"] == "GET" and scope["path"].endswith("/models"):
            models = {"object": "list", "data": [{"id": self._model, "object": "model"}]}
            return await _send_json(send, 200, models)
        if scope["method"] != "POST" or not scope["path"].endswith(("/chat/completions", _MESSAGES)):
            return await _send_json(send, 404, {"error": {"message": f"no such path: {scope['path']}"}})
        request = ModelRequest(scope["path"], headers_of(scope), raw)
        with self._lock:
            self.requests.append(request)
            self._given += 1
            number = self._given
        reply = self._reply_to(request, number)
        try:
            async with watch_disconnect(receive, request.note_disconnect):
                return await self._answer(send, request, reply, number)
        except asyncio.CancelledError:
            if not request.disconnected:
                raise
            return None

    def _reply_to(self, request: ModelRequest, number: int) -> Reply:
        over = number > len(self._replies)
        source = self._default if over else self._replies[number - 1]
        if source is None:
            text = f"the script has {len(self._replies)} replies, and this is request {number}"
            return Reply(status=400, body={"error": {"message": text, "type": "script_over"}})
        try:
            return Reply.of(cast("Any", source)(request) if callable(source) else source)
        except Exception as error:  # the test's own function: an answer that is not asked for again says so at once
            text = f"the script has no reply to request {number}: {type(error).__name__}: {error}"
            return Reply(status=400, body={"error": {"message": text, "type": "script_failed"}})

    async def _answer(self, send: AsgiSend, request: ModelRequest, reply: Reply, number: int) -> Any:
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        model = request._field("model", self._model)
        if reply.drop_after == 0:
            return BREAK_OFF
        if reply.body is not None or reply.status != 200:
            return await _send_body(send, reply)
        if request.path.endswith(_MESSAGES):
            if not request.is_stream:
                return await _send_plain(send, reply, message(reply, model=model, number=number))
            return await _send_stream(send, reply, list(message_events(reply, model=model, number=number)))
        if not request.is_stream:
            return await _send_plain(send, reply, completion(reply, model=model, number=number))
        options = request._field("stream_options", {})
        chunks = events(reply, model=model, number=number, with_usage=bool(options.get("include_usage")))
        return await _send_stream(send, reply, list(chunks))


async def _send_json(send: AsgiSend, status: int, value: Json) -> None:
    await send_head(send, status, _JSON)
    await send_piece(send, dumps(value).encode(), more=False)


async def _send_body(send: AsgiSend, reply: Reply) -> None:
    """Send the body that the script gives, whatever was asked for."""
    is_text = isinstance(reply.body, str)
    body = reply.body if is_text else dumps(reply.body if reply.body is not None else {})
    kind = {"Content-Type": "text/plain; charset=utf-8"} if is_text else _JSON
    await send_head(send, reply.status, {**kind, **reply.headers})
    await send_piece(send, body.encode(), more=False)


async def _send_plain(send: AsgiSend, reply: Reply, answer: Json) -> Any:
    body = dumps(answer).encode()
    await send_head(send, 200, {**_JSON, "Content-Length": str(len(body)), **reply.headers})
    if reply.drop_after is not None:
        await send_piece(send, body[: reply.drop_after])
        return BREAK_OFF
    await send_piece(send, body, more=False)
    return None


async def _send_stream(send: AsgiSend, reply: Reply, chunks: list[bytes]) -> Any:
    await send_head(send, 200, {**_EVENT_STREAM, **reply.headers})
    sent = chunks[: reply.drop_after]
    if reply.cut_bytes:
        whole = b"".join(sent)
        sent = [whole[start : start + reply.cut_bytes] for start in range(0, len(whole), reply.cut_bytes)]
    for piece in sent:
        await send_piece(send, piece)
        await asyncio.sleep(reply.piece_delay_s)
    if reply.drop_after is not None:
        return BREAK_OFF
    await send_piece(send, b"", more=False)
    return None


def _parsed(raw: bytes) -> Json:
    try:
        return loads(raw)
    except ValueError:
        return None


def _text(content: Json) -> str:
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        return "".join(part.get("text", "") for part in parts)
    return content or ""
