"""Every evaluator of the language behind one form: text and message in, value out."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import ExpressionError
from catenary.expr import Environment, Expression, Script, Template
from catenary.expr.program import compile_program
from catenary.expr.reference import evaluate
from catenary.message import Message
from catenary.reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

CANARY: Final = "canary-7c1f"
"""Stands in an environment variable and in a file outside of the allowed folder; nothing may ever show it."""


def greet(name: str) -> str:
    """Greet somebody: a function of the host, through which nothing of the host may be reached."""
    return f"hello {name}"


def message() -> Message:
    """Give the message that all texts of the corpus see."""
    payload = {"a": 1, "s": "text", "l": [3, 1, 2], "o": {"b": {"c": None}}, "yes": True, "class": "k"}
    return Message(payload, "reading", metadata={"k": "v", "path": "../outside.txt"}, id="1", ts=1_700_000_000_000)


def environment(folder: Path) -> Environment:
    """Give what they see besides: host functions, properties, one folder to read in."""
    return Environment(
        properties={"p": "text", "q": {"r": 3}},
        vars={"v": "9"},
        rule_chain={"id": "c", "configuration": {}},
        functions={"greet": greet},
        script_functions={"greet": greet},
        nodes=frozenset({"before"}),
        roots=(folder / "inside",),
        script_timeout_s=0.1,
        script_memory_bytes=16 * 2**20,
    )


def folder_with_traps(folder: Path) -> Path:
    """Make a folder `inside` that may be read, with ways out of it, and files beside it that may not."""
    inside = folder / "inside"
    inside.mkdir()
    (folder / "outside.txt").write_text(CANARY)
    (folder / "inside-too.txt").write_text(CANARY)
    (inside / "fine.txt").write_text("fine")
    (inside / "large.txt").write_text("x" * 2_000_000)
    (inside / "nested.txt").write_text("${include('nested.txt')}")
    (inside / "link.txt").symlink_to(folder / "outside.txt")
    (inside / "up").symlink_to(folder)
    (inside / "loop").symlink_to(inside / "loop")
    os.mkfifo(inside / "pipe")
    return folder


def _expression(text: str, where: Environment) -> Any:
    return Expression.compile(text, where).evaluate(message())


def _reference(text: str, where: Environment) -> Any:
    program = compile_program(text, where)
    try:
        return evaluate(program, where, message())
    except Exception as error:  # it raises what its operators raise; closures make `ExpressionError`s of the same
        raise ExpressionError(reason_of(error)) from error


def _template(text: str, where: Environment) -> Any:
    return Template.compile(text if "${" in text else f"${{{text}}}", where).value(message())


def _text_template(text: str, where: Environment) -> Any:
    return Template.compile(f"<{text if '${' in text else f'${{{text}}}'}>", where).render(message())


def _script(engine: str) -> Callable[[str, Environment], Any]:
    def run(text: str, where: Environment) -> Any:
        if engine != "quickjs":
            where = replace(where, script_engine=engine)  # type: ignore[call-arg]
        return Script.compile(text if "return" in text or ";" in text else f"return ({text}\n);", where).call(message())

    return run


def _document(text: str, where: Environment) -> Any:
    from catenary.expr import Document

    return Document.compile(text if "{{" in text or "{%" in text else f"{{{{ {text} }}}}", where).render(message())


def _python(text: str, where: Environment) -> Any:
    from catenary.expr.python.expression import PythonExpression

    return PythonExpression.compile(text, where).evaluate(message())


def _has(module: str) -> bool:
    return find_spec(module) is not None


EVALUATORS: Final[dict[str, Callable[[str, Environment], Any]]] = {
    "expression": _expression,
    "reference": _reference,
    "template": _template,
    "text-template": _text_template,
    **({"document": _document} if _has("catenary.expr.document.document") else {}),
    **({"python": _python} if _has("catenary.expr.python.expression") else {}),
    **({"quickjs": _script("quickjs")} if _has("quickjs") else {}),
    **({"v8": _script("v8")} if _has("catenary.expr.script.v8") and _has("py_mini_racer") else {}),
}
"""All that are here: what the extras bring is left out where they are not installed."""


def warm_up(name: str, where: Environment) -> None:
    """Make an evaluator import what it needs."""
    for text in ("1", "1 +", "date('2024-01-01')", "fromJSON('[1]')", "timezone('Europe/Berlin')"):
        try:
            EVALUATORS[name](text, where)
        except Exception as error:  # what is no text of its language
            sys.stderr.write(f"{name}: {text}: {error}\n")
