"""What a scripted model answers with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catenary.jsontext import Json, dumps


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool that the model asks for.

    Args:
        name: The tool.
        arguments: An object, or a text that is sent as it is (to send one that does not parse).
        id: The id of the call; `call_<n>` if empty.
    """

    name: str
    arguments: Json = field(default_factory=dict[str, Json])
    id: str = ""

    @property
    def arguments_text(self) -> str:
        """The arguments as the model writes them."""
        return self.arguments if isinstance(self.arguments, str) else dumps(self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of a scripted model.

    Args:
        text: The text. In a stream it is sent word by word, unless `pieces` says how it is cut.
        pieces: The text as the pieces in which a stream sends it, in place of `text`.
        reasoning: The `reasoning_content` that comes before the text.
        tool_calls: Calls of tools after the text.
        usage: Token counts `{"prompt_tokens", "completion_tokens", "total_tokens", ...}`; made up if absent.
            `{}` sends none.
        finish_reason: `stop`, or `tool_calls` when there are some, if empty.
        status: The status code; anything but 200 sends `body` and no text.
        headers: Additional headers of the answer.
        body: A body that is sent in place of all that is made of the fields above: text as it is, other values as JSON.
        delay_s: Seconds before the answer begins.
        piece_delay_s: Seconds between two pieces of a stream.
        cut_bytes: The stream is sent in pieces of this many bytes, whatever they cut through; 0 sends event by event.
        drop_after: The connection is cut after this many events of a stream, or bytes of a plain answer; 0 cuts it
            before the answer begins.
        error_event: An error object that a stream sends after the text and ends with.
        done: False leaves out the `[DONE]` at the end of a stream.
    """

    text: str = ""
    pieces: Sequence[str] | None = None
    reasoning: str = ""
    tool_calls: Sequence[ToolCall] = ()
    usage: Mapping[str, Any] | None = None
    finish_reason: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Json = None
    delay_s: float = 0.0
    piece_delay_s: float = 0.0
    cut_bytes: int = 0
    drop_after: int | None = None
    error_event: Json = None
    done: bool = True

    @property
    def full_text(self) -> str:
        """The text as a whole."""
        return self.text if self.pieces is None else "".join(self.pieces)

    @property
    def text_pieces(self) -> list[str]:
        """The text in the pieces in which a stream sends it."""
        return words(self.text) if self.pieces is None else list(self.pieces)

    @property
    def finish(self) -> str:
        """The reason to stop, as it is sent."""
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")

    @classmethod
    def of(cls, source: Json | Reply) -> Reply:
        """Read a reply: a text, a `ToolCall`, an object with the fields of `Reply`, or a `Reply` itself.

        Raises:
            ValueError: When it is none of these.
        """
        match source:
            case Reply():
                return source
            case str():
                return cls(text=source)
            case ToolCall():
                return cls(tool_calls=[source])
            case Mapping():
                return cls._of_fields(dict(source))  # pyright: ignore[reportUnknownArgumentType] - JSON
            case _:
                raise ValueError(f"{source!r} is no reply: give a text, a Reply, or an object with its fields")

    @classmethod
    def _of_fields(cls, fields: dict[str, Any]) -> Reply:
        unknown = fields.keys() - cls.__slots__
        if unknown:
            raise ValueError(f"a reply has no field {min(unknown)!r}; there are: {', '.join(cls.__slots__)}")
        fields["tool_calls"] = [
            call if isinstance(call, ToolCall) else ToolCall(**call) for call in fields.get("tool_calls", ())
        ]
        return cls(**fields)


def words(text: str) -> list[str]:
    """Cut a text into words, each with the white space behind it."""
    return re.findall(r"\s*\S+\s*|\s+", text)


def calls(tool: str, /, **arguments: Json) -> Reply:
    """Give the reply that asks for one call of a tool."""
    return Reply(tool_calls=[ToolCall(tool, arguments)])


def too_many_requests(*, retry_after: float | str | None = None) -> Reply:
    """Give the answer 429, with `Retry-After` (seconds or a date) if one is given."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Reply(status=429, headers=headers, body=_error("too many requests", "rate_limit_error"))


def server_error(status: int = 500, text: str = "the server has a problem") -> Reply:
    """Give an answer with an error of the server."""
    return Reply(status=status, body=_error(text, "server_error"))


def dropped(*, after: int = 0, text: str = "") -> Reply:
    """Give a reply whose connection breaks: before anything is sent, or after so many events of the stream."""
    return Reply(text=text, drop_after=after)


def _error(text: str, kind: str) -> Json:
    return {"error": {"message": text, "type": kind, "param": None, "code": None}}
