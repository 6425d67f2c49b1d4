"""Whether a shell text may be run: the lists of the tool, and what no list can allow."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from catenary_components.ai.tools.builtin.shell.calls import PRIVILEGED, TRANSPARENT, Call, calls_of
from catenary_components.ai.tools.builtin.shell.grammar import parse
from catenary_components.ai.tools.builtin.shell.hidden import hidden_start
from catenary_components.ai.tools.builtin.shell.lists import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    DEFAULT_DENY_ARGS,
    SYSTEM_FOLDERS,
)
from catenary_components.ai.tools.builtin.shell.script import ShellSyntaxError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from catenary_components.ai.tools.builtin.shell.script import Script

_PROGRAM_FOLDERS: Final = frozenset(["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"])
_DISK: Final = re.compile(
    r"/dev/+(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d|rdisk\d|mapper/|mem\b|kmem\b)"
)
_SHELL_READS: Final = frozenset(["source", "."])
_HARMLESS_DEVICES: Final = re.compile(r"/dev/(?:null|zero|stdin|stdout|stderr|tty|random|urandom|fd/\d+)")


def read_calls(text: str, *, is_bash: bool = True) -> tuple[Script, list[Call]]:
    """Give what a shell text holds, and all programs that it starts.

    Raises:
        ShellSyntaxError: When it cannot be said for certain.
    """
    try:
        script = parse(text, is_bash=is_bash)
        calls = list(calls_of(script))
    except RecursionError:
        raise ShellSyntaxError("the text is nested too deeply") from None
    for call in calls:
        hidden_start(call)
    return script, calls


@dataclass(frozen=True, slots=True)
class ShellRules:
    """The lists of one tool.

    Attributes:
        mode: `allow` runs what `allow` names; `deny` runs all but what `deny` names.
        allow: Names of commands, or paths.
        deny: Names of commands that are never run.
        deny_args: Parts of commands that are never run, matched at the borders of words.
        is_bash: Whether the shell is bash.
    """

    mode: Literal["allow", "deny"] = "allow"
    allow: tuple[str, ...] = DEFAULT_ALLOW
    deny: tuple[str, ...] = DEFAULT_DENY
    deny_args: tuple[str, ...] = DEFAULT_DENY_ARGS
    is_bash: bool = True

    def refusal(self, text: str) -> str:
        """Give why a shell text must not be run; empty when it may be."""
        try:
            script, calls = read_calls(text, is_bash=self.is_bash)
        except ShellSyntaxError as error:
            return f"command cannot be checked: {error}"
        return self._refusal_of_calls(calls) or self._refusal_of_parts(script, calls)

    def _refusal_of_calls(self, calls: Sequence[Call]) -> str:
        denied = {name.lower() for name in self.deny}
        allowed = {name.lower() for name in self.allow}
        for call in calls:
            names = {call.name.lower(), call.program.lower(), call.program.lower().partition(".")[0]}
            if names & denied:
                return f"command '{call.program}' is denied"
            if call.name in _SHELL_READS and call.name not in allowed:
                return f"command '{call.name}' is denied: it runs commands that cannot be checked"
            if self.mode == "allow" and not call.is_guess and not self._is_allowed(call, allowed):
                return f"command '{call.name}' not in allow list. Allowed: [{', '.join(sorted(self.allow))}]"
        return ""

    @staticmethod
    def _is_allowed(call: Call, allowed: set[str]) -> bool:
        name = call.name.lower()
        if call.is_wrapper and call.program.lower() in TRANSPARENT and _is_program(call.name):
            return True
        return name in allowed or (_is_program(call.name) and call.program.lower() in allowed)

    def _refusal_of_parts(self, script: Script, calls: Sequence[Call]) -> str:
        for call in calls:
            if call.program.lower() == "rm" and (folder := _removed_folder(call)):
                return f"command contains denied pattern 'rm -r {folder}'"
        texts = [" ".join([call.program, *call.arguments]) for call in calls]
        texts += [redirect.target.text for command in script.commands for redirect in command.redirects]
        for text in texts:
            plain = f"{text}\n{re.sub('[{},]', ' ', text)}"
            if disk := _DISK.search(plain):
                return f"command contains denied pattern '{disk[0]}'"
            for pattern in self.deny_args:
                if _has(plain, pattern):
                    return f"command contains denied pattern '{pattern}'"
        return ""


def _is_program(name: str) -> bool:
    """Tell whether a name is one that is looked for in `PATH`, or a path into a folder of the system's programs."""
    return "/" not in name or posixpath.dirname(name) in _PROGRAM_FOLDERS


