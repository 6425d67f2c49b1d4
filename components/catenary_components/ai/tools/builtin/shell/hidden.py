"""Commands of the shell and programs that run something their arguments do not show."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from catenary_components.ai.tools.builtin.shell.calls import check_variable, may_be_option
from catenary_components.ai.tools.builtin.shell.grammar import DECLARING
from catenary_components.ai.tools.builtin.shell.script import ShellSyntaxError

if TYPE_CHECKING:
    from catenary_components.ai.tools.builtin.shell.calls import Call

_NEVER: Final = frozenset([
    "alias", "enable", "bind", "complete", "compgen", "compopt", "hash", "shopt", "fc", "let", "coproc", "caller",
])  # fmt: skip
_NAMING: Final = frozenset(["read", "unset", "mapfile", "readarray", "getopts", "wait"])
_AWK: Final = frozenset(["awk", "gawk", "mawk", "nawk", "original-awk"])
_SED: Final = frozenset(["sed", "gsed"])
_SED_RUNS: Final = re.compile(
    r"(?:^|[;{}\n!]|[0-9$/,])\s*e(?:\s|$|;)|s(?P<mark>[^\s\w]).*(?P=mark)[gpiImM0-9]*e", re.DOTALL
)
_AWK_RUNS: Final = re.compile(r"system\s*\(|\|\s*getline|\|&|\|\s*[\"a-zA-Z(]|@load|@include")

_RUNNING_OPTIONS: Final = {
    "tar": (
        "--checkpoint-action",
        "--to-command",
        "-I",
        "--use-compress-program",
        "--rsh-command",
        "-F",
        "--info-script",
    ),
    "git": ("-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--exec", "--ext-diff", "-x"),
    "sort": ("--compress-program",),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "zip": ("-TT", "--unzip-command"),
    "split": ("--filter",),
    "rg": ("--pre", "--hostname-bin"),
    "make": ("--eval", "-E"),
    "scp": ("-S", "-o"),
    "ssh": ("-o", "-F"),
    "man": ("-P", "-H", "--pager", "--html"),
    "mysql": ("--pager",),
    "gcc": ("-wrapper",),
    "g++": ("-wrapper",),
}
"""Options by which a program starts another one."""

_PLAIN_GIT: Final = frozenset([
    "add", "rm", "mv", "checkout", "switch", "branch", "tag", "commit", "restore", "reset", "status", "rev-parse",
])  # fmt: skip
"""Commands of git that have no option which starts a program."""

_TEXTS: Final = {"git": ("-m", "--message", "-C", "-S", "-G", "--author"), "gcc": ("-o",), "g++": ("-o",)}
"""Options whose value is never read as an option."""

_SHORT_JOINED: Final = frozenset(["tar", "rsync", "git", "ssh", "scp", "man"])


def hidden_start(call: Call) -> None:
    """Refuse a call that may run something which cannot be seen.

    Raises:
        ShellSyntaxError: When it may.
    """
    name = call.program
    if name in _SED or name in _RUNNING_OPTIONS:
        _check_made(call)
    if name in _NEVER and not (name == "alias" and len(call.words) == 1):
        raise ShellSyntaxError(f"{name!r} changes what the shell does with what comes after it")
    if name in DECLARING:
        _check_declaring(call)
    elif name in _NAMING or (name == "printf" and "-v" in call.arguments):
        _check_naming(call)
    elif name in ("test", "["):
        _check_test(call)
    elif name in _AWK:
        _check_program(call, _AWK_RUNS, valued=("-v", "-F"), files=("-f", "--file", "-i", "-l", "-E"))
    elif name in _SED:
        _check_program(call, _SED_RUNS, valued=("-l",), files=("-f", "--file"), texts=("-e", "--expression"))
    elif name in _RUNNING_OPTIONS:
        _check_options(call)


def _check_made(call: Call) -> None:
    """Refuse a word that may become an option of which nobody has seen what it starts."""
    if call.program == "git" and call.arguments[:1] and call.words[1].is_certain and call.arguments[0] in _PLAIN_GIT:
        return
    for before, word in pairwise(call.words):
        if before.text in ("--", *_TEXTS.get(call.program, ())) and before.is_certain:
            if before.text == "--":
                return
            continue
        if may_be_option(word):
            raise ShellSyntaxError(
                f"the argument {word.raw!r} may be an option of {call.program} that starts another program; begin it "
                "with ./ in quotes, or put -- in front"
            )


def _check_declaring(call: Call) -> None:
    for word in call.words[1:]:
        if re.match(r"[-+]\w*[inf]", word.text) or "[" in word.text or not (word.is_literal or "=" in word.raw):
            raise ShellSyntaxError(f"{call.program} {word.raw} is not understood")
        check_variable(word.text.partition("=")[0])


def _check_naming(call: Call) -> None:
    names = call.words[1:] if call.program != "printf" else call.words[1:3]
    for word in names:
        if "[" in word.text or not word.is_literal or (call.program in ("mapfile", "readarray") and word.text == "-C"):
            raise ShellSyntaxError(f"{call.program} {word.raw} is not understood: it may run what a text has in it")


def _check_test(call: Call) -> None:
    for before, word in pairwise(call.words):
        if not before.is_certain and not (before.is_quoted or before.raw.startswith("$")):
            continue
        if before.text in ("-v", "-R") and ("[" in word.text or not word.is_literal):
            raise ShellSyntaxError(f"{call.program} {before.text} is understood with the plain name of a variable only")


def _check_program(
    call: Call, runs: re.Pattern[str], *, valued: tuple[str, ...], files: tuple[str, ...], texts: tuple[str, ...] = ()
) -> None:
    """Check the small program that awk or sed gets; one in a file, or made by the shell, cannot be."""
    words = list(call.words[1:])
    programs = [after for before, after in pairwise(words) if before.text in texts]
    has_own = bool(programs) or any(word.text.startswith("--expression=") for word in words)
    rest = iter(words)
    for word in rest:
        option = word.text.partition("=")[0]
        if option in files or (word.text.startswith(files) and not word.text.startswith("--")):
            raise ShellSyntaxError(f"the program that {call.program} reads from a file cannot be checked")
        if option in texts or option in valued:
            next(rest, None)
        elif not word.text.startswith("-") or word.text == "-":
            programs += [word] if not has_own else []
            break
    programs += [word for word in words if word.text.startswith(("--expression=", "-e"))]
    for word in programs:
        if not word.is_literal:
            raise ShellSyntaxError(f"the program of {call.program} is made by the shell, and so cannot be checked")
        if runs.search(word.text.removeprefix("--expression=")):
            raise ShellSyntaxError(f"the program of {call.program} may start others, which cannot be checked")


def _check_options(call: Call) -> None:
    known = _RUNNING_OPTIONS[call.program]
    for word in call.words[1:]:
        option = word.text.partition("=")[0]
        short = call.program in _SHORT_JOINED and any(
            len(one) == 2 and one[1].isupper() and re.match(rf"-\w*{one[1]}", option) for one in known
        )
        is_shortened = len(option) > 4 and any(one.startswith("--") and one.startswith(option) for one in known)
        if option in known or is_shortened or short:
            raise ShellSyntaxError(f"{call.program} {option} starts another program, which cannot be checked")
