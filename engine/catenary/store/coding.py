"""How the record of a run is written as text, and read again exactly. A message is written once in each piece."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from catenary.jsontext import Json, dumps_in_order, loads
from catenary.message import Message
from catenary.reasons import reason_of
from catenary.recording import Visit
from catenary.relation import LATE, NodeFailure
from catenary.runtime.ends import NOTHING, End

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.recording import RunRecord


# Not null: a text with a null is written slowly, for it may stand for a number that is none.
_OPEN: Final = -1
_NO_ERROR: Final = 0
_LATE: Final = 2


def to_text(value: Json) -> str:
    """Write a value as compact JSON. What JSON has no form for is written as Python shows it."""
    try:
        text = dumps_in_order(value)
        if not text.isascii():
            text.encode()  # half of a surrogate pair cannot be stored as it is
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(value, default=repr, separators=(",", ":"))
    return text


def from_text(text: str) -> Json:
    """Read what `to_text` wrote. Raises: ValueError: when it is damaged."""
    try:
        return loads(text)
    except ValueError:  # NaN, or half of a surrogate pair
        return json.loads(text)


def write_piece(record: RunRecord, visits: Iterable[Visit]) -> str:
    """Write visits of a run, and what is known of its beginning and its ends."""
    messages = _Messages()
    piece: dict[str, Json] = {
        "message": messages.add(record.message),
        "visits": [_visit_out(visit, messages) for visit in visits],
        "ends": [_end_out(end, messages) for end in record.ends],
    }
    piece["messages"] = messages.written
    return to_text(piece)


def read_piece(text: str) -> tuple[Message, list[Visit], list[End]]:
    """Read a piece: the message the run began with, visits, and ends. Raises: ValueError: when it is damaged."""
    try:
        piece = from_text(text)
        messages: list[Message] = [_message_in(parts) for parts in piece["messages"]]
        visits = [_visit_in(parts, messages) for parts in piece["visits"]]
        return messages[int(piece["message"])], visits, [_end_in(parts, messages) for parts in piece["ends"]]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"the record is damaged: {error!r}") from error


class _Messages:
    """The messages of a piece, each under a number."""

    def __init__(self) -> None:
        self.written: list[Json] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Message] = []  # what is not kept could give its identity to another one

    def add(self, message: Message) -> int:
        """Give the number of a message."""
        number = self._numbers.get(id(message))
        if number is None:
            number = self._numbers[id(message)] = len(self.written)
            self._kept.append(message)
            self.written.append(_message_out(message))
        return number


def _message_out(message: Message) -> list[Json]:
    try:
        data: Json = message.data
    except (TypeError, ValueError, RecursionError):
        data = message.writable().data
    if isinstance(data, bytes):
        data = {"hex": data.hex()}
    return [data, message.type, message.data_type, dict(message.metadata), message.id, message.ts]


def _message_in(parts: list[Json]) -> Message:
    data: Any
    data, kind, data_type, metadata, name, ts = parts
    return Message(data if isinstance(data, str) else bytes.fromhex(data["hex"]), kind, data_type, metadata, name, ts)


def _visit_out(visit: Visit, messages: _Messages) -> list[Json]:
    return [
        visit.number,
        visit.parent,
        visit.chain_id,
        visit.chain_version,
        visit.node_id,
        visit.node_type,
        str(visit.relation),
        visit.sender,
        messages.add(visit.message),
        [[str(relation), messages.add(message)] for relation, message in visit.sent],
        visit.error,
        visit.started_ms,
        _OPEN if visit.duration_s is None else visit.duration_s,
        [[name, dict(data)] for name, data in visit.items],
    ]


def _visit_in(parts: list[Json], messages: list[Message]) -> Visit:
    number, parent, chain, version, node, kind, relation, sender, message, sent, error, started, took, items = parts
    return Visit(
        number=number,
        parent=parent,
        chain_id=chain,
        chain_version=version,
        node_id=node,
        node_type=kind,
        relation=relation,
        sender=sender,
        message=messages[int(message)],
        sent=[(by, messages[int(one)]) for by, one in sent],
        error=error,
        started_ms=started,
        duration_s=None if took == _OPEN else took,
        items=[(name, data) for name, data in items],
    )


def _end_out(end: End, messages: _Messages) -> list[Json]:
    error = _NO_ERROR if end.error is None else reason_of(end.error)
    kind = _LATE if end.is_late else end.is_silent
    return [end.node_id, str(end.relation), messages.add(end.message), error, end.gated, kind]


def _end_in(parts: list[Json], messages: list[Message]) -> End:
    node_id, relation, message, error, gated, kind = parts
    cause = None if error == _NO_ERROR else NodeFailure(error)
    way = LATE if kind == _LATE else NOTHING if kind else relation
    return End(node_id, way, messages[int(message)], cause, gated)
