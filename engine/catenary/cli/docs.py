"""`docs`: write the reference pages of a checkout."""

from __future__ import annotations

import click


@click.group(short_help="Write the reference pages of a checkout.")
def docs() -> None:
    """Write the reference in ./docs from the code, or tell whether it is fresh.

    It is for those who work on catenary: run it in the folder of a checkout.

    \b
    Examples:
      catenary docs build
      catenary docs build --check
    """


@docs.command(short_help="Write the generated files, or compare them.")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 and name the files that differ.")
@click.pass_context
def build(ctx: click.Context, check: bool) -> None:
    """Write docs/reference and docs/images of the checkout in the current folder.

    Component pages, catalogue, JSON Schema, errors, events, functions and command line come from the installed code,
    pictures from the chains of the checkout. Files that are right already are not touched.
    """
    from pathlib import Path

    from catenary.docsgen import compare, pages, write
    from catenary.registry import Registry

    root = Path.cwd()
    if not (root / "docs").is_dir() or not (root / "pyproject.toml").is_file():
        raise click.UsageError("there is no docs folder here; run this in the folder of a checkout")
    wanted = pages(root, Registry())
    changes = compare(root, wanted) if check else write(root, wanted)
    for change in changes:
        click.echo(f"{change.path}: {change.kind}" + ("" if check else ", written"), err=not check)
    if check and changes:
        click.echo("run `catenary docs build` and commit what it writes", err=True)
        ctx.exit(1)
    click.echo(f"{len(wanted)} files are fresh", err=True)
