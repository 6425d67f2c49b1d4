"""Compiling documents: the sandbox of an environment, what a document names, and errors with their places."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from jinja2.exceptions import TemplateError as JinjaError
from jinja2.exceptions import TemplateNotFound, TemplateSyntaxError

from catenary.errors import TemplateError
from catenary.expr.document.engine import DocumentEnvironment
from catenary.expr.document.places import place_of
from catenary.expr.document.words import document_reason
from catenary.expr.environment import VARIABLES
from catenary.expr.kinds import EvaluationError
from catenary.expr.problems import syntax_problem
from catenary.text_places import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.errors import ExpressionError
    from catenary.expr.document.rewrite import Facts
    from catenary.expr.environment import Environment

_CACHE: Final = "documents"


def engine_of(environment: Environment) -> DocumentEnvironment:
    """Give the sandbox of an environment, which is made once for the functions that the host has."""
    host = list(environment.functions.items())
    known = environment.programs.get(_CACHE)
    if known is not None and known[0] == host:
        return known[1]
    engine = DocumentEnvironment(environment)
    environment.programs[_CACHE] = (host, engine)
    return engine


CAUGHT: Final = (JinjaError, EvaluationError, RecursionError, SyntaxError, MemoryError, ValueError, OverflowError)
"""What Jinja2 and Python raise for a document that cannot be compiled."""


def references_of(engine: DocumentEnvironment, facts: Facts, file: str = "") -> frozenset[str]:
    """Compile all that a document names, and give the ids of the nodes that it or any of it reads."""
    names: set[str] = set()
    is_open = False
    for part in _all_facts(engine, facts, file, ()):
        names |= part.names
        is_open = is_open or any(not name for name, _, _ in part.parts)
    nodes = engine.owner.nodes - VARIABLES
    return nodes if is_open else frozenset(names) & nodes


def _all_facts(engine: DocumentEnvironment, facts: Facts, parent: str, path: tuple[str, ...]) -> Iterator[Facts]:
    """Go through a document and all that it names. Raises: what cannot be compiled, and circles without an end."""
    yield facts
    for name, kind, line in facts.parts:
        if not name:
            continue
        try:
            template = engine.get_template(engine.join_path(name, parent))
        except TemplateNotFound:
            raise TemplateSyntaxError(f"there is no document {name!r}", line, parent or None) from None
        file = str(template.name)
        if file in path or file == parent:
            if kind != "include":
                verb = kind.removesuffix("s") + "s"
                raise TemplateSyntaxError(f"{Path(file).name!r} {verb} itself", line, parent or None)
            continue
        yield from _all_facts(engine, engine.facts[file], file, (*path, parent))


def compile_problem(error: BaseException, source: str, name: str) -> ExpressionError:
    """Make the error of a document that cannot be compiled, with line and excerpt."""
    if isinstance(error, TemplateNotFound):
        return TemplateError(f"there is no document {error.name!r}", source=source)
    if not isinstance(error, TemplateSyntaxError):
        text = "the document is nested too deeply" if isinstance(error, RecursionError | SyntaxError) else str(error)
        return TemplateError(f"{name}: {text}" if name else text, source=source)
    file = error.name or name
    text = shorten(error.message or "it cannot be read", 300).rstrip(".")
    if Path(file).is_absolute() and (not name or not file.endswith(name.lstrip("./"))):
        return TemplateError(f"{Path(file).name}, line {error.lineno}: {text}", source=source)
    lines = source.split("\n")
    row = min(max(error.lineno, 1), len(lines)) - 1
    indent = len(lines[row]) - len(lines[row].lstrip())
    position = sum(len(line) + 1 for line in lines[:row]) + indent
    shown = f"{name}: {text}" if name else text
    return syntax_problem(TemplateError, shown, source=source, position=position)


def failure_of(error: BaseException, name: str, field: str, ctx: object = None) -> TemplateError:
    """Make the error of a document that failed on a message: field, file, line, reason; and the node."""
    file, line = place_of(error, name)
    where = ", ".join(part for part in (file, f"line {line}" if line else "") if part)
    text = ": ".join(part for part in (field, where, document_reason(error)) if part)
    return TemplateError(text, node_id=getattr(ctx, "node_id", ""))
