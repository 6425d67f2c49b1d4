"""How the command line tells errors: the text, a hint below it, and the exit code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from catenary.cli._properties import PREFIX
from catenary.errors import CatenaryError, ChainError, ChainInvalid, ConfigError, ExpressionError, Problem, Refused

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FAILED", "INVALID", "PAUSED", "REFUSED", "exit_code_of", "problem_lines", "problems_of", "tell"]

FAILED = 1
INVALID = 3
REFUSED = 5
PAUSED = 6


def exit_code_of(error: CatenaryError) -> int:
    """Give the exit code for an error that ends a command."""
    if isinstance(error, (ChainError, ConfigError, ExpressionError)):
        return INVALID
    return REFUSED if isinstance(error, Refused) else FAILED


def tell(error: CatenaryError) -> None:
    """Write an error to stderr: what happened, where, and below it what to do."""
    if isinstance(error, ChainInvalid):
        for problem in error.problems:
            if problem.severity == "error":
                click.echo(problem_lines(problem) + _cure(problem), err=True)
        return
    place = ""
    if isinstance(error, ChainError) and error.file and error.line:
        place = f"{error.file}:{error.line}:{error.column}: {error.code}: "
    click.echo(f"{click.style('error', fg='red', bold=True)}: {place}{error}", err=True)
    if error.hint:
        click.echo(f"  hint: {error.hint}", err=True)


def _cure(problem: Problem) -> str:
    """Say how a property is set from here, where an error names one that is missing and has no hint of its own."""
    names = [] if problem.hint else re.findall(r"\$\{(global\.[\w.]+)\}", problem.text)
    return "".join(
        f"\n  hint: give --set {name}=VALUE, or set the environment variable {_variable(name)}" for name in names
    )


def _variable(name: str) -> str:
    variable = name.replace("global.", PREFIX, 1).replace(".", "__")
    return variable.upper() if variable.removeprefix(PREFIX).islower() else variable


def problem_lines(problem: Problem) -> str:
    """Give a problem as `file:line:column: code: text`, with its hint on a line of its own."""
    mark = "" if problem.severity == "error" else f" ({problem.severity})"
    text = f"{problem}{mark}"
    return f"{text}\n  hint: {problem.hint}" if problem.hint else text


def problems_of(find: Callable[[], list[Problem]], file: str) -> list[Problem]:
    """Give the problems that are found in a file; what keeps it from being read is one."""
    try:
        return find()
    except ChainInvalid as error:
        return error.problems
    except ChainError as error:
        return [Problem(error.code, str(error), error.hint, error.file or file, error.line or 1, error.column or 1)]
