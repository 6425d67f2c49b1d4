"""`draw`: draw a chain as SVG, as an HTML page, or as Mermaid text; with a recorded run on it if asked to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catenary.cli._parts import add_components, component_option

if TYPE_CHECKING:
    from catenary.definition import ChainDefinition
    from catenary.recording import RunRecord
    from catenary.registry import Registry

_KINDS = {".svg": "svg", ".html": "html", ".htm": "html", ".mmd": "mermaid", ".mermaid": "mermaid"}

_MANY = 1000


@click.command(short_help="Draw a chain as SVG, HTML or Mermaid text, with a run on it if asked to.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Where to write: a name that ends in .svg, .html or .mmd. SVG goes to stdout without it.",
)
@click.option(
    "--html", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Write one HTML page, any name."
)
@click.option(
    "--run",
    "run",
    metavar="RUN",
    help="Show a recorded run: its id in the history, or a JSON file with its record.",
)
@click.option("--store", metavar="FILE", help="The file with the history of runs; the user's own if absent.")
@component_option
def draw(
    file: Path,
    output: Path | None,
    html: Path | None,
    run: str | None,
    store: str | None,
    components: tuple[str, ...],
) -> None:
    """Draw the chain in FILE, without any other program and without a network.

    Endpoints stand in front of what their routers lead to, with methods and paths, or times. Nodes that neither they
    nor the first node lead to are drawn dashed, dotted lines lead to nodes that others run. A chain that has errors is
    drawn as far as it can be read; `catenary check` says what is wrong with it. The HTML page is one file to move and
    zoom in; it shows the configuration of nodes and endpoints, with secrets masked.

    With --run, what the run did not take is pale; what it took has counts, times and errors. The page shows the last
    visits of each node, too.

    \b
    Examples:
      catenary draw chain.json -o chain.svg
      catenary draw chain.yaml -o chain.mmd
      catenary draw chain.json --html chain.html
      catenary draw chain.json --html run.html --run 3f2a9c41
      catenary draw chain.json -o run.svg --run record.json
    """
    if output is not None and html is not None:
        raise click.UsageError("give either -o or --html")
    kind = "html" if html is not None else _kind(output)
    definition = _read(file)
    record = _record(run, store, definition.id) if run is not None else None
    if len(definition.nodes) >= _MANY:
        click.echo(f"drawing {len(definition.nodes)} nodes, which takes a moment", err=True)
    text = _drawn(definition, kind, record, components)
    target = output or html
    if target is None:
        click.echo(text, nl=False)
        return
    try:
        target.write_bytes(text.encode())
    except OSError as error:
        raise click.BadParameter(f"cannot write {target}: {error.strerror or error}", param_hint="'-o'") from error
    click.echo(f"wrote {target}", err=True)


def _kind(output: Path | None) -> str:
    kind = _KINDS.get(output.suffix.lower() if output else ".svg")
    if kind is None:
        raise click.BadParameter(f"{str(output)!r} must end in .svg, .html or .mmd", param_hint="'-o'")
    return kind


def _read(file: Path) -> ChainDefinition:
    from catenary.errors import ChainInvalid
    from catenary.load import read

    document = read(file)
    if not document.definition.nodes and document.problems:
        raise ChainInvalid(document.problems, file=str(file))
    return document.definition


def _drawn(definition: ChainDefinition, kind: str, record: RunRecord | None, components: tuple[str, ...]) -> str:
    from catenary.drawing import diagram_of, mermaid, overlay_of, page, place, svg
    from catenary.registry import Registry

    registry = Registry()
    add_components(registry, components)
    definition, record = _masked(definition, registry, record)
    diagram = diagram_of(definition, registry)
    overlay = overlay_of(record, definition.id) if record is not None else None
    if kind == "mermaid":
        return mermaid(diagram, overlay)
    layout = place(diagram, landscape=kind == "html")
    return svg(layout, overlay) if kind == "svg" else page(layout, definition, registry, overlay, record)


def _masked(
    definition: ChainDefinition, registry: Registry, record: RunRecord | None
) -> tuple[ChainDefinition, RunRecord | None]:
    """Give a chain and a run in which nothing shows the secrets of the chain."""
    from catenary.drawing.settings import masker_of
    from catenary.load import read
    from catenary.recording import RunRecord
    from catenary.secrets import find_key

    masker = masker_of(definition, registry, find_key())
    if not masker:
        return definition, record
    masked = read(masker.items(definition.to_dict())).definition
    return masked, None if record is None else RunRecord.from_dict(masker.items(record.to_dict()))


def _record(run: str, store: str | None, chain_id: str) -> RunRecord:
    """Find the run. Raises: BadParameter: when it is none, or visited no node of the chain."""
    from catenary.recording import RunRecord

    if run.endswith(".json"):
        try:
            record = RunRecord.from_dict(json.loads(Path(run).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise click.BadParameter(f"{run} is no record of a run: {error}", param_hint="'--run'") from None
    else:
        from catenary.cli._history import opened

        with opened(store) as history:
            record = history.get(run)
    if chain_id not in {record.chain_id, *(visit.chain_id for visit in record.visits)}:
        text = f"run {record.run_id} is one of the chain {record.chain_id!r}, not of {chain_id!r}"
        raise click.BadParameter(text, param_hint="'--run'")
    return record
