"""How messages go into scripts and results come out, the same for all engines: as JSON text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, cast

from catenary.jsontext import dumps, loads, loads_small
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
    payload, kind, raw_bytes = message.text, AS_TEXT, ""
    if data_type == JSON:
        kind = json_kind
    elif data_type == BINARY:
        kind, raw_bytes = AS_BYTES, _byte_list(message.data)
    message_type, metadata = message.type, message.metadata
    return (
        kind,
        payload if payload.isascii() else encodable(payload),
        raw_bytes,
        _metadata_text(metadata) if metadata else "{}",
        message_type if message_type.isascii() else encodable(message_type),
        data_type if data_type.isascii() else encodable(data_type),
    )


def encodable(text: str) -> str:
    """Give a text that UTF-8 can hold: an engine would take any other for nothing at all."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


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


def _metadata_text(metadata: Metadata) -> str:
    texts = {key: value if value.__class__ is str else metadata_text(value) for key, value in metadata.items()}
    text = dumps(texts)
    return text if text.isascii() else encodable(text)


def _byte_list(data: str | bytes) -> str:
    return dumps(list(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data))
