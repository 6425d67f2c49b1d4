"""Which programs a command starts: those that other programs start for it are found, too."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from catenary_components.ai.tools.builtin.shell.filled import filled, with_input
from catenary_components.ai.tools.builtin.shell.grammar import parse
from catenary_components.ai.tools.builtin.shell.script import ShellSyntaxError, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from catenary_components.ai.tools.builtin.shell.script import Script

MAX_WRAPPERS: Final = 10
"""Programs that start one another within one command."""

SHELLS: Final = {"bash": True, "sh": False, "dash": False, "ash": False}
"""Shells whose language is known; True for bash."""

_OTHER_SHELLS: Final = frozenset(["zsh", "ksh", "fish", "csh", "tcsh", "mksh", "pwsh", "nu", "rbash"])
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_HARMFUL: Final = re.compile(
    r"PATH|IFS|ENV|CDPATH|GLOBIGNORE|SHELLOPTS|PROMPT_COMMAND|PS[0-9]|BASH.*|LD_.*|DYLD_.*|GIT_.*|.*PAGER|EDITOR|VISUAL"
    r"|PYTHON(PATH|STARTUP|HOME|BREAKPOINT)|PERL5?(OPT|LIB|DB)|RUBY(OPT|LIB)|NODE_(OPTIONS|PATH)|JAVA_TOOL_OPTIONS|.*_ASKPASS"
)


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """How a program that starts another one is called. Options that are not known are refused.

    Attributes:
        flags: Letters of options without a value.
        valued: Letters of options whose value is the rest of the word, or the next word.
        attached: Letters of options that may have a value in the rest of the word.
        long: Long options without a value.
        long_valued: Long options with one.
        positional: Words of its own in front of the command.
        looked_up: Options with which it starts nothing.
    """

    flags: str = ""
    valued: str = ""
    attached: str = ""
    long: tuple[str, ...] = ()
    long_valued: tuple[str, ...] = ()
    positional: int = 0
    looked_up: tuple[str, ...] = ()

    def option_words(self, option: str) -> int:
        """Give how many words an option takes; 0 when it is not known."""
        if option.startswith("--"):
            name, is_set, _ = option.partition("=")
            return 1 if name in self.long or (name in self.long_valued and is_set) else 2 * (name in self.long_valued)
        for place, letter in enumerate(option[1:], 2):
            if letter in self.valued:
                return 1 if option[place:] else 2
            if letter in self.attached:
                return 1
            if letter not in self.flags:
                return 0
        return 1


_WRAPPERS: Final = {
    "sudo": _Wrapper(
        "AbBEHknPS",
        "ughpCrtTUDR",
        long=("--preserve-env", "--non-interactive", "--background", "--set-home", "--stdin", "--reset-timestamp"),
        long_valued=("--user", "--group", "--chdir", "--prompt", "--host", "--preserve-env"),
        looked_up=("-l", "-v", "-V", "--list", "--version", "--validate"),
    ),
    "doas": _Wrapper("n", "uC", looked_up=("-L",)),
    "env": _Wrapper(
        "i0v", "uC", long=("--ignore-environment", "--null", "--debug"), long_valued=("--unset", "--chdir")
    ),
    "nohup": _Wrapper(),
    "setsid": _Wrapper("cfw", long=("--ctty", "--fork", "--wait")),
    "nice": _Wrapper("0123456789", "n", long_valued=("--adjustment",)),
    "ionice": _Wrapper("t", "cn", long_valued=("--class", "--classdata"), looked_up=("-p", "--pid")),
    "stdbuf": _Wrapper("", "ioe", long_valued=("--input", "--output", "--error")),
    "timeout": _Wrapper(
        "v",
        "ks",
        long=("--preserve-status", "--foreground", "--verbose"),
        long_valued=("--kill-after", "--signal"),
        positional=1,
    ),
    "time": _Wrapper("pvaq", "fo", long=("--portability", "--verbose"), long_valued=("--format", "--output")),
    "chrt": _Wrapper("abfiorRv", "TPD", positional=1),
    "taskset": _Wrapper("a", positional=1),
    "xargs": _Wrapper(
        "0rtxop",
        "adEILnPs",
        "iel",
        long=("--null", "--no-run-if-empty", "--verbose", "--exit", "--interactive"),
        long_valued=(
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-procs",
            "--replace",
            "--max-lines",
            "--max-chars",
        ),
    ),
    "command": _Wrapper("p", looked_up=("-v", "-V")),
    "builtin": _Wrapper(),
    "exec": _Wrapper("cl", "a"),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
}
TRANSPARENT: Final = frozenset([*_WRAPPERS, *SHELLS, "eval", "trap"])
"""Programs that count for nothing themselves in a list of allowed ones: what they start does."""

PRIVILEGED: Final = frozenset(["sudo", "doas"])
"""Those of them that start a program as somebody else."""

RUNNERS: Final = frozenset([
    "watch", "script", "flock", "parallel", "unshare", "nsenter", "chroot", "strace", "ltrace", "gdb", "su", "runuser",
    "setpriv", "systemd-run", "at", "batch", "entr", "unbuffer", "expect", "socat", "start-stop-daemon", "pkexec",
])  # fmt: skip
"""Programs that start others in ways that are not read: any of their words may be the name of one."""


_FIND_VALUED: Final = frozenset([
    "-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-newer", "-type", "-size", "-mtime", "-mmin", "-perm",
    "-maxdepth", "-mindepth", "-user", "-group", "-wholename", "-newermt", "-printf",
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """A program that is started, with its words, the name first.

    Attributes:
        name: Its name or path, as it is written.
        words: Name and arguments.
        is_wrapper: Whether it starts another one, which is a call of its own.
        is_guess: Whether it may as well be an argument of a program that starts others.
    """

    name: str
    words: tuple[Word, ...]
    is_wrapper: bool = False
    is_guess: bool = False

    @property
    def program(self) -> str:
        """The name without its folder."""
        return posixpath.basename(self.name)

    @property
    def arguments(self) -> list[str]:
        """The texts of the arguments."""
        return [word.text for word in self.words[1:]]


def calls_of(script: Script, *, depth: int = 0) -> Iterator[Call]:
    """Give all programs that a script starts.

    Raises:
        ShellSyntaxError: When it cannot be said which.
    """
    for command in script.commands:
        for name in command.assignments:
            check_variable(name)
        if command.words:
            yield from _calls(command.words, depth)


def check_variable(name: str) -> None:
    """Refuse that a variable is set which changes what programs do. Raises: ShellSyntaxError: when it does."""
    if _HARMFUL.fullmatch(name):
        raise ShellSyntaxError(f"the variable {name!r} must not be set: it changes what programs do")


def _calls(words: Sequence[Word], depth: int) -> Iterator[Call]:
    if depth > MAX_WRAPPERS:
        raise ShellSyntaxError(f"more than {MAX_WRAPPERS} programs start one another")
    first = words[0]
    if not first.is_certain:
        raise ShellSyntaxError(f"the name of the command {first.raw!r} is made by the shell, and so cannot be checked")
    if not first.text.strip():
        raise ShellSyntaxError("a command has no name")
    program = posixpath.basename(first.text).lower()
    inner = _inner(program, words, depth)
    yield Call(first.text, tuple(words), is_wrapper=inner is not None and program in TRANSPARENT)
    if inner is not None:
        yield from inner


def _inner(program: str, words: Sequence[Word], depth: int) -> Iterator[Call] | None:
    """Give what a program starts; `None` when it starts nothing."""
    if program in SHELLS or program in _OTHER_SHELLS:
        return _of_shell(program, words, depth)
    if program in _WRAPPERS:
        return _of_wrapper(program, words, depth)
    if program in _SPECIAL:
        return _SPECIAL[program](words, depth)
    return _guesses(words, depth) if program in RUNNERS else None


def _of_wrapper(program: str, words: Sequence[Word], depth: int) -> Iterator[Call] | None:
    wrapper = _WRAPPERS[program]
    rest = list(words[1:])
    options: list[str] = []
    positional = wrapper.positional
    while rest:
        word = rest[0]
        if not word.is_certain:
            raise ShellSyntaxError(
                f"{program}: {word.raw!r} stands where a command may stand, and is made by the shell"
            )
        if word.text in wrapper.looked_up:
            return iter(())
        if word.text.startswith("-") and (len(word.text) > 1 or program == "env"):
            taken = 1 if word.text in ("-", "--") else wrapper.option_words(word.text)
            if not taken:
                raise ShellSyntaxError(f"{program} {word.text} is not understood")
            options += [one.text for one in rest[:taken]]
            del rest[:taken]
        elif program in ("sudo", "env", "doas") and (assigned := _ASSIGNMENT.match(word.text)):
            check_variable(assigned[1])
            del rest[0]
        elif positional:
            positional -= 1
            del rest[0]
        else:
            return _calls(with_input(rest, options) if program == "xargs" else rest, depth + 1)
    return iter(())


def _of_shell(program: str, words: Sequence[Word], depth: int) -> Iterator[Call] | None:
    rest = list(words[1:])
    takes_text = False
    while rest and ((rest[0].text[:1] in ("-", "+") and len(rest[0].text) > 1) or not rest[0].is_certain):
        word = rest.pop(0)
        if not word.is_certain:
            if takes_text:
                break
            raise ShellSyntaxError(f"what {program} runs is made by the shell: {word.raw!r}")
        if word.text in ("--version", "--help"):
            return None
        if word.text.startswith("--") and word.text not in ("--", "--norc", "--noprofile", "--posix", "--login"):
            raise ShellSyntaxError(f"{program} {word.text} is not understood")
        takes_text |= not word.text.startswith("--") and "c" in word.text
        if word.text[0] in "-+" and word.text[-1] in "oO" and not word.text.startswith("--") and rest:
            del rest[0]
        if word.text == "--":
            break
    if not takes_text:
        if not rest or rest[0].text in ("-", "/dev/stdin") or rest[0].text.startswith(("/dev/fd", "/proc")):
            raise ShellSyntaxError(f"{program} would read its commands from its input, where they cannot be checked")
        return None
    if program in _OTHER_SHELLS:
        raise ShellSyntaxError(f"the language of {program} is not understood")
    if not rest or (not rest[0].is_certain and not _only_patterns(rest[0])):
        raise ShellSyntaxError(f"the text that {program} runs is made by the shell, and so cannot be checked")
    return calls_of(parse(rest[0].text, is_bash=SHELLS[program]), depth=depth + 1)


def _only_patterns(word: Word) -> bool:
    """Tell whether a word is literal, all of it quoted, so that nothing comes of the patterns in it."""
    return word.is_literal and word.raw[:1] in "'\"" and word.raw[-1:] == word.raw[:1]


def _of_eval(words: Sequence[Word], depth: int) -> Iterator[Call]:
    if not all(word.is_certain for word in words[1:]):
        raise ShellSyntaxError("the text of eval is made by the shell, and so cannot be checked")
    return calls_of(parse(" ".join(word.text for word in words[1:])), depth=depth + 1)


def _of_trap(words: Sequence[Word], depth: int) -> Iterator[Call]:
    rest = [word for word in words[1:] if word.text not in ("--", "-l", "-p")]
    if rest and not rest[0].is_certain:
        raise ShellSyntaxError("the text of trap is made by the shell, and so cannot be checked")
    return calls_of(parse(rest[0].text), depth=depth + 1) if len(rest) > 1 and rest[0].text != "-" else iter(())


def _of_find(words: Sequence[Word], depth: int) -> Iterator[Call]:
    at = 1
    while at < len(words):
        if may_be_option(words[at]) and words[at - 1].text not in _FIND_VALUED:
            raise ShellSyntaxError(f"the argument {words[at].raw!r} of find may be -exec; begin it with ./ or the like")
        at += 1
        if words[at - 1].text not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        end = next((n for n in range(at, len(words)) if words[n].text in (";", "+")), len(words))
        if at < end:
            yield from _calls(filled(words[at:end], ["{}"], may_begin=False), depth + 1)
        at = end + 1


def may_be_option(word: Word) -> bool:
    """Tell whether the shell may make a word of it, or several, that begin with `-`."""
    if word.is_literal:
        return word.has_pattern and word.text[:1] in "*?[{-"
    return word.has_pattern or word.raw.lstrip("\"'")[:1] in "$`"


def _guesses(words: Sequence[Word], depth: int) -> Iterator[Call]:
    for at, word in enumerate(words[1:], 1):
        if not word.is_certain:
            raise ShellSyntaxError(
                f"{word.raw!r} may be a command that {words[0].text} starts, and is made by the shell"
            )
        if word.text.startswith("-") or not word.text.strip():
            continue
        for call in calls_of(parse(word.text), depth=depth + 1):
            yield Call(call.name, call.words if len(call.words) > 1 else tuple(words[at:]), is_guess=True)


_SPECIAL: Final[dict[str, Callable[[Sequence[Word], int], Iterator[Call]]]] = {
    "eval": _of_eval,
    "trap": _of_trap,
    "find": _of_find,
}
