"""The slow evaluator of Python expressions: the tree walked by simpleeval, under its rules. Closures must agree."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any, Final

import simpleeval

from catenary.expr.environment import output_of, payload, record
from catenary.expr.python import operators as guards
from catenary.expr.python.builtins import python_functions
from catenary.expr.python.compiler import find_property
from catenary.expr.python.methods import call_method
from catenary.expr.python.syntax import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.environment import Environment
    from catenary.expr.python.expression import PythonExpression
    from catenary.jsontext import Json
    from catenary.message import Message


def _shift_right(left: Json, right: Json) -> Json:
    return left >> right


_DEFAULTS: Final[Any] = simpleeval.DEFAULT_OPERATORS  # type: ignore[reportUnknownMemberType] - it has no types
_OPERATORS: Final[dict[type[ast.AST], Callable[..., Json]]] = {
    **_DEFAULTS,
    ast.Add: guards.add,
    ast.Sub: operator.sub,
    ast.Mult: guards.multiply,
    ast.Mod: guards.modulo,
    ast.Pow: guards.power,
    ast.LShift: guards.shift_left,
    ast.RShift: _shift_right,
}


class PythonReference:
    """Evaluates the tree of one expression for one message."""

    def __init__(self, environment: Environment, msg: Message, ctx: object) -> None:
        self._environment, self._message, self._context = environment, msg, ctx
        self._functions = python_functions(environment)
        properties = {"global": dict(environment.properties), "vars": dict(environment.vars)}
        nodes = {node_id: record(output_of(ctx, node_id)) for node_id in environment.nodes}
        own = {"metadata": dict(msg.metadata), "ruleChain": dict(environment.rule_chain)}
        names = {**nodes, **record(msg), **properties, GLOBAL: properties["global"], **own}
        self._evaluator: Any = simpleeval.EvalWithCompoundTypes(operators=dict(_OPERATORS), functions={}, names=names)
        self._evaluator.functions = {}
        self._comprehend = self._evaluator.nodes[ast.ListComp]
        self._evaluator.nodes |= {
            ast.Attribute: self._eval_attribute,
            ast.Subscript: self._eval_subscript,
            ast.Call: self._eval_call,
            ast.SetComp: self._eval_setcomp,
            ast.Dict: self._eval_dict,
            ast.JoinedStr: self._eval_joinedstr,
        }

    def evaluate(self, tree: ast.expr) -> Json:
        """Evaluate a tree."""
        return self._evaluator.eval("", previously_parsed=tree)

    def _eval(self, node: ast.expr) -> Json:
        return self._evaluator._eval(node)

    def _owner(self, node: ast.expr) -> str | None:
        """Give "" for `msg`, the id of a node for its `msg`."""
        if isinstance(node, ast.Name) and node.id == "msg":
            return ""
        if isinstance(node, ast.Attribute) and node.attr == "msg" and isinstance(node.value, ast.Name):
            return node.value.id if node.value.id in self._environment.nodes else None
        return None

    def _payload(self, owner: str) -> Json:
        return payload(output_of(self._context, owner) if owner else self._message)

    def _eval_attribute(self, node: ast.Attribute) -> Json:
        owner = self._owner(node.value)
        if node.attr == "data" and owner is not None:
            return self._payload(owner)
        names: list[str] = []
        target: ast.expr = node
        while isinstance(target, ast.Attribute):
            names.insert(0, target.attr)
            target = target.value
        if isinstance(target, ast.Name) and target.id in {GLOBAL, "vars"}:
            root = self._environment.root("vars" if target.id == "vars" else "global")
            return find_property(root, ".".join(names))
        return guards.attribute(self._eval(node.value), node.attr)

    def _eval_subscript(self, node: ast.Subscript) -> Json:
        owner = self._owner(node.value)
        if owner is not None and isinstance(node.slice, ast.Constant) and node.slice.value == "data":
            return self._payload(owner)
        return self._evaluator._eval_subscript(node)

    def _eval_call(self, node: ast.Call) -> Json:
        named = {str(keyword.arg): self._eval(keyword.value) for keyword in node.keywords}
        if isinstance(node.func, ast.Attribute):
            target = self._eval(node.func.value)
            return call_method(target, node.func.attr, *map(self._eval, node.args), **named)
        assert isinstance(node.func, ast.Name)
        function = self._functions[node.func.id]
        given = [self._context] if function.contextual else []
        return function.call(*given, *map(self._eval, node.args), **named)

    def _eval_setcomp(self, node: ast.SetComp) -> Json:
        return set(self._comprehend(ast.ListComp(node.elt, node.generators)))

    def _eval_dict(self, node: ast.Dict) -> Json:
        made: dict[Json, Json] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                made |= {**self._eval(value)}  # simpleeval would take pairs, and empty text, for a map too
            else:
                made[self._eval(key)] = self._eval(value)
        return made

    def _eval_joinedstr(self, node: ast.JoinedStr) -> Json:
        return guards.joined([self._part(part) for part in node.values])

    def _part(self, part: ast.expr) -> str:
        if not isinstance(part, ast.FormattedValue):
            return self._eval(part)
        spec = "" if part.format_spec is None else self._eval(part.format_spec)
        conversion = "" if part.conversion < 0 else chr(part.conversion)
        return guards.formatted(self._eval(part.value), conversion, spec)


def evaluate(expression: PythonExpression, environment: Environment, msg: Message, ctx: object = None) -> Json:
    """Evaluate an expression for a message.

    Raises:
        Exception: Of any kind, when the evaluation fails; the reason is its text.
    """
    return PythonReference(environment, msg, ctx).evaluate(expression.tree)
