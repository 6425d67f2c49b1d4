"""A shell text that was read: its commands, flat, wherever in it they stand."""

from __future__ import annotations

from dataclasses import dataclass, field


class ShellSyntaxError(ValueError):
    """A shell text cannot be read for certain, and so is not run.

    Attributes:
        line: Where, counted from 1.
    """

    def __init__(self, text: str, line: int = 1) -> None:
        super().__init__(text if line == 1 else f"{text} (line {line})")
        self.line = line


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    Attributes:
        text: What it stands for when it is literal: quotes and escapes are gone. Else its literal parts.
        raw: As it is written.
        is_literal: Whether nothing in it is expanded: no variable, substitution or arithmetic.
        has_pattern: Whether the shell may make other words of it: by a file pattern, braces, `~` at its start, or what
            is expanded outside of quotes.
        is_quoted: Whether anything in it is quoted or escaped.
    """

    text: str
    raw: str
    is_literal: bool = True
    has_pattern: bool = False
    is_quoted: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether the command gets just this text, as one word."""
        return self.is_literal and not self.has_pattern

    @property
    def is_bare(self) -> bool:
        """Whether it is written as it is, so that it may be a word of the shell itself."""
        return self.is_literal and not self.is_quoted


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where an input or output goes: the operator without a number, and the target; empty for a here-document."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command.

    Attributes:
        words: Its name and arguments; empty when it only assigns or redirects.
        assignments: Names of the variables that are set, in front of the command or alone.
        redirects: Its redirections, and those of the groups that end there.
        depth: In how many substitutions it stands; 0 for none.
    """

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    depth: int = 0

    @property
    def name(self) -> str:
        """The name as it is written, without quotes; empty for a command without words."""
        return self.words[0].text if self.words else ""

    @property
    def text(self) -> str:
        """The command in one line, each word as it is written."""
        return " ".join(word.raw for word in self.words)


@dataclass(slots=True)
class Script:
    """What a shell text does.

    Attributes:
        commands: All its commands, those in substitutions and functions included, in the order they were read.
        functions: Names of the functions that it defines.
        numbers: Variables that arithmetic reads: the shell runs commands that stand in the value of one.
        bindings: Variables that are set; True while each value they get is a number for certain.
    """

    commands: list[Command] = field(default_factory=list[Command])
    functions: set[str] = field(default_factory=set[str])
    numbers: set[str] = field(default_factory=set[str])
    bindings: dict[str, bool] = field(default_factory=dict[str, bool])

    def bind(self, name: str, *, is_number: bool) -> None:
        """Note that a variable is set."""
        self.bindings[name] = self.bindings.get(name, True) and is_number

    def bind_read(self, names: set[str]) -> None:
        """Note that arithmetic reads variables."""
        self.numbers |= names
