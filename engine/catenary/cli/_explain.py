"""Takes an expression apart: its tree, what it reads, what it is lowered to, its closure, its times."""

from __future__ import annotations

import ast
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.cli._timing import times_of
from catenary.errors import ExpressionError
from catenary.expr import syntax
from catenary.message import UNREAD
from catenary.text_places import place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from catenary.cli._formula import Kind
    from catenary.cli._given import Given
    from catenary.expr import Environment
    from catenary.expr.syntax import Node
    from catenary.jsontext import Json


def explain(kind: Kind, source: str, environment: Environment, given: Given) -> dict[str, Json]:
    """Explain a text. What cannot be told, because the text is wrong, is left out.

    Returns:
        `{"source", "kind", "parts": [...], "times": {"compileUs", "evaluateUs"}}`; an expression has
        one part, a template one for each `${...}`, all else none. A part has `source`, `line`, `column`, `tree`,
        `reads`, `folded`, `lowered` and `closure`.
    """
    explanation: dict[str, Json] = {"source": source, "kind": kind, "parts": []}
    try:
        if kind == "expression":
            explanation["parts"] = [_part(source, 0, len(source), environment, in_template=False)]
        elif kind == "template":
            explanation["parts"] = list(_parts(source, environment))
        explanation["times"] = times_of(kind, source, environment, given)
    except ExpressionError:
        pass  # the evaluation tells it
    return explanation


def _parts(source: str, environment: Environment) -> Iterator[dict[str, Json]]:
    from catenary.expr.placeholders import split_parts

    for _, start, end in split_parts(source):
        if start >= 0:
            yield _part(source, start, end, environment, in_template=True)


def _part(source: str, start: int, end: int, environment: Environment, *, in_template: bool) -> dict[str, Json]:
    from catenary.expr.parser import parse
    from catenary.expr.program import compile_program

    tree = parse(source, start, end)
    line, column = place(source, start)
    part: dict[str, Json] = {"source": source[start:end], "line": line, "column": column}
    part["tree"] = [_row(source, node, depth, last) for node, depth, last in _walk(tree)]
    part["reads"] = _reads(tree, environment, in_template=in_template)
    try:
        program = compile_program(source, environment, start=start, end=end, in_template=in_template)
    except ExpressionError:
        return part
    part["folded"] = _folded(source, tree, program.tree)
    part["lowered"] = ast.unparse(program.tree)
    part["closure"] = _closure(program.tree, environment, in_template=in_template)
    return part


# -- the tree


def _walk(node: Node, depth: int = 0, last: tuple[bool, ...] = ()) -> Iterator[tuple[Node, int, tuple[bool, ...]]]:
    """Give a node and all below it; for each, how deep it is and which of those above it are the last of theirs."""
    yield node, depth, last
    below = list(_below(node))
    for index, child in enumerate(below):
        yield from _walk(child, depth + 1, (*last, index == len(below) - 1))


def _below(node: Node) -> Iterator[Node]:
    """Give the nodes right below one, in the order written."""
    waiting: list[Any] = [getattr(node, field.name) for field in fields(node)]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, syntax.Span):
            continue
        if isinstance(value, tuple):
            waiting[:0] = cast("tuple[Any, ...]", value)
        elif hasattr(value, "span"):
            yield cast("Node", value)


def _row(source: str, node: Node, depth: int, last: tuple[bool, ...]) -> dict[str, Json]:
    line, column = place(source, node.span.start)
    branch = "".join("   " if is_last else "│  " for is_last in last[:-1])
    branch += ("└─ " if last[-1] else "├─ ") if last else ""
    text = _whole(source, node.span.start, node.span.end)
    return {"line": line, "column": column, "depth": depth, "node": _named(node), "text": text, "branch": branch}


def _named(node: Node) -> str:
    """Give what stands for a node in the tree."""
    kind = type(node)
    name = _NAMES.get(kind)
    return name(node) if name else kind.__name__.lower()


