"""Reading files for templates, confined to the folders that the environment allows."""

from __future__ import annotations

import os
import stat
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.expr.operators import EvaluationError, kind_of

if TYPE_CHECKING:
    from catenary.expr.environment import Environment

read_files: Final[ContextVar[list[Path] | None]] = ContextVar("read_files", default=None)
"""Set to a list, it gets the path of each file that is read, for those who show where a text came from."""

MAX_PATH: Final = 4_096
_ROOTS: Final = "real roots"
_WEB: Final = ("http://", "https://")


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
        return ""
    try:
        # the path is resolved: a link in its last part was put there since, and is not followed
        handle = os.open(found, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):  # a pipe put there since would be waited for
                return ""
            content = file.read(environment.max_file_bytes + 1)
    except OSError:
        return ""
    noted = read_files.get()
    if noted is not None:
        noted.append(found)
    if len(content) > environment.max_file_bytes:
        raise EvaluationError(f"{str(path)!r} is larger than {environment.max_file_bytes} bytes")
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


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
    is_inside = False
    for candidate in [path] if Path(path).is_absolute() else [*[root + path for root in roots], path]:
        real = os.path.realpath(candidate)
        if any(real.startswith(root) or real + os.sep == root for root in roots):
            is_inside = True
            found = Path(real)
            if found.is_file():
                return found
    if not is_inside:
        raise EvaluationError(f"{path!r} is outside of the folders that this chain may read")
    return None
