"""Commands without a shell: cut at blanks, from a short list, with paths that are looked at first."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.errors import Refused, ResourceError, TooSlow
from catenary.jsontext import dumps
from catenary.processes import ProgramOptions, clean_environment, run_program
from catenary_components.ai.tools.builtin.base import ToolFailure
from catenary_components.ai.tools.builtin.paths import PathEscape
from catenary_components.ai.tools.builtin.shell.output import redacted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.tools.builtin.paths import PathPolicy

PLAIN_COMMANDS: Final = ("ls", "pwd", "cat", "head", "tail", "top", "free", "df")
"""Commands that may be run without a shell."""

PLAIN_TIMEOUT_S: Final = 5.0
"""Longest time of one."""

MAX_PLAIN_OUTPUT: Final = 2_000
"""Characters of each output that the model gets."""

_WITH_PATHS: Final = frozenset(["ls", "cat", "head", "tail"])
_PATTERN: Final = re.compile(r"[*?\[]")
_MOST_OUTPUT_BYTES: Final = 16 * 1024 * 1024
_MARK: Final = "...(truncated)"


class PlainShell:
    """Runs one command of a list, whose words are cut at blanks: quotes, pipes and variables are nothing special.

    Args:
        allowed: The commands.
    """

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = tuple(allowed)

    async def run(self, policy: PathPolicy, text: str, timeout_s: float) -> str:
        """Run a command; give a JSON object that says how it went. `policy` says where paths may lead."""
        words = text.split()
        about: dict[str, Json] = {"tool": "bash", "command": text, "allowedCommands": list(self._allowed)}
        try:
            command = self._checked(policy, words)
        except (ToolFailure, PathEscape) as error:
            return dumps({**about, "ok": False, "error": str(error)})
        about |= {
            "normalizedCommand": " ".join(command),
            "workingDirectory": policy.work,
            "allowedRoots": list(policy.allowed),
        }
        options = ProgramOptions(
            folder=Path(policy.work),
            environment={**clean_environment(), "TERM": "dumb"},
            timeout_s=timeout_s,
            max_output_bytes=_MOST_OUTPUT_BYTES,
        )
        try:
            ended = await run_program(command, options)
        except TooSlow:
            return dumps({**about, "ok": False, "timedOut": True, "exitCode": -1, "stdout": "", "stderr": ""})
        except (Refused, ResourceError) as error:
            return dumps({**about, "ok": False, "error": str(error)})
        outputs: dict[str, Json] = {"stdout": _shown(ended.stdout), "stderr": _shown(ended.stderr)}
        return dumps({**about, "ok": ended.code == 0, "timedOut": False, "exitCode": ended.code, **outputs})

    def _checked(self, policy: PathPolicy, words: list[str]) -> list[str]:
        if not words:
            raise ToolFailure("the command is empty")
        name, arguments = words[0], words[1:]
        if name not in self._allowed:
            raise ToolFailure(f"the command {name!r} is not allowed; it must be one of {', '.join(self._allowed)}")
        if name == "top" and not arguments:
            return ["top", "-b", "-n", "1"]
        if name not in _WITH_PATHS:
            return words
        return [name, *(one for word in arguments for one in _paths(policy, word))]


def _paths(policy: PathPolicy, word: str) -> Iterable[str]:
    """Give what a word stands for: options as they are, paths when they may be used, patterns as what fits."""
    if word.startswith("-"):
        return [word]
    folder, _, last = word.rpartition("/")
    if not _PATTERN.search(last):
        policy.resolve(word)
        return [word]
    real = policy.resolve(folder or ("/" if word.startswith("/") else "."))
    try:
        names = [one.name for one in Path(real).iterdir() if last.startswith(".") or not one.name.startswith(".")]
    except OSError:
        names = []
    fitting = sorted(fnmatch.filter(names, last))
    found = [os.path.join(folder, one) if folder else f"./{one}" for one in fitting]  # noqa: PTH118 - as it is written
    for one in found:
        policy.resolve(one)
    return found or [word]


def _shown(output: bytes) -> str:
    text = redacted(output.decode("utf-8", "replace"))
    return text if len(text) <= MAX_PLAIN_OUTPUT else text[:MAX_PLAIN_OUTPUT] + _MARK
