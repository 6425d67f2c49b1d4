"""Show what nodes got and gave: the lines of `catenary run --debug`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catenary.cli.live import shortened
from catenary.debugging import IN, LOG
from catenary.jsontext import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.message import Message
    from catenary.relation import Relation

_COLOURS = {"IN": "cyan", "OUT": "green", "Log": "yellow"}
_WIDTH = 2000


class DebugLines:
    """Writes what it is told of nodes as lines; a callback for `engine.run(..., on_debug=lines)`.

    ```
    IN  hot: {"t": 41} {"device": "7"}
    OUT hot by True: {"t": 41} {"device": "7"}
    Log hot reading: {"value": 3}
    ```

    Behind the data stands the metadata. A node of another chain than the one that is run has its chain before it.
    When whoever reads has gone it falls silent: the run may be at work somewhere else.

    Args:
        chain_id: The chain that is run.
        label: Stands before each line, to tell runs apart.
        write: Gets each line; stderr if absent.
    """

    def __init__(self, chain_id: str, label: str = "", write: Callable[[str], object] | None = None) -> None:
        self._chain_id = chain_id
        self._label = label
        self._write = write or _to_stderr
        self._is_silent = False

    def __call__(
        self,
        chain_id: str,
        flow: str,
        node_id: str,
        message: Message,
        relation: Relation | str,
        error: BaseException | str | None,
    ) -> None:
        """Write the line of one event."""
        if self._is_silent:
            return
        message = message.writable()
        node = node_id if chain_id == self._chain_id else f"{chain_id}:{node_id}"
        way = str(relation)
        if way:
            way = f" {way}" if flow == LOG else f" by {way}"
        metadata = f" {shortened(dumps(dict(message.metadata)), _WIDTH)}" if message.metadata else ""
        told = click.style(f" {error}", fg="red") if error else ""
        head = click.style(f"{flow:<3}", fg=_COLOURS[flow], bold=flow == IN)
        try:
            self._write(f"{self._label}{head} {node}{way}: {shortened(message.text, _WIDTH)}{metadata}{told}")
        except OSError:
            self._is_silent = True


def _to_stderr(line: str) -> None:
    click.echo(line, err=True)
