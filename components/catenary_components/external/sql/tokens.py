"""SQL cut into pieces, as far as it has to be known where a value may stand: strings, names, comments, marks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary_components.external.sql.dialects import Dialect

Kind: TypeAlias = Literal[
    "space", "comment", "string", "name", "word", "number", "mark", "doubled", "numbered", "slot", "other"
]

_SPACE: Final = r"(?P<space>\s+)"
_LINE: Final = r"--[^\n]*"
_BLOCK: Final = r"/\*.*?\*/"
_MARKS: Final = r"(?P<doubled>\?\?)|(?P<mark>\?)|(?P<slot>\x00\d+\x00)"
_WORDS: Final = r"(?P<number>\d[\w.]*)|(?P<word>[^\W\d][\w$]*)"
_REST: Final = r"(?P<other>.)"

_PLAIN: Final = r"'(?:[^']|'')*+'"
_ESCAPED: Final = r"'(?:[^'\\]|''|\\.)*+'"
_DOUBLE: Final = r'"(?:[^"]|"")*+"'
_DOUBLE_ESCAPED: Final = r'"(?:[^"\\]|""|\\.)*+"'
_BACKTICK: Final = r"`(?:[^`]|``)*+`"
_DOLLAR: Final = r"\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$"


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join([_SPACE, *parts, _MARKS, _WORDS, _REST]), re.DOTALL)


_PATTERNS: Final[dict[Dialect, re.Pattern[str]]] = {
    "postgres": _pattern(
        rf"(?P<comment>{_LINE})",
        rf"(?P<string>[eE]{_ESCAPED}|(?:[bBxXnN]|[uU]&)?{_PLAIN}|{_DOLLAR})",
        rf"(?P<name>(?:[uU]&)?{_DOUBLE})",
        r"(?P<numbered>\$\d+)",
    ),
    "mysql": _pattern(
        rf"(?P<comment>#[^\n]*|--(?=\s|\Z)[^\n]*|{_BLOCK})",
        rf"(?P<string>[bBxXnN]?{_ESCAPED}|{_DOUBLE_ESCAPED})",
        rf"(?P<name>{_BACKTICK})",
    ),
    "sqlite": _pattern(
        rf"(?P<comment>{_LINE}|{_BLOCK}|/\*.*\Z)",
        rf"(?P<string>[xX]?{_PLAIN})",
        rf"(?P<name>{_DOUBLE}|{_BACKTICK}|\[[^\]]*\])",
    ),
}

_NESTED: Final = re.compile(r"/\*|\*/")


class Token(NamedTuple):
    """A piece of a statement.

    Attributes:
        kind: `mark` is `?`, `doubled` is `??`, `numbered` is `$1`, `slot` stands for a `${...}`.
        text: As it is written.
        start: Where it begins, in characters.
    """

    kind: Kind
    text: str
    start: int


class UnclosedText(ValueError):  # noqa: N818 - it says what it is
    """A string, a quoted name or a comment has no end.

    Attributes:
        start: Where it begins, in characters.
    """

    def __init__(self, text: str, start: int) -> None:
        super().__init__(text)
        self.start = start


def tokens(sql: str, dialect: Dialect) -> Iterator[Token]:
    """Cut a statement into pieces; put together again they are the statement.

    Raises:
        UnclosedText: When a string, a quoted name or a comment has no end.
    """
    pattern = _PATTERNS[dialect]
    at = 0
    while at < len(sql):
        if dialect == "postgres" and sql.startswith("/*", at):
            end = _end_of_comment(sql, at)
            yield Token("comment", sql[at:end], at)
            at = end
            continue
        match = pattern.match(sql, at)
        assert match is not None  # any character is at least `other`
        kind: Kind = match.lastgroup if match.lastgroup != "tag" else "string"  # type: ignore[assignment] # named so
        text = match.group()
        if kind == "other" and (text in {"'", '"', "`"} or sql.startswith("/*", at)):
            raise UnclosedText(f"what begins with {sql[at : at + 10]!r} has no end", at)
        yield Token(kind, text, at)
        at = match.end()


def _end_of_comment(sql: str, start: int) -> int:
    """Give where a comment ends that may have others in it."""
    depth = 0
    for match in _NESTED.finditer(sql, start):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    raise UnclosedText("a comment has no end", start)
