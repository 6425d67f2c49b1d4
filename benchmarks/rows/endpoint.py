"""H: a chain behind an `http` endpoint, beside the same work on Starlette, and in Node-RED; loaded by `wrk`."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from measuring import QUICK, ratio
from table import Goal, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rows import Bench

SERVERS: Final = Path(__file__).parent.parent / "servers"
CONNECTIONS: Final = (300, 800)
_TICKS_S: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_UNITS_MS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0}


@dataclass(frozen=True, slots=True)
class Load:
    """What `wrk` and the system said about one load.

    Attributes:
        wall_us: Microseconds on the clock a request: a million divided by the requests a second.
        cpu_us: Microseconds of CPU time of the server a request.
        p99_ms: The time within which 99 of 100 answers came, in milliseconds.
    """

    wall_us: float
    cpu_us: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    port: int

    def idle_mib(self) -> float:
        """Give the memory that the process holds."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * _PAGE_BYTES / 2**20

    def cpu_s(self) -> float:
        """Give the CPU time that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_S

    def load(self, connections: int, seconds: float) -> Load:
        """Have `wrk` ask as often as it can. Raises: RuntimeError: when answers failed."""
        before = self.cpu_s()
        options = ["-t1", f"-c{connections}", f"-d{seconds:g}s", "--latency", "-s", str(SERVERS / "post.lua")]
        said = _run(["wrk", *options, f"http://127.0.0.1:{self.port}/in"])
        cpu_s = self.cpu_s() - before
        count = int(_found(r"(\d+) requests in", said)[0])
        if "Non-2xx" in said or not count:
            raise RuntimeError(f"{self.process.args!r} did not answer:\n{said}")
        number, unit = _found(r"99%\s+([\d.]+)(us|ms|s)", said)
        rate = float(_found(r"Requests/sec:\s+([\d.]+)", said)[0])
        return Load(1e6 / rate, cpu_s / count * 1e6, float(number) * _UNITS_MS[unit])


def rows(bench: Bench) -> list[Row]:
    """Measure the servers in turn; nothing is measured where there is no `wrk`."""
    if shutil.which("wrk") is None:
        print("wrk is not installed: apt-get install wrk", file=sys.stderr)
        return []
    is_quick = bench.effort is QUICK
    repeats, seconds = (1, 1.0) if is_quick else (7, 4.0)
    with ExitStack() as running:
        servers = {
            "ours": running.enter_context(_python("by_chain.py")),
            "hand": running.enter_context(_python("by_hand.py")),
        }
        if red := os.environ.get("NODE_RED"):
            servers["Node-RED"] = running.enter_context(_node_red(Path(red)))
        idle = {name: server.idle_mib() for name, server in servers.items()}
        for server in servers.values():
            server.load(50, 1)  # caches fill, and compilers warm up
        made = [row for count in CONNECTIONS for row in _rows(servers, count, repeats, seconds)]
    others = {name: idle[name] for name in servers if name not in {"ours", "hand"}}
    title = "an idle server that has loaded the chain"
    return [*made, Row("H", title, idle["ours"], idle["hand"], None, others, Goal(figure=80), "MiB")]


def _rows(servers: dict[str, Served], connections: int, repeats: int, seconds: float) -> list[Row]:
    loads: dict[str, list[Load]] = {name: [] for name in servers}
    for _ in range(repeats):
        for name, server in servers.items():
            loads[name].append(server.load(connections, seconds))

    def row(title: str, unit: str, of: Callable[[Load], float], goal: Goal | None = None) -> Row:
        figures = {name: [of(load) for load in own] for name, own in loads.items()}
        middle = {name: median(own) for name, own in figures.items()}
        compared = ratio(figures["ours"], figures["hand"])
        # wrk tells 0 when no answer came in time
        others = {name: figure for name, figure in middle.items() if name not in {"ours", "hand"} and figure}
        full = f"{title}, {connections} connections"
        return Row("H", full, middle["ours"], middle["hand"], compared, others, goal or Goal(), unit)

    return [
        row("a request", "us, clock", lambda load: load.wall_us, Goal(ratio=1.43)),
        row("a request, CPU of the server", "us, CPU", lambda load: load.cpu_us),
        row("99 of 100 answers within", "ms", lambda load: load.p99_ms, Goal(ratio=1.5)),
    ]


@contextmanager
def _python(program: str) -> Generator[Served]:
    port = _free_port()
    yield from _served([sys.executable, str(SERVERS / program), str(port)], port)


@contextmanager
def _node_red(folder: Path) -> Generator[Served]:
    """Start the Node-RED of a folder in which `npm install node-red` was run."""
    port = _free_port()
    with tempfile.TemporaryDirectory() as home:
        shutil.copy(SERVERS / "node_red.json", Path(home) / "flows.json")
        Path(home, "settings.js").write_text(
            f'module.exports = {{uiHost: "127.0.0.1", uiPort: {port}, flowFile: "flows.json", '
            "httpAdminRoot: false, logging: {console: {level: 'error'}}}\n",
            encoding="utf-8",
        )
        red = folder / "node_modules" / "node-red" / "red.js"
        yield from _served(["node", str(red), "-u", home], port)


def _served(command: list[str], port: int) -> Generator[Served]:
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            _wait_for(process, port)
            yield Served(process, port)
        finally:
            process.terminate()
            process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        body = ["-d", '{"temperature": 41}', "-H", "content-type: application/json"]
        asked = subprocess.run(["curl", "-sf", *body, f"http://127.0.0.1:{port}/in"], check=False, capture_output=True)
        if asked.returncode == 0:
            return
        time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} does not answer on port {port}")


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _found(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text)
    if match is None:
        raise RuntimeError(f"wrk did not tell {pattern!r}:\n{text}")
    return match.groups()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
