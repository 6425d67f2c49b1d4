"""Show on stderr what chains log."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Generator

_CHAIN_LOG = "catenary.log"


class _Stderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        place = f" {node_id}" if (node_id := getattr(record, "node_id", "")) else ""
        click.echo(f"{record.levelname.lower()}{place}: {record.getMessage()}", err=True)


@contextlib.contextmanager
def quiet_logs() -> Generator[None]:
    """Write nothing of what the engine and chains log: where many runs are tested, it is in the way."""
    engine = logging.getLogger("catenary")
    handler = logging.NullHandler()
    engine.addHandler(handler)
    try:
        yield
    finally:
        engine.removeHandler(handler)


@contextlib.contextmanager
def logs_on_stderr() -> Generator[None]:
    """Write warnings of the engine, and all that `log` nodes write, to stderr."""
    engine, chains = logging.getLogger("catenary"), logging.getLogger(_CHAIN_LOG)
    handler = _Stderr()
    level = chains.level
    engine.addHandler(handler)
    chains.setLevel(logging.INFO)
    try:
        yield
    finally:
        chains.setLevel(level)
        engine.removeHandler(handler)
