"""The guard before each request: every call has its result behind it, and every result its call before it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from catenary_components.ai.messages import ChatMessage, TextPart, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NO_RESULT: Final = "Error: the call was interrupted, and its result is not known."
"""Stands where the result of a call is missing."""


def paired(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """Give a conversation as services accept it: behind a message with calls come their results, one each.

    A result that stands elsewhere after its call is moved to it, one without a call and a second one are left out, and
    a call without a result gets one that says so. Ids need be unique only among the calls that are open at a time.
    A conversation in which all is well is given as it is.
    """
    return messages if _is_paired(messages) else list(_mended(messages))


def _is_paired(messages: Sequence[ChatMessage]) -> bool:
    """Tell whether nothing is to be done, in one look at each message."""
    waiting: set[str] = set()
    for message in messages:
        if message.role == "tool":
            for result in message.results:
                if result.call_id not in waiting:
                    return False
                waiting.remove(result.call_id)
        elif waiting:
            return False
        elif message.role == "assistant":
            calls = message.tool_calls
            waiting = {call.id for call in calls}
            if len(waiting) != len(calls):
                return False
    return not waiting


def _mended(messages: Sequence[ChatMessage]) -> Iterable[ChatMessage]:
    taken: set[int] = set()
    for place, message in enumerate(messages):
        if message.role == "tool":
            continue
        if message.role != "assistant" or not message.tool_calls:
            yield message
            continue
        calls = _told_apart(message.tool_calls)
        others = tuple(block for block in message.blocks if not isinstance(block, ToolCall))
        yield replace(message, blocks=(*others, *calls))
        for call, said in zip(calls, message.tool_calls, strict=True):
            result = _result_of(said.id, messages, place, taken)
            yield ChatMessage("tool", (replace(result or _missing(call), call_id=call.id),))


def _told_apart(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Give calls with ids of their own."""
    seen: set[str] = set()
    apart: list[ToolCall] = []
    for number, call in enumerate(calls, 1):
        call_id = f"{call.id}_{number}" if call.id in seen else call.id
        seen.add(call_id)
        apart.append(call if call_id == call.id else replace(call, id=call_id))
    return apart


def _result_of(call_id: str, messages: Sequence[ChatMessage], place: int, taken: set[int]) -> ToolResult | None:
    """Find the next result of a call that no other call has, before the id is used anew."""
    for later in messages[place + 1 :]:
        if later.role == "assistant" and any(call.id == call_id for call in later.tool_calls):
            return None
        for result in later.results:
            if result.call_id == call_id and id(result) not in taken:
                taken.add(id(result))
                return result
    return None


def _missing(call: ToolCall) -> ToolResult:
    return ToolResult(call.id, call.name, (TextPart(NO_RESULT),), "interrupted")
