"""`runs`: list the recorded runs, or delete some."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from catenary.cli._history import COLOURS, duration_text, moment_of, moment_text, opened, short_ids, status_text
from catenary.cli._waiting import store_option
from catenary.cli.live import shortened

if TYPE_CHECKING:
    from catenary.store import History, RunSummary

_HEAD = ("RUN", "STARTED", "CHAIN", "STATUS", "TOOK", "VISITS")
_SHOWN = 20


@click.command(short_help="List the recorded runs, or delete some.")
@click.option("--chain", default="", metavar="ID", help="Only runs of this chain.")
@click.option("--status", type=click.Choice(list(COLOURS)), default=None, help="Only runs that came to this.")
@click.option("--since", metavar="WHEN", help="Only runs that began after WHEN: 30m, 2h, 7d ago, or a date.")
@click.option("--before", metavar="WHEN", help="Only runs that began before WHEN.")
@click.option(
    "-n", "--limit", type=click.IntRange(min=0), default=_SHOWN, show_default=True, help="How many; 0 for all."
)
@click.option("--json", "as_json", is_flag=True, help="Write a list of objects.")
@click.option("--delete", multiple=True, metavar="RUN", help="Delete a run instead: an id or the beginning of one.")
@click.option("--prune", is_flag=True, help="Delete what is older than 30 days or beyond 10,000 runs or 500 MiB.")
@store_option
def runs(delete: tuple[str, ...], store: str | None, *, as_json: bool, prune: bool, **options: Any) -> None:
    """List the recorded runs, the newest first: when, which chain, what each came to, how long it took.

    Runs are recorded by `catenary run --record` and by programs with Engine(history=...). The history is the file
    catenary.db in your data folder unless --store or CATENARY_STORE names another one.

    \b
    Examples:
      catenary runs
      catenary runs --status failed --since 2h
      catenary runs --chain orders -n 0 --json
      catenary runs --delete 4f2c

    `running` is a run that lasts, `interrupted` one whose process ended before it did, `paused` one that waits for an
    answer, `resumed` one that waited and went on as another run. With --json each run has runId, chainId, chainVersion,
    fingerprint (the same for runs of the same text of a chain), status, resumedAs, error, startedMs, endedMs,
    durationS, visits and sizeBytes.
    """
    with opened(store) as history:
        if delete or prune:
            count = (history.delete(*delete) if delete else 0) + (history.prune() if prune else 0)
            click.echo(f"{count} {'run' if count == 1 else 'runs'} deleted", err=True)
            return
        found = _found(history, **options)
    if as_json:
        click.echo(json.dumps([one.to_dict() for one in found], ensure_ascii=False, indent=2))
    elif found:
        _write_table(found)
    else:
        click.echo("no such run is recorded", err=True)


def _found(
    history: History, *, chain: str, status: str | None, since: str | None, before: str | None, limit: int
) -> list[RunSummary]:
    return history.runs(
        chain=chain,
        status=status or "",
        since=moment_of(since, "--since") if since else None,
        before=moment_of(before, "--before") if before else None,
        limit=limit or None,
    )


def _write_table(found: list[RunSummary]) -> None:
    rows = [
        (name, moment_text(one.started_ms), one.chain_id, one.status, duration_text(one.duration_s), str(one.visits))
        for name, one in zip(short_ids([one.run_id for one in found]), found, strict=True)
    ]
    widths = [max(len(row[column]) for row in (_HEAD, *rows)) for column in range(len(_HEAD))]
    click.echo("  ".join(name.ljust(width) for name, width in zip(_HEAD, widths, strict=True)).rstrip())
    for row, one in zip(rows, found, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        cells[3] = status_text(one.status) + " " * (widths[3] - len(one.status))
        rest = f"as {one.resumed_as}" if one.resumed_as else shortened(one.error, 80) if one.error else ""
        click.echo("  ".join((*cells, rest)).rstrip())
