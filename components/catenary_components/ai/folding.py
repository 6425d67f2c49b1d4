"""Rounds of tools that repeat: of those with the same call, a model is sent the last two."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from catenary_components.ai.messages import ChatMessage, TextPart
from catenary_components.ai.tools.repetition import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEPT: Final = 2
_NOTICE: Final = "({count} earlier rounds with the same call are left out.)"


def folded(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Leave out repeated rounds: some services refuse a conversation that has them.

    A round is a message of the model with one call and nothing else, and its result. Rounds of several calls stay, and
    anything said in between ends a row of repeats. The first result that is kept tells how many are left out.
    """
    given: list[ChatMessage] = []
    place = 0
    while place < len(messages):
        rounds = _row(messages, place)
        if rounds > _KEPT:
            dropped = rounds - _KEPT
            kept = list(messages[place + 2 * dropped : place + 2 * rounds])
            kept[1] = _noted(kept[1], dropped)
            given += kept
        elif rounds:
            given += messages[place : place + 2 * rounds]
        else:
            given.append(messages[place])
        place += 2 * rounds or 1
    return given


def _row(messages: Sequence[ChatMessage], place: int) -> int:
    """Give how many rounds with the same call begin at a place."""
    key = _round(messages, place)
    count = 0
    while key and _round(messages, place + 2 * count) == key:
        count += 1
    return count


def _round(messages: Sequence[ChatMessage], place: int) -> str:
    """Give what the round at a place calls; empty when there is none."""
    if place + 1 >= len(messages):
        return ""
    said, result = messages[place], messages[place + 1]
    calls = said.tool_calls if said.role == "assistant" and not said.text else ()
    if len(calls) != 1 or [found.call_id for found in result.results] != [calls[0].id]:
        return ""
    return fingerprint(calls[0])


def _noted(message: ChatMessage, dropped: int) -> ChatMessage:
    """Put the notice before the text of a result, in the same part: not every service takes several."""
    result = message.results[0]
    first = result.parts[0] if result.parts else None
    notice = _NOTICE.format(count=dropped)
    if isinstance(first, TextPart):
        parts = (TextPart(f"{notice}\n{first.text}"), *result.parts[1:])
    else:
        parts = (TextPart(notice), *result.parts)
    return replace(message, blocks=(replace(result, parts=parts),))
