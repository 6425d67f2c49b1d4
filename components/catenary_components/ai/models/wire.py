"""The OpenAI chat wire format: requests as JSON values, JSON values as replies and pieces."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from catenary.jsontext import dumps, loads
from catenary_components.ai.models.assemble import named_calls
from catenary_components.ai.models.types import (
    CallPiece,
    ChatMessage,
    ImagePart,
    ModelError,
    Piece,
    Reply,
    TextPart,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.models.types import ChatRequest, ToolSpec

_PASSING_ERRORS = ("server_error", "rate_limit_error", "rate_limit_exceeded", "overloaded_error", "timeout")


def request_body(request: ChatRequest, model: str, parameters: Mapping[str, Json], *, stream: bool) -> dict[str, Json]:
    """Give the body of `POST /chat/completions`.

    Args:
        request: The conversation and the tools.
        model: The model's name; an empty one is not sent, and the service takes the one it has.
        parameters: Body members as they are sent (`temperature`, `stop` ...): nothing is added to them.
        stream: Whether the reply is to come in pieces, with the usage at the end.
    """
    body: dict[str, Json] = {"model": model} if model else {}
    body["messages"] = [message_to_wire(message) for message in request.messages]
    if request.tools:
        body["tools"] = [_tool_to_wire(tool) for tool in request.tools]
        body["tool_choice"] = "auto"
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return merged(body, parameters)


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


def message_to_wire(message: ChatMessage) -> dict[str, Json]:
    """Write one message; the arguments of a call in the history are always a JSON object."""
    wire: dict[str, Json] = {"role": message.role, "content": _content_to_wire(message)}
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _object_text(call.arguments)},
            }
            for call in message.tool_calls
        ]
        if not message.content:
            wire["content"] = None
    if message.tool_call_id:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _object_text(arguments: str) -> str:
    """Give arguments that are no JSON object as `{}`: services refuse a history that holds anything else."""
    try:
        return arguments if isinstance(loads(arguments), dict) else "{}"
    except ValueError:
        return "{}"


def _content_to_wire(message: ChatMessage) -> Json:
    if isinstance(message.content, str):
        return message.content
    return [_part_to_wire(part) for part in message.content]


def _part_to_wire(part: TextPart | ImagePart) -> dict[str, Json]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    image = {"url": part.url, "detail": part.detail} if part.detail else {"url": part.url}
    return {"type": "image_url", "image_url": image}


def _tool_to_wire(tool: ToolSpec) -> dict[str, Json]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def read_reply(body: Json) -> Reply:
    """Read a whole reply; only the first choice counts.

    Raises:
        ModelError: when it is an error, or has no choice.
    """
    _refuse_error(body)
    choices = as_list(as_object(body).get("choices"))
    if not choices:
        raise ModelError(f"the model's reply has no choices: {_shown(body)}")
    choice = as_object(choices[0])
    message = as_object(choice.get("message"))
    return Reply(
        content=_content(message.get("content")),
        reasoning=_reasoning(message),
        tool_calls=named_calls(_calls(message.get("tool_calls"))),
        finish_reason=_text(choice.get("finish_reason")),
        usage=_usage(as_object(body).get("usage")) or Usage(),
    )


def read_piece(chunk: Json, *, is_error: bool = False) -> Piece:
    """Read one event of a stream; without choices it is an empty piece, which may carry the usage.

    Args:
        chunk: The data of the event.
        is_error: Whether the event is named as an error.

    Raises:
        ModelError: when the event tells an error.
    """
    _refuse_error({"error": chunk} if is_error and not as_object(chunk).get("error") else chunk)
    body = as_object(chunk)
    choices = as_list(body.get("choices"))
    usage = _usage(body.get("usage"))
    if not choices:
        return Piece(usage=usage)
    choice = as_object(choices[0])
    delta = as_object(choice.get("delta"))
    return Piece(
        content=_content(delta.get("content")),
        reasoning=_reasoning(delta),
        tool_calls=tuple(_call_pieces(delta.get("tool_calls"))),
        finish_reason=_text(choice.get("finish_reason")),
        usage=usage,
    )


def error_text(body: Json) -> str:
    """Find the sentence in the body of an error; the whole body, shortened, when there is none."""
    error = as_object(body).get("error") if isinstance(body, dict) else None
    if isinstance(error, str):
        return error
    message = as_object(error).get("message") or (as_object(body).get("message") if isinstance(body, dict) else None)
    return message if isinstance(message, str) and message else _shown(body)


def _refuse_error(body: Json) -> None:
    if not isinstance(body, dict):
        raise ModelError(f"the model's reply is no JSON object: {_shown(body)}")
    error = cast("dict[str, Json]", body).get("error")
    if error:
        status = _status_in(as_object(error))
        passing = retryable_status(status) or as_object(error).get("type") in _PASSING_ERRORS
        raise ModelError(f"error from the model: {error_text(cast('Json', body))}", status=status, retryable=passing)


def retryable_status(status: int) -> bool:
    """Tell whether a request answered with this HTTP status may succeed when it is sent again."""
    return status == 429 or (500 <= status <= 599 and status not in (501, 505))


def _status_in(error: Mapping[str, Json]) -> int:
    code = error.get("code")
    number = int(code) if isinstance(code, str) and code.isdecimal() else code
    return number if isinstance(number, int) and 400 <= number <= 599 else 0


def _calls(value: Json) -> Iterable[ToolCall]:
    for call in filter(None, map(as_object, as_list(value))):
        function = as_object(call.get("function"))
        yield ToolCall(_text(call.get("id")), _text(function.get("name")), _arguments(function.get("arguments")))


def _call_pieces(value: Json) -> Iterable[CallPiece]:
    for call in filter(None, map(as_object, as_list(value))):
        function = as_object(call.get("function"))
        index = call.get("index")
        yield CallPiece(
            index=index if isinstance(index, int) else None,
            id=_text(call.get("id")),
            name=_text(function.get("name")),
            arguments=_arguments(function.get("arguments")),
        )


def _arguments(value: Json) -> str:
    """Give arguments as text; some services send the object itself."""
    return dumps(value) if isinstance(value, dict | list) else _text(value)


def _content(value: Json) -> str:
    """Give the text of a reply; some services send it as a list of parts."""
    if isinstance(value, list):
        return "".join(_text(as_object(part).get("text")) for part in cast("list[Json]", value))
    return _text(value)


def _reasoning(message: Mapping[str, Json]) -> str:
    return _text(message.get("reasoning_content"))


def _usage(value: Json) -> Usage | None:
    counts = as_object(value)
    if not counts:
        return None
    prompt, completion = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    return Usage(
        prompt=prompt,
        completion=completion,
        total=_count(counts.get("total_tokens")) or prompt + completion,
        cached=_count(as_object(counts.get("prompt_tokens_details")).get("cached_tokens")),
    )


def _count(value: Json) -> int:
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0


def as_object(value: Json) -> dict[str, Json]:
    """Give a value that is a JSON object, else an empty one."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Give a value that is a list, else an empty one."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)
