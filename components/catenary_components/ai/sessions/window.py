"""Which messages of a session the model sees, and how many are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from catenary_components.ai.messages import pending_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary_components.ai.messages import ChatMessage

SUMMARY_NAME: Final = "__compaction_summary__"
"""The name of the message that a shortened conversation begins with."""

MOST_KEPT: Final = 2000
_USUAL_WINDOW: Final = 128_000


@dataclass(frozen=True, slots=True)
class Window:
    """Which messages of a session the model sees; the others are kept.

    A summary of what was before is always seen, and nothing before it. No result is seen without its call.

    Attributes:
        runs: How many of the last runs; 0 for all. A run begins with what a user says.
        messages: How many of the last messages at most; 0 for all.
        most_kept: How many messages a session keeps; of more, the oldest go.
    """

    runs: int = 0
    messages: int = 0
    most_kept: int = MOST_KEPT

    def split(
        self, messages: Sequence[ChatMessage], *, sees_history: bool = True
    ) -> tuple[list[ChatMessage], list[ChatMessage]]:
        """Give the messages that the model does not see, and those that it sees.

        Args:
            messages: The whole conversation.
            sees_history: False for none but what waits for an answer.
        """
        place = _last_summary(messages)
        begin = max(self._start(messages, sees_history=sees_history), place + 1)
        summary = messages[place : place + 1] if place >= 0 and sees_history else ()
        return list(messages[:begin]), [*summary, *messages[begin:]]

    def joined(self, hidden: Sequence[ChatMessage], seen: Sequence[ChatMessage]) -> list[ChatMessage]:
        """Give the whole conversation again, in its order and with one summary at most, cut to what is kept."""
        place = _last_summary(hidden)
        if place >= 0 and seen and seen[0] is hidden[place]:
            seen = seen[1:]
        elif _last_summary(seen) >= 0:
            hidden = [message for message in hidden if message.name != SUMMARY_NAME]
        whole = [*hidden, *seen]
        return whole if len(whole) <= self.most_kept else whole[_whole(whole, -self.most_kept) :]

    def _start(self, messages: Sequence[ChatMessage], *, sees_history: bool) -> int:
        starts = run_starts(messages)
        begin = 0 if sees_history else len(messages)
        if self.runs and len(starts) >= self.runs:
            begin = max(begin, starts[-self.runs])
        if self.messages:
            begin = max(begin, _whole(messages, -self.messages))
        is_paused = bool(pending_calls(list(messages)))
        return min(begin, starts[-1] if starts else 0) if is_paused else begin


def messages_for(context_window: int) -> int:
    """Give how many messages a window of so many tokens has room for: 200 tokens each in 70 % of it, from 20 to 500.

    Args:
        context_window: Tokens; 0 when nobody knows, which counts as 128000.
    """
    return min(max(int((context_window or _USUAL_WINDOW) * 0.7) // 200, 20), 500)


def run_starts(messages: Sequence[ChatMessage]) -> list[int]:
    """Give the places at which a user begins to speak."""
    return [
        place
        for place, message in enumerate(messages)
        if is_said(message) and (place == 0 or not is_said(messages[place - 1]))
    ]


def is_said(message: ChatMessage) -> bool:
    """Whether a user has said it: summaries and reminders are not."""
    return message.role == "user" and message.name != SUMMARY_NAME and "synthetic" not in message.metadata


def _whole(messages: Sequence[ChatMessage], begin: int) -> int:
    """Give the first place from `begin` on that is no result of a call before it."""
    place = max(len(messages) + begin, 0)
    while place < len(messages) and messages[place].role == "tool":
        place += 1
    return place


def _last_summary(messages: Sequence[ChatMessage]) -> int:
    return next((n for n in range(len(messages) - 1, -1, -1) if messages[n].name == SUMMARY_NAME), -1)
