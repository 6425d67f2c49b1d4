"""Put a reply together from its streamed pieces."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from catenary_components.ai.models.types import Reply, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary_components.ai.models.types import CallPiece, Piece


@dataclass(slots=True)
class _OpenCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])


class ReplyBuilder:
    """Collects the pieces of one streamed reply.

    Fragments of tool calls are joined by their index. A service that leaves the index out is understood too: a
    fragment with an id not seen before, or with a name after a named one, opens a call; others go on with the last.
    """

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _OpenCall] = {}
        self._last_index = -1
        self._finish_reason = ""
        self._usage = Usage()

    def add(self, piece: Piece) -> None:
        """Take in the next piece."""
        self._content.append(piece.content)
        self._reasoning.append(piece.reasoning)
        for fragment in piece.tool_calls:
            self._add_call(fragment)
        self._finish_reason = piece.finish_reason or self._finish_reason
        self._usage = piece.usage or self._usage

    def _add_call(self, fragment: CallPiece) -> None:
        index = self._index_of(fragment)
        self._last_index = index
        call = self._calls.setdefault(index, _OpenCall())
        call.id = call.id or fragment.id
        call.name = call.name or fragment.name
        call.arguments.append(fragment.arguments)

    def _index_of(self, fragment: CallPiece) -> int:
        if fragment.index is not None:
            return fragment.index
        last = self._calls.get(self._last_index)
        if last is None:
            return 0
        if fragment.id:
            known = next((index for index, call in self._calls.items() if call.id == fragment.id), None)
            return max(self._calls) + 1 if known is None else known
        return max(self._calls) + 1 if fragment.name and last.name else self._last_index

    def reply(self) -> Reply:
        """Give the reply as it is so far."""
        return Reply(
            content="".join(self._content),
            reasoning="".join(self._reasoning),
            tool_calls=named_calls(
                ToolCall(call.id, call.name, "".join(call.arguments)) for _, call in sorted(self._calls.items())
            ),
            finish_reason=self._finish_reason,
            usage=self._usage,
        )


def named_calls(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Give calls of one reply, each with an id of its own, for the result of a call is found by its id.

    A call without name and arguments is none: some services fill up a list with such.
    """
    seen: set[str] = set()
    named: list[ToolCall] = []
    for number, call in enumerate((call for call in calls if call.name or call.arguments), 1):
        call_id = call.id if call.id and call.id not in seen else f"call_{number}_{uuid.uuid4().hex[:8]}"
        seen.add(call_id)
        named.append(ToolCall(call_id, call.name, call.arguments))
    return tuple(named)
