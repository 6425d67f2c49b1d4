"""The slow evaluator: the lowered tree walked by simpleeval, under its rules. Compiled closures must agree with it."""

from __future__ import annotations

import ast
import operator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import simpleeval

from catenary.expr import operators
from catenary.expr.budget import Budget
from catenary.expr.compiled import lookup, unknown
from catenary.expr.environment import output_of, payload, record, variables
from catenary.expr.functions.table import functions_of
from catenary.expr.kinds import TextMap
from catenary.expr.methods import call_method
from catenary.expr.outline import first_operands

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.environment import Environment
    from catenary.expr.program import Program
    from catenary.jsontext import Json
    from catenary.message import Message

_OPERATORS: Final[dict[type[ast.AST], Callable[..., Json]]] = {
    ast.Add: operators.add,
    ast.Sub: operators.subtract,
    ast.Mult: operators.multiply,
    ast.Div: operators.divide,
    ast.Mod: operators.modulo,
    ast.Pow: operators.power,
    ast.USub: operators.negate,
    ast.UAdd: operators.positive,
    ast.Not: operators.invert,
    ast.Eq: operators.equal,
    ast.NotEq: operators.unequal,
    ast.Lt: operators.less,
    ast.LtE: operators.less_equal,
    ast.Gt: operators.greater,
    ast.GtE: operators.greater_equal,
    ast.In: operators.is_in,
    ast.NotIn: operators.not_in,
    ast.Is: operator.is_,
}
_NODES: Final = (
    ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword,
    ast.Subscript, ast.Attribute, ast.List, ast.Dict,
)  # fmt: skip


_DEEP: Final = 30  # levels below which a row of operators is evaluated from its first operand on, without recursion


_SimpleEval: type[Any] = cast("Any", simpleeval.EvalWithCompoundTypes)


class _Evaluator(_SimpleEval):
    """simpleeval's own evaluator, which a long row of operators does not make recur."""

    def __init__(self, functions: dict[str, Any], names: dict[str, Json]) -> None:
        init: Any = _SimpleEval.__init__
        init(self, operators=dict(_OPERATORS), functions=functions, names=names)
        self._depth = 0
        self._ready: dict[int, Json] = {}

    def _eval(self, node: ast.expr) -> Json:
        if self._ready and id(node) in self._ready:
            return self._ready.pop(id(node))
        depth, self._depth = self._depth, self._depth + 1
        try:
            if depth >= _DEEP:
                self._depth = 0
                for inner in reversed(first_operands(node)):
                    self._ready[id(inner)] = _SimpleEval._eval(self, inner)
            return _SimpleEval._eval(self, node)
        finally:
            self._depth = depth


class Reference:
    """Evaluates the tree of one program for one message. Only the kinds of nodes that lowering makes are known."""

    def __init__(self, environment: Environment, msg: Message, ctx: object, *, with_metadata: bool) -> None:
        self._message, self._context = msg, ctx
        self._locals: dict[str, Json] = {}
        self._evaluator: Any = _Evaluator(
            functions=self._functions(environment, with_metadata=with_metadata),
            names={
                **record(msg),
                "metadata": TextMap(msg.metadata),
                "global": TextMap(environment.properties),
                "vars": TextMap(environment.vars),
                "ruleChain": dict(environment.rule_chain),
            },
        )
        handlers: dict[type[ast.AST], Any] = {kind: self._evaluator.nodes[kind] for kind in _NODES}
        self._name, self._call = handlers[ast.Name], handlers[ast.Call]
        handlers |= {
            ast.Name: self._eval_name,
            ast.Lambda: self._eval_lambda,
            ast.Call: self._eval_call,
            ast.BoolOp: self._eval_boolop,
            ast.IfExp: self._eval_ifexp,
            ast.Attribute: self._eval_attribute,
            ast.Subscript: self._eval_subscript,
        }
        self._evaluator.nodes = handlers

    def evaluate(self, tree: ast.expr) -> Json:
        """Evaluate a lowered tree."""
        return self._evaluator.eval("", previously_parsed=tree)

    def _functions(self, environment: Environment, *, with_metadata: bool) -> dict[str, Any]:
        budget = Budget()
        functions: dict[str, Any] = {
            name: partial(function.call, *[budget] * function.counted, *[self._context] * function.contextual)
            for name, function in functions_of(environment).items()
        }
        return {
            **functions,
            **operators.OPERATORS,
            "$charge": budget.charge,
            "$method": call_method,
            "$unknown": unknown,
            "$path": partial(lookup, environment),
            "$payload": self._payload,
            "$node": self._output,
            "$named": self._message.metadata.get,
            "$env": partial(variables, self._message, self._context, environment, with_metadata=with_metadata),
        }

    def _payload(self, node_id: str) -> Json:
        return payload(output_of(self._context, node_id) if node_id else self._message)

    def _output(self, node_id: str) -> Json:
        return record(output_of(self._context, node_id))

    def _eval(self, node: ast.expr) -> Json:
        return self._evaluator._eval(node)

    def _eval_name(self, node: ast.Name) -> Json:
        return self._locals[node.id] if "$" in node.id else self._name(node)

    def _eval_lambda(self, node: ast.Lambda) -> Callable[..., Json]:
        names = [parameter.arg for parameter in node.args.args]
        outer = self._locals

        def call(*values: Json) -> Json:
            present, self._locals = self._locals, {**outer, **dict(zip(names, values, strict=True))}
            try:
                return self._eval(node.body)
            finally:
                self._locals = present

        return call

    def _eval_call(self, node: ast.Call) -> Json:
        if not isinstance(node.func, ast.Lambda):
            return self._call(node)
        outer, body = self._locals, cast("ast.expr", node)
        try:
            while isinstance(body, ast.Call) and isinstance(body.func, ast.Lambda):
                value = self._eval(body.args[0])
                self._locals = {**self._locals, body.func.args.args[0].arg: value}
                body = body.func.body
            return self._eval(body)
        finally:
            self._locals = outer

    def _eval_boolop(self, node: ast.BoolOp) -> Json:
        is_and = isinstance(node.op, ast.And)
        for value in node.values[:-1]:
            if is_and and not operators.and_left(self._eval(value)):
                return False
            if not is_and and operators.or_left(self._eval(value)):
                return True
        return self._eval(node.values[-1])

    def _eval_ifexp(self, node: ast.IfExp) -> Json:
        other: ast.expr = node
        while isinstance(other, ast.IfExp):
            if operators.test(self._eval(other.test)):
                return self._eval(other.body)
            other = other.orelse
        return self._eval(other)

    def _eval_attribute(self, node: ast.Attribute) -> Json:
        return operators.field(self._eval(node.value), node.attr)

    def _eval_subscript(self, node: ast.Subscript) -> Json:
        return operators.item(self._eval(node.value), self._eval(node.slice))


def evaluate(
    program: Program, environment: Environment, msg: Message, ctx: object = None, *, with_metadata: bool = False
) -> Json:
    """Evaluate a program for a message.

    Args:
        program: The program, of which only the tree is used.
        environment: The one it was compiled with.
        msg: The message.
        ctx: The context, asked for outputs of nodes.
        with_metadata: True for a part of a template.

    Raises:
        Exception: Of any kind, when the evaluation fails; the reason is its text.
    """
    return Reference(environment, msg, ctx, with_metadata=with_metadata).evaluate(program.tree)
