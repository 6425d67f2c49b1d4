"""The OpenAI chat wire format: requests as JSON values, JSON values as replies and pieces."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, cast

from catenary.http import retryable_status
from catenary.jsontext import dumps, loads
from catenary_components.ai.messages import AudioPart, DataPart, ImagePart, TextPart, ToolCall, Usage
from catenary_components.ai.models.assemble import named_calls
from catenary_components.ai.models.faults import kind_of
from catenary_components.ai.models.registry import PLAIN, Profile
from catenary_components.ai.models.result_media import media_behind, result_text
from catenary_components.ai.models.shown import shown_parts
from catenary_components.ai.models.types import CallPiece, ModelError, Piece, Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.messages import ChatMessage, MediaPart
    from catenary_components.ai.models.types import ChatRequest, ToolSpec

_TEXT_MEMBERS: Final = ("content", "role")
_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME: Final = 64
_LIMIT: Final = "max_completion_tokens"
EXTRA: Final = "extra_content"
"""What some services put beside a call and want back with it, such as the signature of a thought."""

_PASSING_ERRORS = ("server_error", "rate_limit_error", "rate_limit_exceeded", "overloaded_error", "timeout")


def request_body(
    request: ChatRequest, model: str, parameters: Mapping[str, Json], *, stream: bool, profile: Profile = PLAIN
) -> dict[str, Json]:
    """Give the body of `POST /chat/completions`. The same conversation begins with the same bytes, one turn later.

    Args:
        request: The conversation and the tools.
        model: The model's name; an empty one is not sent, and the service takes the one it has.
        parameters: Body members as they are sent (`temperature`, `stop` ...): nothing is added to them.
        stream: Whether the reply is to come in pieces, with the usage at the end.
        profile: How the service differs from others.
    """
    body: dict[str, Json] = {"model": model} if model else {}
    thinks_from = thinking_from(request.messages, profile)
    body["messages"] = [
        wire
        for place, message in enumerate(request.messages)
        for one in (message, *media_behind(request.messages, place, profile))
        for wire in messages_to_wire(one, profile, with_thinking=place >= thinks_from)
    ]
    members = dict(parameters)
    if profile.max_tokens_field != _LIMIT and _LIMIT in members:
        members[profile.max_tokens_field] = members.pop(_LIMIT)
    members.pop("cache_control", None)  # such services find out by themselves what is the same
    parallel = members.pop("parallel_tool_calls", None)
    if request.tools and (profile.has_choice or request.tool_choice != "none"):
        body |= _tools_to_wire(request, parallel, profile)
    if of_provider := as_list(members.pop("tools", None)):
        body["tools"] = [*as_list(body.get("tools")), *of_provider]
    if request.response_schema is not None:
        body["response_format"] = _format_to_wire(request.response_schema)
    if stream:
        body["stream"] = True
        if profile.has_stream_options:
            body["stream_options"] = {"include_usage": True}
    return merged(merged(body, members), nested(request.options))


def thinking_from(messages: Sequence[ChatMessage], profile: Profile) -> int:
    """Give the place of the first message whose thoughts are sent back."""
    if profile.thinking_back == "always":
        return 0
    if profile.thinking_back == "never":
        return len(messages)
    users = [place for place, message in enumerate(messages) if message.role == "user"]
    return users[-1] if users else 0


def _choice_to_wire(choice: str, profile: Profile) -> Json:
    if not profile.has_choice or (choice == "required" and not profile.has_required_choice):
        return "auto"
    return choice if choice in ("auto", "none", "required") else {"type": "function", "function": {"name": choice}}


def _format_to_wire(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema), "strict": True}}


def merged(base: Mapping[str, Json], over: Mapping[str, Json]) -> dict[str, Json]:
    """Lay one object over another; objects that both have under a key are laid over each other."""
    result = dict(base)
    for key, value in over.items():
        present = result.get(key)
        both = isinstance(present, dict) and isinstance(value, dict)
        result[key] = merged(cast("dict[str, Json]", present), cast("dict[str, Json]", value)) if both else value
    return result


def nested(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Turn dotted keys into objects: `{"thinking.type": "off"}` becomes `{"thinking": {"type": "off"}}`."""
    result: dict[str, Json] = {}
    for key, value in fields.items():
        for name in reversed(key.split(".")):
            value = {name: value}  # noqa: PLW2901 - wrapped once more for each part of the key
        result = merged(result, value)
    return result


def messages_to_wire(
    message: ChatMessage, profile: Profile = PLAIN, *, with_thinking: bool = False
) -> Iterable[dict[str, Json]]:
    """Write one message, or one for each result that it has; the arguments of calls are always a JSON object."""
    if message.role == "tool":
        for result in message.results:
            name = {"name": result.name} if profile.names_results and result.name else {}
            yield {"role": "tool", "content": result_text(result, profile), "tool_call_id": result.call_id, **name}
        return
    media = [part for part in message.blocks if isinstance(part, TextPart | ImagePart | AudioPart | DataPart)]
    wire: dict[str, Json] = {"role": message.role, "content": _parts_to_wire(shown_parts(media, profile))}
    if with_thinking and message.thinking:
        _put_thinking(wire, message.thinking, profile)
    if message.name and profile.names_speakers:
        wire["name"] = _NO_NAME.sub("_", message.name)[:_LONGEST_NAME]
    if message.tool_calls:
        wire["tool_calls"] = [_call_to_wire(call) for call in message.tool_calls]
    yield wire