_NAMES: Final[dict[type, Callable[[Any], str]]] = {
    syntax.Constant: lambda node: f"{_literal(node.value)}",
    syntax.Name: lambda node: node.name,
    syntax.AllNames: lambda _: "$env",
    syntax.Item: lambda node: node.kind,
    syntax.ListOf: lambda _: "[...]",
    syntax.MapOf: lambda _: "{...}",
    syntax.Unary: lambda node: node.operator,
    syntax.Binary: lambda node: f"not {node.operator}" if node.negated else node.operator,
    syntax.Logical: lambda node: node.operator,
    syntax.Ordering: lambda node: " ".join(node.operators),
    syntax.Conditional: lambda _: "? :",
    syntax.Field: lambda node: f"?.{node.name}" if node.optional else f".{node.name}",
    syntax.Index: lambda node: "?.[ ]" if node.optional else "[ ]",
    syntax.Slice: lambda _: "[ : ]",
    syntax.Chain: lambda _: "nil at the first nil of",
    syntax.Call: lambda node: f"{node.name}(...)",
    syntax.Method: lambda node: f".{node.name}(...)",
    syntax.Predicate: lambda _: "for each element",
    syntax.Let: lambda node: f"let {node.name}",
    syntax.Sequence: lambda _: ";",
}


def _literal(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    return repr(value)


# -- what it reads


def _reads(tree: Node, environment: Environment, *, in_template: bool) -> dict[str, Json]:
    """Give the names in a tree by what they mean; of variables, the whole path that is read."""
    from catenary.expr.environment import VARIABLES
    from catenary.expr.functions.table import functions_of

    found: dict[str, dict[str, None]] = {}
    functions = functions_of(environment)

    def note(kind: str, name: str) -> None:
        found.setdefault(kind, {})[name] = None

    def visit(node: Node, path: str, local: frozenset[str]) -> None:
        if isinstance(node, syntax.Name) and node.name not in local:
            kind = "variables" if node.name in VARIABLES else "nodes" if node.name in environment.nodes else ""
            note(kind or ("metadataKeys" if in_template else "unknown"), node.name + path)
        elif isinstance(node, syntax.AllNames):
            note("variables", "$env" + path)
        elif isinstance(node, syntax.Call):
            note("functions" if node.name in functions else "unknownFunctions", node.name)
        elif isinstance(node, syntax.Method):
            note("methods", node.name)
        inner = f".{node.name}{path}" if isinstance(node, syntax.Field) else path
        for child in _below(node):
            names = local | {node.name} if isinstance(node, syntax.Let) and child is node.body else local
            visit(child, inner if isinstance(node, (syntax.Field, syntax.Chain)) else "", names)

    visit(tree, "", frozenset())
    return {kind: list(names) for kind, names in found.items()}


# -- what becomes of it


def _folded(source: str, tree: Node, lowered: ast.expr) -> list[Json]:
    """Give what has the same value for every message and is worked out in advance, with that value."""
    constants = {
        (node.col_offset, node.end_col_offset): node.value
        for node in ast.walk(lowered)
        if isinstance(node, ast.Constant) and hasattr(node, "col_offset")
    }
    folded: list[Json] = []
    for node, _, _ in _walk(tree):
        span = (node.span.start, node.span.end)
        if span in constants and not isinstance(node, (syntax.Constant, syntax.Name)):
            folded.append({"text": _whole(source, *span), "value": _literal(constants[span])})
    return folded


def _whole(source: str, start: int, end: int) -> str:
    """Give the text of a node with the parentheses that close what is opened in it."""
    text = source[start:end]
    for character in source[end:]:
        if character not in " )" or text.count("(") <= text.count(")"):
            break
        text += character
    return text


def _closure(tree: ast.expr, environment: Environment, *, in_template: bool) -> str:
    """Give the Python that is run, with the names and values of the engine in place of those it has for them."""
    from catenary.expr.closure import closure_text
    from catenary.expr.compiled import Compiler
    from catenary.expr.functions.table import functions_of
    from catenary.expr.python.syntax import tree_of

    compiler = Compiler(environment, functions_of(environment), with_metadata=in_template)
    text = closure_text(tree, compiler)
    make = cast("ast.FunctionDef", tree_of(text).body[0])
    naming = _Named(compiler.namespace)
    return "\n".join(ast.unparse(naming.visit(part)) for part in make.body if isinstance(part, ast.FunctionDef))


class _Named(ast.NodeTransformer):
    """Puts values in place of the short names that a closure has for them."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self._values:
            return node
        value = self._values[node.id]
        if value is None or isinstance(value, (str, int, float, bytes)):
            return ast.Constant(value)
        if value is UNREAD:
            return ast.Name("UNREAD")
        name = getattr(value, "__qualname__", "") or getattr(getattr(value, "func", None), "__qualname__", "")
        return ast.Name(name.rpartition("<locals>.")[2] or f"<{type(value).__name__}>")
