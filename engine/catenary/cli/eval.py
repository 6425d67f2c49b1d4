"""`eval`: evaluate an expression, a template or a script over a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from catenary.cli._given import message_options, output_option
from catenary.cli._output import format_option
from catenary.cli._properties import property_options

if TYPE_CHECKING:
    from catenary.cli._formula import Kind
    from catenary.expr import Environment
    from catenary.jsontext import Json

_KINDS: Final[dict[str, Kind]] = {
    "template": "template",
    "document": "document",
    "python": "python",
    "js": "script",
}
"""What EXPR is, by the flag that says so."""


@click.command(name="eval", short_help="Evaluate an expression, a template or a script over a message.")
@click.argument("sources", metavar="[EXPR]", nargs=-1)
@message_options
@output_option
@click.option("--template", is_flag=True, help="EXPR is text with ${...} parts.")
@click.option("--document", is_flag=True, help="EXPR is a Jinja2 document.")
@click.option("--python", is_flag=True, help="EXPR is an expression of Python, as pyFilter takes it.")
@click.option("--js", is_flag=True, help="EXPR is the body of a JavaScript function, with its return.")
@click.option(
    "--chain",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, readable=True),
    help="Evaluate as a node of this chain would: with its vars, its nodes and its folder.",
)
@click.option(
    "--var", "variables", multiple=True, metavar="KEY=VALUE", help="Set vars.KEY; KEY:=VALUE reads JSON. Repeatable."
)
@property_options
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False),
    help="Let include() read files below this folder; by default below the current one. Repeatable.",
)
@click.option("--raw", is_flag=True, help="Print the value as text, as templates have it, and not as JSON.")
@click.option("--explain", is_flag=True, help="Show how EXPR is read, what it becomes, what it gives and how long.")
@format_option("text", "json", help="Text to read, or one JSON object with value, kind and error for programs.")
@click.pass_context
def evaluate(ctx: click.Context, sources: tuple[str, ...], **options: Any) -> None:
    """Evaluate EXPR over a message and print the value. Nothing is run, opened or connected to.

    \b
    Examples:
      catenary eval 'msg.t > 40 && metadata.site == "north"' -d '{"t": 41}' -m site=north
      catenary eval 'filter(msg.items, .price > 10) | map(.name)' -d @order.json
      catenary eval --template 'Hello ${msg.name ?? "you"}' -d '{}' --raw
      catenary eval --js 'return msg.t * 2' -d '{"t": 21}'
      catenary eval --python '[x for x in msg.xs if x > 1]' -d '{"xs": [1, 2]}'
      catenary eval --explain 'msg.t ?? 0 + 1'
      catenary eval --chain chain.json 'vars.limit * 2' --output prepare='{"n": 1}'

    An EXPR that begins with a minus sign is written behind a lone --, as in `catenary eval -- -1`.

    Without EXPR and with a terminal, expressions are read one after the other; `:help` says what else can be typed.
    Without EXPR and without a terminal, each line of stdin is an expression, and each value is a line of the answer.

    Properties, which expressions read as global.KEY, are given as for `catenary run`. include() reads files below the
    current folder, below --root when it is given, and below global.data_dir.

    A name that nobody knows is nil; when it is like a known one, a warning on stderr says so. With --format json stdout
    gets one object a value: ok, value, text, kind, warnings, and error with text, hint, line and column when it failed.

    Exit codes: 0 there is a value, 1 EXPR is wrong or failed on the message, 2 wrong usage, 3 the chain of --chain is
    no chain, 130 interrupted.
    """
    from catenary.cli._given import given_of, need_known_nodes
    from catenary.cli._input import Source
    from catenary.cli._logs import logs_on_stderr
    from catenary.cli._session import Session

    source = sources[0] if sources else None
    if len(sources) > 1:
        raise click.UsageError(
            f"unexpected argument {sources[1]!r}: put all of EXPR into one pair of quotes, as in 'msg.t > 40', "
            "and give data with -d or -f"
        )
    kind = _kind_of(options)
    if source is None and Source.of(options["data"], options["data_file"]).stdin:
        raise click.UsageError("stdin cannot be both the data and the expressions: give EXPR, or the data with -d")
    environment = _environment(options)
    given = given_of(options)
    if options["chain"]:
        need_known_nodes(given, environment.nodes)
    else:
        from dataclasses import replace

        environment = replace(environment, nodes=frozenset(given.outputs))
    session = Session(environment, given, kind, raw=options["raw"], form=options["form"])
    with logs_on_stderr():
        if source is not None:
            ctx.exit(session.one(source, explain=options["explain"]))
        ctx.exit(_many(session, explain=options["explain"]))


def _kind_of(options: dict[str, Any]) -> Kind:
    flags = [flag for flag in _KINDS if options[flag]]
    if len(flags) > 1:
        raise click.UsageError(f"EXPR is one of {', '.join(f'--{flag}' for flag in flags)}, not several")
    return _KINDS[flags[0]] if flags else "expression"


def _many(session: Any, *, explain: bool) -> int:
    from catenary.cli._input import stdin

    stream = stdin()
    if not stream.isatty():
        return session.lines(stream, explain=explain)
    from catenary.cli._repl import Repl

    return Repl(session).talk()


def _environment(options: dict[str, Any]) -> Environment:
    from dataclasses import replace
    from pathlib import Path

    from catenary.cli._pairs import typed_pair
    from catenary.cli._properties import properties_of
    from catenary.expr import Environment

    properties = properties_of(options["settings"], options["env_files"])
    variables = dict(typed_pair(pair, "--var") for pair in options["variables"])
    folders = [Path(root) for root in options["roots"]]
    if options["chain"]:
        environment = _environment_of_chain(options["chain"], properties)
        return replace(environment, vars={**environment.vars, **variables}, roots=(*environment.roots, *folders))
    folders = folders or [Path.cwd()]
    data_dir = properties.get("data_dir")
    if isinstance(data_dir, str) and data_dir:
        folders.append(Path(data_dir))
    return Environment(properties=properties, vars=variables, roots=tuple(folders))


def _environment_of_chain(file: str, properties: dict[str, Json]) -> Environment:
    from pathlib import Path

    from catenary.engine import Engine
    from catenary.errors import ChainInvalid
    from catenary.load import environment_of, read

    with Engine(properties) as engine:
        document = read(Path(file))
        if any(problem.severity == "error" for problem in document.problems):
            raise ChainInvalid(document.problems, file=file)
        return environment_of(document.definition, engine.settings_for(document))
