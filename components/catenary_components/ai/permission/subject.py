"""What rules are compared with: one call of a tool, its arguments read, its shell text and its paths understood."""

from __future__ import annotations

import os
import posixpath
from fnmatch import fnmatchcase
from functools import cached_property
from glob import escape
from typing import TYPE_CHECKING, Final, cast

from catenary.jsontext import dumps
from catenary_components.ai.permission.trees import folders_read
from catenary_components.ai.tools.builtin.shell.calls import PRIVILEGED, may_be_option
from catenary_components.ai.tools.builtin.shell.judge import read_calls
from catenary_components.ai.tools.builtin.shell.script import ShellSyntaxError
from catenary_components.ai.tools.builtin.wildcards import alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.permission.rules import Rule
    from catenary_components.ai.tools.builtin.shell.calls import Call
    from catenary_components.ai.tools.builtin.shell.script import Script, Word
    from catenary_components.ai.tools.tool import Tool

SHELL_TOOLS: Final = frozenset({"bash"})
PATH_TOOLS: Final = frozenset({"read", "write", "edit"})
EDIT_TOOLS: Final = frozenset({"write", "edit"})
SEARCH_TOOLS: Final = frozenset({"glob", "grep"})
"""Built-in tools whose main argument is a text for a shell, a path, a path of a file that is changed, and what is
searched for in a place that is another argument."""

