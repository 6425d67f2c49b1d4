"""Replies as a service writes them that speaks Anthropic's messages format: one object, or a stream of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.jsontext import Json, dumps, loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.testing.replies import Reply

SIGNATURE = "signed"
"""The signature of all thoughts."""

_FRAGMENT = 8  # characters of a call's input in one event
_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def message(reply: Reply, *, model: str, number: int) -> Json:
    """Give the object of an answer that is no stream."""
    head = _head(model, number)
    blocks = [_whole(block) for block in _blocks(reply, number)]
    return {**head, "content": blocks, "stop_reason": _reason(reply), "usage": {**head["usage"], **_written(reply)}}


def message_events(reply: Reply, *, model: str, number: int) -> Iterator[bytes]:
    """Give the events of a streamed answer, each as its bytes."""
    yield _event("message_start", {"message": {**_head(model, number), "content": [], "stop_reason": None}})
    yield _event("ping", {})
    for index, block in enumerate(_blocks(reply, number)):
        yield _event("content_block_start", {"index": index, "content_block": _empty(block)})
        for delta in _deltas(reply, block):
            yield _event("content_block_delta", {"index": index, "delta": delta})
        yield _event("content_block_stop", {"index": index})
    if reply.error_event is not None:
        yield _event("error", {"error": reply.error_event})
        return
    yield _event("message_delta", {"delta": {"stop_reason": _reason(reply)}, "usage": _written(reply)})
    if reply.done:
        yield _event("message_stop", {})


def _blocks(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    if reply.reasoning:
        yield {"type": "thinking", "thinking": reply.reasoning, "signature": SIGNATURE}
    if reply.full_text:
        yield {"type": "text", "text": reply.full_text}
    for index, call in enumerate(reply.tool_calls):
        call_id = call.id or f"toolu_{number}_{index + 1}"
        yield {"type": "tool_use", "id": call_id, "name": call.name, "input": call.arguments_text}


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "input": loads(block["input"] or "{}")} if block["type"] == "tool_use" else block


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "thinking": {"thinking": "", "signature": ""},
        "text": {"text": ""},
        "tool_use": {"input": {}},
    }
    return {**block, **empty[block["type"]]}


def _deltas(reply: Reply, block: dict[str, Any]) -> Iterator[dict[str, Json]]:
    match block["type"]:
        case "thinking":
            yield {"type": "thinking_delta", "thinking": block["thinking"]}
            yield {"type": "signature_delta", "signature": SIGNATURE}
        case "text":
            for piece in reply.text_pieces:
                yield {"type": "text_delta", "text": piece}
        case _:
            text = block["input"]
            for start in range(0, len(text), _FRAGMENT):
                yield {"type": "input_json_delta", "partial_json": text[start : start + _FRAGMENT]}


def _head(model: str, number: int) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "usage": usage}


def _written(reply: Reply) -> dict[str, Any]:
    if reply.usage is not None:
        return dict(reply.usage)
    return {"output_tokens": max(len(reply.text_pieces) + len(reply.tool_calls), 1)}


def _reason(reply: Reply) -> str:
    return _REASONS.get(reply.finish, reply.finish)


def _event(kind: str, value: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {dumps({'type': kind, **value})}\n\n".encode()
