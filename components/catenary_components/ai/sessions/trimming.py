"""What a model sees of older tools and pictures: less than the session keeps, so that requests stay short."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from catenary_components.ai.messages import (
    AudioPart,
    DataPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from catenary_components.ai.sessions.window import SUMMARY_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary_components.ai.messages import Block, ChatMessage, MediaPart

TOOL_ROUNDS: Final = 5
MEDIA_MESSAGES: Final = 4
_NAMES: Final = ((ImagePart, "a picture"), (AudioPart, "a sound"), (DataPart, "a file"))


class _Stand(NamedTuple):
    """A message that the model sees, what stands for it in the session, and what was left out just before it."""

    shown: ChatMessage
    original: ChatMessage
    before: tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Messages as the model sees them, and how the session has them.

    Attributes:
        seen: What the model sees.
    """

    seen: list[ChatMessage]
    _stands: dict[str, list[_Stand]] = field(default_factory=dict[str, "list[_Stand]"])

    def restored(self, messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[ChatMessage]]:
        """Give messages that come from `seen` as the session has them.

        Returns: what was left out before messages that are gone since, and the messages with all else put back.
        """
        if not self._stands:
            return [], list(messages)
        left = {name: deque(stands) for name, stands in self._stands.items()}
        whole: list[ChatMessage] = []
        for message in messages:
            stands = left.get(message.id)
            if not stands:
                whole.append(message)
                continue
            stand = stands.popleft()
            whole += stand.before
            whole.append(stand.original if message is stand.shown else message)
        return [one for stands in left.values() for stand in stands for one in stand.before], whole

    def with_more(self, left_out: Sequence[ChatMessage], place: ChatMessage | None) -> Trimmed:
        """Give the same with more messages that are left out, before a message that is seen, or before all."""
        where = place or (self.seen[0] if self.seen else None)
        if where is None:
            return self
        stands = dict(self._stands)
        first, *others = stands.get(where.id) or [_Stand(where, where, ())]
        stands[where.id] = [first._replace(before=(*first.before, *left_out)), *others]
        return Trimmed(self.seen, stands)


@dataclass(frozen=True, slots=True)
class Trimming:
    """How much of older tools and media the model sees.

    Attributes:
        tool_rounds: The last so many replies with calls are seen with their calls and results, older ones with their
            text alone; 0 for all.
        media_messages: Pictures, sounds and files are seen in the last so many messages, and noted in older ones; 0 for
            all.
    """

    tool_rounds: int = 0
    media_messages: int = 0

    def of(self, messages: Sequence[ChatMessage], until: int) -> Trimmed:
        """Give what the model sees.

        Args:
            messages: What the window leaves of the conversation.
            until: How many of them are from before; what comes after is seen as it is.
        """
        old = self._old_calls(messages[:until])
        border = until - self.media_messages if self.media_messages else 0
        seen: list[ChatMessage] = []
        stands: dict[str, list[_Stand]] = {}
        left_out: list[ChatMessage] = []
        for place, message in enumerate(messages):
            shown = _without_calls(message, old) if old and place < until else message
            if shown is None:
                left_out.append(message)
                continue
            shown = _without_media(shown) if place < border else shown
            if shown is not message or left_out:
                stands.setdefault(message.id, []).append(_Stand(shown, message, tuple(left_out)))
                left_out = []
            seen.append(shown)
        return Trimmed([*seen, *left_out], stands)

    def _old_calls(self, messages: Sequence[ChatMessage]) -> frozenset[str]:
        """Give the ids of the calls that are too old to be seen."""
        rounds = [message.tool_calls for message in messages if message.tool_calls] if self.tool_rounds else []
        kept = {call.id for calls in rounds[-self.tool_rounds :] for call in calls}
        return frozenset(call.id for calls in rounds[: -self.tool_rounds] for call in calls if call.id not in kept)


def _without_calls(message: ChatMessage, old: frozenset[str]) -> ChatMessage | None:
    """Give a message without old calls and their results; `None` when nothing is left to be seen."""
    if message.role == "assistant" and any(call.id in old for call in message.tool_calls):
        texts = tuple(block for block in message.blocks if not isinstance(block, (ToolCall, ThinkingPart)))
        return replace(message, blocks=texts) if texts else None
    if message.role == "tool" and any(result.call_id in old for result in message.results):
        rest = tuple(one for one in message.blocks if not (isinstance(one, ToolResult) and one.call_id in old))
        return replace(message, blocks=rest) if rest else None
    return message


def _without_media(message: ChatMessage) -> ChatMessage:
    if message.name == SUMMARY_NAME:
        return message
    blocks = tuple(map(_noted, message.blocks))
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _noted(block: Block) -> Block:
    if isinstance(block, ToolResult):
        parts: tuple[MediaPart, ...] = tuple(map(_note_of, block.parts))
        return block if parts == block.parts else replace(block, parts=parts)
    return _note_of(block) if isinstance(block, (ImagePart, AudioPart, DataPart)) else block


def _note_of(part: MediaPart) -> MediaPart:
    """Give the note that stands for a medium."""
    for kind, name in _NAMES:
        if isinstance(part, kind):
            return TextPart(f"[{name} was here]")
    return part
