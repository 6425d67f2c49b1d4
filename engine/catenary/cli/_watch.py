"""Do something again whenever files change, until it is interrupted: `--watch`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SETTLE_MS = 100
_LOOK_MS = 500


def watched(files: Iterable[str], others: Iterable[str], work: Callable[[], int]) -> int:
    """Do the work, and again after each change to the files, to others, or to what is in their folders.

    Returns:
        What the work gave last, when nothing can be watched any more.

    Raises:
        KeyboardInterrupt: When it is interrupted.
    """
    watchfiles = _needed()
    named = [Path(file) for file in (*files, *others) if file != "-"]
    if not named:
        raise click.UsageError("--watch needs files or folders to watch")
    folders = {path if path.is_dir() else path.resolve().parent for path in named}
    names = {path.resolve() for path in named if not path.is_dir()}
    inside = [path.resolve() for path in named if path.is_dir()]

    def matters(_change: object, path: str) -> bool:
        changed = Path(path).resolve()
        return changed in names or any(changed.is_relative_to(folder) for folder in inside)

    before = _stamps(names, inside)
    code = _again(work, folders)
    changes = watchfiles.watch(
        *sorted(folders),
        watch_filter=matters,
        step=_SETTLE_MS,
        debounce=10 * _SETTLE_MS,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
        raise_interrupt=True,
    )
    is_first = True
    for changed in changes:
        # What changed before the watch had begun, it does not tell.
        if changed or (is_first and before != _stamps(names, inside)):
            code = _again(work, folders)
        is_first = False
    return code


def _stamps(files: Iterable[Path], folders: Iterable[Path]) -> dict[Path, object]:
    from catenary.file_stamps import stamp_of
    from catenary.life.chainfiles import chain_files

    inside = [path for folder in folders for path in chain_files(folder)]
    return {path: stamp_of(path) for path in (*files, *inside)}


def _again(work: Callable[[], int], folders: Iterable[Path]) -> int:
    code = work()
    shown = ", ".join(sorted(str(folder) for folder in folders))
    now = time.strftime("%H:%M:%S")
    click.echo(click.style(f"{now} watching {shown}; Ctrl-C ends it", dim=True), err=True)
    return code


def _needed() -> Any:
    from catenary.errors import EngineError
    from catenary.life.watching import needed

    try:
        return needed()
    except EngineError as error:
        raise click.UsageError(f"--watch: {error}; {error.hint}") from None
