"""Files and folders that are not for a tool to use without a question, whoever listed the tool."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

FILES: Final = (
    ".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile", ".ssh/config",
    ".ssh/authorized_keys", ".netrc", ".npmrc", ".pypirc", ".env", ".envrc", ".env.local", ".env.development",
    ".env.development.local", ".env.test", ".env.test.local", ".env.staging", ".env.production",
    ".env.production.local", "id_rsa", "id_ed25519", ".aws/credentials", "/etc/passwd", "/etc/shadow", "/etc/sudoers",
)  # fmt: skip
"""Files: names, ends of paths, or whole paths."""

FOLDERS: Final = (".git", ".vscode", ".idea", ".ssh", ".aws", ".kube", ".gnupg")
"""Folders, with all that is in them."""

_WILD: Final = re.compile(r"[*?\[]")


class Dangers:
    """The lists of one agent.

    Args:
        files: Names, ends of paths, or whole paths; case does not count.
        folders: Names of folders.
    """

    def __init__(self, files: Iterable[str] = FILES, folders: Iterable[str] = FOLDERS) -> None:
        self._files = tuple(file.lower() for file in files)
        self._names = frozenset(file.rpartition("/")[2] for file in self._files)
        self._folders = frozenset(folder.lower() for folder in folders)

    def of_path(self, path: str, base: str = "") -> str:
        """Give what is dangerous about a path; empty when nothing is.

        Args:
            path: As it was given; `~`, `..` and links are followed.
            base: What it is relative to.
        """
        spelt = os.path.normpath(os.path.join(base, os.path.expanduser(path)))  # noqa: PTH111, PTH118
        found = self.listed(spelt)
        if found or "\0" in spelt:
            return found
        try:
            return self.listed(os.path.realpath(spelt))
        except (OSError, ValueError):
            return ""

    def of_pattern(self, pattern: str, base: str = "") -> str:
        """Give what is dangerous among the files that a pattern of the shell may fit; empty when nothing is.

        A name that begins with a dot is found whether there is such a file or not. Any other one is found if there is
        one, in a folder that is named without a pattern.

        Args:
            pattern: As it was given, with `*`, `?` and `[...]`; braces were filled in.
            base: What it is relative to.
        """
        if not _WILD.search(pattern):
            return self.of_path(pattern, base)
        folder, _, last = pattern.replace("\\", "/").lower().rpartition("/")
        hidden = [part for part in (*folder.split("/"), last) if part.startswith(".") and _WILD.search(part)]
        for part in hidden:
            names = self._folders if part is not last else self._folders | self._names
            if found := next((name for name in sorted(names) if fnmatchcase(name, part)), ""):
                return found
        if last.startswith(".") or not _WILD.search(last) or _WILD.search(folder):
            return ""
        place = pattern[: len(folder) + 1] if folder or pattern.startswith("/") else ""
        fitting = (name for name in sorted(self._names) if not name.startswith(".") and fnmatchcase(name, last))
        paths = (os.path.join(base, os.path.expanduser(place + name)) for name in fitting)  # noqa: PTH111, PTH118
        return next((found for path in paths if os.path.lexists(path) and (found := self.of_path(path))), "")

    def listed(self, path: str) -> str:
        """Give what is dangerous about a path as it is written; empty when nothing is."""
        text = path.replace("\\", "/").lower()
        parts = PurePosixPath(text).parts
        folder = next((part for part in parts if part in self._folders), "")
        if folder:
            return folder
        if not parts or parts[-1] not in self._names:
            return ""
        whole = "/" + text.lstrip("/")
        return next((file for file in self._files if whole.endswith("/" + file.lstrip("/")) and _fits(file, text)), "")


def _fits(file: str, path: str) -> bool:
    """Tell whether a file that is named by its whole path is that one."""
    return not file.startswith("/") or path == file
