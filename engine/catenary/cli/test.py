"""`test`: run the tests of chains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catenary.cli._parts import chains_option, part_options, tools_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.testing.chains import CaseResult, PlacedCase, SuiteFile

TESTS_FAILED = 4


class _PathsOrNew(click.Group):
    """Runs tests, unless the first argument is the name of a command."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Give a command; the one that is seldom used is imported when it is."""
        if cmd_name == "new":
            from catenary.cli._newcase import new

            return new
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names of the commands."""
        return ["new", *super().list_commands(ctx)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the command that is meant before the arguments."""
        first = args[0] if args else ""
        if first not in {*self.list_commands(ctx), "--help", "-h"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_PathsOrNew,
    short_help="Run the tests of chains.",
    options_metavar="[OPTIONS] [PATH]...",
    subcommand_metavar="| new ...",
    invoke_without_command=True,
)
def test() -> None:
    """Run the tests of chains: the files NAME.test.yaml (or .json) in PATH..., in folders at any depth.

    \b
    Options:
      -k TEXT            Only cases whose file or name contains TEXT. Repeatable.
      --fail-fast        Stop at the first case that fails.
      --coverage         Show which nodes and relations no case reached.
      --min-coverage N   Fail when less than N percent of nodes and relations are reached.
      --forbid-only      Fail when a case says `only`.
      --junit FILE       Write a report that build servers read.
      --json             Print the report as JSON.
      --component, --shared, --chains
                         Component types, shared resources and other chains, as for `catenary run`. A file of tests
                         can name them itself, for all who run it.

    \b
    Examples:
      catenary test                                   all tests below this folder
      catenary test chains/ --min-coverage 80
      catenary test chains/sensor-alarm.test.yaml -k hot --fail-fast
      catenary test new chains/alarm.yaml --from last     write a case from a recorded run

    Nodes that call the outside (components of the categories external and ai) are refused unless they have a mock or
    the file says `allowExternal`. The clock is a fake one: delays take no time.

    Exit codes: 0 all passed, 2 wrong usage, 3 a chain or a file of tests is invalid, 4 tests failed.
    """


