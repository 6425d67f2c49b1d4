"""What is fuzzed: each entry reads a text, and may refuse it with the errors it declares and no others."""

from __future__ import annotations

import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.security.corpus_files import entries

from catenary.errors import ChainError, ExpressionError
from catenary.expr import FUNCTIONS, Document, Environment, Expression, PythonExpression, Script, Template
from catenary.expr.functions.times import date, duration
from catenary.expr.kinds import EvaluationError
from catenary.expr.layouts import format_layout, parse_layout
from catenary.expr.placeholders import resolve_placeholders, split_parts
from catenary.expr.program import compile_program
from catenary.expr.reference import evaluate
from catenary.expr.regex import PatternError, pattern_of
from catenary.expr.text import json_text, text_of
from catenary.load.document import _parse as parse_document
from catenary.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS: Final = 8.0
"""Longest time of one text: an expression may take five, and the machine may be busy."""

ENVIRONMENT: Final = Environment(
    properties={"p": "text", "q": {"r": 3}, "a.b": "dotted"},
    vars={"v": "9"},
    rule_chain={"id": "c"},
    nodes=frozenset({"before"}),
    functions={"greet": "hello {}".format},
    script_timeout_s=0.2,
    script_memory_bytes=8 * 2**20,
)
MESSAGE: Final = Message(
    {"a": 1, "s": "text", "l": [3, 1, 2], "o": {"b": {"c": None}}, "yes": True, "f": 2.5, "rows": [{"q": 2}, {"q": 1}]},
    "reading",
    metadata={"k": "v"},
    id="1",
    ts=1_700_000_000_000,
)


def expression(text: str) -> None:
    """Evaluate it, and write what comes of it as text and as JSON."""
    value = Expression.compile(text, ENVIRONMENT).evaluate(MESSAGE)
    for write in (text_of, json_text):
        try:
            write(value)
        except (EvaluationError, RecursionError):
            continue


def reference(text: str) -> None:
    """Evaluate it slowly; what fails there is an error of the closure, which is for the property test to say."""
    program = compile_program(text, ENVIRONMENT)
    try:
        evaluate(program, ENVIRONMENT, MESSAGE)
    except MemoryError:
        raise
    except Exception:
        return


def template(text: str) -> None:
    """Render it as it is, as one part, and in a lenient environment."""
    for source in (text, f"${{{text}}}", f"a ${{{text}}} b"):
        try:
            found = Template.compile(source, ENVIRONMENT)
            found.value(MESSAGE)
            found.render(MESSAGE)
        except ExpressionError:
            continue


def placeholders(text: str) -> None:
    """Cut it into parts, and resolve what is known when a chain is loaded."""
    resolve_placeholders({"key": [text, {"${global.p}": text}]}, ENVIRONMENT)
    parts = split_parts(text)
    assert "".join(before + (f"${{{text[start:end]}}}" if start >= 0 else "") for before, start, end in parts) == text


def document(text: str) -> None:
    """Render a Jinja2 document."""
    Document.compile(text, ENVIRONMENT).render(MESSAGE)


def python(text: str) -> None:
    """Evaluate an expression in Python's own grammar."""
    PythonExpression.compile(text, ENVIRONMENT).evaluate(MESSAGE)


def script(text: str) -> None:
    """Run the body of a function in JavaScript."""
    Script.compile(text, ENVIRONMENT).call(MESSAGE)


def times(text: str) -> None:
    """Read it as a duration, a time and a layout."""
    for read in (
        duration,
        date,
        lambda layout: date("2024-05-06", layout),
        lambda zone: date("2024-05-06", None, zone),
    ):
        try:
            read(text)
        except EvaluationError:
            continue
    parse_layout("2024-05-06T07:08:09Z", text)
    format_layout(date("2024-05-06"), text)


def regex(text: str) -> None:
    """Use it as a pattern, and as what a pattern looks through."""
    for pattern, subject in ((text, "aaaaaaaaaaaaaaaaaaaaaaaaab" * 20), ("(a|b|[^c])*d$", text)):
        try:
            pattern_of(pattern)(subject)
        except PatternError:
            continue


def chain(text: str) -> None:
    """Read it as a chain, in JSON and in YAML."""
    for kind in ("json", "yaml"):
        try:
            parse_document(text, "chain", kind)
        except ChainError:
            continue


TARGETS: Final[dict[str, Callable[[str], None]]] = {
    "expression": expression,
    "reference": reference,
    "template": template,
    "placeholders": placeholders,
    "document": document,
    "python": python,
    **({"script": script} if find_spec("quickjs") else {}),
    "times": times,
    "regex": regex,
    "chain": chain,
}


@cache
def seeds() -> list[str]:
    """Give texts to begin with: the examples of all functions, the documents' code, the chains, the known escapes."""
    root = Path(__file__).parents[2]
    found = [source for function in FUNCTIONS.values() for source, _ in function.examples]
    # by name: a chain that ran may have left its data there
    kinds = ("chains/**/*.json", "chains/**/*.yaml", "chains/*.md", "docs/*.md")
    for path in sorted(path for kind in kinds for path in root.glob(kind)):
        found += [
            line.strip(" `|-")[:200] for line in path.read_text("utf-8").splitlines() if "(" in line or "${" in line
        ]
    for name in ("python", "jinja", "javascript", "paths"):
        found += [entry.text for entry in entries(name)]
    return sorted({text for text in found if text})


def check(target: str, text: str) -> None:
    """Put a text to a target. Raises: AssertionError: when it takes too long; anything else that is not declared."""
    began = time.monotonic()
    try:
        TARGETS[target](text)
    except ExpressionError as error:
        assert -1 <= error.position <= len(text), f"the error stands at {error.position} of {len(text)}"
        if target != "script":  # which may throw a text of any length
            assert len(str(error)) < 20_000, f"the error has {len(str(error))} characters"
    took = time.monotonic() - began
    assert took < SECONDS, f"{target} took {took:.1f} s"
