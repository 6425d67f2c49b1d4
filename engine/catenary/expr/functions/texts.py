"""Functions on strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from catenary.expr.functions.function import Function, adder
from catenary.expr.kinds import EvaluationError, bounded_text, is_number, kind_of

if TYPE_CHECKING:
    from catenary.jsontext import Json

TABLE: Final[dict[str, Function]] = {}
function = adder(TABLE, "Text")


def _text(name: str, value: Json) -> str:
    if isinstance(value, str):
        return value
    raise EvaluationError(f"{name}() takes a string, not {kind_of(value)}")


def _count(name: str, value: Json) -> int:
    if is_number(value) and value == value and abs(value) < 2**31:
        return int(value)
    raise EvaluationError(f"{name}() takes a number, not {kind_of(value)}")


@function("upper", 1, takes="string", examples=(("upper('aB')", "AB"),))
def upper(text: Json) -> str:
    """Give a string in upper case."""
    return _text("upper", text).upper()


@function("lower", 1, takes="string", examples=(("lower('aB')", "ab"),))
def lower(text: Json) -> str:
    """Give a string in lower case."""
    return _text("lower", text).lower()


@function("trim", 1, 2, takes="string string", examples=(("trim('  a ')", "a"), ("trim('xax', 'x')", "a")))
def trim(text: Json, characters: Json = None) -> str:
    """Take blanks, or the characters given, off both ends."""
    return _text("trim", text).strip(None if characters is None else _text("trim", characters))


@function("trimPrefix", 1, 2, takes="string string", examples=(("trimPrefix('abc', 'a')", "bc"),))
def trim_prefix(text: Json, prefix: Json = " ") -> str:
    """Take a prefix off, if it is there."""
    return _text("trimPrefix", text).removeprefix(_text("trimPrefix", prefix))


@function("trimSuffix", 1, 2, takes="string string", examples=(("trimSuffix('abc', 'c')", "ab"),))
def trim_suffix(text: Json, suffix: Json = " ") -> str:
    """Take a suffix off, if it is there."""
    return _text("trimSuffix", text).removesuffix(_text("trimSuffix", suffix))


def _split(name: str, text: Json, separator: Json, limit: Json) -> list[str]:
    content, between = _text(name, text), _text(name, separator)
    most = -1 if limit is None else _count(name, limit)
    if most == 0:
        return []
    if between:
        return content.split(between, most - 1 if most > 0 else -1)
    if 0 < most < len(content):
        return [*content[: most - 1], content[most - 1 :]]
    return list(content)


@function(
    "split",
    2,
    3,
    takes="string string number",
    examples=(
        ("split('a,b,c', ',')", ["a", "b", "c"]),
        ("split('a,b,c', ',', 2)", ["a", "b,c"]),
        ("split('abc', '')", ["a", "b", "c"]),
    ),
)
def split(text: Json, separator: Json, limit: Json = None) -> list[str]:
    """Cut a string at each separator, into at most `limit` parts; per character at an empty one."""
    return _split("split", text, separator, limit)


@function("splitAfter", 2, 3, takes="string string number", examples=(("splitAfter('a,b', ',')", ["a,", "b"]),))
def split_after(text: Json, separator: Json, limit: Json = None) -> list[str]:
    """Cut a string after each separator, which stays."""
    parts = _split("splitAfter", text, separator, limit)
    return [part + separator for part in parts[:-1]] + parts[-1:]


@function("join", 1, 2, takes="array string", examples=(("join(['a', 'b'], '-')", "a-b"),))
def join(items: Json, separator: Json = "") -> str:
    """Put the strings of a list together, with a separator between."""
    if not isinstance(items, list | tuple):
        raise EvaluationError(f"join() takes a list, not {kind_of(items)}")
    texts = [_text("join", element) for element in cast("list[Json]", items)]
    between = _text("join", separator)
    bounded_text(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


@function(
    "replace",
    3,
    4,
    takes="string string string number",
    examples=(("replace('aaa', 'a', 'b')", "bbb"), ("replace('aaa', 'a', 'b', 1)", "baa")),
)
def replace(text: Json, old: Json, new: Json, limit: Json = None) -> str:
    """Replace a part of a string wherever it is, or at most `limit` times."""
    content, part, other = _text("replace", text), _text("replace", old), _text("replace", new)
    most = -1 if limit is None else _count("replace", limit)
    found = content.count(part) if most < 0 else min(most, content.count(part))
    bounded_text(len(content) + found * max(0, len(other) - len(part)))
    return content.replace(part, other, most)


@function("repeat", 2, takes="string number", examples=(("repeat('ab', 2)", "abab"),))
def repeat(text: Json, times: Json) -> str:
    """Give a string several times over."""
    content, count = _text("repeat", text), _count("repeat", times)
    if count < 0:
        raise EvaluationError("repeat() takes no negative number")
    bounded_text(len(content) * count)
    return content * count


@function("hasPrefix", 2, takes="string string", examples=(("hasPrefix('abc', 'a')", True),))
def has_prefix(text: Json, prefix: Json) -> bool:
    """Tell whether a string begins with another."""
    return _text("hasPrefix", text).startswith(_text("hasPrefix", prefix))


@function("hasSuffix", 2, takes="string string", examples=(("hasSuffix('abc', 'c')", True),))
def has_suffix(text: Json, suffix: Json) -> bool:
    """Tell whether a string ends with another."""
    return _text("hasSuffix", text).endswith(_text("hasSuffix", suffix))


def _bytes(name: str, value: Json) -> bytes:
    return _text(name, value).encode("utf-8", "surrogatepass")


@function("indexOf", 2, takes="string string", examples=(("indexOf('abab', 'b')", 1), ("indexOf('a', 'z')", -1)))
def index_of(text: Json, part: Json) -> int:
    """Give where in a string another begins, in bytes; -1 when nowhere."""
    return _bytes("indexOf", text).find(_bytes("indexOf", part))


@function("lastIndexOf", 2, takes="string string", examples=(("lastIndexOf('abab', 'b')", 3),))
def last_index_of(text: Json, part: Json) -> int:
    """Give where in a string another begins for the last time, in bytes; -1 when nowhere."""
    return _bytes("lastIndexOf", text).rfind(_bytes("lastIndexOf", part))
