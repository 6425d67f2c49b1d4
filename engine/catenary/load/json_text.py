"""Read JSON text into a value and the place of everything in it; what is wrong is said with place and cure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from catenary.errors import ChainSyntaxError
from catenary.load.places import HALF_PAIR, MAX_DEPTH, Lines, Path, Places

if TYPE_CHECKING:
    from catenary.jsontext import Json

_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_STRING: Final = re.compile(r'"([^"\\\x00-\x1f]*)(?:\\(?s:.)[^"\\\x00-\x1f]*)*"')
_STRING_START: Final = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?s:.)[^"\\\x00-\x1f]*)*')
_GOOD_ESCAPES: Final = re.compile(r'(?:[^\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD: Final = re.compile(r"[^\W\d][\w$-]*")
_NUMBER_LIKE: Final = re.compile(r"[-+.\w]+")
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}
_SAID_BY_OTHERS: Final = {
    "none": "null",
    "nil": "null",
    "undefined": "null",
    "yes": "true",
    "no": "false",
    "on": "true",
    "off": "false",
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document's value, the places in it, and the keys that a mapping has twice: path, and offset of the second."""

    value: Json
    places: Places
    duplicates: list[tuple[Path, int]] = field(default_factory=list[tuple[Path, int]])


def parse_json(text: str, *, file: str = "") -> Parsed:
    """Read JSON exactly: no comments, no trailing commas, no `NaN`. Integers keep all their digits.

    Args:
        text: The whole text.
        file: Named in errors.

    Raises:
        ChainSyntaxError: When it is not JSON; names line, column, what was expected and what to do.
    """
    return _Reader(text, file).document()


