"""Text to tokens."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from catenary.expr.habits import SIGN, SIGNS, sign_hint
from catenary.expr.problems import syntax_problem
from catenary.expr.syntax import Span

if TYPE_CHECKING:
    from catenary.errors import ExpressionError

TokenKind: TypeAlias = Literal["number", "text", "bytes", "name", "item", "operator", "end"]

MAX_TOKENS: Final = 20_000
MAX_LITERAL: Final = 100_000
_MAX_DIGITS: Final = 4_000

_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+"
    # a dot that is followed by another one belongs to a range, and one followed by a letter to a field
    r"|(?:\d[\d_]*(?:\.(?![.\w])|\.\d[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?"
)
_NAME = re.compile(r"[^\W\d]\w*")
_ITEM = re.compile(r"#(?:index\b|acc\b)?")
_OPERATOR = re.compile(r"\?\.|\?\?|\.\.|\*\*|==|!=|<=|>=|&&|\|\||[-+*/%^<>!=?:.,;()\[\]{}|]")
_SIMPLE_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "/": "/",
}  # fmt: skip
_HEX_ESCAPES: Final = {"x": 2, "u": 4, "U": 8}


class Token(NamedTuple):
    """One token. `text` is what it means: the content of a text, the spelling of all else."""

    kind: TokenKind
    text: str
    span: Span
    value: int | float | bytes | None = None


class Lexer:
    """Cuts `source[start:end]` into tokens; positions are those in the whole source.

    `${` and its closing brace around a part of an expression are decoration and give no tokens.
    """

    def __init__(self, source: str, start: int, end: int, kind: type[ExpressionError]) -> None:
        self.source = source
        self.at = start
        self.end = end
        self.kind = kind
        self.braces: list[int] = []  # of each open brace: where its `${` stands, -1 when it is no decoration
        self.tokens: list[Token] = []

    def problem(self, text: str, position: int, hint: str = "") -> ExpressionError:
        """Make the error for a place in the source."""
        return syntax_problem(self.kind, text, source=self.source, position=position, hint=hint)

    def run(self) -> list[Token]:
        """Give all tokens; the last one is of kind `end`."""
        source, end = self.source, self.end
        while True:
            if blank := _BLANK.match(source, self.at, end):
                self.at = blank.end()
            if self.at >= end:
                break
            self._token()
            if len(self.tokens) > MAX_TOKENS:
                raise self.problem(
                    "the expression is too long", self.at, f"Keep it below {MAX_TOKENS} words and signs."
                )
        if decorations := [at for at in self.braces if at >= 0]:
            raise self.problem("'${' is not closed", decorations[-1], "Close it with `}`, or leave both out.")
        self.tokens.append(Token("end", "", Span(end, end)))
        return self.tokens

    def _token(self) -> None:
        source, at = self.source, self.at
        char = source[at]
        following = source[at + 1 : at + 2]
        if char in "'\"":
            self._quoted(at, is_bytes=False)
        elif char == "b" and following and following in "'\"":
            self._quoted(at + 1, is_bytes=True)
        elif char == "`":
            self._raw(at)
        elif char.isdecimal() or (char == "." and following.isdecimal()):
            self._number(at)
        elif char == "#":
            match = _ITEM.match(source, at, self.end)
            assert match is not None
            self._add("item", match.group(), match.end())
        elif char == "$":
            self._dollar(at)
        elif match := _NAME.match(source, at, self.end):
            self._add("name", match.group(), match.end())
        else:
            self._operator(at)

    def _add(self, kind: TokenKind, text: str, end: int, value: float | bytes | None = None) -> None:
        if len(text) > MAX_LITERAL:
            hint = f"A literal has at most {MAX_LITERAL} characters."
            raise self.problem("the text is too long", self.at, hint)
        self.tokens.append(Token(kind, text, Span(self.at, end), value))
        self.at = end

    def _dollar(self, at: int) -> None:
        if self.source.startswith("${", at):
            self.braces.append(at)
            self.at = at + 2
        elif self.source.startswith("$env", at) and not self.source[at + 4 : at + 5].isalnum():
            self._add("name", "$env", at + 4)
        else:
            raise self.problem(
                "unexpected character '$'", at, "Names have no '$', but for `$env`; the payload is `msg`."
            )

    def _operator(self, at: int) -> None:
        if foreign := SIGN.match(self.source, at, self.end):
            raise self.problem(f"unexpected {foreign.group()!r}", at, SIGNS[foreign.group()])
        match = _OPERATOR.match(self.source, at, self.end)
        if match is None:
            if self.source.startswith("/*", at):
                raise self.problem("a comment is not closed", at, "Close it with `*/`.")
            raise self.problem(f"unexpected character {self.source[at]!r}", at, sign_hint(self.source[at]))
        text = match.group()
        if text == "/" and self.source.startswith("/*", at):
            raise self.problem("a comment is not closed", at, "Close it with `*/`.")
        if text == "?." and self.source[at + 2 : at + 3].isdecimal():
            text = "?"  # `a ?.5 : 1`
        if text == "{":
            self.braces.append(-1)
        elif text == "}" and self.braces and self.braces.pop() >= 0:
            self.at = at + 1
            return
        self._add("operator", text, at + len(text))

    def _number(self, at: int) -> None:
        match = _NUMBER.match(self.source, at, self.end)
        assert match is not None
        text, end = match.group(), match.end()
        if (self.source[end : end + 1].isalpha() and end < self.end) or text.endswith("_") or "__" in text:
            raise self.problem(f"{self.source[at : end + 1]!r} is not a number", at, "A name begins with a letter.")
        digits = text.replace("_", "")
        if len(digits) > _MAX_DIGITS:
            raise self.problem("the number is too long", at, f"Numbers have at most {_MAX_DIGITS} digits.")
        value = _number_value(digits)
        if value == math.inf:
            raise self.problem("the number is too large", at, "The largest number is about 1.8e308.")
        self._add("number", text, end, value)

    def _raw(self, at: int) -> None:
        close = self.source.find("`", at + 1, self.end)
        if close < 0:
            raise self.problem("a text is not closed", at, "Close it with a backtick.")
        self._add("text", self.source[at + 1 : close], close + 1)

    def _quoted(self, quote_at: int, *, is_bytes: bool) -> None:
        source, quote = self.source, self.source[quote_at]
        pieces: list[str] = []
        at = quote_at + 1
        while True:
            if at >= self.end or source[at] == "\n":
                raise self.problem("a text is not closed", quote_at, f"Close it with {quote}.")
            char = source[at]
            if char == quote:
                break
            if char == "\\":
                piece, at = self._escape(at)
                pieces.append(piece)
            else:
                pieces.append(char)
                at += 1
        content = "".join(pieces)
        if is_bytes:
            self._add("bytes", content, at + 1, _bytes_value(content))
        else:
            self._add("text", content, at + 1)

    def _escape(self, at: int) -> tuple[str, int]:
        source = self.source
        letter = source[at + 1 : at + 2]
        if letter in _SIMPLE_ESCAPES and letter:
            return _SIMPLE_ESCAPES[letter], at + 2
        if letter in _HEX_ESCAPES and letter:
            return self._coded(at, _HEX_ESCAPES[letter], 16, at + 2)
        if letter and letter in "01234567":
            return self._coded(at, 3, 8, at + 1)
        raise self.problem(f"'\\{letter}' is no escape", at, "Write `\\\\` for one backslash, or use a `raw text`.")

    def _coded(self, at: int, length: int, base: int, start: int) -> tuple[str, int]:
        code = self.source[start : min(start + length, self.end)]
        try:
            if len(code) != length or not code.isalnum():
                raise ValueError(code)
            number = int(code, base)
            following = start + length
            if 0xD800 <= number < 0xDC00 and self.source.startswith("\\u", following):
                low = int(self.source[following + 2 : following + 6], 16)
                if 0xDC00 <= low < 0xE000:
                    return chr(0x10000 + ((number - 0xD800) << 10) + (low - 0xDC00)), following + 6
            if 0xD800 <= number < 0xE000:
                raise ValueError(code)  # half of a pair is no character
            return chr(number), following
        except (ValueError, OverflowError):
            raise self.problem("not a valid escape", at, f"It takes {length} digits.") from None


def _bytes_value(content: str) -> bytes:
    """Give the bytes of a bytes literal: `\\xff` is the byte 255, characters beyond Latin-1 are their UTF-8."""
    return b"".join(bytes([ord(char)]) if ord(char) < 256 else char.encode("utf-8", "replace") for char in content)


def _number_value(digits: str) -> int | float:
    lead = digits[:2].lower()
    if lead in {"0x", "0o", "0b"}:
        return int(digits[2:], {"0x": 16, "0o": 8, "0b": 2}[lead])
    if "." in digits or "e" in digits or "E" in digits:
        return float(digits)
    return int(digits)


def tokens_of(source: str, start: int, end: int, kind: type[ExpressionError]) -> list[Token]:
    """Cut a stretch of `source` into tokens. Raises: `kind`, at the first thing that is none."""
    return Lexer(source, start, end, kind).run()