def _has(text: str, pattern: str) -> bool:
    words = r"\s+".join(re.escape(word) for word in pattern.split())
    return bool(words) and bool(re.search(rf"(?<![\w./~-]){words}(?![\w./~-])", text, re.IGNORECASE))


def _removed_folder(call: Call) -> str:
    """Give the system folder that a call of `rm` would remove with all that is in it; empty when there is none."""
    options = [text for text in call.arguments if text.startswith("-")]
    if not any("--recursive".startswith(text) if text[:2] == "--" else "r" in text.lower() for text in options):
        return ""
    for word in call.words[1:]:
        text = word.text if word.is_literal else re.sub(r"\$(?:HOME\b|\{HOME\})", "~", word.raw.replace('"', ""))
        for target in re.sub("[{},]", " ", text).split():
            folder = _plain_folder(target)
            if folder in SYSTEM_FOLDERS:
                return folder
    return ""


def _plain_folder(target: str) -> str:
    """Give a folder as the list of system folders has it: without its last patterns."""
    text = re.sub(r"(?:/+\.?\*+)+$", "/", target)
    if text.startswith("~"):
        return "~" + posixpath.normpath("/" + text[1:]).rstrip("/")
    return re.sub("^//", "/", posixpath.normpath(text)) if text else ""


def danger(text: str, *, is_bash: bool = True, allowed: Collection[str] = ()) -> str:
    """Give what is dangerous in a shell text, for a person to decide on; empty when nothing is known to be.

    A text that cannot be read is dangerous.

    Args:
        text: The shell text.
        is_bash: Whether the shell is bash.
        allowed: Programs that somebody has named: `sudo` and the like are dangerous but for these.
    """
    try:
        script, calls = read_calls(text, is_bash=is_bash)
    except ShellSyntaxError as error:
        return f"it cannot be checked: {error}"
    for call in calls:
        found = _danger_of(call)
        if found and found not in allowed:
            return found
    for command in script.commands:
        for redirect in command.redirects:
            target = redirect.target.text
            if target.startswith("/dev/") and not _HARMLESS_DEVICES.fullmatch(target):
                return f"> {target}"
    return ""


_KILLS: Final = re.compile(r"(?<!\S)(?:-|-[sn] ?|--s\w*[= ])(?:9|(?:SIG)?KILL)(?!\S)", re.IGNORECASE)
_DANGEROUS: Final = frozenset(["dd", "fdisk", "format", "parted", "shutdown", "reboot"])


def _danger_of(call: Call) -> str:
    name, words = call.program.lower(), call.arguments
    letters = {letter for word in words if re.fullmatch("-[A-Za-z]+", word) for letter in word[1:]}
    if name in _DANGEROUS or name.startswith("mkfs"):
        return name
    if name in PRIVILEGED and len(call.words) > 1:
        return f"{name} rm" if "rm" in words else name
    if name == "rm" and (letters & {"r", "R"} or _has_long("--recursive", words)):
        return "rm -rf" if "f" in letters or _has_long("--force", words) else ""
    if name == "chmod" and any(re.fullmatch("0?777|a[+=]rwx", word) for word in words):
        return "chmod 777"
    if name == "chown" and ("R" in letters or "--recursive" in words):
        return "chown -R"
    if name in ("kill", "pkill", "killall") and _KILLS.search(" ".join(words)):
        return "kill -9"
    return ""


def _has_long(option: str, words: Iterable[str]) -> bool:
    """Tell whether a long option is there, perhaps shortened."""
    return any(len(word) > 2 and option.startswith(word) for word in words)
