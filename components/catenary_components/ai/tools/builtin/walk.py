"""Going through the files below a folder, without ever following a link."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from catenary_components.ai.tools.builtin.base import ToolFailure
from catenary_components.ai.tools.builtin.files import read_handle
from catenary_components.ai.tools.builtin.paths import PathEscape, open_beneath
from catenary_components.ai.tools.builtin.wildcards import Ignored
from catenary_components.ai.tools.threads import check_stopped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary_components.ai.tools.builtin.paths import PathPolicy

MAX_FILES: Final = 100_000
"""Files that are looked at."""

PASSED_BY: Final = frozenset([".git", ".hg", ".svn", ".history", ".tool-output"])
"""Folders that are not gone into."""

_IGNORE_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """A plain file below a folder, while it is its turn.

    Attributes:
        path: Its path relative to where the walk began, with `/` between the parts.
        handle: Its open folder.
        name: Its name.
    """

    path: str
    handle: int
    name: str

    def read(self, most: int) -> bytes:
        """Read its first bytes; none when it cannot be read, or is something else by now."""
        try:
            handle = open_beneath(self.handle, self.name)
        except (OSError, ToolFailure, PathEscape):
            return b""
        try:
            return read_handle(handle, most)
        except OSError:
            return b""
        finally:
            os.close(handle)

    def changed_ns(self) -> int:
        """Give when it was last changed."""
        try:
            return os.stat(self.name, dir_fd=self.handle, follow_symlinks=False).st_mtime_ns
        except OSError:
            return 0


def files_below(policy: PathPolicy, real: str, *, minds_gitignore: bool = False) -> Iterator[Found]:
    """Give the plain files below a folder, in the order of their names; those that are excluded are left out.

    Args:
        policy: Opens the folder.
        real: The real path of the folder.
        minds_gitignore: True leaves out what `.gitignore` files name.

    Raises:
        OSError: When the folder cannot be opened.
    """
    seen = 0
    ignored: dict[str, Ignored | None] = {}
    with policy.folder(real) as top:
        for place, folders, names, handle in os.fwalk(".", dir_fd=top, follow_symlinks=False):
            check_stopped()
            base = place[2:] + "/" if place != "." else ""
            rules = ignored.get(base.rstrip("/"))
            if minds_gitignore and ".gitignore" in names:
                rules = _ignored_here(handle, base, rules)
            folders[:] = sorted(one for one in folders if _goes_into(policy, real, base + one, one, rules))
            ignored |= {base + one: rules for one in folders}
            for name in sorted(names):
                path = base + name
                is_left_out = (rules and rules.has(path, is_folder=False)) or policy.is_denied(f"{real}/{path}")
                if is_left_out or not _is_plain(name, handle):
                    continue
                seen += 1
                if seen > MAX_FILES:
                    raise ToolFailure(
                        f"Too many files - more than {MAX_FILES} below {policy.shown(real)}; name a folder"
                    )
                yield Found(path, handle, name)


def _ignored_here(handle: int, base: str, above: Ignored | None) -> Ignored:
    """Read the `.gitignore` of a folder; what those above it say holds as well."""
    text = Found("", handle, ".gitignore").read(_IGNORE_BYTES).decode("utf-8", "replace")
    return Ignored(text, base, above)


def _goes_into(policy: PathPolicy, real: str, path: str, name: str, rules: Ignored | None) -> bool:
    if name in PASSED_BY or policy.is_denied(f"{real}/{path}"):
        return False
    return not (rules and rules.has(path, is_folder=True))


def _is_plain(name: str, handle: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)
    except OSError:
        return False
