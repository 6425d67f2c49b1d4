"""Redirections and here-documents, and what stands between words."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from catenary_components.ai.tools.builtin.shell.script import Redirect, Script, Word
from catenary_components.ai.tools.builtin.shell.words import BLANKS, Parts, WordReader

if TYPE_CHECKING:
    from collections.abc import Generator

_REDIRECT: Final = re.compile(r"(?:[0-9]+(?=[<>]))?(&>>|&>|<<<|<<-|<<|<>|>>|<&|>&|>\||<|>)")
_DELIMITER: Final = re.compile(r"([A-Za-z0-9_.!+-]+)|'([A-Za-z0-9_.!+ -]+)'|\"([A-Za-z0-9_.!+ -]+)\"|\\([A-Za-z0-9_]+)")
_HEREDOC: Final = ("<<", "<<-")


class LineReader(WordReader):
    """Reads what stands around the words of commands."""

    def __init__(self, text: str, script: Script, depth: int = 0, *, is_bash: bool = True) -> None:
        super().__init__(text, script, depth, is_bash=is_bash)
        self._waiting: list[tuple[str, bool, bool]] = []  # here-documents: delimiter, is quoted, tabs are cut

    # Redirections and here-documents

    def _is_redirect(self) -> bool:
        found = _REDIRECT.match(self.text, self.at)
        return bool(found) and not (found[1] in "<>" and self.text[found.end() : found.end() + 1] == "(")

    def _redirect(self) -> Redirect:
        found = _REDIRECT.match(self.text, self.at)
        if found is None:
            raise self.refuse("a redirection is not understood")
        operator = found[1]
        if operator in ("&>", "&>>", "<<<"):
            self.need_bash(operator)
        self.at = found.end()
        self.skip_blanks()
        if operator not in _HEREDOC:
            return Redirect(operator, self._word())
        delimiter = _DELIMITER.match(self.text, self.at)
        after = self.text[delimiter.end() : delimiter.end() + 1] if delimiter else "?"
        if not delimiter or (after and after not in " \t\n;&|)<>"):
            raise self.refuse("the word that ends a here-document is not understood")
        name = next(group for group in delimiter.groups() if group)
        self._waiting.append((name, delimiter[1] is None, operator == "<<-"))
        self.at = delimiter.end()
        return Redirect(operator, Word("", delimiter[0]))

    def _line_end(self) -> None:
        self.at += 1
        waiting, self._waiting = self._waiting, []
        for name, is_quoted, cuts_tabs in waiting:
            self._here_document(name, is_quoted=is_quoted, cuts_tabs=cuts_tabs)

    def _here_document(self, name: str, *, is_quoted: bool, cuts_tabs: bool) -> None:
        start = self.at
        while True:
            if self.at >= len(self.text):
                raise self.refuse(f"the here-document is not closed with {name!r}")
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            body_end, self.at = self.at, min(end + 1, len(self.text))
            if (line.lstrip("\t") if cuts_tabs else line) == name:
                break
        body = self.text[start:body_end]
        self.at = min(self.at, len(self.text))
        if not is_quoted:
            if re.search(r"\\\n", body):
                raise self.refuse("a line that is continued within a here-document is not understood; quote its word")
            self.read_body(body)

    def _check_waiting(self) -> None:
        if self._waiting:
            raise self.refuse(f"the here-document {self._waiting[0][0]!r} does not begin on the next line")

    def read_body(self, text: str) -> None:
        """Read the body of a here-document, where variables and substitutions are expanded."""
        raise NotImplementedError

    def expansions(self) -> None:
        """Read the rest as the body of a here-document: quotes mean nothing in it."""
        unheard = Parts()
        while char := self.peek():
            if char == "\\":
                self.at += 2
            elif char == "$" and self.peek(2) != '$"':
                self._dollar(unheard, in_quotes=True)
            elif char == "`":
                self._backticks(unheard, in_quotes=True)
            else:
                self.at += 1

    # Between words

    def _word(self) -> Word:
        word = self.word()
        if "\n" in word.raw:
            self._check_waiting()
        return word

    def _reads(self, text: str) -> bool:
        """Read a word of the shell, if it stands here."""
        start = self.at
        self.skip_blanks()
        if self.peek(len(text)) == text:
            word = self._word()
            if word.is_bare and word.text == text:
                return True
        self.at = start
        return False

    def _skip_lines(self, *, comments: bool = True) -> None:
        while True:
            if comments:
                self.skip_blanks()
            else:
                while self.peek() and self.peek() in BLANKS:
                    self.at += 1
            if self.peek() != "\n":
                return
            self._check_waiting()
            self.at += 1

    def _expect(self, text: str) -> None:
        if self.peek(len(text)) != text:
            raise self.refuse(f"{text!r} is missing")
        self.at += len(text)

    @contextmanager
    def _deeper(self) -> Generator[None]:
        self.depth += 1
        waiting, self._waiting, start = self._waiting, [], self.at
        yield
        self._check_waiting()
        if waiting and "\n" in self.text[start : self.at]:
            raise self.refuse(f"the here-document {waiting[0][0]!r} does not begin on the next line")
        self._waiting = waiting
        self.depth -= 1
