"""Reading files for templates, confined to the folders that the environment allows."""

from __future__ import annotations

import errno
import logging
import os
import stat
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.expr.kinds import EvaluationError, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.environment import Environment

read_files: Final[ContextVar[Callable[[Path], object] | None]] = ContextVar("read_files", default=None)
"""Is called with the path of each file before it is read, for those who show where a text came from, or watch it."""

MAX_PATH: Final = 4_096
_ROOTS: Final = "real roots"
_MISSED: Final = "files that were missed"
_MOST_MISSED: Final = 100
_WEB: Final = ("http://", "https://")

_log = logging.getLogger(__name__)


def read_text(path: object, environment: Environment) -> str:
    """Give the text of a file; empty when there is none. What is no UTF-8 becomes U+FFFD.

    Raises:
        EvaluationError: When the path lies outside the allowed folders or is too large, or is a web address and
            those are off.
    """
    if environment.fetch is not None and isinstance(path, str) and path.lower().startswith(_WEB):
        return environment.fetch(path)
    found = locate(path, environment)
    if found is None:
        return missed(path, environment)
    noted = read_files.get()
    if noted is not None:
        noted(found)
    try:
        # the path is resolved: a link in its last part was put there since, and is not followed
        handle = os.open(found, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):  # a pipe put there since would be waited for
                return missed(path, environment)
            content = file.read(environment.max_file_bytes + 1)
    except OSError:
        return missed(path, environment)
    if len(content) > environment.max_file_bytes:
        raise EvaluationError(f"{str(path)!r} is larger than {environment.max_file_bytes} bytes")
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def missed(path: object, environment: Environment) -> str:
    """Give the text of a file that is not there, or cannot be read: nothing. The log tells of each file once."""
    known: set[str] = environment.programs.setdefault(_MISSED, set())
    name = str(path)
    if name not in known and len(known) < _MOST_MISSED:
        known.add(name)
        _log.warning("a file to be included is not there or cannot be read: %s", name, extra={"file": name})
    return ""


def file_exists(path: object, environment: Environment) -> bool:
    """Tell whether there is such a file below the allowed folders."""
    try:
        return locate(path, environment) is not None
    except EvaluationError:
        if not isinstance(path, str):
            raise
        return False


def locate(path: object, environment: Environment) -> Path | None:
    """Give the real path of an existing file; `None` when there is none."""
    if not isinstance(path, str):
        raise EvaluationError(f"a path is a string, not {kind_of(path)}")
    if len(path) > MAX_PATH:
        raise EvaluationError(f"a path has at most {MAX_PATH} characters, not {len(path)}")
    if path.lower().startswith(_WEB):
        raise EvaluationError("include() of web addresses is off; allow it on the engine, or use a `restApiCall` node")
    roots = _real_roots(environment)
    if not roots:
        raise EvaluationError(f"{path!r} cannot be read: no folder is allowed; set `global.data_dir`, or allow one")
    try:
        return _below(path, roots)
    except (ValueError, OSError, RuntimeError):  # a NUL in the name, a name too long, a loop of links
        return None


def _real_roots(environment: Environment) -> list[str]:
    """Give the real paths of the allowed folders, each with a separator at its end; they are looked up once."""
    known: list[str] | None = environment.programs.get(_ROOTS)
    if known is None:
        known = [os.path.realpath(root).rstrip(os.sep) + os.sep for root in environment.roots]
        environment.programs[_ROOTS] = known
    return known


def _below(path: str, roots: list[str]) -> Path | None:
    inside = _all_below(path, roots)
    if not inside:
        raise EvaluationError(f"{path!r} is outside of the folders that this chain may read")
    return next((found for found in inside if found.is_file()), None)


def _all_below(path: str, roots: list[str]) -> list[Path]:
    """Give the real paths that a path may mean, of those below the roots."""
    candidates = [path] if Path(path).is_absolute() else [*[root + path for root in roots], path]
    real = (os.path.realpath(candidate) for candidate in candidates)
    inside = [one for one in real if any(one.startswith(root) or one + os.sep == root for root in roots)]
    if any(os.path.realpath(one) != one for one in inside):  # behind a loop of links, links are not looked up
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return [Path(one) for one in inside]


def locate_folder(path: str, environment: Environment) -> Path | None:
    """Give the real path of an existing folder; a relative one is looked for below each allowed folder.

    Returns:
        `None` when there is none.

    Raises:
        EvaluationError: When it lies outside of the allowed folders, or none is allowed.
    """
    roots = _real_roots(environment)
    if not roots:
        raise EvaluationError(f"{path!r} cannot be used: no folder is allowed; set `global.data_dir`, or allow one")
    try:
        inside = _all_below(path, roots)
    except (ValueError, OSError, RuntimeError):  # a NUL in the name, a name too long, a loop of links
        return None
    if not inside:
        raise EvaluationError(f"{path!r} is outside of the folders that this chain may use")
    return next((found for found in inside if found.is_dir()), None)
