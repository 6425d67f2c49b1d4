"""What the command line does while a run waits for an answer: say so, and put the run off when it is interrupted."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from catenary.engine import Engine
    from catenary.pauses.answers import Pause
    from catenary.store import Database

T = TypeVar("T")
_FILES: Final = {
    "env_files": "--properties",
    "components": "--component",
    "shared": "--shared",
    "chains": "--chains",
    "tools": "--tools",
}


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option `--store`, which arrives as the path of a file, or `None`."""
    return click.option(
        "--store",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="The file of records; that of CATENARY_STORE, or catenary.db in your data folder, if absent.",
    )(command)


class Waiting:
    """Watches over the pauses of an engine whose runs the command line performs.

    Args:
        engine: The engine.
        options: Of the command: `store`, and the files that an answer needs as well.
        place: The file of records itself, when it is open already.
    """

    def __init__(self, engine: Engine, options: Mapping[str, Any], *, place: Database | None = None) -> None:
        from catenary.store.places import default_file

        self._engine = engine
        self._options = options
        store: str | None = options["store"]
        engine.pauses.keep_in(place or store or default_file())
        engine.pauses.on_open(self._tell)

    def _tell(self, pause: Pause) -> None:
        for line in (*lines_of(pause), f"  answer with: {command_of(pause, self._options)}"):
            click.echo(line, err=True)

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a run. An interrupt while it only waits puts it off: its outcome is that of a paused run.

        Raises:
            CancelledError: When it was interrupted and could not go on later.
        """
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            pauses = self._engine.pauses.held()
            if task.done() or not pauses or any(pause.inside for pause in pauses):
                task.cancel()
                await asyncio.wait([task])
                raise
            await self._engine.pauses.put_off()
            current = asyncio.current_task()
            if current is not None:
                current.uncancel()
            self._tell_put_off(pauses)
            return await task

    def _tell_put_off(self, pauses: list[Pause]) -> None:
        click.echo("the run is paused; it goes on when somebody answers:", err=True)
        for pause in pauses:
            click.echo(f"  {command_of(pause, self._options)}", err=True)


def lines_of(pause: Pause) -> list[str]:
    """Tell what is asked, in lines for a person."""
    from catenary.cli._history import moment_text

    name = f" ({pause.title})" if pause.title else ""
    lines = [f"{click.style('waiting', fg='yellow', bold=True)}: node {pause.node_id!r}{name} of run {pause.run_id}"]
    lines += [f"  {line}" for line in pause.prompt.splitlines()]
    if len(pause.relations) > 1:
        lines.append(f"  ways on: {', '.join(pause.relations)}")
    if pause.answerers:
        lines.append(f"  may answer: {', '.join(pause.answerers)}")
    if pause.expires_ms is not None:
        lines.append(f"  until: {moment_text(pause.expires_ms)}")
    if pause.inside:
        lines.append(f"  must be answered while this program runs: {pause.inside}")
    return lines


def command_of(pause: Pause, options: Mapping[str, Any]) -> str:
    """Give the command by which a pause is answered, with the files and settings that this one was given."""
    parts = ["catenary", "answer", pause.run_id, pause.node_id]
    if pause.visit > 1:
        parts += ["--visit", str(pause.visit)]
    if len(pause.relations) > 1:
        parts += ["--relation", pause.relations[0]]
    if pause.answerers:
        parts += ["--as", pause.answerers[0]]
    if pause.ask.needs_data:
        parts += ["-d", "DATA"]
    for name, option in _FILES.items():
        for file in options.get(name) or ():
            parts += [option, os.fspath(file)]
    for setting in options.get("settings") or ():
        key, equals, _ = setting.partition("=")
        parts += ["--set", f"{key}{equals}VALUE"]  # it may be a secret
    if options["store"]:
        parts += ["--store", os.fspath(options["store"])]
    return shlex.join(parts)
