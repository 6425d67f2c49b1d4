"""Reading words: quotes, escapes, variables and substitutions.

Whatever bash could understand in another way than this reader is refused. That is the rule by which to change it: a
refusal costs an agent another try, a command that is not seen costs more.
"""

from __future__ import annotations

import re
from typing import Final

from catenary_components.ai.tools.builtin.shell.arithmetic import names_in_arithmetic
from catenary_components.ai.tools.builtin.shell.script import Script, ShellSyntaxError, Word

MAX_DEPTH: Final = 20
"""Substitutions and groups within each other."""

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The name of a variable."""

BLANKS: Final = " \t"
BREAKS: Final = " \t\n;&|()<>"
_PATTERN: Final = "*?["
_PARAMETER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_SUBSCRIPT: Final = re.compile(r"\[(@|\*|[0-9]+|\$?[A-Za-z_][A-Za-z0-9_]*)\]")
_OPERATOR: Final = re.compile(r":[-=?+]|[-=?+]|##?|%%?|/[/#%]?|\^\^?|,,?")
_OFFSETS: Final = re.compile(r":( -)?[0-9]+(:-?[0-9]+)?")
_ESCAPE: Final = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8}))"
)
_ESCAPES: Final = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


class WordReader:
    """Reads words at a place of a text, and goes on behind them.

    Args:
        text: The shell text.
        script: Gets what is found.
        depth: In how many substitutions and groups the text stands.
        is_bash: False refuses what only bash knows.
    """

    def __init__(self, text: str, script: Script, depth: int = 0, *, is_bash: bool = True) -> None:
        self.text = text
        self.script = script
        self.depth: int = depth
        self.is_bash = is_bash
        self.at: int = 0

    # Characters

    def peek(self, count: int = 1) -> str:
        """Give the next characters; fewer, or none, at the end."""
        return self.text[self.at : self.at + count]

    def refuse(self, reason: str) -> ShellSyntaxError:
        """Give the error for the place that was come to."""
        return ShellSyntaxError(reason, self.text.count("\n", 0, self.at) + 1)

    def need_bash(self, what: str) -> None:
        """Refuse something that other shells understand in another way."""
        if not self.is_bash:
            raise self.refuse(f"{what!r} is of bash, and the shell is another")

    def skip_blanks(self) -> None:
        """Skip blanks, escaped line ends, and a comment up to the end of its line."""
        while (char := self.peek()) and (char in BLANKS or self.peek(2) == "\\\n"):
            if char == "\\":
                self.check_continuation()
            self.at += 1 if char in BLANKS else 2
        if self.peek() == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def check_continuation(self) -> None:
        """Refuse a line that is continued in the middle of a word or an operator: shells differ in what comes of it."""
        if self.at and self.text[self.at - 1] not in " \t\n":
            raise self.refuse("a line may be continued with a backslash only behind a blank")

    # Words

    def word(self) -> Word:
        """Read the word that begins here.

        Raises:
            ShellSyntaxError: When none does, or it cannot be read for certain.
        """
        start = self.at
        parts = Parts()
        while (char := self.peek()) and (char not in BREAKS or self._is_process()):
            self._part(parts, char)
        if self.at == start:
            raise self.refuse(f"unexpected {self.peek()!r}" if self.peek() else "the text ends where a word is needed")
        return parts.word(self.text[start : self.at])

    def _is_process(self) -> bool:
        return self.peek(2) in ("<(", ">(")

    def _part(self, parts: Parts, char: str) -> None:
        if char == "'":
            parts.quoted(self._single())
        elif char == '"':
            self._double(parts)
        elif char == "\\":
            self._escape(parts)
        elif char == "$":
            self._dollar(parts, in_quotes=False)
        elif char == "`":
            self._backticks(parts, in_quotes=False)
        elif char in "<>":
            self.need_bash(self.peek(2))
            self.at += 2
            parts.expanded(in_quotes=False)
            self._commands(")")
        else:
            self.at += 1
            parts.has_pattern |= char in _PATTERN or (char == "~" and not parts.text)
            parts.has_brace |= char == "{"
            parts.text += char

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self.refuse("a ' is not closed")
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        return inside

    def _double(self, parts: Parts) -> None:
        self.at += 1
        parts.is_quoted = True
        while (char := self.peek()) != '"':
            if not char:
                raise self.refuse('a " is not closed')
            if char == "\\":
                self._escape_in_quotes(parts)
            elif char == "$":
                self._dollar(parts, in_quotes=True)
            elif char == "`":
                self._backticks(parts, in_quotes=True)
            else:
                self.at += 1
                parts.text += char
        self.at += 1

    def _escape(self, parts: Parts) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if not following:
            raise self.refuse("a backslash stands at the end")
        if following == "\n":
            raise self.refuse("a line may be continued with a backslash only behind a blank")
        self.at += 2
        parts.quoted(following)

    def _escape_in_quotes(self, parts: Parts) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "\n":
            self.check_continuation()
            self.at += 2
        elif following and following in '$`"\\':
            self.at += 2
            parts.text += following
        else:
            self.at += 1
            parts.text += "\\"

    # What is expanded

    def _dollar(self, parts: Parts, *, in_quotes: bool) -> None:
        self.at += 1
        following = self.peek()
        if self.peek(2) == "((":
            self.at += 2
            parts.expanded(in_quotes=in_quotes)
            self.arithmetic("))")
        elif following == "(":
            self.at += 1
            parts.expanded(in_quotes=in_quotes)
            self._commands(")")
        elif following == "{":
            parts.expanded(in_quotes=in_quotes)
            self._parameter(in_quotes=in_quotes)
        elif found := _PARAMETER.match(self.text, self.at):
            self.at += len(found[0]) if not found[0].isdigit() else 1
            parts.expanded(in_quotes=in_quotes)
        elif not in_quotes and following == "'":
            self.need_bash("$'")
            parts.quoted(self._ansi())
        elif following and (following in "[\\" or (following == '"' and not in_quotes)):
            raise self.refuse(f"${following} is not understood")
        else:
            parts.text += "$"

    def arithmetic(self, closing: str) -> None:
        """Read arithmetic up to its end, which `closing` says."""
        start, open_groups = self.at, 0
        while self.peek() and (open_groups or self.peek(len(closing)) != closing):
            open_groups += {"(": 1, ")": -1}.get(self.peek(), 0)
            if open_groups < 0:
                raise self.refuse(f"arithmetic does not end with {closing}")
            self.at += 1
        if not self.peek():
            raise self.refuse(f"arithmetic does not end with {closing}")
        read, assigned = names_in_arithmetic(self.text[start : self.at], self.refuse)
        self.script.bind_read(read)
        for name in assigned:
            self.script.bind(name, is_number=True)
        self.at += len(closing)

    def _parameter(self, *, in_quotes: bool) -> None:
        self.at += 1
        if self.peek() == "#" and self.peek(2) != "#}":
            self.at += 1
        found = _PARAMETER.match(self.text, self.at)
        if not found or (found[0] == "!" and self.text[found.end() : found.end() + 1] != "}"):
            raise self.refuse("this kind of ${...} is not understood")
        name = found[0]
        self.at = found.end()
        if subscript := _SUBSCRIPT.match(self.text, self.at):
            self.script.bind_read(set(NAME.findall(subscript[1])))
            self.at = subscript.end()
        if offsets := _OFFSETS.match(self.text, self.at):
            self.at = offsets.end()
        elif operator := _OPERATOR.match(self.text, self.at):
            if operator[0].endswith("="):
                self.script.bind(name, is_number=False)
            self.at = operator.end()
            self._operand(in_quotes=in_quotes)
        if self.peek() != "}":
            raise self.refuse("this kind of ${...} is not understood")
        self.at += 1

    def _operand(self, *, in_quotes: bool) -> None:
        unheard = Parts()
        while (char := self.peek()) != "}":
            if char == "$":
                self._dollar(unheard, in_quotes=in_quotes)
            elif char == "`":
                self._backticks(unheard, in_quotes=in_quotes)
            elif char == '"' and not in_quotes:
                self._double(unheard)
            elif not char or char in "'\"\\{<>()\n":
                raise self.refuse("quotes, braces and the like within ${...} are not understood")
            else:
                self.at += 1

    def _ansi(self) -> str:
        end = self.at + 1
        while self.text[end : end + 1] not in ("'", ""):
            end += 2 if self.text[end] == "\\" else 1
        inside = self.text[self.at + 1 : end]
        if self.text[end : end + 1] != "'":
            raise self.refuse("a $' is not closed")
        plain = _ESCAPE.sub("", inside)
        if "\\" in plain:
            raise self.refuse("an escape within $'...' is not understood")
        value = _ESCAPE.sub(_unescaped, inside)
        if "\0" in value or not value.isascii():
            raise self.refuse("only ASCII characters but NUL are understood within $'...'")
        self.at = end + 1
        return value

    def _backticks(self, parts: Parts, *, in_quotes: bool) -> None:
        found = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL).match(self.text, self.at)
        if not found:
            raise self.refuse("a ` is not closed")
        if in_quotes and '"' in found[1]:
            raise self.refuse('a " between backticks within quotes is not understood; use $(...)')
        inside = re.sub(r"\\([`$\\])", r"\1", found[1])
        parts.expanded(in_quotes=in_quotes)
        self.read_inside(inside)
        self.at = found.end()

    def _commands(self, closing: str) -> None:
        """Read the commands of a substitution up to its end."""
        raise NotImplementedError

    def read_inside(self, text: str) -> None:
        """Read a text of commands of its own."""
        raise NotImplementedError


class Parts:
    """A word that is being read."""

    def __init__(self) -> None:
        self.text = ""
        self.is_literal = True
        self.has_pattern = False
        self.has_brace = False
        self.is_quoted = False

    def quoted(self, text: str) -> None:
        self.text += text
        self.is_quoted = True

    def expanded(self, *, in_quotes: bool) -> None:
        self.is_literal = False
        self.has_pattern |= not in_quotes

    def word(self, raw: str) -> Word:
        makes_more = self.has_pattern or (self.has_brace and ("," in raw or ".." in raw))
        return Word(self.text, raw, self.is_literal, makes_more and raw != "[", self.is_quoted)


def _unescaped(found: re.Match[str]) -> str:
    short, octal, *hexadecimal = found.groups()
    if short is not None:
        return _ESCAPES[short]
    code = int(octal, 8) & 0xFF if octal is not None else int(next(one for one in hexadecimal if one is not None), 16)
    return chr(min(code, 0x10FFFF))
