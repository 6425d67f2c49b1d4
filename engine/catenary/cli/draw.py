"""`draw`: draw a chain as SVG or as Mermaid text."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Draw a chain as SVG or as Mermaid text.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Where to write: a name that ends in .svg or .mmd. SVG goes to stdout without it.",
)
def draw(file: Path, output: Path | None) -> None:
    """Draw the chain in FILE, without any other program and without a network.

    Nodes that the first one does not lead to are drawn dashed. A chain that has errors is drawn as far as it can be
    read; `catenary check` says what is wrong with it.

    \b
    Examples:
      catenary draw chain.json -o chain.svg
      catenary draw chain.yaml -o chain.mmd
    """
    from catenary.drawing import diagram_of, mermaid, place, svg
    from catenary.errors import ChainInvalid
    from catenary.load import read
    from catenary.registry import Registry

    kind = output.suffix.lower() if output else ".svg"
    if kind not in {".svg", ".mmd", ".mermaid"}:
        raise click.BadParameter(f"{str(output)!r} must end in .svg or .mmd", param_hint="'-o'")
    document = read(file)
    if not document.definition.nodes and document.problems:
        raise ChainInvalid(document.problems, file=str(file))
    diagram = diagram_of(document.definition, Registry())
    text = svg(place(diagram)) if kind == ".svg" else mermaid(diagram)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_bytes(text.encode())
    except OSError as error:
        raise click.BadParameter(f"cannot write {output}: {error.strerror or error}", param_hint="'-o'") from error
    click.echo(f"wrote {output}", err=True)
