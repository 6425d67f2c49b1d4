"""The pages of the command line."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from catenary.cli import main
from catenary.docsgen.markdown import code, fenced, file_name, page, table

if TYPE_CHECKING:
    from collections.abc import Iterator


def command_pages() -> dict[str, str]:
    """Give a page for each command, by file name, and the list of all as `README.md`."""
    context = click.Context(main, info_name="catenary", **main.context_settings)
    commands = dict(_commands(main, context))
    rows = [
        (f"[`catenary {name}`]({file_name(name)})", sub.command.get_short_help_str(200))
        for name, sub in commands.items()
    ]
    overview = page("Command line", _text(main), "## Commands\n\n" + table(("Command", "What it does"), rows))
    return {"README.md": overview, **{file_name(name): _page(sub) for name, sub in commands.items()}}


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Context]]:
    """Give all commands, those inside groups by both names: `docs build`."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        below = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            for inner, inner_context in _commands(command, below):
                yield f"{name} {inner}", inner_context
        else:
            yield name, below


def _page(context: click.Context) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    rows = [
        (code(record[0]), record[1])
        for record in (parameter.get_help_record(context) for parameter in command.get_params(context))
        if record is not None
    ]
    return page(
        code(context.command_path),
        fenced(usage),
        _text(command),
        "## Options\n\n" + table(("Option", "Meaning"), rows),
    )


def _text(command: click.Command) -> str:
    """Give the help of a command; paragraphs that click shows as they are become blocks of code."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(_paragraph(paragraph) for paragraph in paragraphs)


def _paragraph(paragraph: str) -> str:
    if not paragraph.startswith("\b"):
        return paragraph
    head, *lines = paragraph.removeprefix("\b").strip("\n").splitlines()
    if head.rstrip().endswith(":") and lines:
        return f"{head}\n\n{fenced(inspect.cleandoc(chr(10) + chr(10).join(lines)))}"
    return fenced("\n".join([head, *lines]))
