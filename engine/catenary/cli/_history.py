"""What the commands about recorded runs share: the file, and how runs and moments are written."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from catenary.cli.live import took_text

if TYPE_CHECKING:
    from collections.abc import Generator

    from catenary.store import History

COLOURS: Final = {
    "completed": "green",
    "failed": "red",
    "cancelled": "yellow",
    "paused": "yellow",
    "resumed": "cyan",
    "running": "cyan",
    "interrupted": "red",
}


@contextmanager
def opened(store: str | None) -> Generator[History]:
    """Open the history for reading. Raises: StoreError: when there is none."""
    from catenary.store import History

    with History(store, must_exist=True) as history:
        yield history


def status_text(status: str) -> str:
    """Give what a run came to, in its colour."""
    return click.style(status, fg=COLOURS.get(status))


def moment_text(milliseconds: int) -> str:
    """Give a moment in local time."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration_text(seconds: float | None) -> str:
    """Give how long something took; `-` when it is not known."""
    return "-" if seconds is None else took_text(seconds)


def moment_of(text: str, option: str) -> datetime:
    """Read a moment: a length of time before the present one, such as `2h`, or a date, or a date and a time.

    Raises:
        click.BadParameter: When it is neither.
    """
    from datetime import timedelta

    from catenary.durations import duration_s

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return datetime.now(UTC) - timedelta(seconds=duration_s(text))
        except (ValueError, OverflowError):
            hint = "write a length of time such as 30m, 2h or 7d, or a date such as 2026-01-31 or 2026-01-31T14:00"
            raise click.BadParameter(f"{text!r} is no moment; {hint}", param_hint=f"'{option}'") from None
    return moment.astimezone()


def short_ids(run_ids: list[str], least: int = 8) -> list[str]:
    """Give the beginnings of ids that tell them apart."""
    length = least
    while len({run_id[:length] for run_id in run_ids}) < len(set(run_ids)):
        length += 1
    return [run_id[:length] for run_id in run_ids]
