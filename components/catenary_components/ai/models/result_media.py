"""Pictures and other media among the results of tools, for services that take only text there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary_components.ai.messages import TextPart, user_message
from catenary_components.ai.models.shown import shown_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catenary_components.ai.messages import ChatMessage, MediaPart, ToolResult
    from catenary_components.ai.models.registry import Profile


def result_text(result: ToolResult, profile: Profile) -> str:
    """Give a result as text; where another medium stands, the text says where it is shown."""
    parts = shown_parts(result.parts, profile)
    return "\n".join(part.text if isinstance(part, TextPart) else "[shown below]" for part in parts)


def media_behind(messages: Sequence[ChatMessage], place: int, profile: Profile) -> Iterable[ChatMessage]:
    """Give the message that shows the media of a row of results, if a row ends at this place and has some."""
    roles = [message.role for message in messages[place : place + 2]]
    if roles[0] != "tool" or roles[1:] == ["tool"]:
        return
    first = place
    while first and messages[first - 1].role == "tool":
        first -= 1
    shown: list[MediaPart] = []
    for result in (result for message in messages[first : place + 1] for result in message.results):
        media = [part for part in shown_parts(result.parts, profile) if not isinstance(part, TextPart)]
        if media:
            shown += [TextPart(f"[From the result of {result.name or 'the tool'}, call {result.call_id}:]"), *media]
    if shown:
        yield user_message(shown)