def _put_thinking(wire: dict[str, Json], thinking: str, profile: Profile) -> None:
    if not profile.thinks_in_tags:
        wire["reasoning_content"] = thinking
    elif isinstance(wire["content"], str):
        wire["content"] = f"<think>\n{thinking}\n</think>\n\n{wire['content']}"


def _call_to_wire(call: ToolCall) -> dict[str, Json]:
    wire: dict[str, Json] = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": _object_text(call.arguments)},
    }
    extra = call.metadata.get(EXTRA)
    return {**wire, EXTRA: extra} if extra else wire


def _object_text(arguments: str) -> str:
    """Give arguments that are no JSON object as `{}`: services refuse a history that holds anything else."""
    try:
        return arguments if isinstance(loads(arguments), dict) else "{}"
    except ValueError:
        return "{}"


def _parts_to_wire(parts: Sequence[MediaPart]) -> Json:
    if all(isinstance(part, TextPart) for part in parts) and len(parts) < 2:
        return "".join(part.text for part in parts if isinstance(part, TextPart))
    return [_part_to_wire(part) for part in parts]


def _part_to_wire(part: MediaPart) -> dict[str, Json]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ImagePart():
            image = {"url": part.url, "detail": part.detail} if part.detail else {"url": part.url}
            return {"type": "image_url", "image_url": image}
        case AudioPart() | DataPart() if not part.url.startswith("data:"):
            what = "a sound" if isinstance(part, AudioPart) else "a file"
            return {"type": "text", "text": f"[{what}: {part.url}]"}  # the format takes nothing but the data itself
        case AudioPart():
            head, _, data = part.url.partition(",")
            kind = head.partition("/")[2].partition(";")[0].removeprefix("x-") or "wav"
            sound_format = {"mpeg": "mp3", "wave": "wav"}.get(kind, kind)
            return {"type": "input_audio", "input_audio": {"data": data, "format": sound_format}}
        case DataPart():
            return {"type": "file", "file": {"filename": part.name or "file", "file_data": part.url}}


def _tools_to_wire(request: ChatRequest, parallel: Json, profile: Profile) -> dict[str, Json]:
    """Give the members about tools; what the request says of calls side by side goes before the parameter."""
    members: dict[str, Json] = {
        "tools": [_tool_to_wire(tool) for tool in request.tools],
        "tool_choice": _choice_to_wire(request.tool_choice, profile),
    }
    if request.parallel_calls is not None or parallel is not None:
        members["parallel_tool_calls"] = parallel if request.parallel_calls is None else request.parallel_calls
    return members


def _tool_to_wire(tool: ToolSpec) -> dict[str, Json]:
    function: dict[str, Json] = {"name": tool.name, "description": tool.description}
    strict: dict[str, Json] = {"strict": True} if tool.is_strict else {}
    return {"type": "function", "function": {**function, "parameters": dict(tool.parameters), **strict}}


def read_reply(body: Json) -> Reply:
    """Read a whole reply; only the first choice counts.

    Raises:
        ModelError: when it is an error, or has no choice.
    """
    _refuse_error(body)
    choices = as_list(as_object(body).get("choices"))
    if not choices:
        raise ModelError(f"the model's reply has no choices: {_shown(body)}", kind="server_error")
    choice = as_object(choices[0])
    message = as_object(choice.get("message"))
    return Reply(
        content=_said(message),
        reasoning=_reasoning(message),
        tool_calls=named_calls(_calls(message.get("tool_calls")), cut_off=choice.get("finish_reason") == "length"),
        finish_reason=_text(choice.get("finish_reason")),
        usage=_usage(as_object(body).get("usage")) or Usage(),
        id=_text(as_object(body).get("id")),
    )


def read_piece(chunk: Json, *, is_error: bool = False) -> Piece:
    """Read one event of a stream; without choices it is an empty piece, which may carry the usage.

    Args:
        chunk: The data of the event.
        is_error: Whether the event is named as an error.

    Raises:
        ModelError: when the event tells an error.
    """
    text = None if is_error else _text_alone(chunk)
    if text is not None:
        return Piece(text)
    _refuse_error({"error": chunk} if is_error and not as_object(chunk).get("error") else chunk)
    body = as_object(chunk)
    choices = map(as_object, as_list(body.get("choices")))
    choice = next((one for one in choices if not one.get("index")), as_object(None))
    usage = _usage(body.get("usage") or choice.get("usage"))
    delta = as_object(choice.get("delta"))
    return Piece(
        content=_said(delta),
        reasoning=_reasoning(delta),
        tool_calls=tuple(_call_pieces(delta.get("tool_calls"))),
        finish_reason=_text(choice.get("finish_reason")),
        usage=usage,
        id=_text(body.get("id")),
    )


