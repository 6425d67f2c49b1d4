"""Write what runs came to: text, one JSON object, or JSON lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import click

from catenary.cli.errors import FAILED, PAUSED

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.cli.live import Writers
    from catenary.errors import CatenaryError
    from catenary.outcome import Outcome

CommandT = TypeVar("CommandT", bound="Callable[..., Any]")


def format_option(*formats: str, help: str) -> Callable[[CommandT], CommandT]:  # noqa: A002 - click's own word
    """Add the option `--format`, which arrives as `form`; the first one is the default."""
    return click.option(
        "--format", "form", type=click.Choice(formats), default=formats[0], show_default=True, help=help
    )


class Output:
    """Writes outcomes to stdout in one of the formats, and why a run did not complete to stderr.

    Args:
        form: `text` writes the data of each answer on a line (bytes as they are), pieces of a stream as they come;
            `json` the outcome as one indented object, `jsonl` as one line.
        many: True when several outcomes are written: `json` then makes a list of them.
    """

    def __init__(self, form: str, *, many: bool = False) -> None:
        self._form = form
        self._many = many
        self._written = 0
        self._streamed = ""

    def listen(self, event: Any) -> None:
        """Write the pieces of a streamed answer as they come; a listener to the events of a single run."""
        if event.name != "branch.end" or event.parent or event.relation != "Stream":
            return
        metadata = event.message.metadata
        if metadata.get("chunk") == "true" and metadata.get("tool_call") != "true":
            text = event.message.text
            self._streamed += text
            _echo(text, nl=False)

    @property
    def wants_pieces(self) -> bool:
        """True when `listen` has something to do."""
        return self._form == "text" and not self._many

    def write(self, outcome: Outcome, label: str = "") -> None:
        """Write one outcome; `label` stands before what goes to stderr."""
        if self._form == "text":
            self._write_text(outcome)
        else:
            self._write_json(outcome)
        self._written += 1
        self._explain(outcome, label)

    def close(self) -> None:
        """Write what stands behind the last outcome."""
        if self._form == "json" and self._many:
            click.echo("\n]" if self._written else "[]")

    def _write_text(self, outcome: Outcome) -> None:
        if self._streamed:
            click.echo()
        whole = [end for end in outcome.ends if not (end.is_late or end.relation in {"Stream", "Failure", "Paused"})]
        answers = [end for end in whole if not end.gated] or whole[-1:]
        for end in answers:
            if end.is_silent:
                continue
            data = end.message.data
            was_told = end.message.metadata.get("full_content") == "true" and self._streamed.endswith(end.message.text)
            if data and (data == self._streamed or was_told):  # it has been seen piece by piece
                continue
            _echo(data)

    def _write_json(self, outcome: Outcome) -> None:
        import json

        if self._form == "jsonl":
            _echo(json.dumps(outcome.to_dict(), ensure_ascii=False, separators=(",", ":")))
            return
        text = json.dumps(outcome.to_dict(), ensure_ascii=False, indent=2)
        if self._many:
            click.echo(",\n" if self._written else "[\n", nl=False)
        _echo(text, nl=not self._many)

    def _explain(self, outcome: Outcome, label: str) -> None:
        if outcome.ends and all(end.is_silent for end in outcome.ends):
            click.echo(f"{label}no answer: node {outcome.ends[-1].node_id!r} sent nothing on", err=True)
        error = outcome.error
        if error is None:
            return
        click.echo(f"{click.style('error', fg='red', bold=True)}: {label}{error}", err=True)
        hint = _hint_of(error)
        if hint:
            click.echo(f"  hint: {hint}", err=True)


def _hint_of(error: CatenaryError) -> str:
    """Give what to do about an error; where a chain is missing, how it is given from here."""
    missing = re.search(r"ruleChain id=(.*) not found", str(error))
    if missing is None:
        return error.hint
    known = f"; {error.hint}" if error.hint else ""
    return f"name the file of the chain {missing[1]!r}, or a folder with it, by --chains PATH{known}"


def _echo(data: str | bytes, *, nl: bool = True) -> None:
    """Write text as a line and bytes as they are; half characters, which no encoding has, as escapes."""
    if isinstance(data, str):
        click.echo(data.encode("utf-8", "backslashreplace").decode(), nl=nl)
    else:
        click.echo(data, nl=False)


def exit_code(outcome: Outcome) -> int:
    """Give the exit code for a run that is over; one that ran out of time has failed."""
    if outcome.status == "completed":
        return 0
    return PAUSED if outcome.status == "paused" else FAILED


def worst(codes: set[int]) -> int:
    """Give the exit code of several runs: failed before paused before fine."""
    return next((code for code in (FAILED, PAUSED) if code in codes), 0)


def listeners(*parts: Any) -> Writers | None:
    """Make one listener of several; `None` when there is none."""
    from catenary.cli.live import Writers

    wanted = [part for part in parts if part is not None]
    return Writers(wanted) if wanted else None