class _Reader:
    """One pass over a text. Every method takes the offset to read at and gives the offset after what it read."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.values: dict[Path, int] = {}
        self.keys: dict[Path, int] = {}
        self.duplicates: list[tuple[Path, int]] = []

    def document(self) -> Parsed:
        start = self._skip(0)
        if start == len(self.text):
            self._fail(0, "the text is empty", 'write a chain: {"ruleChain": {...}, "metadata": {...}}')
        value, end = self._value(start, (), 0)
        end = self._skip(end)
        if end < len(self.text):
            hint = self._comment_hint(end) or "a file holds one chain: remove what follows it"
            self._fail(end, f"expected the end of the text, found {self._found(end)}", hint)
        return Parsed(value, Places(self.text, self.values, self.keys), self.duplicates)

    def _skip(self, at: int) -> int:
        match = _BLANKS.match(self.text, at)
        return match.end() if match else at

    def _value(self, at: int, path: Path, depth: int) -> tuple[Json, int]:
        self.values[path] = at
        first = self.text[at : at + 1]
        if first == '"':
            return self._string(at)
        if first == "{":
            return self._object(at, path, depth + 1)
        if first == "[":
            return self._array(at, path, depth + 1)
        if first.isascii() and (first.isdigit() or first == "-"):
            return self._number(at)
        word = _WORD.match(self.text, at)
        if word and word.group() in _WORDS:
            return _WORDS[word.group()], word.end()
        return self._fail(at, f"expected a value, found {self._found(at)}", self._value_hint(at))

    def _object(self, start: int, path: Path, depth: int) -> tuple[Json, int]:
        self._check_depth(start, depth)
        result: dict[str, Json] = {}
        at = self._skip(start + 1)
        if self.text[at : at + 1] == "}":
            return result, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                self._fail(at, f"expected a key in double quotes, found {self._found(at)}", self._key_hint(at, start))
            key, after = self._string(at)
            child = (*path, key)
            if key in result:
                self.duplicates.append((child, at))
            self.keys[child] = at
            colon = self._skip(after)
            if self.text[colon : colon + 1] != ":":
                self._fail(colon, f"expected ':' after the key {key!r}, found {self._found(colon)}")
            result[key], at = self._value(self._skip(colon + 1), child, depth)
            at, is_over = self._next(at, "}", start)
            if is_over:
                return result, at

    def _array(self, start: int, path: Path, depth: int) -> tuple[Json, int]:
        self._check_depth(start, depth)
        result: list[Json] = []
        at = self._skip(start + 1)
        if self.text[at : at + 1] == "]":
            return result, at + 1
        while True:
            value, at = self._value(at, (*path, len(result)), depth)
            result.append(value)
            at, is_over = self._next(at, "]", start)
            if is_over:
                return result, at

    def _next(self, at: int, closing: str, start: int) -> tuple[int, bool]:
        """Go on after a value in a list or mapping: past the comma, or past the closing bracket."""
        at = self._skip(at)
        found = self.text[at : at + 1]
        if found == closing:
            return at + 1, True
        if found != ",":
            self._fail(at, f"expected ',' or '{closing}', found {self._found(at)}", self._after_value_hint(at, start))
        after = self._skip(at + 1)
        if self.text[after : after + 1] == closing:
            self._fail(at, f"expected another value after ',', found '{closing}'", "remove the comma")
        return after, False

    def _string(self, at: int) -> tuple[str, int]:
        match = _STRING.match(self.text, at)
        if not match:
            self._fail_string(at)
        plain = match.group(1)
        if len(plain) + 2 == match.end() - at:
            return plain, match.end()
        try:
            text = json.loads(match.group())
            if HALF_PAIR.search(text):
                self._fail(at, "the text has an escape for half a character", "write both halves, or leave it out")
            return text, match.end()
        except json.JSONDecodeError:
            good = _GOOD_ESCAPES.match(self.text, at + 1)
            place = good.end() if good else at
            hint = 'write \\\\ for one backslash; JSON knows \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX'
            self._fail(place, f"{self.text[place : place + 2]!r} is not an escape of JSON", hint)

    def _fail_string(self, at: int) -> NoReturn:
        begin = _STRING_START.match(self.text, at)
        end = begin.end() if begin else at
        if end < len(self.text) and self.text[end] not in "\r\n\\":
            self._fail(end, f"the control character {self.text[end]!r} stands in a text", "write it as an escape")
        self._fail(at, "the text that begins here is not closed on its line", 'close it with "; a line break is \\n')

    def _number(self, at: int) -> tuple[int | float, int]:
        match = _NUMBER.match(self.text, at)
        like = _NUMBER_LIKE.match(self.text, at)
        end = like.end() if like else at
        if not match or match.end() != end:
            hint = "JSON numbers look like 12, -0.5 or 1e9: no leading 0 or +, a digit on both sides of the point"
            self._fail(at, f"{self.text[at:end]} is not a number of JSON", hint)
        text = match.group()
        if match.group(1) is None and match.group(2) is None:
            if len(text) > 4000:  # Python refuses to read longer ones
                self._fail(at, f"the number has {len(text)} digits", "write it as a text, in double quotes")
            return int(text), end
        value = float(text)
        if value in (float("inf"), float("-inf")):
            self._fail(at, f"the number {text} is too large", "the largest number is about 1.8e308")
        return value, end

    def _check_depth(self, at: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._fail(at, f"values are nested more than {MAX_DEPTH} deep", "make the document flatter")

    def _found(self, at: int) -> str:
        if at >= len(self.text):
            return "the end of the text"
        word = _WORD.match(self.text, at)
        return word.group()[:40] if word else repr(self.text[at])

    def _comment_hint(self, at: int) -> str:
        if self.text.startswith(("//", "/*", "#"), at):
            return "JSON has no comments: remove it, or write the chain as YAML (a .yaml file), which has"
        return ""

    def _value_hint(self, at: int) -> str:
        first = self.text[at : at + 1]
        word = _WORD.match(self.text, at)
        if first == "'":
            return "texts stand in double quotes"
        if word:
            lower = word.group().lower()
            said = lower if lower in _WORDS else _SAID_BY_OTHERS.get(lower)
            return f"JSON writes {said}" if said else "texts stand in double quotes"
        if first == ",":
            return "remove the comma, or write a value before it"
        if not first:
            return "the end is missing: was the file cut off?"
        return "write a value before it" if first in "]}" else self._comment_hint(at)

    def _key_hint(self, at: int, start: int) -> str:
        first = self.text[at : at + 1]
        if not first:
            return self._open_hint(start)
        if first == "'" or _WORD.match(self.text, at):
            return "keys stand in double quotes"
        return self._comment_hint(at)

    def _after_value_hint(self, at: int, start: int) -> str:
        first = self.text[at : at + 1]
        if not first:
            return self._open_hint(start)
        if first in "]}":
            return self._open_hint(start)
        return self._comment_hint(at) or "a comma is missing before it"

    def _open_hint(self, start: int) -> str:
        place = Lines(self.text).place(start)
        return f"the {self.text[start]!r} of line {place.line}, column {place.column} is not closed"

    def _fail(self, at: int, text: str, hint: str = "") -> NoReturn:
        place = Lines(self.text).place(at)
        raise ChainSyntaxError(text, file=self.file, line=place.line, column=place.column, hint=hint)
