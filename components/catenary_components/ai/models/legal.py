"""Names of tools and ids of calls as services accept them; what a model says comes back with the names there are."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from catenary_components.ai.messages import ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catenary_components.ai.messages import Block, ChatMessage
    from catenary_components.ai.models.types import ChatRequest, Piece, Reply

_LONGEST: Final = 64
_LEGAL: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LEGAL_OR_OWN: Final = re.compile(r"\$?[a-zA-Z0-9_-]{1,64}")
"""A name, or that of a tool of the service's own."""

_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_-]")
_UNNAMED: Final = "unnamed"


def legal_request(request: ChatRequest, *, with_ids: bool) -> tuple[ChatRequest, Mapping[str, str]]:
    """Give a request in which all names of tools can be sent, and the true names by those that are sent in their place.

    Args:
        request: The request; it is given back as it is when there is nothing to change in it.
        with_ids: Whether ids of calls have to be as names are.
    """
    offered = {tool.name for tool in request.tools}
    names = dict.fromkeys(
        name
        for name in _names(request)
        if not (_LEGAL if with_ids or name in offered else _LEGAL_OR_OWN).fullmatch(name)
    )
    if not names and not (with_ids and _has_odd_ids(request)):
        return request, {}
    sent = _sent_names(names, offered)
    tools = tuple(replace(tool, name=sent.get(tool.name, tool.name)) for tool in request.tools)
    messages = tuple(_legal_message(message, sent, with_ids=with_ids) for message in request.messages)
    choice = sent.get(request.tool_choice, request.tool_choice)
    return replace(request, tools=tools, messages=messages, tool_choice=choice), {new: old for old, new in sent.items()}


def _names(request: ChatRequest) -> Iterable[str]:
    for tool in request.tools:
        yield tool.name
    for message in request.messages:
        if message.role == "assistant":
            for call in message.tool_calls:
                yield call.name
        elif message.role == "tool":
            for result in message.results:
                if result.name:
                    yield result.name


def _has_odd_ids(request: ChatRequest) -> bool:
    return any(not _LEGAL.fullmatch(call.id) for message in request.messages for call in message.tool_calls)


def _sent_names(names: Iterable[str], taken: set[str]) -> dict[str, str]:
    sent: dict[str, str] = {}
    for name in names:
        base = new = _ILLEGAL.sub("_", name)[:_LONGEST] or _UNNAMED
        number = 1
        while new in taken:
            number += 1
            new = f"{base[: _LONGEST - 1 - len(str(number))]}_{number}"
        taken.add(new)
        sent[name] = new
    return sent


def _legal_message(message: ChatMessage, sent: Mapping[str, str], *, with_ids: bool) -> ChatMessage:
    if message.role not in ("assistant", "tool"):
        return message

    def legal(block: Block) -> Block:
        match block:
            case ToolCall():
                return replace(block, name=sent.get(block.name, block.name), id=_id(block.id, with_ids))
            case ToolResult():
                return replace(block, name=sent.get(block.name, block.name), call_id=_id(block.call_id, with_ids))
            case _:
                return block

    return replace(message, blocks=tuple(map(legal, message.blocks)))


def _id(given: str, is_changed: bool) -> str:
    if not is_changed or _LEGAL.fullmatch(given):
        return given
    return f"call_{hashlib.sha256(given.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def true_piece(piece: Piece, names: Mapping[str, str]) -> Piece:
    """Give a piece with the true names of tools."""
    calls = (replace(call, name=names.get(call.name, call.name)) for call in piece.tool_calls)
    return replace(piece, tool_calls=tuple(calls)) if piece.tool_calls else piece


def true_reply(reply: Reply, names: Mapping[str, str]) -> Reply:
    """Give a reply with the true names of tools."""
    calls = (replace(call, name=names.get(call.name, call.name)) for call in reply.tool_calls)
    return replace(reply, tool_calls=tuple(calls))
