"""Programs that read all that is in a folder, and what is in it that is not for a tool to read without a question."""

from __future__ import annotations

import os
import re
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary_components.ai.permission.dangerous import Dangers
    from catenary_components.ai.tools.builtin.shell.calls import Call

_GREPS: Final = frozenset(["grep", "egrep", "fgrep", "zgrep"])
_ALWAYS: Final = frozenset(["rg", "ag", "ack", "rgrep", "rsync", "tar", "7z"])
_WHEN_TOLD: Final = frozenset(["cp", "scp", "zip", "diff", *_GREPS])
_HERE: Final = frozenset(["rg", "ag", "ack", "rgrep", *_GREPS])
"""Programs that read the folder in which they run when none is named."""

_DEEP: Final = re.compile(
    r"-[A-Za-z]*[rRa][A-Za-z]*|--recursive|--archive|--dereference-recursive|--directories=recurse"
)
_NO_SECRETS: Final = frozenset([
    ".git", ".vscode", ".idea", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile",
])  # fmt: skip
"""What is dangerous to change, and may be read along with all else."""

_MOST_ENTRIES: Final = 5000


def folders_read(call: Call) -> Iterator[str]:
    """Give the folders that a program may read with all that is in them; `.` for the one in which it runs."""
    name, texts = call.program.lower(), call.arguments
    if name == "find":
        if any(text.startswith(("-exec", "-ok")) for text in texts):
            yield from list(_before_options(texts)) or ["."]
        return
    if name not in _ALWAYS and not (name in _WHEN_TOLD and any(map(_DEEP.fullmatch, texts))):
        return
    places = [text for text in texts if text and not text.startswith("-") and not text.isdigit()]
    yield from places
    if name in _HERE and len(places) < 2:
        yield "."


def _before_options(texts: list[str]) -> Iterator[str]:
    for text in texts:
        if text.startswith(("-", "(", "!")):
            return
        yield text


def secret_below(dangers: Dangers, path: str, base: str) -> str:
    """Give what is not to be read without a question in a folder; empty when nothing is known to be.

    The nearest entries are looked at first, and no more than some thousands. Links are not followed.

    Args:
        dangers: The lists of the agent.
        path: The folder, as it was given; of what is none, nothing is known.
        base: What it is relative to.
    """
    start = os.path.join(base, os.path.expanduser(path))  # noqa: PTH111, PTH118
    for entry in islice(_entries_below(start), _MOST_ENTRIES):
        if entry.name not in _NO_SECRETS and (found := dangers.listed(entry.path)):
            return f"{entry.name}: {found}" if found != entry.name.lower() else entry.name
    return ""


def _entries_below(folder: str) -> Iterator[os.DirEntry[str]]:
    """Give what is in a folder and below it, the nearest first; what cannot be opened has nothing in it."""
    waiting = deque([folder])
    while waiting:
        with suppress(OSError, ValueError), os.scandir(waiting.popleft()) as entries:
            for entry in entries:
                yield entry
                if entry.name not in _NO_SECRETS and entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
