"""What transforms share: options that may be blank, and results of expressions as payloads."""

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

MAX_ELEMENTS: Final = 2_000_000
"""Elements at all depths that a result may have."""

_LARGE: Final = 1e21  # from here on JSON writes an exponent


def blank_is_absent(value: Json) -> Json:
    """Read an option in which blank text stands for none."""
    return None if isinstance(value, str) and not value.strip() else value


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
    return _Writer().json_value(value)


class _Writer:
    """Makes JSON of one result and counts what it makes: a list may hold one and the same large value many times."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_ELEMENTS

    def json_value(self, value: Json) -> Json:
        if value.__class__ in ALWAYS_JSON:
            return value
        if isinstance(value, float) and abs(value) < _LARGE:
            return int(value) if value.is_integer() else value
        if isinstance(value, list | tuple):
            self._count(len(cast("Sequence[Json]", value)))
            return [self.json_value(item) for item in cast("Sequence[Json]", value)]
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in cast("Mapping[Json, Json]", value)):
            mapping = cast("Mapping[str, Json]", value)
            self._count(len(mapping))
            return {key: self.json_value(item) for key, item in mapping.items()}
        return loads(json_text(value))

    def _count(self, elements: int) -> None:
        self.left -= elements
        if self.left < 0:
            raise ValueError(f"the result has more than {MAX_ELEMENTS} elements")
