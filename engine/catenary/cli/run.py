"""`run`: run one message, or each line of a file, through a chain."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catenary.cli._given import message_options
from catenary.cli._output import format_option
from catenary.cli._parts import chains_option, part_options, tools_option
from catenary.cli._properties import property_options
from catenary.cli._replaying import history_options
from catenary.cli._waiting import store_option

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from catenary.chain import Chain
    from catenary.cli._input import Source
    from catenary.engine import Engine
    from catenary.http.cassette import Recorder
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.recording import RunRecord
    from catenary.replay import Replay
    from catenary.store import History

_JOBS = 8


@click.command(short_help="Run one message, or each line of a file, through a chain.")
@click.argument(
    "file",
    metavar="[FILE]",
    required=False,
    type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True),
)
@click.argument("dash", metavar="[-]", required=False)
@message_options
@click.option("--lines", is_flag=True, help="Run each line of the data as a message of its own.")
@click.option("--jobs", type=click.IntRange(min=1), default=_JOBS, show_default=True, help="Lines run at once.")
@property_options
@part_options
@tools_option
@chains_option
@click.option(
    "--config",
    "overrides",
    multiple=True,
    metavar="NODE.FIELD=VALUE",
    help="Change one setting of a node for this run; FIELD may be dotted, FIELD:=VALUE reads JSON. Repeatable.",
)
@format_option(
    "text", "json", "jsonl", help="What is printed: the answers' data, the outcome as JSON, or that on one line."
)
@click.option("--trace", is_flag=True, help="Show on stderr what travelled where.")
@click.option("--debug", is_flag=True, help="Show on stderr what each node got and gave, with metadata.")
@click.option("--timeout", metavar="S", help="Longest time of a run: seconds, or a text such as 500ms or 2m.")
@history_options
@store_option
@click.pass_context
def run(ctx: click.Context, file: str | None, **options: Any) -> None:
    """Run one message, or each line of a file, through the chain in FILE.

    The data comes from -d, from a file as -d @FILE or -f FILE, or from stdin when a lone - follows FILE; without any
    of them it is empty.
    The answer goes to stdout, all else to stderr.

    \b
    Examples:
      catenary run chain.json -d '{"temperature": 41}'
      catenary run chain.json -d @reading.json --trace
      catenary run chain.json -d @reading.json --debug
      echo hello | catenary run chain.json - --data-type TEXT
      catenary run chain.json -d hello -m stream=true --timeout 30
      catenary run chain.json --lines -f readings.jsonl --format jsonl > outcomes.jsonl
      catenary run chain.json -d hello --set global.region=north --config filter.limit=50
      catenary run chain.json --shared connections.yaml --component acme/hot=hot.yaml
      catenary run main.json --chains chains/
      catenary run clerk.yaml -d 'Any bolts?' --tools stock.py

    With --record the run is kept in the history: `catenary runs` lists it, `catenary trace` shows it, and --of runs it
    again, as a whole or from a node on. It begins with the message that the node got then, unless data is given.

    \b
    Runs that are run again:
      catenary run --of last
      catenary run chain.json --of 4f2c --from score -d '{"temperature": 39}'
      catenary run chain.json --of 4f2c --pin askModel --record

    With --record FILE, what is said to models and what they answer is written to FILE, a cassette; keys are not in it.
    It is played back by the address mock://FILE of an agent, and by `cassette: FILE` in tests of the chain.

    \b
    Models that are recorded and played:
      catenary run clerk.yaml -d 'Any bolts?' --record clerk.json
      catenary run clerk.yaml -d 'Any bolts?' --config clerk.url=mock://clerk.json

    Properties, which a chain reads as ${global.KEY}, come from env files, then from environment variables (the
    variable CATENARY_GLOBAL__MODELS__API_KEY is global.models.api_key), then from --set; later ones win. Keep keys in
    the environment or a file: arguments can be seen by other users of the machine. An env file holds NAME=value lines,
    which do not replace variables that are set, and global.key=value lines.

    What chains keep between messages is in memory, and gone with the process, unless the environment variable
    CATENARY_CACHE_URL has the address of a Redis, such as redis://127.0.0.1:6379/0.

    With --format json stdout gets one object: runId, status, ok, error, and of each end nodeId, relation, error,
    gated and message, whose data is text, or hexadecimal digits when it is BINARY. With --lines that is a list, in the
    order of the lines.

    Chains that the chain runs, such as those of `flow` nodes, are loaded by --chains: a file, or all chains in a folder
    and below it, as for `catenary check`. A chain without id goes by the name of its file. FILE may lie there, too.

    A node that waits for an answer is told on stderr, with the command that answers it from another terminal. An
    interrupt while the run waits puts it off: it goes on when somebody answers, unless the node is inside a loop, a
    group or a sub-chain.

    Exit codes: 0 the run completed, 1 it failed or ran out of time, 2 wrong usage, 3 the chain is invalid, 6 it
    paused or was put off, 130 interrupted, 143 terminated. With --lines, 1 when any run failed; an interrupt or
    SIGTERM keeps what is done.
    """
    from catenary.cli._input import Source
    from catenary.cli._logs import logs_on_stderr
    from catenary.cli._pairs import split_pair
    from catenary.cli._properties import properties_of
    from catenary.cli._replaying import check_usage, read_record_option

    if file == "-":  # stands behind no FILE
        file, options["dash"] = None, options["dash"] or file
    file = read_record_option(file, options)
    check_usage(file, options)
    source = Source.of(options.pop("data"), options.pop("data_file"), options.pop("dash"))
    if options["lines"] and not source.is_given:
        raise click.UsageError("--lines needs data: give a file with -f, or stdin as -")
    options["timeout"] = _seconds(options["timeout"])
    options["metadata"] = dict(split_pair(pair, "-m") for pair in options["metadata"])
    properties = properties_of(options["settings"], options["env_files"])
    with logs_on_stderr():
        ctx.exit(_Session(file, source, options, properties).perform())


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    from catenary.durations import duration_s

    try:
        seconds = duration_s(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--timeout'") from None
    if seconds == 0:
        raise click.BadParameter("must be more than 0 seconds", param_hint="'--timeout'")
    return seconds


class _Session:
    """One call of the command, its options read."""

    def __init__(self, file: str | None, source: Source, options: dict[str, Any], properties: dict[str, Json]) -> None:
        from catenary.cli._output import Output

        self._file = file
        self._source = source
        self._options = options
        self._properties = properties
        self._output = Output(options["form"], many=options["lines"])
        self._replay: Replay | None = None

    def perform(self) -> int:
        """Load the chain and run what there is to run. Returns: the exit code."""
        from catenary.cli._parts import cache_of_environment, load_parts
        from catenary.cli._replaying import read_record
        from catenary.cli._signals import run_cancellable
        from catenary.cli._waiting import Waiting
        from catenary.engine import Engine

        record = read_record(self._options)
        cache = cache_of_environment()
        with self._history() as history, Engine(self._properties, history=history, cache=cache) as engine:
            recorder = self._recorder(engine)
            # Not in the event loop, where an interrupt would wait until a file that never ends is read.
            load_parts(engine, self._options)
            chain = self._load(engine, record)
            self._waiting = Waiting(engine, self._options)
            try:
                return run_cancellable(self._run(engine, chain))
            finally:
                if recorder is not None:
                    recorder.save()
                    number = f"{len(recorder)} exchange" + "s" * (len(recorder) != 1)
                    click.echo(f"wrote {number} with models to {recorder.file}", err=True)

    def _recorder(self, engine: Engine) -> Recorder | None:
        """Have exchanges with models recorded, if so asked. Raises: click.UsageError: when there is no folder."""
        if not self._options["cassette"]:
            return None
        from catenary.http.cassette import is_cassette

        file = Path(self._options["cassette"])
        if not file.absolute().parent.is_dir():
            raise click.UsageError(f"--record {file}: there is no folder {file.parent}")
        if file.is_dir() or (file.exists() and file.stat().st_size and not is_cassette(file)):
            raise click.UsageError(f"--record {file}: this is something else than a cassette; name another file")
        return engine.http.record(file, engine.masker.text)

    def _history(self) -> AbstractContextManager[History | None]:
        if not self._options["record"]:
            return contextlib.nullcontext()
        from catenary.store import History

        return History(self._options["store"])

    def _load(self, engine: Engine, record: RunRecord | None) -> Chain:
        from catenary.cli._override import load_chain
        from catenary.cli._parts import load_chains
        from catenary.cli._replaying import document_of, prepared

        if record is None:
            chain = load_chain(engine, self._file or "", self._options["overrides"])
            load_chains(engine, self._options["chains"], chain, self._file)
            return chain
        source = document_of(self._file, record, self._options) or self._file or ""
        chain = load_chain(engine, source, self._options["overrides"])
        load_chains(engine, self._options["chains"], chain, self._file)
        self._replay = prepared(engine, chain, record, self._file, self._options)
        return self._replay.chain

    async def _run(self, engine: Engine, chain: Chain) -> int:
        try:
            if self._options["lines"]:
                return await self._run_lines(chain)
            return await self._run_one(chain)
        finally:
            await engine.close()

    async def _run_one(self, chain: Chain) -> int:
        from catenary.cli._lines import read_in_thread
        from catenary.cli._output import exit_code

        raw = b"".join([chunk async for chunk in read_in_thread(self._source.chunks())])
        outcome = await self._outcome(chain, raw, "")
        self._output.write(outcome)
        if self._options["record"]:
            click.echo(f"recorded as run {outcome.run_id}", err=True)
        return exit_code(outcome)

    async def _run_lines(self, chain: Chain) -> int:
        from catenary.cli._lines import LineRunner
        from catenary.cli._output import exit_code, worst
        from catenary.cli._progress import Progress

        codes: set[int] = set()
        progress = Progress(self._source.count_lines)

        def write(outcome: Any, number: int) -> None:
            speaks = sys.stdout.isatty() or not outcome.ok
            with progress.aside() if speaks else contextlib.nullcontext():
                self._output.write(outcome, f"line {number}: ")
            codes.add(exit_code(outcome))
            progress.step()

        async def one(line: bytes, number: int) -> Any:
            return await self._outcome(chain, line, f"line {number}: ")

        try:
            with progress:
                await LineRunner(one, write, jobs=self._options["jobs"]).all(self._source.lines())
        finally:
            self._output.close()
            progress.tell_total()
        return worst(codes)

    async def _outcome(self, chain: Chain, raw: bytes, label: str) -> Any:
        from catenary.cli._output import listeners

        options = self._options
        message = self._message(raw, label)
        begin: dict[str, Any] = dict(self._replay.options) if self._replay is not None else {}
        if options["debug"]:
            from catenary.cli._debug import DebugLines

            begin |= {"debug": True, "on_debug": DebugLines(chain.id, label)}
        listener = listeners(
            self._output.listen if self._output.wants_pieces else None,
            self._trace(chain, label) if options["trace"] else None,
        )
        outcome = await self._waiting.finish(chain.run(message, timeout=options["timeout"], listener=listener, **begin))
        if listener is not None:
            listener.raise_for_error()
        return outcome

    def _message(self, raw: bytes, label: str) -> Message:
        from catenary.cli._input import make_message, tell_broken_json
        from catenary.cli._replaying import message_of

        options = self._options
        if self._replay is not None:
            return message_of(self._replay, raw if self._source.is_given else None, options)
        message = make_message(raw, options["message_type"], options["data_type"], options["metadata"], label)
        if not options["lines"]:
            tell_broken_json(message)
        return message

    def _trace(self, chain: Chain, label: str) -> Any:
        from catenary.cli.live import Trace

        return Trace(types={node.id: node.type for node in chain.definition.nodes}, label=label)
