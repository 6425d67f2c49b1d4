"""Requests in Anthropic's messages format."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote_to_bytes

from catenary.jsontext import loads
from catenary_components.ai.messages import (
    AudioPart,
    DataPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from catenary_components.ai.models.shown import shown_parts
from catenary_components.ai.models.wire import merged, nested

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.messages import ChatMessage, MediaPart
    from catenary_components.ai.models.registry import Profile
    from catenary_components.ai.models.types import ChatRequest, ToolSpec

DEFAULT_MAX_TOKENS: Final = 4096
"""The format wants a limit; this is sent when the chain sets none."""

_NOT_THERE: Final = ("presence_penalty", "frequency_penalty", "seed", "parallel_tool_calls")
_EFFORTS: Final = {"none": "low", "minimal": "low"}
_BEGINNING: Final = "(The conversation goes on.)"
_PICTURES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_DOCUMENTS: Final = ("application/pdf",)
_CACHED: Final[Mapping[str, Json]] = {"type": "ephemeral"}


def anthropic_body(
    request: ChatRequest, model: str, parameters: Mapping[str, Json], profile: Profile, *, stream: bool
) -> dict[str, Json]:
    """Give the body of `POST /v1/messages`.

    Args:
        request: The conversation and the tools; system messages are told apart from it.
        model: The model's name.
        parameters: Body members under the names of the OpenAI format; those that this one lacks are left out.
        profile: How the service differs from others.
        stream: Whether the reply is to come in pieces.
    """
    members = dict(parameters)
    is_cached = bool(members.pop("cache_control", False))
    parallel = members.get("parallel_tool_calls") if request.parallel_calls is None else request.parallel_calls
    body: dict[str, Json] = {"model": model}
    system = "\n\n".join(message.text for message in request.messages if message.role == "system")
    if system:
        body["system"] = system
    body["messages"] = list(_messages(request.messages, profile))
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tool_choice"] = _choice(request.tool_choice, parallel=parallel)
    if stream:
        body["stream"] = True
    if request.response_schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.response_schema)}}
    if is_cached:
        _mark_cached(body)
    return merged(merged(body, _members(members)), nested(request.options))


def _members(given: dict[str, Json]) -> dict[str, Json]:
    members = {name: value for name, value in given.items() if name not in _NOT_THERE}
    budget: Any = members.pop("thinking_budget", None)
    limit = members.pop("max_completion_tokens", None)
    stop = members.pop("stop", None)
    effort: Any = members.pop("reasoning_effort", None)
    thinking = int(budget) if budget else 0
    members.setdefault("max_tokens", limit or DEFAULT_MAX_TOKENS + thinking)
    if stop:
        members["stop_sequences"] = stop
    if effort:
        members["output_config"] = {"effort": _EFFORTS.get(effort, effort)}
    if budget is not None:
        members["thinking"] = {"type": "enabled", "budget_tokens": thinking} if thinking else {"type": "disabled"}
    return members


def _choice(choice: str, *, parallel: Json) -> dict[str, Json]:
    kinds = {"auto": "auto", "none": "none", "required": "any"}
    wire: dict[str, Json] = {"type": kinds[choice]} if choice in kinds else {"type": "tool", "name": choice}
    return {**wire, "disable_parallel_tool_use": True} if parallel is False and choice != "none" else wire


def _tool(tool: ToolSpec) -> dict[str, Json]:
    strict: dict[str, Json] = {"strict": True} if tool.is_strict else {}
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters), **strict}


def _messages(messages: Iterable[ChatMessage], profile: Profile) -> Iterable[dict[str, Json]]:
    """Give the messages; those of one speaker that follow each other become one, as the format wants it."""
    open_message: dict[str, Any] | None = None
    for message in messages:
        blocks = [] if message.role == "system" else list(_blocks(message, profile))
        role = "assistant" if message.role == "assistant" else "user"
        if not blocks:
            continue
        if open_message is not None and open_message["role"] == role:
            open_message["content"] += blocks
            continue
        if open_message is not None:
            yield open_message
        elif role == "assistant":
            yield {"role": "user", "content": [{"type": "text", "text": _BEGINNING}]}
        open_message = {"role": role, "content": blocks}
    if open_message is not None:
        yield open_message


def _blocks(message: ChatMessage, profile: Profile) -> Iterable[dict[str, Json]]:
    for block in message.blocks:
        match block:
            case ThinkingPart():
                yield from _thinking(block)
            case ToolCall():
                yield {"type": "tool_use", "id": block.id, "name": block.name, "input": _input(block.arguments)}
            case ToolResult():
                yield _result(block, profile)
            case _:
                yield from _media(shown_parts((block,), profile))


def _thinking(part: ThinkingPart) -> Iterable[dict[str, Json]]:
    """Give a thought back as it came; one without its signature would be refused, and stays away."""
    if "redacted" in part.metadata:
        yield {"type": "redacted_thinking", "data": part.metadata["redacted"]}
    elif "signature" in part.metadata:
        yield {"type": "thinking", "thinking": part.text, "signature": part.metadata["signature"]}


def _input(arguments: str) -> Json:
    try:
        value = loads(arguments)
    except ValueError:
        return {}
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _result(result: ToolResult, profile: Profile) -> dict[str, Json]:
    wire: dict[str, Json] = {"type": "tool_result", "tool_use_id": result.call_id}
    content = list(_media(shown_parts(result.parts, profile)))
    if content:
        wire["content"] = content
    return {**wire, "is_error": True} if result.state == "error" else wire


def _media(parts: Iterable[MediaPart]) -> Iterable[dict[str, Json]]:
    for part in parts:
        match part:
            case TextPart():
                if part.text:  # the format refuses empty ones
                    yield {"type": "text", "text": part.text}
            case ImagePart():
                yield _medium("image", part.url, _PICTURES) or _unreadable("a picture")
            case DataPart():
                yield _medium("document", part.url, _DOCUMENTS) or _unreadable(
                    f"a file: {part.name or part.media_type}"
                )
            case AudioPart():
                yield _unreadable("a sound")


def _medium(kind: str, url: str, types: tuple[str, ...]) -> dict[str, Json] | None:
    """Give a medium by its address or as data; `None` for data of a type that the format has no place for."""
    if not url.startswith("data:"):
        return {"type": kind, "source": {"type": "url", "url": url}}
    head, _, data = url.removeprefix("data:").partition(",")
    media_type = head.partition(";")[0]
    if kind == "document" and media_type.startswith("text/"):
        return {"type": kind, "source": {"type": "text", "media_type": "text/plain", "data": _text_of(head, data)}}
    if media_type not in types:
        return None
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}


def _text_of(head: str, data: str) -> str:
    given = unquote_to_bytes(data)
    if head.endswith(";base64"):
        try:
            given = base64.b64decode(given)
        except ValueError:
            return data
    return given.decode("utf-8", "replace")


def _unreadable(what: str) -> dict[str, Json]:
    return {"type": "text", "text": f"[{what.rstrip(': ')}, which this model cannot read]"}


def _mark_cached(body: dict[str, Any]) -> None:
    """Mark the ends of what the next request will begin with as well: the tools, the prompt, the conversation."""
    if body.get("tools"):
        body["tools"][-1]["cache_control"] = dict(_CACHED)
    if body.get("system"):
        body["system"] = [{"type": "text", "text": body["system"], "cache_control": dict(_CACHED)}]
    if body["messages"]:
        body["messages"][-1]["content"][-1]["cache_control"] = dict(_CACHED)
