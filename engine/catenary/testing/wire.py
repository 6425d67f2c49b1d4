"""Replies as an OpenAI-compatible service writes them: one object, or a stream of chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.jsontext import Json, dumps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.testing.replies import Reply

_FRAGMENT = 8  # characters of a tool call's arguments in one chunk


def completion(reply: Reply, *, model: str, number: int) -> Json:
    """Give the object of an answer that is no stream."""
    message: dict[str, Json] = {"role": "assistant", "content": reply.full_text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = _calls(reply, number)
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    answer = {**_head("chat.completion", model, number), "choices": [choice]}
    return {**answer, **_usage(reply)}


def events(reply: Reply, *, model: str, number: int, with_usage: bool) -> Iterator[bytes]:
    """Give the events of a streamed answer, each as its bytes."""
    head = _head("chat.completion.chunk", model, number)
    for delta in _deltas(reply, number):
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    if reply.error_event is not None:
        yield _event({"error": reply.error_event})
        return
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]})
    if with_usage and _usage(reply):
        yield _event({**head, "choices": [], **_usage(reply)})
    if reply.done:
        yield b"data: [DONE]\n\n"


def _deltas(reply: Reply, number: int) -> Iterator[dict[str, Json]]:
    yield {"role": "assistant", "content": ""}
    if reply.reasoning:
        yield {"reasoning_content": reply.reasoning}
    for piece in reply.text_pieces:
        yield {"content": piece}
    for index, call in enumerate(_calls(reply, number)):
        arguments = call["function"]["arguments"]
        opening = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield {"tool_calls": [opening]}
        for start in range(0, len(arguments), _FRAGMENT):
            fragment = arguments[start : start + _FRAGMENT]
            yield {"tool_calls": [{"index": index, "function": {"arguments": fragment}}]}


def _calls(reply: Reply, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id or f"call_{number}_{index + 1}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments_text},
        }
        for index, call in enumerate(reply.tool_calls)
    ]


def _head(kind: str, model: str, number: int) -> dict[str, Json]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_700_000_000 + number, "model": model}


def _usage(reply: Reply) -> dict[str, Json]:
    if reply.usage is not None:
        return {"usage": dict(reply.usage)} if reply.usage else {}
    written = max(len(reply.text_pieces) + len(reply.tool_calls), 1)
    return {"usage": {"prompt_tokens": 10, "completion_tokens": written, "total_tokens": 10 + written}}


def _event(value: Json) -> bytes:
    return f"data: {dumps(value)}\n\n".encode()
