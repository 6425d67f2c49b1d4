"""A progress bar on a terminal, and a sentence at the end."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Self

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_STEPS = 200  # redrawn so often in all; drawing costs more than a short run


class Progress:
    """Shows on stderr how many lines are done: a bar when it is a terminal, a count when the total is not known.

    Args:
        count: Gives the number of lines, or `None` when it is not known; asked only when there is a terminal.
    """

    def __init__(self, count: Callable[[], int | None]) -> None:
        self._bar: Any = None
        self._done = 0
        self._total: int | None = None
        self._is_shown = sys.stderr.isatty()
        if self._is_shown:
            self._total = count()
        if self._total:
            steps = max(self._total // _STEPS, 1)
            self._bar = click.progressbar(
                length=self._total, label="runs", file=sys.stderr, show_pos=True, update_min_steps=steps
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(*error)
        elif self._is_shown:
            click.echo("\r\x1b[K", nl=False, err=True)

    def step(self) -> None:
        """Count one more that is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(1)
        elif self._is_shown:
            click.echo(f"\r{self._done} runs", nl=False, err=True)

    @contextlib.contextmanager
    def aside(self) -> Generator[None]:
        """Clear the line of the bar while something else is written to the terminal."""
        if self._is_shown:
            click.echo("\r\x1b[K", nl=False, err=True)
        yield
        if self._bar is not None:
            self._bar.render_progress()

    def tell_total(self) -> None:
        """Write how many were run."""
        total = "" if self._total in {None, self._done} else f" of {self._total}"
        click.echo(f"{self._done}{total} {'run' if self._done == 1 and not total else 'runs'} done", err=True)
