"""The command line: `catenary COMMAND ...`. Commands are found by entry points and imported when they are called."""

from __future__ import annotations

import click

from catenary.cli._group import CommandGroup

__all__ = ["main"]


def _show_version(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from catenary import __version__

        click.echo(f"catenary {__version__}")
        ctx.exit()


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
def main() -> None:
    """Run messages through rule chains: JSON or YAML documents of nodes, some of which may be AI agents.

    \b
    A first look:
      catenary demo                                 run a chain with an agent; needs no key and no server
      catenary components                           what a chain can be made of
      catenary check my-chain.json                  what is wrong with a chain, and where
      catenary run my-chain.json -d '{"t": 41}'     run one message through it

    Data goes to stdout, all else to stderr. Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 invalid chain, 4 chain
    tests failed, 5 refused, 6 paused, 130 interrupted.
    """
