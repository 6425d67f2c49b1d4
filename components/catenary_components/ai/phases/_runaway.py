"""Replies that would not come to their end: one text again and again, or thoughts and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catenary_components.ai.models.types import Piece, Reply
    from catenary_components.ai.options.loop import LoopOptions

CONTENT_LOOP: Final = "content_loop"
"""The finish reason of a reply that said the same again and again; one copy of it is kept."""

THINKING_ONLY: Final = "thinking_only"
"""The finish reason of a reply that was cut because there was nothing but thoughts in it."""

_SHORTEST: Final = 24
_LONGEST: Final = 240
_EVERY: Final = 200
_SEPARATOR: Final = 4
_DIFFERENT_SIGNS: Final = 4


class Runaway:
    """Watches one reply, and says when it is to be cut.

    Args:
        copies: So many copies of one text in a row are too many; 0 for any number.
        most_thoughts: So many characters of thoughts before anything else are too many; 0 for any number.

    Attributes:
        reason: Why the reply was cut; empty when it was not.
        left_out: Characters that are not kept.
    """

    def __init__(self, copies: int, most_thoughts: int) -> None:
        self._copies = copies
        self._most_thoughts = most_thoughts
        self._end = ""
        self._unseen = 0
        self._thoughts = 0
        self._says_something = False
        self.reason = ""
        self.left_out = 0

    def cuts(self, piece: Piece) -> bool:
        """Take in a piece. Returns: whether the reply is to end with it."""
        if piece.tool_calls or piece.content.strip():
            self._says_something = True
        self._thoughts += len(piece.reasoning)
        if self._most_thoughts and self._thoughts >= self._most_thoughts and not self._says_something:
            self.reason = THINKING_ONLY
        elif self._copies and piece.content and self._repeats(piece.content):
            self.reason = CONTENT_LOOP
        return bool(self.reason)

    def _repeats(self, content: str) -> bool:
        self._end = (self._end + content)[-self._copies * _LONGEST :]
        self._unseen += len(content)
        if self._unseen < _EVERY:
            return False
        self._unseen = 0
        return bool(_length_of_copy(self._end, self._copies))

    def settled(self, reply: Reply) -> Reply:
        """Give a reply that has ended as it counts: of copies one is kept. One that calls tools is left as it is."""
        if reply.tool_calls:
            return reply
        content = _with_one_copy(reply.content, self._copies) if self._copies else reply.content
        if content != reply.content:
            self.reason, self.left_out = CONTENT_LOOP, len(reply.content) - len(content)
        return replace(reply, content=content, finish_reason=self.reason) if self.reason else reply


def runaway_of(loop: LoopOptions) -> Runaway | None:
    """Give what watches a reply; `None` when nothing is to be watched for."""
    if not loop.same_text and not loop.max_thoughts:
        return None
    return Runaway(loop.same_text, loop.max_thoughts)


def _length_of_copy(text: str, copies: int) -> int:
    """Give the length of what a text ends with so many times, signs between copies included; 0 if there is no such.

    Lines and rows of blanks are none: there are some different signs in what is said.
    """
    for length in range(_SHORTEST, min(_LONGEST, (len(text) + _SEPARATOR) // copies) + 1):
        end = text[_SEPARATOR - length * copies :]
        if end[length:] == end[:-length] and len(set(end[:length])) >= _DIFFERENT_SIGNS:
            return length
    return 0


def _with_one_copy(text: str, copies: int) -> str:
    length = _length_of_copy(text, copies)
    if not length:
        return text
    start = len(text) - length
    while start and text[start - 1] == text[start - 1 + length]:
        start -= 1
    return text[: start + length].rstrip()
