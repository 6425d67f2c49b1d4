"""`answer`: answer a node that waits, or list what waits."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click

from catenary.cli._output import format_option
from catenary.cli._parts import chains_option, part_options, tools_option
from catenary.cli._properties import property_options
from catenary.cli._replaying import record_option
from catenary.cli._waiting import store_option

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.pauses.answers import AnswerParts, Pause
    from catenary.pauses.resuming import Resumption
    from catenary.store import History
    from catenary.store.pauses import PauseStore


@click.command(short_help="Answer a node that waits, or list what waits.")
@click.argument("run_id", metavar="[RUN", required=False)
@click.argument("node_id", metavar="[NODE]]", required=False)
@click.option("--visit", type=click.IntRange(min=1), help="Which visit of the node, when several of them wait.")
@click.option("-d", "--data", metavar="TEXT|@FILE", help="The data: JSON, or any text; @FILE reads it, @- stdin.")
@click.option("--relation", metavar="R", default="", help="The way on; the first one that the node allows if absent.")
@click.option("--as", "answerer", metavar="NAME", default="", help="Who answers.")
@click.option("--role", "roles", metavar="ROLE", multiple=True, help="A role of whoever answers. Repeatable.")
@click.option("--note", metavar="TEXT", default="", help="A remark; later nodes see it as metadata._answerNote.")
@click.option(
    "-m", "--metadata", multiple=True, metavar="KEY=VALUE", help="Put an entry into the metadata. Repeatable."
)
@record_option
@store_option
@property_options
@part_options
@tools_option
@chains_option
@format_option("text", "json", "jsonl", help="What is printed of a list, and of a run that goes on here.")
@click.pass_context
def answer(ctx: click.Context, run_id: str | None, node_id: str | None, **options: Any) -> None:
    """Answer a node that waits. RUN is the id of the run, or the beginning of it; without NODE, list what waits.

    \b
    Examples:
      catenary answer                                         what waits for an answer
      catenary answer 3f2a approve                            go on, by the first way that the node allows
      catenary answer 3f2a approve --relation Rejected --as ann --note 'too expensive'
      catenary answer 3f2a amount -d '{"amount": 12}'         an answer with data
      catenary answer 3f2a check --visit 2                    the second visit of a node in a loop

    An answer counts once. The process that runs the chain takes it and goes on; when it is gone, the run is taken up
    here, as a new run that begins behind the node, on the chain as it was then. Properties, component
    types, shared resources, tools and other chains are given as for `catenary run`. A node inside a loop, a group or a
    sub-chain can be answered only while its process is there.

    Exit codes: 0 the answer was taken (and a run that went on here completed), 1 it failed: the question is over, or
    the answer does not fit, 2 wrong usage, 5 somebody answers who may not, 6 the run that went on here paused again,
    130 interrupted.
    """
    from catenary.cli._logs import logs_on_stderr
    from catenary.cli._properties import properties_of

    properties = properties_of(options["settings"], options["env_files"])
    with logs_on_stderr():
        ctx.exit(_Session(options, properties).perform(run_id, node_id))


class _Session:
    """One call of the command, its options read."""

    def __init__(self, options: dict[str, Any], properties: dict[str, Json]) -> None:
        from pathlib import Path

        from catenary.store import Database
        from catenary.store.pauses import PauseStore
        from catenary.store.places import default_file

        self._options = options
        self._properties = properties
        path = Path(options["store"] or default_file())
        self._database = Database(path, must_exist=bool(options["store"]))
        self._store: PauseStore = PauseStore(self._database)

    def perform(self, run_id: str | None, node_id: str | None) -> int:
        """List, or answer. Returns: the exit code."""
        try:
            if run_id is None or node_id is None:
                return self._list(run_id and self._whole(run_id))
            return self._answer(self._whole(run_id), node_id)
        finally:
            self._store.close()
            self._database.close()

    def _whole(self, run_id: str) -> str:
        """Give the whole id of a run. Raises: click.UsageError: when several begin so."""
        found = self._store.matching(run_id)
        if len(found) > 1 and run_id not in found:
            raise click.UsageError(f"several runs begin with {run_id!r}: {', '.join(found)}; write more of the id")
        return run_id if run_id in found or not found else found[0]

    def _list(self, run_id: str | None) -> int:
        pauses = [one for one in self._store.waiting() if run_id in {None, one.pause.run_id}]
        if self._options["form"] != "text":
            self._write([{**one.pause.to_dict(), "held": self._store.is_held(one)} for one in pauses])
            return 0
        from catenary.cli._waiting import command_of, lines_of

        for one in pauses:
            for line in lines_of(one.pause):
                click.echo(line)
            if one.answer is not None:
                click.echo(
                    "  its process ended in the middle of the answer; answer again, and it goes on with the first one"
                )
            elif not self._store.is_held(one):
                click.echo("  its process is gone" + ("; it goes on where it is answered" * (not one.pause.inside)))
            click.echo(f"  answer with: {command_of(one.pause, self._options)}")
        if not pauses:
            click.echo("nothing waits for an answer", err=True)
        return 0

    def _write(self, values: list[dict[str, Json]]) -> None:
        import json

        if self._options["form"] == "jsonl":
            for value in values:
                click.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        else:
            click.echo(json.dumps(values, ensure_ascii=False, indent=2))

    def _answer(self, run_id: str, node_id: str) -> int:
        from catenary.cli._parts import cache_of_environment, load_chains, load_parts
        from catenary.engine import Engine
        from catenary.pauses.resuming import place_answer

        parts = self._parts()
        roots, cache = self._roots(run_id, node_id), cache_of_environment()
        with (
            self._history(run_id) as history,
            Engine(self._properties, roots=roots, history=history, cache=cache) as engine,
        ):
            load_parts(engine, self._options)
            load_chains(engine, self._options["chains"])
            engine.pauses.keep_in(self._database)
            resumption = place_answer(engine, run_id, node_id, parts)
            if resumption is None:
                click.echo("answered; the process of the run goes on", err=True)
                return 0
            return self._go_on(engine, resumption)

    def _history(self, run_id: str) -> AbstractContextManager[History | None]:
        """Give what records the run that goes on here: when it is asked for, or the first one was recorded."""
        from catenary.store import History
        from catenary.store.sqlite_runs import is_recorded

        if self._options["record"] or is_recorded(self._database, run_id):
            return History(self._database.path)
        return contextlib.nullcontext()

    def _go_on(self, engine: Engine, resumption: Resumption) -> int:
        from catenary.cli._output import Output, exit_code
        from catenary.cli._signals import run_cancellable
        from catenary.cli._waiting import Waiting

        output = Output(self._options["form"])
        waiting = Waiting(engine, self._options, place=self._database)
        tell_taken_up(resumption)

        async def work() -> int:
            try:
                outcome = await waiting.finish(resumption.run())
            finally:
                await engine.close()
            output.write(outcome)
            return exit_code(outcome)

        return run_cancellable(work())

    def _roots(self, run_id: str, node_id: str) -> list[str]:
        """Give the folders that the templates of the chain may read."""
        found = self._store.find(run_id, node_id, None)
        return found[-1].chain["roots"] if found else []

    def _parts(self) -> AnswerParts:
        from catenary.cli._pairs import split_pair

        options = self._options
        parts: AnswerParts = {
            "relation": options["relation"],
            "answerer": options["answerer"],
            "roles": options["roles"],
            "note": options["note"],
            "visit": options["visit"],
            "metadata": dict(split_pair(pair, "-m") for pair in options["metadata"]),
        }
        if options["data"] is not None:
            parts["data"] = _value(options["data"])
        return parts


def tell_taken_up(resumption: Resumption) -> None:
    """Say that a run goes on here."""
    click.echo(f"the process of the run is gone: it goes on here as run {resumption.run_id}", err=True)
    for pause in resumption.others:
        click.echo(f"  node {_named(pause)} waits again in it", err=True)


def _named(pause: Pause) -> str:
    return f"{pause.node_id!r}" + (f" (visit {pause.visit})" if pause.visit > 1 else "")


def _value(data: str) -> Json:
    """Read the data: JSON, or a text when it is none. Raises: click.UsageError: when it is no UTF-8 text."""
    from catenary.cli._input import Source
    from catenary.jsontext import loads

    raw = b"".join(Source.of(data, None).chunks())
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError("the data is not UTF-8 text") from None
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text
