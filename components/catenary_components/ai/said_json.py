"""JSON that a model has written: read as any, but for what is nested more deeply than records can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from catenary.jsontext import loads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.jsontext import Json

MOST_LEVELS: Final = 200
"""Objects and lists that may lie inside each other; what comes of a call is kept, shown and checked level by level."""


def said_json(text: str) -> Json:
    """Parse what a model has written.

    Raises:
        ValueError: When it is no JSON, or nested too deeply.
    """
    value = loads(text)
    if text.count("[") + text.count("{") > MOST_LEVELS and is_too_deep(value):
        raise ValueError(f"it is nested more than {MOST_LEVELS} levels deep")
    return value


def is_too_deep(value: Json) -> bool:
    """Whether a value is nested more deeply than that."""
    level: list[Json] = [value]
    for _ in range(MOST_LEVELS):
        level = [item for one in level for item in _inside(one) if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _inside(value: Json) -> Iterable[Json]:
    """Give what lies in an object or a list; anything else has nothing in it."""
    if isinstance(value, dict):
        return cast("dict[str, Json]", value).values()
    return cast("list[Json]", value) if isinstance(value, list) else ()
