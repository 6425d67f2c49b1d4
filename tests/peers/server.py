"""A real server that a test talks to: a process on a free port, which can be killed, frozen and started again."""

from __future__ import annotations

import fcntl
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest
from tests.programs import runs

REQUIRED = "CATENARY_PEERS"
"""The environment variable; `required` makes a server that is not installed a failure rather than a skip."""


class Server:
    """One server process of one test process: it listens on 127.0.0.1 and keeps its port when it starts again.

    It ends with the process that started it, however that one ends.

    Attributes:
        package: The Debian package that has the program.
        user: The account that runs it where the tests run as root; empty for root itself.
        farewell: The signal that ends it in order, whoever is connected.
        port: Where it listens.
        folder: What it writes is here; gone after `close`.
    """

    package: ClassVar[str]
    user: ClassVar[str] = ""
    farewell: ClassVar[signal.Signals] = signal.SIGTERM
    deadline_s: ClassVar[float] = 40.0

    def __init__(self) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="catenary-peer-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._give_to_user(self.folder)

    # What each kind of server says of itself

    def prepare(self) -> None:
        """Write what the first start needs into the folder."""

    def command(self) -> list[str]:
        """Give the command of the server, which must stay in the foreground."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Tell whether the server is ready; usually that somebody accepts connections."""
        return accepts(self.port)

    # Life

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process, if it is not there, and wait until it answers. Raises: RuntimeError: with its output."""
        if self.is_running:
            return
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [*self._guard(), *self.command()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                start_new_session=True,
                env=self.environment(),
            )
        deadline = time.monotonic() + self.deadline_s
        while not self.answers():
            if not self.is_running or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"{self.package} does not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.01)

    def stop(self) -> None:
        """End the process as a service manager does, and wait for it."""
        self._end(self.farewell)

    def kill(self) -> None:
        """End the process at once and without a farewell to its clients. Nothing of it is left then."""
        pids = self._halted()
        for pid in pids:
            _signal(pid, signal.SIGKILL)
        self._end(signal.SIGKILL)
        self._wait_until(lambda: not any(runs(pid) for pid in pids), "it does not end")

    def freeze(self) -> None:
        """Stop all of it where it stands: connections stay open and nobody answers."""
        self._halted()

    def thaw(self) -> None:
        """Let a frozen server go on."""
        for pid in self._processes():
            _signal(pid, signal.SIGCONT)

    def close(self) -> None:
        """End the process at once and take its folder away."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    # For the kinds of servers

    @property
    def log(self) -> Path:
        """What the process prints."""
        return self.folder / "output.log"

    def environment(self) -> dict[str, str]:
        """Give the environment of the process."""
        return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}

    def run(self, *command: str) -> None:
        """Run a command that prepares something, as the user of the server. Raises: RuntimeError: when it fails."""
        done = subprocess.run(
            [*self._guard(), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=self.environment(),
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout.decode()[-2000:]}")

    def write(self, name: str, text: str) -> Path:
        """Write a file that the server reads."""
        path = self.folder / name
        path.write_text(text)
        self._give_to_user(path)
        return path

    def _give_to_user(self, path: Path) -> None:
        if self.user and os.geteuid() == 0:
            shutil.chown(path, self.user)

    def _guard(self) -> list[str]:
        """Give the prefix of a command by which it ends with this process, and runs as the server's user."""
        as_user: list[str] = []
        if self.user and os.geteuid() == 0:
            account = pwd.getpwnam(self.user)
            as_user = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        return ["setpriv", f"--pdeathsig={self.farewell.name.removeprefix('SIG')}", *as_user, "--"]

    def _processes(self) -> list[int]:
        """Give the ids of the process and of all below it, the parents first."""
        return descendants(self._process.pid) if self.is_running and self._process else []

    def _halted(self) -> list[int]:
        """Stop all processes, those that start others first, so that none is missed. Returns: their ids."""
        halted: list[int] = []
        while new := [pid for pid in self._processes() if pid not in halted]:
            _signal(new[0], signal.SIGSTOP)
            self._wait_until(lambda: not _is_at_work(new[0]), "it does not stop")
            halted.append(new[0])
        return halted

    def _wait_until(self, holds: Callable[[], bool], trouble: str) -> None:
        deadline = time.monotonic() + self.deadline_s
        while not holds():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.package}: {trouble}")
            time.sleep(0.005)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(self.deadline_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """Give a port of 127.0.0.1 on which nobody listens, out of those that no client gets by chance.

    As long as this process runs no other test process of the machine is given it, also while nobody listens there.
    """
    folder = Path(tempfile.gettempdir()) / f"catenary-ports-{os.geteuid()}"
    folder.mkdir(exist_ok=True)
    while True:
        port = random.SystemRandom().randrange(15_000, 32_000)
        place = os.open(folder / str(port), os.O_CREAT | os.O_RDWR)  # which is closed with the process
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            os.close(place)
            continue
        return port


def accepts(port: int) -> bool:
    """Tell whether somebody accepts connections on a port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def program(name: str, package: str, *, folders: tuple[str, ...] = ()) -> str:
    """Give the path of a program, out of the first folder that has it, else of `PATH` or the folders of services.

    When it is nowhere the test is skipped, or fails where servers are required.
    """
    places = [*folders, *os.environ["PATH"].split(os.pathsep), "/usr/sbin", "/usr/local/sbin", "/sbin"]
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        reason = f"{name} is not installed: apt-get install {package}"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return found


def descendants(pid: int) -> list[int]:
    """Give the ids of a process and of all below it, the parents first."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):  # it has ended meanwhile
            continue
        children.setdefault(parent, []).append(int(status.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def _is_at_work(pid: int) -> bool:
    """Tell whether any thread of a process goes on."""
    states: list[str] = []
    for status in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError, IndexError):  # it has ended meanwhile
            states.append(status.read_text().rpartition(")")[2].split()[0])
    return any(state not in "TtZX" for state in states)


def _signal(pid: int, what: signal.Signals) -> None:
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        return
