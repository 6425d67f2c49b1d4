"""`test new`: write a case from a recorded run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from catenary.recording import RunRecord


@click.command(short_help="Write a case from a recorded run.")
@click.argument("chain", metavar="CHAIN", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--from", "run", required=True, metavar="RUN", help="The id of a recorded run, `last`, or a file with its record."
)
@click.option("--name", default="", metavar="TEXT", help="The name of the case.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where it is written to."
)
@click.option("--store", metavar="FILE", help="The file of recorded runs; that of the user's data folder if absent.")
def new(chain: Path, **options: Any) -> None:
    """Write a case that repeats a recorded run of CHAIN, and expects what came of it.

    What its nodes got from the outside becomes mocks. The case is added to the tests beside the chain, or makes a
    new file of them. Look through it: times and ids that change from run to run are for you to loosen.

    \b
    Examples:
      catenary test new chains/alarm.yaml --from last
      catenary test new chains/alarm.yaml --from 7f3a --name 'a hot reading'
      catenary test new chains/alarm.yaml --from record.json -o alarm-2.test.yaml
    """
    from catenary.load import read
    from catenary.registry import Registry
    from catenary.testing.chains.recorded import case_of, suite_text, with_case

    record = _record(options["run"], options["store"])
    known = read(chain).definition.id
    if known != record.chain_id:
        raise click.UsageError(f"the run {record.run_id} is one of the chain {record.chain_id!r}, not of {known!r}")
    case = case_of(record, Registry(), options["name"])
    target = options["output"] or chain.with_name(f"{chain.stem}.test.yaml")
    if target.exists():
        text = with_case(target.read_text(encoding="utf-8"), case)
    else:
        beside = chain.parent == target.parent and target.name == f"{chain.stem}.test.yaml"
        text = suite_text(case, {} if beside else {"chain": _seen_from(target, chain)})
    target.write_text(text, encoding="utf-8")
    click.echo(f"{target}: case {case['name']!r}", err=True)


def _seen_from(target: Path, chain: Path) -> str:
    import os

    return Path(os.path.relpath(chain, target.parent)).as_posix()


def _record(run: str, store: str | None) -> RunRecord:
    path = Path(run)
    if path.suffix == ".json" and path.is_file():
        return _read_record(path)
    from catenary.store import History

    with History(store, must_exist=True) as history:
        return history.get(run)


def _read_record(path: Path) -> RunRecord:
    import json

    from catenary.recording import RunRecord

    try:
        return RunRecord.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise click.UsageError(f"{path} is no record of a run: {error}") from None
