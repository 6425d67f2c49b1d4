"""How messages go into scripts and results come out, the same for all engines: as JSON text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, cast

from catenary.jsontext import dumps, encodable, loads, loads_small
from catenary.message import BINARY, JSON, metadata_text

if TYPE_CHECKING:
    from catenary.jsontext import Json
    from catenary.message import Message, Metadata

AS_JSON, AS_TEXT, AS_BYTES, AS_JSON_OR_TEXT = 0, 1, 2, 3
"""How a payload is read; `realm.js` has the same numbers."""

_LONE_SURROGATE = re.compile(r"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")
_LARGE = re.compile(r"[1-9][0-9]{15}")
_EXACT = 2**53


def arguments_of(message: Message, json_kind: int) -> tuple[int, str, str, str, str, str]:
    """Give what `enter` of a realm takes for a message: kind, payload, bytes, metadata, message type, data type."""
    data_type = message.data_type
    kind, raw_bytes = AS_TEXT, ""
    if data_type == JSON:
        kind = json_kind
    elif data_type == BINARY:
        kind, raw_bytes = AS_BYTES, _byte_list(message.data)
    payload, metadata, message_type = json_arguments(message, reads_metadata=True)
    return kind, payload, raw_bytes, metadata, message_type, encodable(data_type)


def json_arguments(message: Message, reads_metadata: bool) -> tuple[str, str, str]:
    """Give what the way to one script takes for a message: payload, metadata, message type.

    Args:
        message: The message.
        reads_metadata: False when the script cannot get hold of its metadata, which is then left out.
    """
    data = message.data
    payload = data if isinstance(data, str) else message.text
    message_type, metadata = message.type, message.metadata
    return (
        payload if payload.isascii() else encodable(payload),
        _metadata_text(metadata) if metadata and reads_metadata else "",
        message_type if message_type.isascii() else encodable(message_type),
    )


def parse(text: str) -> Json:
    """Read JSON that an engine wrote. Raises: ValueError, RecursionError: when it is nested too deeply."""
    try:
        return loads(text)
    except ValueError:  # half a surrogate pair, which JSON readers refuse
        return loads(_LONE_SURROGATE.sub(r"\1\\ufffd", text))


def result_of(text: str, message: Message) -> Json:
    """Read the result of a script, with the digits of large integers. Raises: as `parse`."""
    if _LARGE.search(text) is not None or "e+" in text:
        return restore_integers(parse(text), message)
    return _parse_small(text)


def finished_result_of(text: str, message: Message) -> Json:
    """Read what the finisher of a script wrote: a space in front tells of large numbers. Raises: as `parse`."""
    return restore_integers(parse(text), message) if text[0] == " " else _parse_small(text)


def _parse_small(text: str) -> Json:
    try:
        return loads_small(text)
    except ValueError:
        return parse(text)


def restore_integers(result: Json, message: Message) -> Json:
    """Give a result in which the large integers of the payload, where the script left them alone, have all digits.

    Inside a script an integer beyond 2^53 is the nearest number that JavaScript has. A number of the result that
    equals it gets the digits of the payload back. Where several integers are the same inside a script, the one with
    the same place counts, then the one with the same key; else the number stays as the script saw it.
    """
    exact: _Exact = {}
    if message.data_type != JSON:
        return result
    try:
        _collect(message.value, (), exact)
        return _restore(result, (), exact) if exact else result
    except RecursionError:  # nested too deeply to look into
        return result


_Path: TypeAlias = "tuple[str | int, ...]"
_Exact: TypeAlias = "dict[float, dict[_Path, int]]"


def _collect(value: Json, path: _Path, exact: _Exact) -> None:
    if isinstance(value, dict):
        for name, item in cast("dict[str, Json]", value).items():
            _collect(item, (*path, name), exact)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Json]", value)):
            _collect(item, (*path, index), exact)
    elif isinstance(value, int) and not -_EXACT < value < _EXACT:
        try:
            exact.setdefault(float(value), {})[path] = value
        except OverflowError:  # a script reads it as Infinity, which is no JSON any more
            return


def _restore(value: Json, path: _Path, exact: _Exact) -> Json:
    if isinstance(value, dict):
        items = cast("dict[str, Json]", value).items()
        return {name: _restore(item, (*path, name), exact) for name, item in items}
    if isinstance(value, list):
        return [_restore(item, (*path, index), exact) for index, item in enumerate(cast("list[Json]", value))]
    if isinstance(value, int | float) and not -_EXACT < value < _EXACT:
        return _exact_value(value, path, exact.get(float(value), {}))
    return value


def _exact_value(value: float, path: _Path, known: dict[_Path, int]) -> float:
    for start in range(len(path) + 1):
        if path[start:] in known:
            return known[path[start:]]
    fitting = {number for other, number in known.items() if other[-1:] == path[-1:]} or set(known.values())
    return next(iter(fitting)) if len(fitting) == 1 else value


class _Last:
    """The metadata that a script got last, and its text: the next script of the chain mostly gets the same."""

    seen: tuple[Metadata, str] = ({}, "")


def _metadata_text(metadata: Metadata) -> str:
    known, text = _Last.seen
    if known is metadata:
        return text
    are_texts = True
    for value in metadata.values():
        if value.__class__ is not str:
            are_texts = False
            break
    if not are_texts:
        return encodable(dumps({key: metadata_text(value) for key, value in metadata.items()}))
    text = encodable(dumps(dict(metadata)))
    _Last.seen = metadata, text
    return text


def _byte_list(data: str | bytes) -> str:
    return dumps(list(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data))
