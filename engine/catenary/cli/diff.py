"""`diff`: show what differs between two recorded runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from catenary.cli._history import duration_text, opened, short_ids
from catenary.cli._waiting import store_option
from catenary.cli.errors import tell
from catenary.cli.live import shortened
from catenary.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.recording import RunRecord
    from catenary.recording.diff import Difference

_DIFFERENT: Final = 1
_TROUBLE: Final = 2


@click.command(short_help="Show what differs between two recorded runs.")
@click.argument("left", metavar="RUN")
@click.argument("right", metavar="RUN")
@click.option("--durations", is_flag=True, help="Show how long each visit took in both; that is no difference.")
@click.option("--json", "as_json", is_flag=True, help="Write a list of objects.")
@store_option
@click.pass_context
def diff(ctx: click.Context, left: str, right: str, store: str | None, *, durations: bool, as_json: bool) -> None:
    """Show what differs between two recorded runs: the nodes visited, the ways taken, the data sent, and the ends.

    A run is named by its id, the beginning of one, or last. Visits belong together when they are of the same node at
    the same place, the first with the first, the second with the second. Ids and times do not count, nor does the
    order of branches that ran beside each other. Data is compared as JSON, value by value, where it came about: what
    nodes pass on as they got it is not told again.

    \b
    Examples:
      catenary diff 4f2c last
      catenary diff 4f2c 9b1e --json
      catenary run changed.json --of 4f2c --record && catenary diff 4f2c last

    Exit codes: 0 nothing differs, 1 something does, 2 wrong usage, or a run cannot be read.
    """
    from catenary.recording.diff import differences

    try:
        with opened(store) as history:
            one, other = history.get(left), history.get(right)
    except StoreError as error:
        tell(error)
        ctx.exit(_TROUBLE)
    found = differences(one, other)
    if as_json:
        click.echo(
            json.dumps([difference.to_dict() for difference in found], ensure_ascii=False, indent=2, default=str)
        )
    else:
        for line in _lines(one, other, found):
            click.echo(line)
        if durations:
            for line in _duration_lines(one, other):
                click.echo(line)
    ctx.exit(_DIFFERENT if found else 0)


def _lines(left: RunRecord, right: RunRecord, found: list[Difference]) -> Iterator[str]:
    names = short_ids([left.run_id, right.run_id])
    if not found:
        yield f"runs {names[0]} and {names[1]} do not differ"
        return
    yield click.style(f"--- {names[0]} of chain {left.chain_id!r}", fg="red")
    yield click.style(f"+++ {names[1]} of chain {right.chain_id!r}", fg="green")
    for difference in found:
        yield _line(difference)


def _line(difference: Difference) -> str:
    from catenary.recording.diff import MISSING

    place = _place(difference)
    if difference.kind in {"visit", "end"}:
        is_left = difference.right is MISSING
        what = "" if difference.kind == "visit" else f" by {difference.left if is_left else difference.right}"
        mark = click.style("-", fg="red") if is_left else click.style("+", fg="green")
        return f"{mark} {place}{what}"
    return f"~ {place}: {_side(difference, difference.left)} -> {_side(difference, difference.right)}"


def _place(difference: Difference) -> str:
    node = click.style(difference.node_id, fg="cyan")
    left, right = difference.visits
    number = f"#{left or right}" if not left or not right or left == right else f"#{left} / #{right}"
    match difference.kind:
        case "visit":
            return f"{number} {node} is visited"
        case "end":
            return f"{node} ends"
        case "message":
            return f"began with {difference.path}"
        case "data":
            return f"{number} {node} sent {difference.path}"
        case _:
            return f"{number} {node} {difference.kind}" if difference.node_id else difference.kind


def _side(difference: Difference, value: Any) -> str:
    from catenary.recording.diff import MISSING

    if value is MISSING:
        return "(nothing)"
    if difference.kind == "relations":
        return ", ".join(value) or "(nothing)"
    if difference.kind in {"message", "data"}:
        return shortened(json.dumps(value, ensure_ascii=False, default=str))
    return shortened(str(value)) if value else "(none)"


def _duration_lines(left: RunRecord, right: RunRecord) -> Iterator[str]:
    from catenary.recording.diff import paired

    yield "durations:"
    for one, other in paired(left, right):
        if one is not None and other is not None:
            times = f"{duration_text(one.duration_s)} -> {duration_text(other.duration_s)}"
            yield f"  #{one.number} {one.node_id}: {times}"
    yield f"  in all: {duration_text(left.duration_s)} -> {duration_text(right.duration_s)}"
