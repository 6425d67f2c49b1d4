"""One life of the server: it starts, serves, drains and stops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from catenary.errors import EngineError, ResourceError
from catenary_server.app import ServerApp
from catenary_server.logs import configure
from catenary_server.service import Service, ServiceSettings
from catenary_server.startup import facts, report_lines

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

    from catenary.engine import Engine
    from catenary.life.folder import FolderReport
    from catenary_components.endpoint.serving import HttpServer
    from catenary_server.logs import Form

logger = logging.getLogger("catenary.server")

_FAILED: Final = 1
_LAST_ANSWERS_S: Final = 5.0
_COLLECT_AFTER: Final = (20_000, 20, 20)
"""So many more objects than before have the garbage collector look at the young ones; so many looks, at the older."""
_SIGNALS: Final = {signal.SIGINT: 130, signal.SIGTERM: 143}


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How the server is run.

    Attributes:
        folder: The folder of chains.
        host: The address it listens on.
        port: The port; 0 for any that is free.
        watch: True to take over changes of the folder.
        grace_s: Seconds that runs have to finish when it stops.
        log_form: How the log is written.
        log_level: From which level on.
    """

    folder: Path
    host: str
    port: int
    watch: bool = False
    grace_s: float = 10.0
    log_form: Form = "text"
    log_level: str = "info"


async def serve_engine(engine: Engine, serving: Serving, settings: ServiceSettings) -> int:
    """Serve the chains of a folder until a signal comes. Returns: the exit code."""
    from catenary_components.endpoint.serving import HttpServer, Limits

    configure(serving.log_form, serving.log_level, engine.masker)
    service = Service(engine, settings, folder=serving.folder)
    service.state = "starting"
    server = HttpServer(ServerApp(service), limits=Limits(write_timeout_s=60.0))
    stop = _stopping()
    problem: ResourceError | None = None
    port = serving.port
    try:
        port = await server.open(serving.host, serving.port)
    except ResourceError as error:
        problem = error
    async with AsyncExitStack() as stack:
        await asyncio.to_thread(engine.registry.types)  # imported now, no component holds streams up when a chain comes
        await _take_over_folder(stack, service, serving)
        if problem is not None:
            return _tell_addresses(engine, problem)
        await stack.enter_async_context(_closing(engine, service, server, serving.grace_s))
        await engine.__aenter__()
        await engine.pauses.watch_kept()
        _relieve_collector()
        service.state = "ready"
        _tell_ready(service, _url(serving.host, port), serving)
        await stop.wait()
        logger.info("stopping: what is under way has %g seconds; a second signal does not wait", serving.grace_s)
    logger.info("stopped")
    return 0


def _relieve_collector() -> None:
    """Have the garbage collector look less, for each look holds all streams up.

    What is loaded stays as it is; and runs leave no reference circles, so that there is little to be found.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


async def _take_over_folder(stack: AsyncExitStack, service: Service, serving: Serving) -> None:
    """Load the chains of the folder, and keep them as the files are when that is asked for."""
    if not serving.watch:
        service.report = await asyncio.to_thread(service.engine.load_folder, serving.folder)
        return

    def changed(report: FolderReport) -> None:
        service.report = report

    watch = service.engine.watch(serving.folder, on_change=changed, grace_s=serving.grace_s)
    await stack.enter_async_context(watch)
    service.report = watch.report


@contextlib.asynccontextmanager
async def _closing(engine: Engine, service: Service, server: HttpServer, grace_s: float) -> AsyncGenerator[None]:
    """Drain on the way out: new work is refused, runs finish, answers are sent, and then connections are closed."""
    try:
        yield
    finally:
        service.state = "draining"
        await engine.close(grace_s=grace_s)
        await server.close(_LAST_ANSWERS_S)


def _tell_ready(service: Service, url: str, serving: Serving) -> None:
    if serving.log_form == "json":
        for sentence, parts in facts(service, url):
            level = logging.WARNING if parts.get("problem") or parts.get("error") else logging.INFO
            logger.log(level, sentence, extra=parts)
        return
    table = "\n".join(report_lines(service, url, watches=serving.watch))
    click.echo(service.engine.masker.text(table) + "\n", err=True)  # at once: no line of the log comes in between


def _tell_addresses(engine: Engine, problem: ResourceError) -> int:
    """Tell of all addresses that cannot be listened on, so that nobody has to mend one after the other."""
    for text, hint in [(str(problem), problem.hint), *_taken_addresses(engine)]:
        click.echo(f"{click.style('error', fg='red', bold=True)}: {text}", err=True)
        click.echo(f"  hint: {hint}", err=True)
    return _FAILED


def _taken_addresses(engine: Engine) -> Iterator[tuple[str, str]]:
    from catenary_components.endpoint.address import Address

    tried: set[str] = set()
    for status in engine.endpoints.status():
        if status.address in tried:
            continue
        tried.add(status.address)
        try:
            address = Address.read(status.address)
        except ValueError:
            continue  # it listens nowhere, or on the server of another
        reason = _why_not(address.host, address.port)
        if reason:
            text = f"{address} cannot be listened on: {reason} (endpoint {status.id!r} of chain {status.chain_id!r})"
            yield text, "stop what listens there, or give the endpoint another `server`"


def _why_not(host: str, port: int) -> str:
    """Tell why an address cannot be listened on; empty when it can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return (error.strerror or str(error)).lower()
    return ""


def _stopping() -> asyncio.Event:
    """Give what is set by the first signal; a second one ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def came(number: signal.Signals) -> None:
        if stop.is_set():
            sys.stderr.flush()
            os._exit(_SIGNALS[number])
        stop.set()

    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, came, number)
        except NotImplementedError:  # the event loop of Windows
            signal.signal(number, lambda given, _: loop.call_soon_threadsafe(came, signal.Signals(given)))
    return stop


def _url(host: str, port: int) -> str:
    shown = "127.0.0.1" if host in {"", "0.0.0.0"} else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def check_folder(folder: Path) -> None:
    """See that there is such a folder. Raises: EngineError: when there is not."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "is not there"
        hint = "give the folder that your chains are in"
        if folder.is_file():
            hint += f": `catenary serve {folder.parent}`"
        raise EngineError(f"the folder {str(folder)!r} {what}", hint=hint)
