"""Where file tools may go: one policy, and opening of files that nobody can lead elsewhere in the meantime.

A path is resolved, links included, and looked at; then it is opened part by part without following any link. Whoever
puts a link into the way between the two gets an error.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.component import Config, option
from catenary.expr.files import locate_folder
from catenary.expr.operators import EvaluationError
from catenary_components.ai.tools.builtin.base import ToolFailure, ToolSettingError

if TYPE_CHECKING:
    from collections.abc import Generator

    from catenary.component import Context
    from catenary_components.ai.tools.builtin.base import Workplace

MAX_PATH: Final = 4_096
"""Characters of a path."""

_FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
_FILE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOCTTY", 0)
_LED_AWAY: Final = (errno.ELOOP, errno.ENOTDIR)


class PathEscape(Exception):  # noqa: N818 - what the path does
    """A path leads out of what a tool may use."""


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """Laid into the scope of a run by the program around it: the folder in which tools work for this run.

    Attributes:
        path: An existing folder; it takes the place of the tools' `workDir` and of all other folders they may use.
    """

    path: str


class PathOptions(Config):
    """Where a file tool may go."""

    work_dir: str = option(
        "",
        help="The folder that paths are relative to, below the folders that the chain may use; empty for the first of "
        "`global.data_dir`, the chain's own folder, and the roots of the engine.",
        examples=["notes"],
    )
    allow_paths: list[str] = option([], help="More folders that may be used, below those that the chain may use.")
    deny_paths: list[str] = option(
        [], help="Files and folders that may not be used, wherever they are; relative to `workDir`."
    )
    cross_directory: bool = option(False, help="True lets all folders be used that the chain may use.")
    write_hidden: bool = option(True, help="False refuses to write files and folders whose name begins with a dot.")


class PathPolicy:
    """Says where the files of a tool may be, and opens them. Safe to use from many threads.

    Attributes:
        work: The real path of the folder that paths are relative to.
        allowed: The real paths of all folders that may be used.
    """

    def __init__(
        self, work: str, allowed: tuple[str, ...] = (), denied: tuple[str, ...] = (), *, write_hidden: bool = True
    ) -> None:
        self.work = os.path.realpath(work)
        self.allowed = (self.work, *(os.path.realpath(path) for path in allowed))
        self._denied = tuple(os.path.realpath(Path(self.work, path)) for path in denied)
        self._write_hidden = write_hidden

    @classmethod
    def of(cls, options: PathOptions, workplace: Workplace) -> PathPolicy:
        """Make the policy of a tool. Raises: ToolSettingError: when a folder is outside of those of the chain."""
        roots = [str(root) for root in workplace.environment.roots]
        data_dir = str(workplace.environment.properties.get("data_dir") or "")
        if not roots:
            raise ToolSettingError(
                "workDir",
                "no folder may be used; give an `Agent` its `folder`, an engine its `roots`, or set `global.data_dir`",
            )
        usual = next(
            (root for root in roots if data_dir and os.path.realpath(root) == os.path.realpath(data_dir)), roots[0]
        )
        work = _folder("workDir", options.work_dir or usual, workplace)
        allowed = [_folder("allowPaths", path, workplace) for path in options.allow_paths]
        allowed += roots if options.cross_directory else []
        return cls(work, tuple(allowed), tuple(options.deny_paths), write_hidden=options.write_hidden)

    def for_run(self, ctx: Context) -> PathPolicy:
        """Give the policy for a run: its own folder when the program around has laid one into its scope."""
        folder = ctx.scope.get(WorkFolder)
        return self if folder is None else PathPolicy(folder.path, (), self._denied, write_hidden=self._write_hidden)

    # Where

    def resolve(self, path: str, *, writes: bool = False) -> str:
        """Give the real path of what a path means; it need not exist.

        Raises:
            PathEscape: When it leads out of what may be used.
            ToolFailure: When it is no path.
        """
        if not path.strip():
            raise ToolFailure("Missing path - name a file or folder")
        if len(path) > MAX_PATH or "\0" in path:
            raise ToolFailure(f"Invalid path - a path has at most {MAX_PATH} characters and no NUL")
        if path.startswith(("\\\\", "//")):
            raise PathEscape(f"Path escapes allowed directory - {path} is a network path")
        text = str(Path(path).expanduser()) if path.startswith("~/") or path == "~" else path
        try:
            real = os.path.realpath(Path(self.work, text))
        except (OSError, ValueError) as error:
            raise ToolFailure(f"Invalid path - {path}: {error}") from error
        if os.path.realpath(real) != real:  # behind a loop of links, links are not looked up
            raise ToolFailure(f"Invalid path - {path}: there is a loop of links in it")
        root = next((root for root in self.allowed if _is_below(real, root)), None)
        if root is None:
            raise PathEscape(f"Path escapes allowed directory - {path}")
        if any(_is_below(real, denied) for denied in self._denied):
            raise PathEscape(f"Path is excluded - {path}")
        if (
            writes
            and not self._write_hidden
            and any(part.startswith(".") for part in Path(real).relative_to(root).parts)
        ):
            raise PathEscape(f"Hidden files may not be written - {path}")
        return real

    def is_denied(self, real: str) -> bool:
        """Whether a real path is excluded."""
        return any(_is_below(real, denied) for denied in self._denied)

    def shown(self, real: str) -> str:
        """Give a real path as the model sees it: relative to the folder, if it is there."""
        return os.path.relpath(real, self.work) if _is_below(real, self.work) else real

    # Opening

    @contextmanager
    def folder(self, real: str, *, make: bool = False) -> Generator[int]:
        """Open a folder by its real path; it is closed at the end of the block.

        Args:
            real: What `resolve` gave.
            make: True makes what is missing of it.

        Raises:
            PathEscape: When a link has been put into the way.
            OSError: When it cannot be opened.
        """
        handle = os.open("/", _FOLDER)
        try:
            for part in Path(real).parts[1:]:
                following = self._step(handle, part, make=make)
                os.close(handle)
                handle = following
            yield handle
        finally:
            os.close(handle)

    @staticmethod
    def _step(handle: int, part: str, *, make: bool) -> int:
        try:
            try:
                return os.open(part, _FOLDER, dir_fd=handle)
            except FileNotFoundError:
                if not make:
                    raise
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=handle)
            return os.open(part, _FOLDER, dir_fd=handle)
        except OSError as error:
            if error.errno in _LED_AWAY and _is_link(part, handle):
                raise PathEscape(f"Path escapes allowed directory - {part} was replaced by a link") from error
            raise

    @contextmanager
    def opened(self, real: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> Generator[int]:
        """Open a plain file by its real path; it is closed at the end of the block.

        Raises:
            PathEscape: When a link has been put into the way.
            ToolFailure: When it is no plain file.
            OSError: When it cannot be opened.
        """
        with self.folder(str(Path(real).parent)) as parent:
            handle = open_beneath(parent, Path(real).name, flags, mode)
        try:
            yield handle
        finally:
            os.close(handle)


def open_beneath(folder: int, name: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """Open a plain file of an open folder, never through a link. The caller closes it.

    Raises:
        PathEscape: When it is a link.
        ToolFailure: When it is no plain file.
        OSError: When it cannot be opened.
    """
    try:
        handle = os.open(name, flags | _FILE, mode, dir_fd=folder)
    except OSError as error:
        if error.errno in _LED_AWAY and _is_link(name, folder):
            raise PathEscape(f"Path escapes allowed directory - {name} is a link") from error
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise ToolFailure(f"Not a file - {name}") from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ToolFailure(f"Not a file - {name}")
    return handle


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return True  # it changes under our hands


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _folder(field: str, path: str, workplace: Workplace) -> str:
    try:
        found = locate_folder(path, workplace.environment)
    except EvaluationError as error:
        raise ToolSettingError(field, f"{error}; allow its folder by `roots` of the engine") from error
    if found is None:
        raise ToolSettingError(field, f"there is no folder {path!r}")
    return str(found)
