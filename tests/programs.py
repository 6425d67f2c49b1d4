"""Looking at processes that tests have started."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path


def runs(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and waits to be buried by its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_buried(pid: int) -> bool:
    """Tell whether nothing is left of a process."""
    return not Path(f"/proc/{pid}").exists()


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds, at most 10 seconds."""
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until
        await asyncio.sleep(0.005)


async def pids_in(file: Path, count: int) -> list[int]:
    """Wait until programs have written so many process ids into a file, and give them."""

    def written() -> list[int]:
        return [int(pid) for pid in file.read_text().split()] if file.exists() else []

    await eventually(lambda: len(written()) == count)
    return written()
