"""`new`: write the files of something new, such as a package with a component."""

from __future__ import annotations

from pathlib import Path

import click


@click.group(short_help="Write a package with a new component.")
def new() -> None:
    """Write the files of something new.

    \b
    Examples:
      catenary new component acme/doorState
    """


@new.command(short_help="Write a package with a component, tests, a chain and docs.")
@click.argument("node_type", metavar="TYPE")
@click.option("--into", metavar="DIR", help="The folder to make; the name of the package if absent.")
@click.option("--category", default="transform", show_default=True, help="The category of the component.")
@click.option("--package", metavar="NAME", default="", help="The name of the package; made of TYPE if absent.")
def component(node_type: str, into: str | None, category: str, package: str) -> None:
    """Write a package with the component TYPE: code, entry point, tests, a chain with tests, and a README.

    What is written passes its own tests, and ruff and pyright find nothing in it. Nothing is overwritten.

    \b
    Examples:
      catenary new component acme/doorState
      catenary new component dedupe --into packages/dedupe --category filter
    """
    from catenary.errors import EngineError
    from catenary.registry import Registry
    from catenary.scaffold import Names, component_files

    try:
        names = Names.of(node_type, category, package)
    except EngineError as error:
        raise click.UsageError(f"{error}: {error.hint}") from None
    if Registry().find(node_type) is not None:
        raise click.UsageError(f"there is a component {node_type!r} already; choose another name")
    folder = Path(into or names.project)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise click.UsageError(f"{folder} is there already, and not empty; name another folder with --into")
    files = component_files(names)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    click.echo(f"{folder}: {len(files)} files\n")
    click.echo(f"  cd {folder}\n  pip install -e '.[dev]'\n  pytest\n  catenary components {node_type}")
