"""Put a reply together from its streamed pieces."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from catenary.jsontext import loads
from catenary_components.ai.messages import ToolCall, Usage
from catenary_components.ai.models.types import Reply

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.messages import ThinkingPart
    from catenary_components.ai.models.types import CallPiece, Piece

CUT_OFF = "cutOff"
"""In the metadata of a call whose arguments end too soon, because the reply was as long as it may be."""


@dataclass(slots=True)
class OpenCall:
    """A call that is still being written.

    Attributes:
        id: Its id, which no other call of the reply has; empty until it has a name.
        said_id: The id that the service gave.
        name: The tool; empty until it is known.
        arguments: The pieces of its arguments so far.
        metadata: What the provider wants back with the call.
    """

    id: str = ""
    said_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    metadata: Mapping[str, Json] = field(default_factory=dict[str, "Json"])


class ReplyBuilder:
    """Collects the pieces of one streamed reply.

    Fragments of tool calls are joined by their index. A service that leaves the index out is understood too: a
    fragment with an id not seen before, or with a name after a named one, opens a call; others go on with the last.
    """

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, OpenCall] = {}
        self._last_index = -1
        self._finish_reason = ""
        self._usage = Usage()
        self._cost: float | None = None
        self._model = ""
        self._id = ""
        self._thoughts: list[ThinkingPart] = []

    def add(self, piece: Piece) -> list[OpenCall]:
        """Take in the next piece; of several usages the last one counts.

        Returns: the call that each fragment in it belongs to.
        """
        self._content.append(piece.content)
        self._reasoning.append(piece.reasoning)
        calls = [self._add_call(fragment) for fragment in piece.tool_calls] if piece.tool_calls else []
        if piece.thought is not None:
            self._thoughts.append(piece.thought)
        self._finish_reason = piece.finish_reason or self._finish_reason
        self._model = piece.model or self._model
        self._id = piece.id or self._id
        if piece.usage is not None:
            self._usage, self._cost = piece.usage, piece.cost
        return calls

    def _add_call(self, fragment: CallPiece) -> OpenCall:
        index = self._index_of(fragment)
        self._last_index = index
        call = self._calls.setdefault(index, OpenCall())
        call.said_id = call.said_id or fragment.id
        call.name = call.name or fragment.name
        if call.name and not call.id:
            taken = {other.id for other in self._calls.values()}
            call.id = _own_id(call.said_id, taken, len(self._calls))
        call.arguments.append(fragment.arguments)
        call.metadata = fragment.metadata or call.metadata
        return call

    def _index_of(self, fragment: CallPiece) -> int:
        if fragment.index is not None:
            return fragment.index
        last = self._calls.get(self._last_index)
        if last is None:
            return 0
        if fragment.id:
            known = next((index for index, call in self._calls.items() if call.said_id == fragment.id), None)
            return max(self._calls) + 1 if known is None else known
        return max(self._calls) + 1 if fragment.name and last.name else self._last_index

    def reply_without_calls(self) -> Reply:
        """Give the reply as it is so far, but none of the calls, which may lack a part of their arguments."""
        self._calls = {}
        return self.reply()

    def reply(self) -> Reply:
        """Give the reply as it is so far."""
        return Reply(
            content="".join(self._content),
            reasoning="".join(self._reasoning),
            tool_calls=named_calls(
                (
                    ToolCall(call.id or call.said_id, call.name, "".join(call.arguments), metadata=call.metadata)
                    for _, call in sorted(self._calls.items())
                ),
                cut_off=self._finish_reason == "length",
            ),
            finish_reason=self._finish_reason,
            usage=self._usage,
            thoughts=tuple(self._thoughts),
            model=self._model,
            cost=self._cost,
            id=self._id,
        )


def named_calls(calls: Iterable[ToolCall], *, cut_off: bool = False) -> tuple[ToolCall, ...]:
    """Give calls of one reply, each with an id of its own, for the result of a call is found by its id.

    A call without name and arguments is none: some services fill up a list with such.

    Args:
        calls: The calls as the service gave them.
        cut_off: Whether the reply ended because it was as long as it may be; a call that is no JSON then is marked.
    """
    seen: set[str] = set()
    named: list[ToolCall] = []
    for number, call in enumerate((call for call in calls if call.name or call.arguments), 1):
        call_id = _own_id(call.id, seen, number)
        seen.add(call_id)
        marks = {**call.metadata, CUT_OFF: True} if cut_off and not _is_json(call.arguments) else call.metadata
        named.append(ToolCall(call_id, call.name, call.arguments, metadata=marks))
    return tuple(named)


def _own_id(said: str, taken: Container[str], number: int) -> str:
    return said if said and said not in taken else f"call_{number}_{uuid.uuid4().hex[:8]}"


def _is_json(text: str) -> bool:
    try:
        loads(text)
    except ValueError:
        return False
    return True
