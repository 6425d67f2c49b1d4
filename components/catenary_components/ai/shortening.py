"""Ways to make a conversation shorter without a model, and where it may be cut. Nothing given is changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from catenary.jsontext import dumps, loads
from catenary_components.ai.estimate import tokens_of_text
from catenary_components.ai.messages import TextPart, ToolCall, ToolResult
from catenary_components.ai.sessions.window import SUMMARY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.messages import Block, ChatMessage

PREVIEW: Final = 2000
PROTECTED_TOKENS: Final = 40_000
LEAST_WON: Final = 20_000
NEVER_PRUNED: Final = frozenset({"read", "read_file", "memory_search", "memory_get", "session_search"})

ARGUMENTS_MESSAGES: Final = 25
ARGUMENTS_TOKENS: Final = 40_000
ARGUMENTS_KEPT_MESSAGES: Final = 20
LONG_ARGUMENT: Final = 2000
_ARGUMENT_HEAD: Final = 20


def pruned(
    messages: Sequence[ChatMessage], size: Callable[[ChatMessage], int], *, protected: int, least: int
) -> list[ChatMessage]:
    """Give the messages with long results of tools cut to their beginning.

    Args:
        messages: The conversation.
        size: Estimates the tokens of a message.
        protected: The newest messages with so many tokens stay as they are.
        least: How many tokens have to be won; with less, all stays as it is.
    """
    behind, won = 0, 0
    made = list(messages)
    for place in range(len(made) - 1, -1, -1):
        message = made[place]
        if behind >= protected and message.role == "tool":
            made[place] = _with_blocks(message, tuple(map(_pruned_block, message.blocks)))
            won += _text_tokens(message) - _text_tokens(made[place])
        behind += size(message)
    return made if won > 0 and won >= least else list(messages)


def with_short_arguments(messages: Sequence[ChatMessage], kept: int = ARGUMENTS_KEPT_MESSAGES) -> list[ChatMessage]:
    """Give the messages, all but the last `kept`, with long texts in arguments of calls cut."""
    border = len(messages) - kept
    return [
        _with_blocks(message, tuple(map(_short_call, message.blocks))) if place < border else message
        for place, message in enumerate(messages)
    ]


def cut_place(
    messages: Sequence[ChatMessage], size: Callable[[ChatMessage], int], *, keep_messages: int, keep_tokens: int
) -> int:
    """Give the place before which a conversation is cut: no call is separated from its result.

    Args:
        messages: The conversation.
        size: Estimates the tokens of a message.
        keep_messages: How many of the last messages stay.
        keep_tokens: How many tokens those may have, but for the last one; 0 for any number.
    """
    place = max(len(messages) - keep_messages, 0)
    if keep_tokens and keep_messages:
        kept = 0
        for newest in range(len(messages) - 1, place - 1, -1):
            kept += size(messages[newest])
            if kept > keep_tokens and newest < len(messages) - 1:
                place = newest + 1
                break
    while 0 < place < len(messages) and messages[place].role == "tool":
        place -= 1
    return place


def is_summary(message: ChatMessage) -> bool:
    """Whether the message is what a conversation that was made shorter begins with."""
    return message.name == SUMMARY_NAME and message.role == "user"


def _with_blocks(message: ChatMessage, blocks: tuple[Block, ...]) -> ChatMessage:
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _text_tokens(message: ChatMessage) -> int:
    return sum(tokens_of_text(result.text) for result in message.results)


def _pruned_block(block: Block) -> Block:
    if not isinstance(block, ToolResult) or block.name in NEVER_PRUNED or "pruned" in block.metadata:
        return block
    text = block.text
    if len(text) <= PREVIEW:
        return block
    shown = f"{text[:PREVIEW]}\n... ({len(text) - PREVIEW} of {len(text)} characters were left out since)"
    others = tuple(part for part in block.parts if not isinstance(part, TextPart))
    metadata = {**block.metadata, "pruned": True}
    return replace(block, parts=(TextPart(shown), *others), metadata=metadata)


def _short_call(block: Block) -> Block:
    if not isinstance(block, ToolCall) or len(block.arguments) <= LONG_ARGUMENT:
        return block
    try:
        arguments: Json = loads(block.arguments)
    except (ValueError, RecursionError):
        return block
    if not isinstance(arguments, dict):
        return block
    given = cast("dict[str, Json]", arguments)
    return replace(block, arguments=dumps({name: _short_value(value) for name, value in given.items()}))


def _short_value(value: Json) -> Json:
    text = value if isinstance(value, str) else dumps(value)
    if len(text) <= LONG_ARGUMENT:
        return value
    return f"{text[:_ARGUMENT_HEAD]}... ({len(text)} characters, left out since)"
