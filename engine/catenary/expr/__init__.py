"""Expressions, `${...}` templates and scripts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from catenary.expr.document.document import Document, Prompt
    from catenary.expr.environment import Environment
    from catenary.expr.expression import Expression
    from catenary.expr.functions.table import FUNCTIONS
    from catenary.expr.placeholders import resolve_placeholders
    from catenary.expr.python.expression import PythonExpression
    from catenary.expr.script.script import Script, ScriptFunction
    from catenary.expr.templates import Template
    from catenary.expr.text import json_text, text_of

__all__ = [
    "FUNCTIONS",
    "Document",
    "Environment",
    "Expression",
    "Prompt",
    "PythonExpression",
    "Script",
    "ScriptFunction",
    "Template",
    "json_text",
    "resolve_placeholders",
    "text_of",
]

_MODULES: Final = {
    "FUNCTIONS": "functions.table",
    "Document": "document.document",
    "Environment": "environment",
    "Expression": "expression",
    "Prompt": "document.document",
    "PythonExpression": "python.expression",
    "Script": "script.script",
    "ScriptFunction": "script.script",
    "Template": "templates",
    "json_text": "text",
    "resolve_placeholders": "placeholders",
    "text_of": "text",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
