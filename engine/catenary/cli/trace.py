"""`trace`: show what happened in a recorded run, visit by visit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from catenary.cli._history import duration_text, moment_text, opened, status_text
from catenary.cli._waiting import store_option
from catenary.cli.live import relation_text, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from catenary.message import Message
    from catenary.recording import RunRecord, Visit

    Shown = Callable[[Message], str]


@click.command(short_help="Show what happened in a recorded run, visit by visit.")
@click.argument("run", metavar="RUN")
@click.option("--node", "nodes", multiple=True, metavar="ID", help="Only the visits of this node. Repeatable.")
@click.option("--full", is_flag=True, help="Show data as a whole, and metadata.")
@click.option("--json", "as_json", is_flag=True, help="Write the record as an object.")
@store_option
def trace(run: str, nodes: tuple[str, ...], store: str | None, *, full: bool, as_json: bool) -> None:
    """Show what happened in the recorded run RUN: its id, the beginning of one, or last.

    For each visit of a node: its number, what came in and from where, by which relations what left, and how long it
    took. Visits inside a visit (loops, groups, sub-chains) are set in below it. Data that left as it came is not shown
    again. Numbers name visits for `catenary run --visit`.

    \b
    Examples:
      catenary trace last
      catenary trace 4f2c --node score --full
      catenary trace 4f2c --json

    What happens in a run while it is on is shown by `catenary run --trace`.
    """
    with opened(store) as history:
        record = history.get(run)
    _need_visited(record, nodes)
    if as_json:
        written = record.to_dict()
        if nodes:
            written["visits"] = [visit.to_dict() for visit in record.visits if visit.node_id in nodes]
        click.echo(json.dumps(written, ensure_ascii=False, indent=2))
        return
    for line in _lines(record, nodes, _whole if full else _short):
        click.echo(line)


def _need_visited(record: RunRecord, nodes: tuple[str, ...]) -> None:
    from catenary.load.names import did_you_mean

    known = list(dict.fromkeys(visit.node_id for visit in record.visits))
    for node in nodes:
        if node not in known:
            hint = did_you_mean(node, known, f"nodes that were: {', '.join(known) or 'none'}")
            raise click.BadParameter(f"the run did not visit a node {node!r}; {hint}", param_hint="'--node'")


def _lines(record: RunRecord, nodes: tuple[str, ...], shown: Shown) -> Iterator[str]:
    took = f" in {duration_text(record.duration_s)}" if record.duration_s is not None else ""
    place = f"chain {record.chain_id!r} (version {record.chain_version})"
    yield click.style(f"run {record.run_id} of {place}", bold=True)
    yield f"{status_text(record.status)}{took}, {moment_text(record.started_ms)}, {len(record.visits)} visits"
    if record.resumed_as:
        yield f"went on as run {record.resumed_as}"
    if record.error:
        yield f"error: {click.style(record.error, fg='red')}"
    yield f"began with: {shown(record.message)}"
    for depth, visit in record.walk():
        if not nodes or visit.node_id in nodes:
            indent = "" if nodes else "  " * depth
            yield from (f"{indent}{line}" for line in _visit_lines(visit, record, shown))
    if not nodes:
        for end in record.ends:
            by = f"by {relation_text(end.relation)}" if end.relation else "here"
            gated = " (gated)" if end.gated else ""
            yield f"= {end.node_id} ends {by}{gated}: {shown(end.message)}"


def _visit_lines(visit: Visit, record: RunRecord, shown: Shown) -> Iterator[str]:
    way = f" from {visit.sender} by {relation_text(visit.relation)}" if visit.sender else ""
    chain = f" of chain {visit.chain_id}" if visit.chain_id != record.chain_id else ""
    yield f"#{visit.number} {click.style(visit.node_id, fg='cyan')} ({visit.node_type}){chain}{way}: " + shown(
        visit.message
    )
    for name, data in visit.items:
        text = json.dumps(data, ensure_ascii=False, default=str)
        yield click.style(f"   * {name} {text if shown is _whole else shortened(text)}", dim=True)
    ways = [_sent(str(relation), message, visit, shown) for relation, message in visit.sent]
    took = f"in {duration_text(visit.duration_s)}" if visit.duration_s is not None else _open_text(visit)
    error = f": {click.style(visit.error, fg='red')}" if visit.error else ""
    yield f"   {', '.join(ways) or 'nothing'}, {took}{error}"


def _open_text(visit: Visit) -> str:
    """Tell of a visit that is not over whether it waits for an answer."""
    return "waits for an answer" if visit.items and visit.items[-1][0] == "wait.open" else "not over"


def _sent(relation: str, message: Message, visit: Visit, shown: Shown) -> str:
    is_same = message.data == visit.message.data and message.metadata == visit.message.metadata
    return relation_text(relation) + ("" if is_same else f" {shown(message)}")


def _short(message: Message) -> str:
    return shortened(message.text)


def _whole(message: Message) -> str:
    metadata = dict(message.metadata)
    return f"{message.text} {json.dumps(metadata, ensure_ascii=False, default=str)}" if metadata else message.text
