"""How many tokens something has, without asking the model: too many rather than too few."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from catenary.jsontext import dumps
from catenary_components.ai.messages import TextPart, ThinkingPart, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary_components.ai.messages import Block, ChatMessage
    from catenary_components.ai.models.types import ToolSpec

_ASCII, _OTHER, _WHOLE = 6, 10, 15
"""What a character counts as, in fifteenths of a token: in ASCII, in another alphabet, in East Asia or as a picture."""

_EAST_ASIAN: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
_MESSAGE: Final = 5
_CALL: Final = 10
_RESULT: Final = 8
_TOOL: Final = 12
_MEDIUM: Final = 85
"""What a picture counts as, and any other medium."""


def tokens_of_text(text: str) -> int:
    """Estimate the tokens of a text."""
    size = len(text)
    if text.isascii():
        return -(-size * _ASCII // _WHOLE)
    whole = len(_EAST_ASIAN.findall(text))
    other = size - whole - len(text.encode("ascii", "ignore"))
    return -(-(whole * _WHOLE + other * _OTHER + (size - whole - other) * _ASCII) // _WHOLE)


def tokens_of_tools(tools: Iterable[ToolSpec]) -> int:
    """Estimate the tokens of what a model is told about tools."""
    told = (f"{tool.name}{tool.description}{dumps(dict(tool.parameters))}" for tool in tools)
    return sum(_TOOL + tokens_of_text(text) for text in told)


def tokens_of(message: ChatMessage) -> int:
    """Estimate the tokens of a message with all that belongs to it."""
    return _MESSAGE + sum(map(_tokens_of_block, message.blocks))


def _tokens_of_block(block: Block) -> int:
    match block:
        case TextPart() | ThinkingPart():
            return tokens_of_text(block.text)
        case ToolCall():
            return _CALL + tokens_of_text(block.name + block.arguments)
        case ToolResult():
            return _RESULT + sum(map(_tokens_of_block, block.parts))
        case _:
            return _MEDIUM


class Sizes:
    """The estimates of one conversation, each made once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[ChatMessage, int]] = {}

    def of(self, message: ChatMessage) -> int:
        """Give the tokens of a message."""
        known = self._known.get(message.id)
        if known is None or known[0] is not message:
            known = self._known[message.id] = (message, tokens_of(message))
        return known[1]
