"""Reading commands: lists, groups, loops, conditions, functions and here-documents, all to one flat list of commands.

Nesting is not checked where it does not matter: a `fi` too many is an error of the shell, and hides no command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from catenary_components.ai.tools.builtin.shell.arithmetic import COUNTERS, NUMBER
from catenary_components.ai.tools.builtin.shell.lines import LineReader
from catenary_components.ai.tools.builtin.shell.script import Command, Redirect, Script, ShellSyntaxError, Word
from catenary_components.ai.tools.builtin.shell.words import MAX_DEPTH, NAME

MAX_LENGTH: Final = 100_000
"""Characters of a shell text."""

DECLARING: Final = frozenset(["declare", "typeset", "local", "export", "readonly"])
"""Commands that declare variables."""

_LEADING: Final = frozenset(["!", "then", "do", "else", "if", "elif", "while", "until", "{"])
_CLOSING: Final = frozenset(["fi", "done", "}"])
_BINDING: Final = frozenset(["read", "mapfile", "readarray", "printf", "getopts", "wait", "let", "unset"])
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[A-Za-z0-9_]+\])?\+?=")
_FUNCTION: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_RANGE: Final = re.compile(r"\{-?[0-9]+\.\.-?[0-9]+(\.\.-?[0-9]+)?\}")
_COUNT: Final = re.compile(r'-?[0-9]+|"?\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\}|[#?]|\{#[A-Za-z_]\w*(?:\[@\])?\})"?')
_COMPARING: Final = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BASH_ONLY: Final = frozenset(["[[", "function", "select", "time"])


def parse(text: str, *, is_bash: bool = True) -> Script:
    """Read a shell text.

    Args:
        text: What the shell gets.
        is_bash: False refuses what only bash knows.

    Returns:
        All commands it may run, however deep they stand in it.

    Raises:
        ShellSyntaxError: When it cannot be read for certain; the text says why.
    """
    if len(text) > MAX_LENGTH:
        raise ShellSyntaxError(f"a shell text has at most {MAX_LENGTH} characters, not {len(text)}")
    if _CONTROL.search(text) or any("\ud800" <= char <= "\udfff" for char in text):
        raise ShellSyntaxError("there are control characters in the text, carriage returns among them")
    script = Script()
    _Reader(text, script, is_bash=is_bash).whole()
    _bind_by_commands(script)
    for name in sorted(script.numbers - COUNTERS):
        if not script.bindings.get(name, False):
            raise ShellSyntaxError(
                f"arithmetic reads {name!r}, which may be set to more than a number; the shell runs commands in it"
            )
    return script


def _bind_by_commands(script: Script) -> None:
    """Note the variables that commands set which read them from somewhere."""
    for command in script.commands:
        if any(word.text in _BINDING for word in command.words):
            for word in command.words:
                script.bind(word.text, is_number=False)


@dataclass(slots=True)
class _Building:
    """A simple command that is being read."""

    words: list[Word] = field(default_factory=list[Word])
    assignments: list[str] = field(default_factory=list[str])
    redirects: list[Redirect] = field(default_factory=list[Redirect])


class _Reader(LineReader):
    def whole(self) -> None:
        """Read the whole text."""
        self._list("")
        if self.peek():
            raise self.refuse(f"unexpected {self.peek()!r}")
        self._check_waiting()

    # Lists of commands

    def _list(self, closing: str) -> None:
        """Read commands up to `closing`, which is not read: `)`, `esac`, or the end of the text."""
        if self.depth > MAX_DEPTH:
            raise self.refuse(f"substitutions and groups are nested more than {MAX_DEPTH} deep")
        is_after = False  # behind a group, where no further words may stand
        while True:
            self.skip_blanks()
            char = self.peek()
            if not char or (char == ")" and closing == ")"):
                return
            if char == "\n":
                self._line_end()
                is_after = False
            elif self._is_redirect() and is_after:
                self._add(_Building(redirects=[self._redirect()]))
            elif closing == "esac" and self.peek(2) in (";;", ";&"):
                return
            elif char in ";&|" and not self._is_redirect():
                self.at += 1
                is_after = False
            elif char == "(":
                self._group()
                is_after = True
            else:
                is_after = self._command(closing, is_after=is_after)
                if is_after is None:
                    return

    def _group(self) -> None:
        if self.peek(2) == "((":
            self.need_bash("((")
            self.at += 2
            self.arithmetic("))")
            return
        self.at += 1
        with self._deeper():
            self._list(")")
        self._expect(")")

    def _command(self, closing: str, *, is_after: bool) -> bool | None:
        """Read one command; give whether a group ended, and `None` when the whole case did."""
        start = self.at
        if self._is_redirect():
            return self._simple()
        word = self._word()
        text = word.text if word.is_bare else ""
        if text in _BASH_ONLY:
            self.need_bash(text)
        if text == "esac" and closing == "esac":
            self.at = start
            return None
        if text in _LEADING:
            return False
        if text in _CLOSING:
            return True
        if is_after:
            self.at = start
            raise self.refuse(f"unexpected {word.raw!r}")
        if text == "time":
            self._add(_Building(words=[word]))  # behind a pipe it is a program, and what follows are its arguments
            return self._time()
        if text in ("for", "select"):
            return self._for()
        if text == "case":
            return self._case()
        if text == "function":
            return self._function()
        if text == "[[":
            return self._condition()
        if text in ("coproc", "esac"):
            raise self.refuse(f"{text!r} is not understood here")
        self.at = start
        return self._simple()

    # Simple commands

    def _simple(self) -> bool:
        found = _Building()
        while True:
            self.skip_blanks()
            char = self.peek()
            if self._is_redirect():
                found.redirects.append(self._redirect())
            elif not char or char in "\n;&|)":
                break
            elif char == "(":
                return self._definition(found)
            else:
                self._next_word(found)
        self._add(found)
        return False

    def _next_word(self, found: _Building) -> None:
        assigned = _ASSIGNMENT.match(self.text, self.at)
        declares = bool(found.words) and found.words[0].text in DECLARING
        if assigned and (not found.words or declares):
            found.assignments += [self._assignment(assigned)] if not declares else []
            if declares:
                start = self.at
                self._assignment(assigned)
                found.words.append(Word(assigned[1], self.text[start : self.at], is_literal=True))
            return
        word = self._word()
        if not found.words and word.is_bare and (word.text.startswith("{") or word.text.endswith("}")):
            raise self.refuse(f"{word.raw!r} is not understood in the place of a command")
        found.words.append(word)

    def _assignment(self, assigned: re.Match[str]) -> str:
        name, subscript = assigned[1], assigned[2]
        if subscript:
            self.script.bind_read(set(NAME.findall(subscript[1:-1])))
        self.at = assigned.end()
        following = self.peek()
        if following == "(":
            self.need_bash("(")
            self._array()
            self.script.bind(name, is_number=False)
        elif not following or following in " \t\n;&|)" or (following in "<>" and not self._is_process()):
            self.script.bind(name, is_number=True)  # to nothing
        else:
            start = self.at
            self._word()
            self.script.bind(name, is_number=_is_number(self.text[start : self.at]))
        return name

    def _array(self) -> None:
        self.at += 1
        while True:
            self.skip_blanks()
            if self.peek() == "\n":
                self._check_waiting()
                self.at += 1
            elif self.peek() == ")":
                self.at += 1
                return
            elif self.peek() == "[":
                raise self.refuse("an array with subscripts is not understood")
            else:
                self._word()

    def _definition(self, found: _Building) -> bool:
        """Read the head of a function; its body is the next command."""
        is_name = len(found.words) == 1 and found.words[0].is_bare and _FUNCTION.fullmatch(found.words[0].text)
        if found.assignments or found.redirects or not is_name:
            raise self.refuse("unexpected '('")
        self.at += 1
        self.skip_blanks()
        self._expect(")")
        self.script.functions.add(found.words[0].text)
        return False

    def _add(self, found: _Building) -> None:
        if found.words or found.assignments or found.redirects:
            command = Command(tuple(found.words), tuple(found.assignments), tuple(found.redirects), self.depth)
            self.script.commands.append(command)

    # Compound commands

    def _time(self) -> bool:
        self.skip_blanks()
        if re.compile(r"-p(?=[ \t])").match(self.text, self.at):
            self.at += 2
        return False

    def _function(self) -> bool:
        self.skip_blanks()
        name = self._word()
        if not (name.is_bare and _FUNCTION.fullmatch(name.text)):
            raise self.refuse("the name of a function is not understood")
        self.script.functions.add(name.text)
        self.skip_blanks()
        if self.peek() == "(":
            self.at += 1
            self.skip_blanks()
            self._expect(")")
        return False

    def _for(self) -> bool:
        self.skip_blanks()
        if self.peek(2) == "((":
            self.need_bash("((")
            self.at += 2
            self.arithmetic("))")
            return True
        name = self._word()
        if not (name.is_bare and NAME.fullmatch(name.text)):
            raise self.refuse("the variable of the loop is not understood")
        self._skip_lines()
        start = self.at
        if not self._reads("in"):
            self.script.bind(name.text, is_number=False)
            self.at = start
            return False
        words = self._words_of_line()
        are_numbers = all(
            word.is_literal and (NUMBER.fullmatch(word.raw) or _RANGE.fullmatch(word.raw)) for word in words
        )
        self.script.bind(name.text, is_number=are_numbers)
        return False

    def _words_of_line(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self.skip_blanks()
            if not self.peek() or self.peek() in "\n;":
                return words
            words.append(self._word())

    def _case(self) -> bool:
        self.skip_blanks()
        self._word()
        self._skip_lines()
        if not self._reads("in"):
            raise self.refuse("a case without 'in' is not understood")
        while True:
            self._skip_lines()
            if self._reads("esac"):
                return True
            self._case_pattern()
            with self._deeper():
                self._list("esac")
            if self.peek(2) in (";;", ";&"):
                self.at += 2
                self.at += 1 if self.peek() == "&" else 0
            elif not self.peek().strip():
                raise self.refuse("a case is not closed with 'esac'")

    def _case_pattern(self) -> None:
        self.skip_blanks()
        if self.peek() == "(":
            self.at += 1
        while True:
            self.skip_blanks()
            self._word()
            self.skip_blanks()
            if self.peek() == ")":
                self.at += 1
                return
            self._expect("|")

    def _condition(self) -> bool:
        """Read `[[ ... ]]`, which runs nothing but what its words have in them."""
        words: list[Word] = []
        while True:
            self._skip_lines(comments=False)
            if self.peek() == "#":
                raise self.refuse("a comment within [[ ]] is not understood")
            if self.peek(2) in ("&&", "||"):
                self.at += 2
            elif self.peek() and self.peek() in "()<>" and not self._is_process():
                self.at += 1
            else:
                words.append(self._condition_word(words))
            if words and words[-1].is_bare and words[-1].text == "]]":
                return True

    def _condition_word(self, words: list[Word]) -> Word:
        word = self._word()
        before = words[-1].text if words else ""
        if before == "=~" and not re.fullmatch(r"[\w$^.*+?\[\]\-{}:@/,=% \"']+", word.raw):
            raise self.refuse("this regular expression within [[ ]] is not understood; put it into a variable")
        if before in _COMPARING:
            self._count(words[-2] if len(words) > 1 else word)
            self._count(word)
        if before in ("-v", "-R") and not NAME.fullmatch(word.text):
            raise self.refuse("[[ -v ]] is understood with the plain name of a variable only")
        return word

    def _count(self, word: Word) -> None:
        found = _COUNT.fullmatch(word.raw)
        if not found:
            raise self.refuse("within [[ ]], only numbers and plain variables may be compared as numbers")
        self.script.bind_read({name for name in found.groups() if name})

    # Texts within the text

    def _commands(self, closing: str) -> None:
        with self._deeper():
            self._list(closing)
            self._expect(closing)

    def read_inside(self, text: str) -> None:
        _Reader(text, self.script, self.depth + 1, is_bash=self.is_bash).whole()

    def read_body(self, text: str) -> None:
        _Reader(text, self.script, self.depth + 1, is_bash=self.is_bash).expansions()


def _is_number(raw: str) -> bool:
    """Tell whether a value is a number for certain: a literal one, a count, or arithmetic."""
    if NUMBER.fullmatch(raw) or raw in ("$#", "$?", '"$#"', '"$?"'):
        return True
    found = re.fullmatch(r'"?\$\(\(([^()]*)\)\)"?', raw)
    return found is not None and "#" not in found[1]
