"""Expressions, `${...}` templates and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.lazy_names import lazy_getattr

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

__getattr__ = lazy_getattr(
    __name__,
    {
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
    },
)
