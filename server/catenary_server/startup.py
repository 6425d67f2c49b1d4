"""What the server says when it is up: what listens where, which chains are in service, and which are not and why."""

from __future__ import annotations

import shlex
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from catenary.cli.errors import problem_lines
from catenary.load.names import listed
from catenary_server.readiness import endpoint_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from catenary_server.service import Service

_EXAMPLE = """ruleChain: {id: hello}
metadata:
  nodes:
    - {id: greet, type: exprTransform, configuration: {mapping: {text: "'Hello ' + msg.name"}}}
"""


def report_lines(service: Service, url: str, *, watches: bool = False) -> Iterator[str]:
    """Give the table for people, line by line.

    Args:
        service: The server.
        url: Where the API is.
        watches: True when changes of the folder are taken over.
    """
    yield from _listening(service, url)
    yield ""
    yield from _chains(service)
    if not service.engine.chains:
        yield ""
        yield from _explanation(service, url, watches)


def facts(service: Service, url: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the same for programs: a sentence and its parts, one for each line of a log."""
    needs_key = bool(service.settings.keys)
    yield "the API is up", {"address": url, "needs_key": needs_key, "chains": len(service.engine.chains)}
    for row in endpoint_rows(service.engine):
        parts = {name: row[name] for name in ("chain", "type", "address", "state", "error")}
        yield "an endpoint", {**parts, "endpoint_id": row["id"], "routes": ", ".join(row["routes"])}
    for file, problems in service.report.problems.items() if service.report else ():
        for problem in problems:
            yield "a chain cannot be served", {"file": file, "code": problem.code, "problem": str(problem)}
    for chain in service.engine.chains.values():
        for problem in chain.warnings:
            yield "a chain is doubtful", {"chain": chain.id, "code": problem.code, "problem": str(problem)}


def _listening(service: Service, url: str) -> Iterator[str]:
    key = "with an API key" if service.settings.keys else "no key needed"
    rows = [(click.style(url, bold=True), f"the API, {key}", "")]
    for row in endpoint_rows(service.engine):
        address = url if row["address"] == "ref://server" else row["address"] or row["type"]
        state = "" if row["state"] == "connected" else _state(row)
        whose = f"chain {row['chain']}" if row["chain"] else f"endpoint {row['id']}"
        where = [f"next {time}" if time else "never again" for time in row["next"]]
        routes = zip_longest(where[: len(row["routes"])], row["routes"] or ["(no routes)"], fillvalue=address)
        rows += [(place, route, whose + state) for place, route in routes]
    yield "Listening:"
    yield from _aligned(rows)


def _state(row: dict[str, Any]) -> str:
    return "  " + click.style(f"{row['state']}: {row['error']}" if row["error"] else row["state"], fg="red")


def _chains(service: Service) -> Iterator[str]:
    engine, report = service.engine, service.report
    problems = report.problems if report else {}
    yield f"Chains: {len(engine.chains)} in service, {len(problems)} with errors"
    rows: list[tuple[str, str, str]] = []
    folder = service.folder
    for chain in sorted(engine.chains.values(), key=lambda chain: chain.id):
        path = folder.file_of(chain.id) if folder else None
        nodes = len(chain.definition.nodes)
        rows.append((chain.id, f"{nodes} node{'' if nodes == 1 else 's'}", str(path or "")))
    yield from _aligned(rows)
    warnings = [chain.warnings for chain in engine.chains.values()]
    for found in (*warnings, *problems.values()):
        for problem in found:
            yield from (f"  {line}" for line in problem_lines(problem).splitlines())
    for file in report.disabled if report else ():
        yield f"  {file}: disabled"


def _aligned(rows: list[tuple[str, str, str]]) -> Iterator[str]:
    widths = [max((len(click.unstyle(row[column])) for row in rows), default=0) for column in (0, 1)]
    for row in rows:
        cells = [cell + " " * (width - len(click.unstyle(cell))) for cell, width in zip(row, widths, strict=False)]
        yield "  " + "   ".join([*cells, row[2]]).rstrip()


def _explanation(service: Service, url: str, watches: bool) -> Iterator[str]:
    """Say what to do with a folder that has no chain."""
    folder: Path | None = service.folder_path
    file = "hello.yaml" if folder is None else str(folder / "hello.yaml")
    yield f"There is no chain in {str(folder or '.')!r} to be served. A chain is a file *.json or *.yaml, such as"
    yield f"{file}:"
    yield ""
    yield from (f"    {line}" for line in _EXAMPLE.splitlines())
    yield ""
    skipped = service.report.skipped if service.report else ()
    if skipped:
        yield f"What is there has neither ruleChain nor metadata, and so is none: {listed(skipped)}."
    if watches:
        yield "Write it there, and it is in service at once. Then call it:"
    else:
        yield "Write it there and start the server again, or start it with --watch, which sees new files. Then call it:"
    yield ""
    yield "    " + call_of(url, "hello", '{"data": {"name": "Ann"}}', needs_key=bool(service.settings.keys))


def call_of(url: str, chain_id: str, body: str, *, needs_key: bool) -> str:
    """Give the command that runs a chain."""
    key = "-H 'Authorization: Bearer KEY' " if needs_key else ""
    return f"curl {key}{url}/api/v1/chains/{shlex.quote(chain_id)}/run -d {shlex.quote(body)}"
