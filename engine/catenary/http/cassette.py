"""Cassettes: exchanges with services, written to a file as they happen, and played back without any service."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.errors import ConfigError
from catenary.http.asgi import BREAK_OFF, read_body, send_head, send_piece
from catenary.jsontext import Json, dumps, loads
from catenary.masking import Masker

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from pathlib import Path

    from catenary.http.inprocess import AsgiEvent, AsgiReceive, AsgiSend
    from catenary.http.response import HttpResponse

VERSION: Final = 1
_KEPT_HEADERS: Final = ("content-type", "retry-after")
_SECRET_HEADERS: Final = ("authorization", "x-api-key", "api-key")
_STREAMING: Final = ("stream", "stream_options")


@dataclass(slots=True)
class Exchange:
    """A request and its answer.

    Attributes:
        path: The path of the request; neither host nor query nor headers are kept of it.
        body: Its body: a JSON value, or a text.
        status: The status of the answer; 0 when there was none.
        headers: What is kept of its headers.
        text: Its body.
        is_broken: Whether the connection broke before the answer was whole.
    """

    path: str
    body: Json
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""
    is_broken: bool = False

    def to_json(self) -> dict[str, Json]:
        """Give it as it stands in a file; a stream of events as a list of them."""
        answer: dict[str, Json] = {"status": self.status, "headers": dict(self.headers)}
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            answer["events"] = list(_events(self.text))
        else:
            answer["body"] = _value(self.text)
        if self.is_broken:
            answer["broken"] = True
        return {"request": {"path": self.path, "body": self.body}, "answer": answer}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Exchange:
        """Read one. Raises: KeyError, TypeError, AttributeError: when it is none."""
        request, answer = value["request"], value["answer"]
        body = answer.get("body", "")
        text = "".join(answer["events"]) if "events" in answer else body if isinstance(body, str) else dumps(body)
        broken = bool(answer.get("broken", False))
        return cls(request["path"], request["body"], int(answer["status"]), dict(answer["headers"]), text, broken)


def _events(text: str) -> Generator[str]:
    """Cut the text of a stream behind each blank line."""
    start = 0
    while (end := text.find("\n\n", start)) >= 0:
        yield text[start : end + 2]
        start = end + 2
    if start < len(text):
        yield text[start:]


def _value(text: str) -> Json:
    try:
        return loads(text)
    except ValueError:
        return text


class Recorder:
    """Writes the exchanges of clients that say so into a file. Safe to use from many tasks and threads.

    Args:
        file: The file; it is begun anew with the first `save`.
        hide: Masks the secrets in a text. Keys that go along in headers are masked besides, if they are such that
            nobody says them otherwise.
    """

    def __init__(self, file: Path, hide: Callable[[str], str] = str) -> None:
        self.file = file
        self._hide = hide
        self._keys: set[str] = set()
        self._exchanges: list[tuple[Exchange, bytearray]] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._exchanges)

    def begin(self, path: str, headers: list[tuple[bytes, bytes]], body: bytes | None) -> Take:
        """Take up one exchange."""
        for name, value in headers:
            if name.decode().lower() in _SECRET_HEADERS:
                self._keys.add(value.decode("utf-8", "replace").removeprefix("Bearer "))
        take = Take(Exchange(path, _value((body or b"").decode("utf-8", "replace"))))
        with self._lock:
            self._exchanges.append((take.exchange, take.content))
        return take

    def save(self) -> None:
        """Write the file; it is whole at any time. Blocks the thread. Raises: OSError: when it cannot be written."""
        with self._lock:
            exchanges = list(self._exchanges)
        for exchange, content in exchanges:
            exchange.text = content.decode("utf-8", "replace")
        content: Json = {"cassette": VERSION, "exchanges": [one.to_json() for one, _ in exchanges]}
        content = Masker(self._keys).value(content)
        text = json.dumps(content, indent=2, ensure_ascii=False)  # one that people read, unlike what goes over a wire
        beside = self.file.with_name(f"{self.file.name}.part")
        beside.write_text(self._hide(text) + "\n", encoding="utf-8")
        beside.replace(self.file)


class Take:
    """One exchange while it is recorded."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.content = bytearray()

    def answered(self, answer: HttpResponse) -> None:
        """Take note of the head of the answer, and of each piece of it from then on."""
        self.exchange.status = answer.status
        self.exchange.headers = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
        answer.tap = self.content.extend


