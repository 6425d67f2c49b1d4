"""Expressions, `${...}` templates and scripts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from catenary.expr.documents import Document, Prompt
    from catenary.expr.environment import Environment
    from catenary.expr.expression import Expression
    from catenary.expr.functions import FUNCTIONS
    from catenary.expr.placeholders import resolve_placeholders
    from catenary.expr.python_expression import PythonExpression
    from catenary.expr.scripts import Script, ScriptFunction
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
    "FUNCTIONS": "functions",
    "Document": "documents",
    "Environment": "environment",
    "Expression": "expression",
    "Prompt": "documents",
    "PythonExpression": "python_expression",
    "Script": "scripts",
    "ScriptFunction": "scripts",
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