@test.command("run", short_help="Run tests; the word `run` may be left out.")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("-k", "only", multiple=True, metavar="TEXT", help="Only cases whose file or name contains TEXT.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that fails.")
@click.option("--coverage", "shows_coverage", is_flag=True, help="Show which nodes and relations no case reached.")
@click.option("--min-coverage", type=click.FloatRange(0, 100), metavar="N", help="Fail below N percent.")
@click.option("--forbid-only", is_flag=True, help="Fail when a case says `only`.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@part_options
@tools_option
@chains_option
@click.pass_context
def run_tests(ctx: click.Context, paths: tuple[Path, ...], **options: Any) -> None:
    """Run the tests in PATH..., which are files NAME.test.yaml (or .json), or folders of them; `run` may be left out.

    \b
    Examples:
      catenary test chains/
      catenary test chains/sensor-alarm.test.yaml -k hot --fail-fast
      catenary test --min-coverage 80 --junit report.xml
      catenary test chains/ --component acme/hot=hot.yaml --shared connections.yaml

    Nodes that call the outside are refused unless they have a mock or the file says `allowExternal`. Component types,
    shared resources and other chains are loaded before each case. A file of tests can name them itself, for all who
    run it: `components`, `shared` and `chains`.

    Exit codes: 0 all passed, 2 wrong usage, 3 a chain or a file of tests is invalid, 4 tests failed, or coverage is
    too low.
    """
    from catenary.cli._logs import quiet_logs
    from catenary.cli._parts import parts_of
    from catenary.testing.chains import find_suites, read_suite

    found = find_suites(paths or [Path()])
    if not found:
        raise click.UsageError("there are no tests of chains here: their files are called NAME.test.yaml")
    parts = parts_of(options)
    suites = [read_suite(path, parts) for path in found]
    if options["forbid_only"]:
        _refuse_only(suites)
    with quiet_logs():
        ctx.exit(_Session(options).perform(suites))


def _refuse_only(suites: Sequence[SuiteFile]) -> None:
    for suite in suites:
        for placed in suite.cases:
            if placed.case.only:
                click.echo(f"{suite.path}:{placed.line}: the case {placed.name!r} says `only`", err=True)
                raise click.exceptions.Exit(TESTS_FAILED)


class _Session:
    """One call of the command, its options read."""

    def __init__(self, options: dict[str, Any]) -> None:
        from catenary.testing.chains import Coverage

        self._options = options
        self._coverage = Coverage()
        self._results: list[CaseResult] = []

    def perform(self, suites: Sequence[SuiteFile]) -> int:
        """Run the cases and report. Returns: the exit code."""
        from catenary.cli._signals import run_cancellable

        chosen = [(suite, placed) for suite in suites for placed in suite.cases if self._is_chosen(suite, placed)]
        if not chosen:
            raise click.UsageError(f"no case fits -k {' '.join(self._options['only'])}")
        run_cancellable(self._run(chosen))
        return self._report()

    def _is_chosen(self, suite: SuiteFile, placed: PlacedCase) -> bool:
        label = f"{suite.path}::{placed.name}".lower()
        return all(text.lower() in label for text in self._options["only"])

    async def _run(self, chosen: Sequence[tuple[SuiteFile, PlacedCase]]) -> None:
        from catenary.testing.chains import run_case

        shown: Path | None = None
        for suite, placed in chosen:
            if suite.path != shown:
                shown = suite.path
                self._say(click.style(str(shown), bold=True))
            result = await run_case(suite, placed)
            self._coverage.add(suite.chain, result.hits)
            self._results.append(result)
            self._tell(result)
            if self._options["fail_fast"] and result.result == "failed":
                break

    def _say(self, text: str) -> None:
        click.echo(text, err=self._options["as_json"])

    def _tell(self, result: CaseResult) -> None:
        color = {"passed": "green", "failed": "red", "skipped": "yellow"}[result.result]
        reason = f"  ({result.reason})" if result.reason else f"  {result.duration_s:.2f} s"
        self._say(f"  {click.style(result.result, fg=color)}  {result.name}{click.style(reason, dim=True)}")
        if result.result == "failed":
            self._say(f"    {result.file}:{result.line}")
            self._say("\n".join(f"  {line}" for line in result.text().splitlines()))

    def _report(self) -> int:
        from catenary.testing.chains.reports import as_json, as_junit, counts

        if self._options["junit"] is not None:
            self._options["junit"].write_text(as_junit(self._results), encoding="utf-8")
        if self._options["as_json"]:
            import json

            click.echo(json.dumps(as_json(self._results, self._coverage), ensure_ascii=False, indent=2))
        if self._options["shows_coverage"] or self._options["min_coverage"] is not None:
            self._show_coverage()
        number = counts(self._results)
        text = ", ".join(f"{count} {name}" for name, count in number.items() if count)
        text += f"; {self._coverage.percent:.0f} % of nodes and relations reached"
        click.echo(click.style(text, fg="red" if number["failed"] else "green"), err=True)
        is_low = self._is_too_low()
        return TESTS_FAILED if number["failed"] or is_low else 0

    def _show_coverage(self) -> None:
        for chain in self._coverage.chains():
            nodes, relations = len(chain.nodes), len(chain.relations)
            self._say(
                f"{chain.percent:5.1f} %  {chain.file}: {nodes - len(chain.missed_nodes)} of {nodes} nodes, "
                f"{relations - len(chain.missed_relations)} of {relations} relations"
            )
            for kind, missed in (("nodes", chain.missed_nodes), ("relations", chain.missed_relations)):
                if missed:
                    self._say(f"         {kind} not reached: {', '.join(missed)}")

    def _is_too_low(self) -> bool:
        wanted = self._options["min_coverage"]
        if wanted is None or self._coverage.percent >= wanted:
            return False
        text = f"coverage is {self._coverage.percent:.1f} %, less than the {wanted:g} % that --min-coverage asks for"
        click.echo(click.style(text, fg="red"), err=True)
        return True
