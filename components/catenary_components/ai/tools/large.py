"""Large values that tools give, made JSON in a thread and piece by piece, so that everything else goes on meanwhile.

One call of the JSON library on a value of 10 MB holds the interpreter for most of a second, whatever thread makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import to_jsonable_python

from catenary.jsontext import dumps
from catenary_components.ai.tools.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json

PIECE: Final = 5_000
"""Values within a value, up to which it is made JSON at once."""

_SLICE: Final = 100
_DEEPEST: Final = 20


def is_large(value: Any) -> bool:
    """Tell whether more than `PIECE` values are in the lists and dictionaries of a value."""
    waiting, left = [value], PIECE
    while waiting:
        one = waiting.pop()
        if type(one) not in (list, tuple, dict):
            continue
        left -= len(one)
        if left < 0:
            return True
        waiting += one.values() if type(one) is dict else one
    return False


async def json_value(value: Any) -> Json:
    """Make a JSON value of what a function gave. Raises: what pydantic raises for a value that cannot be one."""
    return await in_thread(plain, value) if is_large(value) else plain(value)


async def json_text(value: Json) -> str:
    """Give the text of a JSON value, compact and with sorted keys. Raises: TypeError, ValueError: when it is none."""
    return await in_thread(_text, value) if is_large(value) else dumps(value)


def plain(value: Any, depth: int = 0) -> Json:
    """Make a JSON value, piece by piece when it is large."""
    if depth < _DEEPEST and is_large(value):
        if type(value) is not dict:
            return [
                one
                for part in _parts(value)
                for one in ([plain(each, depth + 1) for each in part] if is_large(part) else _at_once(part))
            ]
        members = cast("dict[Any, Any]", value)
        if all(type(key) is str for key in members):
            return {key: plain(one, depth + 1) for key, one in members.items()}
    return _at_once(value)


def _at_once(value: Any) -> Json:
    return to_jsonable_python(value, fallback=str)


def _text(value: Json, depth: int = 0) -> str:
    if depth < _DEEPEST and is_large(value):
        if type(value) is list:
            texts = (
                ",".join(_text(one, depth + 1) for one in part) if is_large(part) else dumps(part)[1:-1]
                for part in _parts(cast("list[Json]", value))
            )
            return f"[{','.join(texts)}]"
        if type(value) is dict and all(type(key) is str for key in cast("dict[Any, Json]", value)):
            members = cast("dict[str, Json]", value)
            return f"{{{','.join(f'{dumps(key)}:{_text(members[key], depth + 1)}' for key in sorted(members))}}}"
    return dumps(value)


def _parts(values: Any) -> Iterator[list[Any]]:
    """Give a list in slices."""
    for start in range(0, len(values), _SLICE):
        yield list(values[start : start + _SLICE])