def _text_alone(chunk: Json) -> str | None:
    """Give the text of an event that holds nothing else, as nearly all do; `None` for any other."""
    body = as_object(chunk)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or body.get("error") or body.get("usage"):
        return None
    choice = as_object(cast("list[Json]", choices)[0])
    delta = as_object(choice.get("delta"))
    if choice.get("finish_reason") or choice.get("index") or choice.get("usage") or not delta:
        return None
    text = delta.get("content")
    is_alone = len(delta) == 1 or not any(delta[name] for name in delta if name not in _TEXT_MEMBERS)
    return text if is_alone and isinstance(text, str) else None


def error_text(body: Json) -> str:
    """Find the sentence in the body of an error; the whole body, shortened, when there is none."""
    error = as_object(body).get("error") if isinstance(body, dict) else None
    if isinstance(error, str):
        return error
    message = as_object(error).get("message") or (as_object(body).get("message") if isinstance(body, dict) else None)
    return message if isinstance(message, str) and message else _shown(body)


def _refuse_error(body: Json) -> None:
    if not isinstance(body, dict):
        raise ModelError(f"the model's reply is no JSON object: {_shown(body)}", kind="server_error")
    error = cast("dict[str, Json]", body).get("error")
    if error:
        status = _status_in(as_object(error))
        passing = retryable_status(status) or as_object(error).get("type") in _PASSING_ERRORS
        text = error_text(cast("Json", body))
        kind = kind_of(status, f"{as_object(error).get('type', '')} {text}")
        if kind == "unknown" and passing:
            kind = "server_error"
        raise ModelError(f"error from the model: {text}", status=status, retryable=passing, kind=kind)


def _status_in(error: Mapping[str, Json]) -> int:
    code = error.get("code")
    number = int(code) if isinstance(code, str) and code.isdecimal() else code
    return number if isinstance(number, int) and 400 <= number <= 599 else 0


def _calls(value: Json) -> Iterable[ToolCall]:
    for call in filter(None, map(as_object, as_list(value))):
        function = as_object(call.get("function"))
        name, arguments = _text(function.get("name")), _arguments(function.get("arguments"))
        yield ToolCall(_text(call.get("id")), name, arguments, metadata=_extra(call) or {})


def _call_pieces(value: Json) -> Iterable[CallPiece]:
    for call in filter(None, map(as_object, as_list(value))):
        function = as_object(call.get("function"))
        index = call.get("index")
        yield CallPiece(
            index=index if isinstance(index, int) else None,
            id=_text(call.get("id")),
            name=_text(function.get("name")),
            arguments=_arguments(function.get("arguments")),
            metadata=_extra(call),
        )


def _extra(call: Mapping[str, Json]) -> dict[str, Json] | None:
    extra = call.get(EXTRA)
    return {EXTRA: extra} if extra else None


def _arguments(value: Json) -> str:
    """Give arguments as text; some services send the object itself."""
    return dumps(value) if isinstance(value, dict | list) else _text(value)


def _said(message: Mapping[str, Json]) -> str:
    """Give what a message says; some services have a place of its own for a refusal."""
    return _content(message.get("content")) or _text(message.get("refusal"))


def _content(value: Json) -> str:
    """Give the text of a reply; some services send it as a list of parts."""
    if isinstance(value, list):
        return "".join(_text(as_object(part).get("text")) for part in cast("list[Json]", value))
    return _text(value)


def _reasoning(message: Mapping[str, Json]) -> str:
    return _text(message.get("reasoning_content")) or _text(message.get("reasoning"))


def _usage(value: Json) -> Usage | None:
    counts = as_object(value)
    if not counts:
        return None
    prompt, completion = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    return Usage(
        prompt=prompt,
        completion=completion,
        total=_count(counts.get("total_tokens")) or prompt + completion,
        cached=_cached(counts),
    )


def _cached(counts: Mapping[str, Json]) -> int:
    details = as_object(counts.get("prompt_tokens_details")).get("cached_tokens")
    return _count(details) or _count(counts.get("cached_tokens")) or _count(counts.get("prompt_cache_hit_tokens"))


def _count(value: Json) -> int:
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0


def as_object(value: Json) -> dict[str, Json]:
    """Give a value that is a JSON object, else an empty one."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def object_from_text(value: Json, what: str) -> Json:
    """Read a setting that may be JSON as text; blank text is an empty object, what is no text stays as it is.

    Raises:
        ValueError: When it is not JSON; the text says `what` it is.
    """
    if not isinstance(value, str):
        return value
    try:
        return loads(value) if value.strip() else {}
    except ValueError as error:
        raise ValueError(f"{what} is not JSON: {error}") from None


def as_list(value: Json) -> list[Json]:
    """Give a value that is a list, else an empty one."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)
