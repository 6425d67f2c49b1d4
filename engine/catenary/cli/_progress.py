"""A progress bar on a terminal, and a sentence at the end."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Self

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class Progress:
    """Shows on stderr how many lines are done; a bar when it is a terminal.

    Args:
        count: Gives the number of lines, or `None` when it is not known; asked only when there is a bar.
    """

    def __init__(self, count: Callable[[], int | None]) -> None:
        self._bar: Any = None
        self._done = 0
        self._total: int | None = None
        if sys.stderr.isatty():
            self._total = count()
            # Without a length click shows a bar that only moves.
            self._bar = click.progressbar(
                iter(()) if self._total is None else None,
                length=self._total,
                label="runs",
                file=sys.stderr,
                show_pos=True,
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(*error)

    def step(self) -> None:
        """Count one more that is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(1)

    @contextlib.contextmanager
    def aside(self) -> Generator[None]:
        """Clear the line of the bar while something else is written to a terminal."""
        if self._bar is not None:
            click.echo("\r\x1b[K", nl=False, err=True)
        yield
        if self._bar is not None:
            self._bar.render_progress()

    def tell_total(self) -> None:
        """Write how many were run."""
        total = "" if self._total in {None, self._done} else f" of {self._total}"
        click.echo(f"{self._done}{total} runs done", err=True)
