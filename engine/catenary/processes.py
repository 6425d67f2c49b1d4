"""Programs of this machine: started without a shell, bounded in time and output, ended with all that they started.

```python
options = ProgramOptions(environment=clean_environment(), timeout_s=10.0, max_output_bytes=65536)
ended = await run_program(["git", "log", "-1"], options)
print(ended.stdout.decode(), ended.text)
```

For POSIX systems. A program gets a session of its own, so that it and what it starts can be ended together. What it
leaves running is ended when it ends itself; what puts itself into another session (`setsid`) is not reached.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from catenary.errors import Refused, ResourceError, TooSlow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

GRACE_S: Final = 2.0
"""Seconds that a program has between being asked to end (SIGTERM) and being killed (SIGKILL)."""

TAIL_BYTES: Final = 4096
"""How much of the error output is kept when the output is not."""

_DRAIN_S: Final = 1.0  # for what it wrote last; who escaped into another session may hold the outputs open
_LONGEST_LINE_BYTES: Final = 64 * 1024
_HANDED_DOWN: Final = frozenset(
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LANGUAGE"]
)
_STDERR: Final = 2

Heard: TypeAlias = Callable[[int, str], None]
"""Gets each line as it comes: 1 and what was written to the output, or 2 and what was written to the error output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """How a program is run.

    Args:
        folder: Where it works; the folder of this process if `None`.
        environment: Its variables, and no others; see `clean_environment`.
        timeout_s: Longest time; `None` is no limit.
        max_output_bytes: Most that it may write, to both outputs together; they are kept then. With `None` they are
            not, and it may write as much as it likes.
        heard: Is called with each line without its end; long ones come in pieces. Must be quick and not raise.
    """

    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_s: float | None = None
    max_output_bytes: int | None = None
    heard: Heard | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended.

    Attributes:
        code: Its exit status; the number of the signal, negative, when one ended it.
        stdout: Its output; empty when it was not to be kept.
        stderr: Its error output; the last 4 KiB when it was not to be kept.
    """

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """How it ended in words: `exit status 1`, `signal: SIGKILL`."""
        if self.code >= 0:
            return f"exit status {self.code}"
        try:
            return f"signal: {signal.Signals(-self.code).name}"
        except ValueError:  # a real-time signal
            return f"signal: {-self.code}"


def clean_environment(also: Iterable[str] = ()) -> dict[str, str]:
    """Give the variables of this process that are no secret of anybody: where programs and home are, the language.

    Args:
        also: Names of others to hand down.
    """
    wanted = _HANDED_DOWN.union(also)
    return {name: value for name, value in os.environ.items() if name in wanted or name.startswith("LC_")}


async def run_program(command: Sequence[str], options: ProgramOptions) -> Ended:
    """Run a program to its end. Its input is empty.

    When the caller is cancelled, the program and all that it started are ended before this returns.

    Args:
        command: Its name, looked for in `PATH`, or its path, and its arguments.
        options: How it is run.

    Raises:
        ResourceError: When it cannot be started.
        TooSlow: When its time is over.
        Refused: When it writes more than it may.
    """
    program = await _start(command, options)
    try:
        async with asyncio.timeout(options.timeout_s):
            await asyncio.wait([program.exited])  # which, unlike a bare await, leaves it alone when it is cancelled
            program.kill_rest()
            await asyncio.wait([program.closed], timeout=_DRAIN_S)
    except TimeoutError as error:
        if program.refusal is None:
            raise TooSlow(f"{command[0]!r} took longer than {options.timeout_s:g} s and was ended") from error
    finally:
        await program.end()
    if program.refusal is not None:
        raise program.refusal
    return program.result()


async def _start(command: Sequence[str], options: ProgramOptions) -> _Program:
    loop = asyncio.get_running_loop()
    starting = loop.subprocess_exec(
        lambda: _Program(command[0], options),
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=options.folder,
        env=dict(options.environment),
        start_new_session=True,
    )
    task = asyncio.ensure_future(starting)
    try:
        _, program = await asyncio.shield(task)
    except asyncio.CancelledError:  # it runs already, or is about to
        while not task.done():
            with suppress(asyncio.CancelledError):  # however often: who starts must end it
                await asyncio.wait([task])
        if not task.exception():
            await task.result()[1].end()
        raise
    except (OSError, ValueError) as error:
        raise ResourceError(_reason(command[0], options, error)) from error
    return program


def _reason(name: str, options: ProgramOptions, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError) and options.folder is not None and not options.folder.is_dir():
        return f"{name!r} cannot be started: there is no folder {str(options.folder)!r}"
    if isinstance(error, FileNotFoundError):
        return f"{name!r} cannot be started: there is no such program"
    reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
    return f"{name!r} cannot be started: {reason}"


class _Program(asyncio.SubprocessProtocol):
    """A program that runs.

    Attributes:
        exited: Is done when it has ended, whatever it left running.
        closed: Is done when nobody can write to its outputs any more.
        refusal: Why it was ended, when it wrote too much.
    """

    def __init__(self, name: str, options: ProgramOptions) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.refusal: Refused | None = None
        self._name = name
        self._options = options
        self._is_over = False  # nobody wants to know more of it
        self._written = 0
        self._kept = {1: bytearray(), _STDERR: bytearray()}
        self._open_lines = {1: b"", _STDERR: b""}

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._group = self._transport.get_pid()  # of a session of its own it is the group, too

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self.refusal is not None:
            return
        most = self._options.max_output_bytes
        self._written += len(data)
        if most is not None and self._written > most:
            self.refusal = Refused(f"the output of {self._name!r} is larger than {most} bytes; it was ended")
            self.kill_rest()
            return
        if most is not None or fd == _STDERR:
            self._kept[fd] += data
        if most is None:
            del self._kept[fd][:-TAIL_BYTES]
        if self._options.heard is not None:
            self._tell_lines(self._options.heard, fd, data)

    def process_exited(self) -> None:
        _resolve(self.exited)
        if self._is_over:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - what asyncio calls
        heard = self._options.heard
        if heard is not None:
            for fd, line in self._open_lines.items():
                if line:
                    heard(fd, line.decode("utf-8", "replace"))
        _resolve(self.closed)

    def _tell_lines(self, heard: Heard, fd: int, data: bytes) -> None:
        *lines, rest = (self._open_lines[fd] + data).split(b"\n")
        if len(rest) > _LONGEST_LINE_BYTES:
            lines.append(rest)
            rest = b""
        self._open_lines[fd] = rest
        for line in lines:
            heard(fd, line.removesuffix(b"\r").decode("utf-8", "replace"))

    # Ending it

    def result(self) -> Ended:
        """Give how it ended."""
        code = self._transport.get_returncode()
        return Ended(code or 0, bytes(self._kept[1]), bytes(self._kept[_STDERR]))

    def kill_rest(self) -> None:
        """Kill it, if it runs, and what it started."""
        self._signal(signal.SIGKILL)

    async def end(self) -> None:
        """Ask it to end and kill it, with all that it started, when it does not; nothing of it is left afterwards."""
        was_running = not self.exited.done()
        try:
            if was_running:
                self._signal(signal.SIGTERM)
                await asyncio.wait([self.exited], timeout=GRACE_S)
        finally:
            if was_running or not self.closed.done():  # what it started may write elsewhere, and not mind SIGTERM
                self._signal(signal.SIGKILL)
            self._is_over = True
            if self.exited.done():  # closed before, the transport would take the status from who waits for it
                self._transport.close()
                await asyncio.wait([self.closed])  # by which a last line without an end is heard
            else:  # nothing survives SIGKILL, so this takes no time limit, and a second cancellation waits for it, too
                await asyncio.wait([self.exited])

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
