"""Deep trees as several functions: Python takes neither text nor calls that are nested without bound."""

from __future__ import annotations

import ast
import re
from typing import Final

DEEP: Final = 20
"""Levels of a tree that are written into one expression of Python."""

_NAME = re.compile(r"\bv\d+\b")
_BOUND = re.compile(r"\b(v\d+) :=")
_PARAMETERS = re.compile(r"\b(?:lambda|for) ([v\d, ]*)(?::| in )")


class Outline:
    """Collects the functions that parts of one expression were moved to."""

    def __init__(self) -> None:
        self.functions: list[str] = []

    def add(self, text: str) -> str:
        """Move a text to a function of its own, and give the text that calls it."""
        bound = {*_BOUND.findall(text), *(name for row in _PARAMETERS.findall(text) for name in _NAME.findall(row))}
        free = sorted(set(_NAME.findall(text)) - bound)
        shared = [name for name in ("value", "budget") if name in text]
        parameters = ", ".join(["msg", "ctx", *shared, *free])
        name = f"o{len(self.functions)}"
        self.functions.append(f" def {name}({parameters}):\n  return ({text})\n")
        return f"{name}({parameters})"


def first_operands(node: ast.expr) -> list[ast.expr]:
    """Give what is evaluated first for this node in any case, what is evaluated first for that, and so on."""
    row: list[ast.expr] = []
    while True:
        if isinstance(node, ast.BinOp | ast.Compare):
            node = node.left
        elif isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Lambda):
            node = node.args[0]
        else:
            return row
        row.append(node)
