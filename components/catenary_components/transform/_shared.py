"""Results of expressions as payloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from catenary.expr import json_text, text_of
from catenary.jsontext import loads
from catenary.message import JSON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary import Message
    from catenary.jsontext import Json

ALWAYS_JSON: Final = frozenset((str, int, bool, type(None)))
"""The kinds of values that are JSON whatever they hold."""

_LARGE: Final = 1e21  # from here on JSON writes an exponent


def with_payload(msg: Message, value: Json) -> Message:
    """Give a message with a result as its payload, in text form; the data type stays.

    Raises:
        ValueError, EvaluationError: When a list or map holds what JSON cannot.
    """
    if isinstance(value, dict | list) and msg.data_type == JSON:
        return msg.with_data(_json_value(value))  # written as text only when somebody asks for it
    return msg.with_data(text_of(value))


def json_value(value: Json, key: str) -> Json:
    """Give a result as JSON holds it: whole floats as integers, times as text.

    It is checked where the input is at hand, and not when somebody reads the payload.

    Raises:
        ValueError: When JSON cannot hold it; the text names the key of the mapping.
    """
    if value.__class__ is float and -_LARGE < value < _LARGE:
        return int(value) if value.is_integer() else value
    try:
        return _json_value(value)
    except Exception as error:
        raise ValueError(f"mapping {key!r}: {error}") from error


def _json_value(value: Json) -> Json:
    if value.__class__ in ALWAYS_JSON:
        return value
    if isinstance(value, float) and abs(value) < _LARGE:
        return int(value) if value.is_integer() else value
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in cast("Sequence[Json]", value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in cast("Mapping[Json, Json]", value)):
        return {key: _json_value(item) for key, item in cast("Mapping[str, Json]", value).items()}
    return loads(json_text(value))
