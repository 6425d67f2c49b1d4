"""The page of the functions that expressions and templates may call."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from catenary.docsgen.markdown import code, page, table
from catenary.expr import Environment
from catenary.expr.functions import functions_of

if TYPE_CHECKING:
    from catenary.expr.function import Function


def function_page() -> str:
    """Give the page that lists all functions by name."""
    table_of_functions = functions_of(Environment())
    rows = [(code(_signature(entry)), entry.doc) for _, entry in sorted(table_of_functions.items())]
    return page(
        "Functions of expressions",
        "They may be called in expressions and inside `${...}`. Arguments that end in `?` may be left out; "
        "`...` stands for any number of them. A program adds its own with `Engine(expression_functions={...})`.",
        table(("Function", "What it gives"), rows),
    )


def _signature(entry: Function) -> str:
    names = [
        f"{name}..." if parameter.kind is inspect.Parameter.VAR_POSITIONAL else name
        for name, parameter in inspect.signature(entry.call).parameters.items()
    ][entry.counted :]
    shown = [name + ("?" if index >= entry.least and "..." not in name else "") for index, name in enumerate(names)]
    return f"{entry.name}({', '.join(shown)})"
