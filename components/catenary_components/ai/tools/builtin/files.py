"""Reading and writing whole files for tools: text or not, all or nothing."""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from catenary_components.ai.tools.builtin.base import ArgumentsT, Builtin, ToolFailure
from catenary_components.ai.tools.builtin.paths import PathOptions, PathPolicy, open_beneath
from catenary_components.ai.tools.threads import check_stopped

if TYPE_CHECKING:
    from collections.abc import Generator

    from catenary.component import Context
    from catenary_components.ai.tools.builtin.base import Workplace

MAX_WHOLE_BYTES: Final = 10 * 1024 * 1024
"""Size of the largest file that is read whole."""

BINARY_SUFFIXES: Final = frozenset([
    "7z", "a", "avi", "bin", "bmp", "bz2", "class", "dat", "db", "dll", "doc", "docx", "dylib", "eot", "exe",
    "flac", "gif", "gz", "ico", "iso", "jar", "jpeg", "jpg", "lib", "mkv", "mov", "mp3", "mp4", "o", "obj",
    "odp", "ods", "odt", "ogg", "otf", "pdf", "png", "ppt", "pptx", "pyc", "rar", "so", "sqlite", "tar", "tgz",
    "tif", "tiff", "ttf", "wasm", "wav", "webm", "webp", "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
])  # fmt: skip
"""Endings of files that are no text."""

_LOOKED_AT: Final = 8192
_MOST_UNPRINTABLE: Final = 0.3
_PRINTABLE: Final = frozenset({*range(32, 127), *b"\t\n\r\f\b\x1b", *range(128, 256)})


PathConfigT = TypeVar("PathConfigT", bound=PathOptions)


class FileTool(Builtin[PathConfigT, ArgumentsT]):
    """A built-in tool that uses files.

    Attributes:
        policy: Where they may be.
    """

    def __init__(self, config: PathConfigT, workplace: Workplace) -> None:
        super().__init__(config, workplace)
        self.policy = PathPolicy.of(config, workplace)

    def folder_of(self, ctx: Context, arguments: ArgumentsT) -> str:  # noqa: ARG002 - of the base
        """Give the work folder of a run."""
        return self.policy.for_run(ctx).work


@contextmanager
def told(path: str) -> Generator[None]:
    """Turn what the system says about a file into a result for the model."""
    try:
        yield
    except FileNotFoundError as error:
        raise ToolFailure(f"File not found - {path}") from error
    except IsADirectoryError as error:
        raise ToolFailure(f"Is a directory - {path}") from error
    except NotADirectoryError as error:
        raise ToolFailure(f"Not a directory - {path}") from error
    except FileExistsError as error:
        raise ToolFailure(f"File exists - {path}") from error
    except OSError as error:
        raise ToolFailure(f"{error.strerror or error} - {path}") from error


def read_bytes(policy: PathPolicy, real: str, most: int = MAX_WHOLE_BYTES) -> bytes:
    """Read a file whole. Raises: ToolFailure: when it is larger than `most` bytes; OSError."""
    with policy.opened(real) as handle:
        size = os.fstat(handle).st_size
        content = read_handle(handle, most + 1)
    if len(content) > most:
        raise ToolFailure(f"File too large - {policy.shown(real)} has {max(size, len(content))} bytes, at most {most}")
    return content


def read_handle(handle: int, most: int) -> bytes:
    """Read up to `most` bytes of an open file."""
    pieces: list[bytes] = []
    while most > 0 and (piece := os.read(handle, min(most, 1 << 20))):
        check_stopped()
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def is_binary(name: str, content: bytes) -> bool:
    """Tell whether a file is no text: by its ending, a NUL, or more than 30 % unprintable bytes."""
    if Path(name).suffix[1:].lower() in BINARY_SUFFIXES:
        return True
    sample = content[:_LOOKED_AT]
    if b"\0" in sample:
        return True
    strange = sum(byte not in _PRINTABLE for byte in sample)
    return strange > _MOST_UNPRINTABLE * len(sample)


def read_text(policy: PathPolicy, real: str, most: int = MAX_WHOLE_BYTES) -> str:
    """Read a text file whole; what is no UTF-8 becomes U+FFFD. Raises: ToolFailure: when it is no text; OSError."""
    content = read_bytes(policy, real, most)
    if is_binary(real, content):
        raise ToolFailure(f"Binary file - {policy.shown(real)} is not text and cannot be shown")
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def write_bytes(policy: PathPolicy, real: str, content: bytes, *, is_new: bool = False) -> None:
    """Write a file, all or nothing: into another one, which takes its place. Missing folders are made.

    Args:
        policy: Opens the folder.
        real: The real path.
        content: All of it.
        is_new: True raises `FileExistsError` when there is one.

    Raises:
        ToolFailure: When there is something else than a plain file.
        OSError: When it cannot be written; there is nothing new then.
        WorkStopped: When nobody waits for it any more; there is nothing new then, either.
    """
    name = Path(real).name
    with policy.folder(str(Path(real).parent), make=True) as folder:
        mode = _mode_of(name, folder, real)
        if mode is not None and is_new:
            raise FileExistsError(real)
        draft = f".{name[:100]}.{uuid.uuid4().hex[:12]}.part"
        try:
            _write_draft(folder, draft, content, mode)
            check_stopped()
            if is_new:
                os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            else:
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)


def _write_draft(folder: int, draft: str, content: bytes, mode: int | None) -> None:
    handle = open_beneath(folder, draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _mode_of(name: str, folder: int, real: str) -> int | None:
    """Give the permissions of a plain file; `None` when there is none."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise ToolFailure(f"Is a directory - {Path(real).name}")
    if not stat.S_ISREG(found.st_mode):
        raise ToolFailure(f"Not a file - {Path(real).name}")
    return stat.S_IMODE(found.st_mode)
