"""A client of Anthropic's messages format: requests written, replies and their events read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from catenary.jsontext import dumps
from catenary_components.ai.messages import ThinkingPart, ToolCall, Usage
from catenary_components.ai.models.anthropic_body import anthropic_body
from catenary_components.ai.models.assemble import named_calls
from catenary_components.ai.models.client import HttpModel
from catenary_components.ai.models.faults import kind_of
from catenary_components.ai.models.types import CallPiece, ModelError, Piece, Reply
from catenary_components.ai.models.wire import as_list, as_object, error_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.models.client import Wire
    from catenary_components.ai.models.key import ApiKey
    from catenary_components.ai.models.registry import Profile
    from catenary_components.ai.models.types import ChatRequest

VERSION: Final = "2023-06-01"
_PASSING: Final = ("overloaded_error", "api_error", "rate_limit_error", "timeout_error")
_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


class AnthropicWire:
    """Anthropic's messages format."""

    def address(self, url: str) -> str:
        """Give the address of a call; a base address that names no version gets `/v1`."""
        last = url.rpartition("/")[2]
        has_version = last[:1] == "v" and last[1:].isdecimal()
        return f"{url}/messages" if has_version else f"{url}/v1/messages"

    def headers(self, key: ApiKey) -> dict[str, str]:
        """Give the key, and the version of the format."""
        return {"x-api-key": key.reveal(), "anthropic-version": VERSION}

    def body(
        self, request: ChatRequest, model: str, parameters: Mapping[str, Json], profile: Profile, *, stream: bool
    ) -> dict[str, Json]:
        """Give the body of a request."""
        return anthropic_body(request, model, parameters, profile, stream=stream)

    def read_reply(self, body: Json) -> Reply:
        """Read a whole reply. Raises: ModelError: when it is none."""
        fields = as_object(body)
        _refuse_error(fields)
        if not isinstance(fields.get("content"), list):
            raise ModelError(f"the model's reply has no content: {dumps(body)}", kind="server_error")
        blocks = [as_object(block) for block in as_list(fields.get("content"))]
        thoughts = tuple(thought for block in blocks if (thought := _thought(block)) is not None)
        reason = _reason(fields.get("stop_reason"))
        calls = [
            ToolCall(_text(block.get("id")), _text(block.get("name")), dumps(block.get("input") or {}))
            for block in blocks
            if block.get("type") == "tool_use"
        ]
        return Reply(
            content="".join(_text(block.get("text")) for block in blocks if block.get("type") == "text"),
            reasoning="".join(thought.text for thought in thoughts),
            tool_calls=named_calls(calls, cut_off=reason == "length"),
            finish_reason=reason,
            usage=_usage(as_object(fields.get("usage"))),
            thoughts=thoughts,
            id=_text(fields.get("id")),
        )

    def reader(self) -> AnthropicReader:
        """Give what reads the events of one reply."""
        return AnthropicReader()


@dataclass(slots=True)
class AnthropicReader:
    """Reads the events of one streamed reply: blocks that begin, grow and end, and counts of tokens around them."""

    is_over: bool = False
    is_at_end: bool = False
    _counts: dict[str, Json] = field(default_factory=dict[str, "Json"])
    _thinking: dict[int, dict[str, str]] = field(default_factory=dict[int, dict[str, str]])

    def read(self, event: str, data: Json) -> Piece:
        """Give the piece that an event is. Raises: ModelError: when it is an error."""
        fields = as_object(data)
        kind = fields.get("type") or event
        if kind == "error" or "error" in fields:
            _refuse_error({"error": fields.get("error") or fields})
        index = fields.get("index")
        place = index if isinstance(index, int) else 0
        match kind:
            case "message_start":
                message = as_object(fields.get("message"))
                self._counts |= as_object(message.get("usage"))
                return Piece(id=_text(message.get("id")))
            case "content_block_start":
                return self._begin(place, as_object(fields.get("content_block")))
            case "content_block_delta":
                return self._grow(place, as_object(fields.get("delta")))
            case "content_block_stop" if place in self._thinking:
                return Piece(thought=_thought(dict(self._thinking.pop(place))))
            case "message_delta":
                return self._end(fields)
            case "message_stop":
                self.is_over = self.is_at_end = True
            case _:  # pings, and what is yet to be thought of
                pass
        return Piece()

    def _begin(self, place: int, block: dict[str, Json]) -> Piece:
        match block.get("type"):
            case "tool_use":
                given = block.get("input")
                arguments = dumps(given) if given else ""
                call = CallPiece(place, _text(block.get("id")), _text(block.get("name")), arguments)
                return Piece(tool_calls=(call,))
            case "thinking" | "redacted_thinking":
                self._thinking[place] = {name: value for name, value in block.items() if isinstance(value, str)}
                return Piece(reasoning=_text(block.get("thinking")))
            case _:
                return Piece(_text(block.get("text")))

    def _grow(self, place: int, delta: dict[str, Json]) -> Piece:
        match delta.get("type"):
            case "text_delta":
                return Piece(_text(delta.get("text")))
            case "input_json_delta":
                return Piece(tool_calls=(CallPiece(place, arguments=_text(delta.get("partial_json"))),))
            case "thinking_delta":
                thinking = _text(delta.get("thinking"))
                self._note(place, "thinking", thinking)
                return Piece(reasoning=thinking)
            case "signature_delta":
                self._note(place, "signature", _text(delta.get("signature")))
                return Piece()
            case _:
                return Piece()

    def _note(self, place: int, name: str, text: str) -> None:
        block = self._thinking.setdefault(place, {"type": "thinking"})
        block[name] = block.get(name, "") + text

    def _end(self, fields: dict[str, Json]) -> Piece:
        self._counts |= {name: count for name, count in as_object(fields.get("usage")).items() if count is not None}
        reason = _reason(as_object(fields.get("delta")).get("stop_reason"))
        self.is_over = self.is_over or bool(reason)
        return Piece(finish_reason=reason, usage=_usage(self._counts))


class AnthropicModel(HttpModel):
    """One model of a service that speaks Anthropic's messages format."""

    __slots__ = ()

    wire: ClassVar[Wire] = AnthropicWire()


def _thought(block: Mapping[str, Json]) -> ThinkingPart | None:
    """Give a block of thinking with what has to go back with it, `None` for any other block."""
    match block.get("type"):
        case "thinking":
            signature = _text(block.get("signature"))
            return ThinkingPart(_text(block.get("thinking")), {"signature": signature} if signature else {})
        case "redacted_thinking":
            return ThinkingPart("", {"redacted": _text(block.get("data"))})
        case _:
            return None


def _refuse_error(fields: dict[str, Json]) -> None:
    error = as_object(fields.get("error"))
    if not error:
        return
    kind = _text(error.get("type"))
    told = kind_of(0, f"{kind} {error_text(fields)}")
    is_passing = kind in _PASSING
    if told == "unknown" and is_passing:
        told = "server_error"
    raise ModelError(f"error from the model: {error_text(fields)}", retryable=is_passing, kind=told)


def _reason(value: Json) -> str:
    reason = _text(value)
    return _REASONS.get(reason, reason)


def _usage(counts: Mapping[str, Json]) -> Usage:
    def count(name: str) -> int:
        value = counts.get(name)
        return value if isinstance(value, int) else 0

    cached, written = count("cache_read_input_tokens"), count("cache_creation_input_tokens")
    prompt, completion = count("input_tokens") + cached + written, count("output_tokens")
    return Usage(prompt, completion, prompt + completion, cached, written)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
