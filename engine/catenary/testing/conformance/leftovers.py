"""Runs that are cancelled, and what they leave behind: tasks, threads, processes, sockets, pipes and files."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import CatenaryError
from catenary.patience import within
from catenary.testing.conformance.running import SETTLE_S, drive, engine_for, messages, run_case

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from catenary.engine import Engine
    from catenary.testing.conformance.case import Case, Subject

TURNS: Final = (0, 1, 4, 20)
"""After how many turns of the event loop runs are cancelled."""

LATER_S: Final = 0.05
"""And after which time, in seconds."""

_LOOK_EVERY_S: Final = 0.01
WAIT_S: Final = 10.0
"""How long what was left has to go away by itself, in seconds."""

_DESCRIPTORS: Final = Path("/dev/fd")
_KINDS: Final = {stat.S_IFSOCK: "socket", stat.S_IFIFO: "pipe", stat.S_IFREG: "open file"}


def check_cancel(subject: Subject) -> Iterator[str]:
    """A run that is cancelled leaves nothing behind when its engine is closed; nor does one that ends."""
    for one in subject.cases() or [subject.defaults()]:
        run_case(subject, one)  # what is made once in a process, and kept, is no leftover
        with engine_for(subject, one) as make, _own_temporary_folder():
            before = outside()
            left = asyncio.run(_cancel_all(subject, one, make))
            left += _gone_in_time(before)
        yield from (
            f"{one.text}: a cancelled run left {what} behind; undo in `finally` what `run` began, and in `close` what "
            "`open` did"
            for what in dict.fromkeys(left)
        )


async def _cancel_all(subject: Subject, case: Case, make: Callable[[], Engine]) -> list[str]:
    before = asyncio.all_tasks()
    left: list[str] = []
    for turns in (*TURNS, None):
        engine = make()
        try:
            chain = engine.load(subject.chain(case))
        except CatenaryError:
            await engine.close()
            return []  # other checks tell of it
        async with engine:
            for message in [None] if subject.is_endpoint else messages(case):
                work = drive(subject, case, chain) if message is None else chain.run(message)
                left += await _cancel(asyncio.ensure_future(work), turns)
            await engine.close(grace_s=0.1)
        left += await _tasks_beside(before)
        if left:
            break
    return left


async def _cancel(run: asyncio.Future[Any], turns: int | None) -> list[str]:
    """Let a run begin, and cancel it. Returns: the run, when it does not end."""
    if turns is None:
        await asyncio.wait([run], timeout=LATER_S)
    for _ in range(turns or 0):
        await asyncio.sleep(0)
    run.cancel()
    with suppress(TimeoutError):
        async with within(SETTLE_S):
            await asyncio.wait([run])
    if not run.done():
        return ["the run itself, which does not end,"]
    await asyncio.gather(run, return_exceptions=True)  # how it ended is for other checks
    return []


async def _tasks_beside(before: set[asyncio.Task[Any]]) -> list[str]:
    left: list[asyncio.Task[Any]] = []
    for _ in _looks(WAIT_S):
        left = [task for task in asyncio.all_tasks() - before if not task.done()]
        if not left:
            break
        await asyncio.sleep(_LOOK_EVERY_S)
    for task in left:
        task.cancel()
    return [f"the task {getattr(task.get_coro(), '__qualname__', task.get_name())}" for task in left]


@contextmanager
def _own_temporary_folder() -> Generator[None]:
    """Have temporary files made in a folder of their own, in which none was before."""
    usual, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    with tempfile.TemporaryDirectory(prefix="catenary-conformance-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        try:
            yield
        finally:
            tempfile.tempdir = usual
            os.environ.pop("TMPDIR")
            if variable is not None:
                os.environ["TMPDIR"] = variable


def outside() -> set[str]:
    """Give what there is outside of event loops: threads, child processes, what is open, and temporary files."""
    threads = {f"the thread {one.name!r} ({one.ident})" for one in threading.enumerate()}
    files = {f"the temporary file {path.name}" for path in Path(tempfile.gettempdir()).iterdir()}
    return threads | files | {f"the process {number}" for number in _children()} | _descriptors()


def _gone_in_time(before: set[str]) -> list[str]:
    """Give what is there that was not before, once it had the time to go away."""
    left: list[str] = []
    for _ in _looks(WAIT_S):
        left = sorted(outside() - before)
        if not left:
            break
        time.sleep(_LOOK_EVERY_S)
    return left


def _looks(seconds: float) -> range:
    """Give the looks of so many seconds. They are counted, for on a machine that stands still nothing goes away."""
    return range(round(seconds / _LOOK_EVERY_S) + 1)


def _children() -> set[int]:
    """Give the ids of the child processes; none where the system does not tell."""
    found: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found.update(map(int, task.read_text().split()))
    return found


def _descriptors() -> set[str]:
    """Give the sockets, pipes and files that are open; none where the system does not tell."""
    found: set[str] = set()
    names = [path.name for path in _DESCRIPTORS.iterdir()] if _DESCRIPTORS.is_dir() else []
    for name in names:
        with suppress(OSError, ValueError):
            about = os.fstat(int(name))
            kind = _KINDS.get(stat.S_IFMT(about.st_mode))
            if kind is not None:
                shown = (_DESCRIPTORS / name).readlink() if kind == "open file" else f"inode {about.st_ino}"
                found.add(f"the {kind} {name}, {shown}")
    return found
