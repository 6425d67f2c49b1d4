"""Applications for tests on a real port of this machine."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    import uvicorn

    from catenary.http.inprocess import AsgiApp

_START_TIMEOUT_S = 15.0
_STOP_TIMEOUT_S = 30.0
_PORTS_TRIED = 1000
_KEEP_OPEN_S = 60  # longer than clients do: one that uses a connection again must not find it just closed


@dataclass(frozen=True, slots=True)
class Server:
    """Where a served application listens."""

    host: str
    port: int
    scheme: str = "http"

    @property
    def url(self) -> str:
        """The address without a path, such as `http://127.0.0.1:40123`."""
        return f"{self.scheme}://{self.host}:{self.port}"


@contextmanager
def serve(app: AsgiApp, *, port: int = 0, tls: tuple[str | Path, str | Path] | None = None) -> Generator[Server]:
    """Serve an application on the loopback address, in a thread, as long as the block lasts.

    Args:
        app: A `ScriptedModel`, a `RecordingApi`, or any ASGI application.
        port: The port; a free one if 0.
        tls: The files of a certificate and its key, in PEM format, to serve https.

    Raises:
        EngineError: When uvicorn is missing, or the server does not start.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise EngineError(
            "serving needs the package uvicorn, which is not installed",
            hint="install it with: pip install 'catenary[server]'",
        ) from error
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        timeout_keep_alive=_KEEP_OPEN_S,
        timeout_graceful_shutdown=0,
        ssl_certfile=str(tls[0]) if tls else None,
        ssl_keyfile=str(tls[1]) if tls else None,
    )
    server = uvicorn.Server(config)
    listening = _listen(port)
    thread = threading.Thread(
        target=asyncio.run, args=(_run(server, listening),), name="catenary-testing-server", daemon=True
    )
    thread.start()
    try:
        _wait_started(server, thread)
        yield Server("127.0.0.1", listening.getsockname()[1], "https" if tls else "http")
    finally:
        server.should_exit = True
        thread.join(_STOP_TIMEOUT_S)
        listening.close()


def _listen(port: int) -> socket.socket:
    # The protocol is named because asyncio sends small answers at once only on sockets that are known to be TCP.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise EngineError(f"cannot serve on 127.0.0.1:{port}: {error.strerror}") from error
    return listening


async def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until the server is told to stop, then wait until its connections are really closed."""
    await server.serve(sockets=[listening])
    connections = server.server_state.connections
    for connection in list(connections):
        connection.transport.abort()
    for _ in range(400):  # 2 s; mostly one round
        await asyncio.sleep(0.005)
        if not connections:
            break


def _wait_started(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise EngineError("the server for tests did not start")
        time.sleep(0.005)


def free_port() -> int:
    """Give a port of the loopback address on which nothing listens at present, and which no client gets by chance.

    Raises:
        EngineError: When there is none, as where programs may not listen.
    """
    for _ in range(_PORTS_TRIED):
        port = random.SystemRandom().randrange(15_000, 32_000)  # below those that systems give to clients
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise EngineError("there is no free port of 127.0.0.1")