class Player:
    """An ASGI application that answers from a cassette.

    A request gets the first answer that was not given yet of those to the same request; if there is none, of those to
    a request of the same shape: the same path, roles of messages and names of tools. So the texts may change, as those
    of prompts with the time of day do. An answer that came as a stream is preferred for a request of a stream, but
    stands for the other kind as well: whoever asks has to understand both.
    """

    def __init__(self, exchanges: list[Exchange], name: str) -> None:
        self._left = list(exchanges)
        self._count = len(exchanges)
        self._name = name

    @classmethod
    def load(cls, file: Path) -> Player:
        """Read a file. Raises: ConfigError: when it is no cassette."""
        try:
            content: Any = loads(file.read_bytes())
            if content["cassette"] != VERSION:
                raise ValueError(f"it is of version {content['cassette']}, and version {VERSION} is known")
            return cls([Exchange.from_json(one) for one in content["exchanges"]], file.name)
        except OSError as error:
            raise ConfigError(f"the cassette {file} cannot be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"{file} is no cassette: {error}", hint="write one with catenary run CHAIN --record FILE"
            ) from error

    @property
    def left(self) -> int:
        """How many exchanges were not played yet."""
        return len(self._left)

    async def __call__(self, scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend) -> Any:
        """Answer one request, as ASGI wants it."""
        body = _value((await read_body(receive)).decode("utf-8", "replace"))
        exchange = self._take(scope["path"], body)
        if exchange is None:
            told = dumps({"error": {"message": self._not_there(scope["path"], body)}})
            await send_head(send, 400, {"Content-Type": "application/json"})
            await send_piece(send, told.encode(), more=False)
            return None
        if not exchange.status:
            return BREAK_OFF
        await send_head(send, exchange.status, exchange.headers)
        for event in _events(exchange.text):
            await send_piece(send, event.encode())
            await asyncio.sleep(0)
        if exchange.is_broken:
            return BREAK_OFF
        await send_piece(send, b"", more=False)
        return None

    def _take(self, path: str, body: Json) -> Exchange | None:
        likeness = (_same, _same_but_streamed, _kind_and_shape, _shape)
        for seen in likeness:
            wanted = seen(path, body)
            found = next((one for one in self._left if seen(one.path, one.body) == wanted), None)
            if found is not None:
                self._left = [one for one in self._left if one is not found]
                return found
        return None

    def _not_there(self, path: str, body: Json) -> str:
        number = self._count - len(self._left) + 1
        if not self._left:
            return f"the cassette {self._name} has {self._count} exchanges, and this is request {number}"
        return (
            f"the cassette {self._name} has no answer to request {number}: it is {_shape(path, body)}, and the next "
            f"one that was recorded is {_shape(self._left[0].path, self._left[0].body)}"
        )


def _tail(path: str) -> str:
    """Give the end of a path: what stands before it differs between services."""
    return "/".join(path.rstrip("/").rsplit("/", 2)[-2:]) if path.endswith("/completions") else path.rpartition("/")[2]


def _same(path: str, body: Json) -> tuple[str, Json]:
    return _tail(path), body


def _same_but_streamed(path: str, body: Json) -> tuple[str, Json]:
    return _tail(path), {name: value for name, value in _fields(body).items() if name not in _STREAMING}


def _kind_and_shape(path: str, body: Json) -> tuple[bool, str]:
    return bool(_fields(body).get("stream")), _shape(path, body)


def _shape(path: str, body: Json) -> str:
    fields = _fields(body)
    roles = [str(one.get("role")) for one in _objects(fields.get("messages"))]
    tools = [str(one.get("function", one).get("name")) for one in _objects(fields.get("tools"))]
    return f"{_tail(path)}, messages of {', '.join(roles) or 'nobody'}, tools {', '.join(tools) or 'none'}"


def _fields(body: Json) -> dict[str, Any]:
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def _objects(value: Json) -> list[dict[str, Any]]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def is_cassette(file: Path) -> bool:
    """Tell whether a file holds a cassette."""
    try:
        Player.load(file)
    except ConfigError:
        return False
    return True
