"""A real model behind the OpenAI wire format, in a process of its own on the loopback address."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tests.local_model.packages import model_file

from catenary.testing import free_port

if TYPE_CHECKING:
    from collections.abc import Generator

_READY_TIMEOUT_S = 60.0
_IDLE_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 5.0
_POLL_S = 0.1
# A proxy of the environment must not get what is asked on this machine.
_LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class ModelServer:
    """Where the model answers."""

    url: str
    pid: int

    def get(self, path: str) -> Any:
        """Ask for a JSON value. Raises: OSError: when the server does not answer, or answers with an error."""
        with _LOCAL.open(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def is_busy(self) -> bool:
        """Tell whether the model is writing a reply."""
        return any(slot["is_processing"] for slot in self.get("/slots"))

    def wait_idle(self) -> None:
        """Wait until the model writes no more. Raises: TimeoutError: when it goes on for a minute."""
        deadline = time.monotonic() + _IDLE_TIMEOUT_S
        while self.is_busy():
            if time.monotonic() > deadline:
                raise TimeoutError("the model goes on writing")
            time.sleep(_POLL_S)


@contextmanager
def serve_model(folder: Path) -> Generator[ModelServer]:
    """Serve the model of a folder of packages as long as the block lasts.

    Raises:
        RuntimeError: when the server does not get ready within a minute; with what it printed.
    """
    port = free_port()
    command = [sys.executable, str(Path(__file__).with_name("server_process.py")), str(model_file(folder)), str(port)]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=printed, stderr=subprocess.STDOUT, env=environment
        )
        try:
            server = ModelServer(f"http://127.0.0.1:{port}", process.pid)
            _wait_ready(server, process, printed)
            yield server
        finally:
            _stop(process)


def _wait_ready(server: ModelServer, process: subprocess.Popen[bytes], printed: IO[bytes]) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while not _is_ready(server):
        if process.poll() is not None or time.monotonic() > deadline:
            printed.seek(0)
            told = printed.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"the model server did not get ready (exit code {process.poll()}): {told}")
        time.sleep(_POLL_S)


def _is_ready(server: ModelServer) -> bool:
    try:
        return server.get("/health") == {"status": "ok"}
    except OSError:  # nothing listens yet, or the model is being read
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server: by the end of its input, else by its process id."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_STOP_TIMEOUT_S)
