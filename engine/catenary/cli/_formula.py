"""A text that gives a value: an expression, a template or a script, and how its failure is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import click

from catenary.text_places import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.errors import ExpressionError
    from catenary.expr import Environment
    from catenary.jsontext import Json

Kind: TypeAlias = Literal["expression", "template", "document", "script", "python"]


def compiled(kind: Kind, source: str, environment: Environment) -> Callable[..., Json]:
    """Compile a text to a function of a message and a context. Raises: ExpressionError: when that cannot be done."""
    from catenary.expr import Document, Expression, PythonExpression, Script, Template

    if kind == "template":
        return Template.compile(source, environment).value
    if kind == "document":
        return Document.compile(source, environment).render
    if kind == "python":
        return PythonExpression.compile(source, environment).call
    if kind == "script":
        return Script.compile(source, environment, function="Script").call
    return Expression.compile(source, environment).call


def shown(value: Json, *, raw: bool) -> str:
    """Give a value as JSON, or as the text that it is in templates.

    Raises:
        EvaluationError: When it cannot be written so.
    """
    from catenary.expr import json_text, text_of

    return text_of(value) if raw else json_text(value)


def failure_text(error: ExpressionError) -> str:
    """Give the text of an error with the place below it, as far as the error knows it."""
    text = str(error)
    if "\n" in text or not error.source or error.position < 0:
        return text
    return f"{text}\n{excerpt(error.source, error.position)}"


def tell_failure(text: str, hint: str = "") -> None:
    """Write to stderr what went wrong, and what to do."""
    click.echo(f"{click.style('error', fg='red', bold=True)}: {_printable(text)}", err=True)
    if hint:
        click.echo(f"  hint: {_printable(hint)}", err=True)


def tell_warning(text: str) -> None:
    """Write to stderr what is probably not meant so."""
    click.echo(f"{click.style('warning', fg='yellow', bold=True)}: {_printable(text)}", err=True)


def say(text: str) -> None:
    """Write a line to stdout; half characters, which no encoding has, as escapes."""
    click.echo(_printable(text))


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