_MADE_BY_SHELL: Final = "\x00"
_NOWHERE: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_LOOKING: Final = frozenset([
    "ls", "cat", "head", "tail", "wc", "pwd", "echo", "printf", "grep", "rg", "cut", "tr", "diff", "cmp",
    "stat", "du", "df", "whoami", "id", "uname", "which", "basename", "dirname", "realpath", "true", "false",
    "test", "[", "md5sum", "sha256sum", "nl", "column", "tree", "cd",
])  # fmt: skip
_LOOKING_GIT: Final = frozenset(["status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "describe"])
_LOOKING_FIND: Final = frozenset([
    "-name", "-iname", "-path", "-ipath", "-type", "-size", "-mtime", "-mmin", "-maxdepth", "-mindepth", "-newer",
    "-not", "-o", "-a", "-print", "-print0", "-empty",
])  # fmt: skip


class Subject:
    """One call, as rules see it.

    Args:
        tool: The tool.
        arguments: Its arguments, which were read and fit.
        base: The folder that paths are relative to.
    """

    def __init__(self, tool: Tool, arguments: Mapping[str, Json], base: str) -> None:
        self.tool = tool
        self.arguments = arguments
        self.base = base
        is_builtin = tool.kind == "builtin"
        self.is_shell = is_builtin and tool.name in SHELL_TOOLS
        self.is_path = is_builtin and tool.name in PATH_TOOLS
        self.is_edit = is_builtin and tool.name in EDIT_TOOLS
        self.is_search = is_builtin and tool.name in SEARCH_TOOLS

    @cached_property
    def main(self) -> str:
        """The main argument as text; all arguments as JSON, with their names in order, when there is none."""
        name = self.tool.main_argument
        if self.tool.text_for_rules is not None:
            return self.tool.text_for_rules(self.arguments)
        if not name:
            return dumps(cast("Json", _ordered(dict(self.arguments))))
        value = self.arguments.get(name)
        return value if isinstance(value, str) else "" if value is None else dumps(value)

    # Rules

    def is_stopped_by(self, rule: Rule) -> bool:
        """Whether a rule that asks or denies is about this call: any part of it is enough."""
        if not rule.is_about(self.tool.name):
            return False
        if rule.match and not any(fnmatchcase(text, rule.match) for text in self._any_forms()):
            return False
        return rule.holds(self.arguments)

    def is_allowed_by(self, rules: Sequence[Rule]) -> Rule | None:
        """Give the first rule that allows this call; all parts of it have to be allowed."""
        fitting = [rule for rule in rules if rule.is_about(self.tool.name) and rule.holds(self.arguments)]
        if not fitting:
            return None
        whole = next((rule for rule in fitting if not rule.match or rule.match == escape(self.main)), None)
        if whole is not None:
            return whole
        if self.is_shell:
            return self._allowed_commands(fitting)
        forms = self._real_paths(self.main) if self.is_path else [self.main]
        return next((rule for rule in fitting if any(fnmatchcase(form, rule.match) for form in forms)), None)

    def _allowed_commands(self, rules: Sequence[Rule]) -> Rule | None:
        read = self._shell
        if read is None or any(not _is_nowhere(target) for target in _targets(read[0])):
            return None
        texts = [_plain_text(call) for call in read[1] if _counts(call)]
        found = [next((rule for rule in rules if fnmatchcase(text, rule.match)), None) for text in texts]
        return found[0] if found and None not in found else None

    def _any_forms(self) -> Iterator[str]:
        yield self.main
        for path in self._named_paths():
            yield posixpath.normpath(path)
            yield from self._real_paths(path)
        if self.is_shell and self._shell is not None:
            for call in self._shell[1]:
                yield " ".join([call.name, *call.arguments])
                yield " ".join([call.program, *call.arguments])

    def _named_paths(self) -> list[str]:
        """Give the paths that a file tool names."""
        if self.is_path:
            return [self.main]
        if not self.is_search:
            return []
        places = [self.arguments.get(name) for name in ("path", "include")]
        named = [place for place in places if isinstance(place, str) and place]
        return named if self.tool.name == "grep" else [*named, self.main]

    def _real_paths(self, path: str) -> list[str]:
        real = self._real(path)
        below = os.path.relpath(real, self.base) if is_below(real, os.path.realpath(self.base)) else real
        return [real, below]

    @cached_property
    def real_path(self) -> str:
        """Where the path that is the main argument leads."""
        return self._real(self.main)

    def _real(self, path: str) -> str:
        whole = os.path.join(self.base, os.path.expanduser(path))  # noqa: PTH111, PTH118
        return os.path.realpath(whole.replace("\0", ""))

    # What it does

    @cached_property
    def _shell(self) -> tuple[Script, list[Call]] | None:
        try:
            return read_calls(self.main)
        except ShellSyntaxError:
            return None

    @property
    def is_read_only(self) -> bool:
        """Whether the call changes nothing: such a tool, or a shell text of which that is known."""
        if not self.is_shell:
            return self.tool.is_read_only
        read = self._shell
        if read is None or any(not _is_nowhere(target) for target in _targets(read[0])):
            return False
        if any(command.assignments for command in read[0].commands):
            return False
        return all(not _counts(call) or _only_looks(call) for call in read[1])

    def programs(self) -> Iterator[str]:
        """Give the programs that a shell text starts, each with its arguments, and where it writes to."""
        if self._shell is None:
            return
        for call in self._shell[1]:
            yield " ".join([call.program, *call.arguments])
        for target in _targets(self._shell[0]):
            yield f"> {target}"

    def paths(self) -> Iterator[str]:
        """Give all that may be a path in the call."""
        if self.is_path or self.is_search:
            yield from self._named_paths()
        elif self.is_shell:
            if self._shell is not None:
                yield from _shell_paths(*self._shell)
        else:
            yield from _path_like(self.arguments.values())

    def trees(self) -> Iterator[str]:
        """Give the folders that the programs of a shell text read with all that is in them."""
        if self.is_shell and self._shell is not None:
            for call in self._shell[1]:
                yield from folders_read(call)

    def patterns(self) -> Iterator[str]:
        """Give the patterns of a shell text that stand for files, with all that braces make of them."""
        if not self.is_shell or self._shell is None:
            return
        for word in _words(*self._shell):
            if word.is_literal and word.has_pattern:
                yield from alternatives(word.text)


def is_below(path: str, folder: str) -> bool:
    """Tell whether a real path is a folder, or in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _ordered(value: object) -> object:
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {name: _ordered(members[name]) for name in sorted(members)}
    if isinstance(value, list):
        return [_ordered(item) for item in cast("list[object]", value)]
    return value


def _plain_text(call: Call) -> str:
    """Give a command as patterns that allow see it: a word that the shell makes fits nothing but `*`."""
    return " ".join([call.name, *(_plain_word(word) for word in call.words[1:])])


def _plain_word(word: Word) -> str:
    if not word.is_certain:
        return _MADE_BY_SHELL
    return posixpath.normpath(word.text) if ".." in word.text.split("/") else word.text


def _targets(script: Script) -> Iterator[str]:
    for command in script.commands:
        for redirect in command.redirects:
            if redirect.operator.startswith((">", "&>")) or redirect.operator == "<>":
                yield redirect.target.text if redirect.target.is_certain else _MADE_BY_SHELL


def _is_nowhere(target: str) -> bool:
    return target in _NOWHERE or target.isdigit() or target == "-"


def _words(script: Script, calls: Iterable[Call]) -> list[Word]:
    words = [word for call in calls for word in call.words[1:]]
    return words + [redirect.target for command in script.commands for redirect in command.redirects]


def _shell_paths(script: Script, calls: Iterable[Call]) -> Iterator[str]:
    for word in _words(script, calls):
        if word.text:
            yield word.text
            yield word.text.rpartition("=")[2] or word.text


def _counts(call: Call) -> bool:
    """Tell whether a program has to be allowed itself, besides what it starts: when it does more than start that."""
    writes = call.program == "time" and any(word.text.startswith(("-o", "--o", "-a")) for word in call.words[1:])
    return not call.is_wrapper or call.program.lower() in PRIVILEGED or writes


def _only_looks(call: Call) -> bool:
    name, arguments = call.program, call.arguments
    if "/" in call.name:
        return False
    if name in ("git", "tree", "rg") and any(may_be_option(word) for word in call.words[1:]):
        return False
    if name == "git":
        return bool(arguments) and arguments[0] in _LOOKING_GIT and not _writes(arguments)
    if name == "find":
        return all(text in _LOOKING_FIND for text in arguments if text.startswith("-")) and all(
            word.is_literal for word in call.words
        )
    return name in _LOOKING and not _writes(arguments)


def _writes(arguments: Iterable[str]) -> bool:
    """Tell whether an option names a file to write, or a program to start."""
    return any(
        text in ("-o", "-s", "-f") or text.startswith(("--output", "--set", "--ext-diff", "--pre", "-O", "--open"))
        for text in arguments
    )


def _path_like(values: Iterable[Json]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            if value.startswith(("/", "~/", "./", "../")) and len(value) <= 4096 and "\n" not in value:
                yield value
        elif isinstance(value, list):
            yield from _path_like(cast("list[Json]", value))
        elif isinstance(value, dict):
            yield from _path_like(cast("dict[str, Json]", value).values())
