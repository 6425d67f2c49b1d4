"""`check`: say what is wrong with chains, and where."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from catenary.cli._output import format_option
from catenary.cli._parts import files_of_parts, part_options
from catenary.cli._properties import property_options

if TYPE_CHECKING:
    from catenary.engine import Engine
    from catenary.errors import Problem
    from catenary.jsontext import Json


@click.command(short_help="Say what is wrong with chains, and where.")
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, readable=True, allow_dash=True),
)
@click.option("--strict", is_flag=True, help="Count warnings as errors.")
@format_option("text", "json", help="One problem on a line with its hint below it, or a JSON list of all problems.")
@click.option("--watch", is_flag=True, help="Go on, and check again whenever one of the files changes.")
@property_options
@part_options
@click.pass_context
def check(ctx: click.Context, files: tuple[str, ...], **options: Any) -> None:
    """Say what is wrong with the chains in FILE..., all of it at once; - is stdin. Nothing is run or connected to.

    A FILE that is a folder stands for the chains in it and below it: the files *.json, *.yaml and *.yml that have
    ruleChain or metadata. Hidden files and tests (*.test.yaml) are left out, and so are disabled chains; two chains
    with one id are an error.

    \b
    Each problem is one line, with what to do about it below:
      FILE:LINE:COLUMN: CODE: TEXT
        hint: HINT

    \b
    Examples:
      catenary check chain.json
      catenary check --strict chains/*.yaml
      catenary check --format json chain.json
      catenary check --watch chains/
      catenary check chains/ --shared connections.yaml --component acme/hot=hot.yaml
      generate-chain | catenary check -

    What the endpoints of the chains take in, and where it goes, is listed on stderr.

    Warnings are marked as such and do not make a chain invalid, except with --strict. Properties, which a chain reads
    as ${global.KEY}, are given as for `catenary run`. So are component types and shared
    resources; what is wrong with these is told, too.

    Exit codes: 0 no errors, 2 wrong usage, 3 at least one error.
    """
    from catenary.cli._properties import properties_of

    properties = properties_of(options["settings"], options["env_files"])
    if options["watch"]:
        from catenary.cli._watch import watched

        others = [*options["env_files"], *files_of_parts(options)]
        ctx.exit(watched(files, others, lambda: _checked(files, properties, options)))
    ctx.exit(_checked(files, properties, options))


def _checked(given: tuple[str, ...], properties: dict[str, Json], options: dict[str, Any]) -> int:
    """Check the files once and write what is wrong with them. Returns: the exit code."""
    from catenary.cli._parts import chain_files_of, declare_parts
    from catenary.cli.errors import INVALID
    from catenary.engine import ChainDefaults, Engine

    files = [file for one in given for file in chain_files_of(one)]
    with Engine(properties, defaults=ChainDefaults(strict=options["strict"])) as engine:
        problems = declare_parts(engine, options)
        ways: list[str] = []
        beside = _Ids(files)
        for file in files:
            problems += _problems_of(engine, file, beside, ways)
    problems = list(dict.fromkeys([*problems, *_same_ids(given)]))  # a file may be named by chains beside it, too
    if options["form"] == "json":
        _write_json(problems)
    else:
        _write_text(problems)
        for way in ways:
            click.echo(way, err=True)
    errors = sum(problem.severity == "error" for problem in problems)
    _summarize(len(files), errors, len(problems) - errors)
    return INVALID if errors else 0


class _Ids:
    """The ids of chains in files; these are read when somebody asks."""

    def __init__(self, files: list[str]) -> None:
        self._files = files

    def __contains__(self, chain_id: object) -> bool:
        return chain_id in self._ids

    @cached_property
    def _ids(self) -> set[str]:
        from contextlib import suppress
        from pathlib import Path

        from catenary.errors import ChainError
        from catenary.life.chainfiles import id_of
        from catenary.load import read

        ids: set[str] = set()
        for path in (Path(file) for file in self._files if file != "-"):
            with suppress(ChainError):  # told of the file itself
                ids.add(id_of(path, read(path)))
        return ids


def _same_ids(given: tuple[str, ...]) -> list[Problem]:
    """Give the files of folders whose chains have the id of another one."""
    from pathlib import Path

    from catenary.life.chainfiles import same_ids

    return [problem for one in given if one != "-" and Path(one).is_dir() for problem in same_ids(Path(one))]


def _problems_of(engine: Engine, file: str, beside: _Ids, ways: list[str]) -> list[Problem]:
    """Give what is wrong with a chain; the ways by which messages come in are added to `ways`, a line each."""
    from pathlib import Path

    from catenary.cli.errors import problems_of
    from catenary.load import read

    def checked() -> list[Problem]:
        document = read(_stdin_text(), file="<stdin>") if file == "-" else read(Path(file))
        problems = engine.check(document, beside=beside)
        if document.definition.endpoints:
            from catenary.drawing.inlets import ways_in

            ways.extend(f"{document.file}: {way}" for way in ways_in(document.definition, engine.registry))
        return problems

    return problems_of(checked, file)


def _stdin_text() -> str:
    from catenary.cli._input import stdin

    raw = stdin().read()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"stdin is not UTF-8 text (byte {error.start + 1})") from None


def _write_text(problems: list[Problem]) -> None:
    from catenary.cli.errors import problem_lines

    for problem in problems:
        click.echo(problem_lines(problem))


def _write_json(problems: list[Problem]) -> None:
    import dataclasses
    import json

    click.echo(json.dumps([dataclasses.asdict(problem) for problem in problems], ensure_ascii=False, indent=2))


def _summarize(files: int, errors: int, warnings: int) -> None:
    text = f"{_counted(files, 'file')} checked: {_counted(errors, 'error')}, {_counted(warnings, 'warning')}"
    click.echo(click.style(text, fg="red" if errors else "yellow" if warnings else "green"), err=True)


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
