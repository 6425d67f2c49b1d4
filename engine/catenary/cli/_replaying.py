"""The options of `run` that record a run, and that run a recorded one again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.chain import Chain
    from catenary.engine import Engine
    from catenary.load import Document
    from catenary.message import Message
    from catenary.recording import RunRecord
    from catenary.replay import Replay

RECORDED: Final = "recorded"
PRESENT: Final = "present"
HISTORY: Final = "history"
_ON: Final = ("1", "true", "t", "yes", "y", "on")
_OFF: Final = ("", "0", "false", "f", "no", "n", "off")
_NEED_RUN: Final = {"from_node": "--from", "visit": "--visit", "pins": "--pin", "which": "--version"}


def record_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that has runs recorded, `record`."""
    return click.option(
        "--record",
        is_flag=True,
        envvar="CATENARY_RECORD",
        help="Keep the run in the history, see `catenary runs`; CATENARY_RECORD=1 does the same.",
    )(command)


def history_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about recorded runs: `record`, `of`, `from_node`, `visit`, `pins` and `which`."""
    for decorate in reversed(
        (
            click.option(
                "--record",
                is_flag=False,
                flag_value=HISTORY,
                default="",
                envvar="CATENARY_RECORD",
                metavar="[FILE]",
                help="Keep the run in the history, see `catenary runs` (CATENARY_RECORD=1 does the same); with FILE, "
                "write what is said to models and what they answer into that cassette.",
            ),
            click.option("--of", metavar="RUN", help="Run a recorded run again: its id, the beginning of it, or last."),
            click.option(
                "--from", "from_node", metavar="NODE", help="With --of: begin at NODE, with what it got then."
            ),
            click.option(
                "--visit", type=click.IntRange(min=1), metavar="N", help="With --from: which visit of NODE is meant."
            ),
            click.option(
                "--pin",
                "pins",
                multiple=True,
                metavar="NODE",
                help="With --of: do not run NODE, it sends what it sent then. Repeatable.",
            ),
            click.option(
                "--version",
                "which",
                type=click.Choice([RECORDED, PRESENT]),
                help="With --of: which version of the chain is run; FILE if one is given, else the recorded one.",
            ),
        )
    ):
        command = decorate(command)
    return command


def read_record_option(file: str | None, options: dict[str, Any]) -> str | None:
    """Split what `--record` got into `record` and `cassette`. Returns: the file of the chain.

    Without another file what follows it is the chain: `run --record chain.json` keeps the run in the history.
    """
    given, options["cassette"] = options["record"], ""
    options["record"] = given == HISTORY or given.lower() in _ON
    if options["record"] or given.lower() in _OFF:
        return file
    if file is None and not options["of"]:
        options["record"] = True
        return given
    options["cassette"] = given
    return file


def check_usage(file: str | None, options: Mapping[str, Any]) -> None:
    """See that the options fit together. Raises: click.UsageError: when they do not."""
    if options["of"] is None:
        given = next((name for key, name in _NEED_RUN.items() if options[key]), None)
        if given is not None:
            raise click.UsageError(f"{given} needs a recorded run: name it with --of RUN")
        if file is None:
            raise click.UsageError("name the FILE of a chain, or a recorded run with --of RUN")
        return
    if options["lines"]:
        raise click.UsageError("--lines runs many messages, and --of RUN one: give one of them")
    if options["visit"] is not None and options["from_node"] is None:
        raise click.UsageError("--visit says which visit of a node is meant: name the node with --from NODE")
    if file is None and options["which"] == PRESENT:
        raise click.UsageError("--version present needs the FILE of the chain as it is")


def read_record(options: Mapping[str, Any]) -> RunRecord | None:
    """Give the recorded run that `--of` names, if it does. Raises: StoreError: when there is none."""
    if options["of"] is None:
        return None
    from catenary.store import History

    with History(options["store"], must_exist=True) as history:
        return history.get(options["of"])


def document_of(file: str | None, record: RunRecord, options: Mapping[str, Any]) -> Document | None:
    """Give the recorded version of the chain when it is the one to run, else `None`."""
    if file is not None and options["which"] != RECORDED:
        return None
    from catenary.load import read

    return read(dict(record.definition), file=file or "")


def prepared(engine: Engine, chain: Chain, record: RunRecord, file: str | None, options: Mapping[str, Any]) -> Replay:
    """Make ready to run a recorded run again, and say on stderr what is run.

    Raises:
        EngineError: When the run has no such visit, or the chain no such node.
    """
    from catenary.replay import replay

    which = PRESENT if file is not None and options["which"] != RECORDED else RECORDED
    ready = replay(
        engine,
        record,
        options["from_node"] or "",
        visit=options["visit"],
        version=which,
        pins=options["pins"],
        chain=chain,
    )
    _tell(ready, record, file, is_changed=bool(options["overrides"]))
    return ready


def _tell(ready: Replay, record: RunRecord, file: str | None, *, is_changed: bool) -> None:
    from catenary.cli._formula import tell_warning

    version = f"version {record.chain_version}, as recorded" if ready.version == RECORDED else f"as in {file}"
    place = f" from node {ready.start.node!r}" if ready.start.node else ""
    click.echo(f"replay of run {record.run_id}{place}: chain {record.chain_id!r} {version}", err=True)
    visit = ready.start.visit
    if visit is not None and len(ready.start.visits) > 1:
        others = ", ".join(map(str, ready.start.visits))
        click.echo(
            f"  visit {visit.number} of {ready.start.node!r}; its visits are {others}, --visit chooses", err=True
        )
    if record.chain_id != ready.chain.id:
        tell_warning(f"the run was of chain {record.chain_id!r}, and this is {ready.chain.id!r}")
    elif ready.differs and ready.version == PRESENT:
        tell_warning("the chain has changed since the run was recorded; --version recorded runs it as it was")
    elif ready.differs and is_changed:
        click.echo("  with the changes of --config", err=True)
    if ready.has_masked_secrets:
        tell_warning("secrets of the chain are not recorded, so **** is in their place; give FILE to run it as it is")


def message_of(ready: Replay, raw: bytes | None, options: Mapping[str, Any]) -> Message:
    """Give what a recorded run begins with again; data, type and metadata that are given take the recorded ones' place.

    Raises:
        click.UsageError: When the data is to be text and is not UTF-8.
    """
    from catenary.cli._input import make_message, tell_broken_json

    message = ready.start.message
    if raw is not None:
        data_type = message.data_type if options["data_type"] == "JSON" else options["data_type"]
        given = make_message(raw, "", data_type, {})
        tell_broken_json(given)
        message = message.with_data(given.data, data_type)
    if options["message_type"]:
        message = message.with_type(options["message_type"])
    return message.put_all(options["metadata"]) if options["metadata"] else message
