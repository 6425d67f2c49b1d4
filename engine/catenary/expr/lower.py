"""The syntax tree to a Python expression tree: the one form that both evaluators take.

Names beginning with `$` stand for what an author cannot write. Each node's column is its offset in the source.
"""

from __future__ import annotations

import ast
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, TypeGuard

from catenary.expr import syntax
from catenary.expr.constants import Constants
from catenary.expr.environment import VARIABLES
from catenary.expr.habits import call_hint
from catenary.expr.problems import syntax_problem
from catenary.expr.shapes import key_of, member, row_before

if TYPE_CHECKING:
    from collections.abc import Generator

    from catenary.errors import ExpressionError
    from catenary.expr.functions.function import Function
    from catenary.expr.scope import Scope

MAX_NODES: Final = 10_000
FREE_WEIGHT: Final = 64
"""What an expression may make outside of predicates without paying: all of it fits into memory, however large."""
MAKER_WEIGHT: Final = 16
"""The weight of a function call or a range, which may make a million elements; `+` and `*` have 1."""
_DEEP: Final = 40  # levels below which a row of operators is lowered from its first operand on, without recursion
_ROOTS: Final = frozenset({"global", "vars"})
_BINARY: Final[dict[str, type[ast.operator]]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "%": ast.Mod, "**": ast.Pow,
}  # fmt: skip
_COMPARE: Final[dict[str, type[ast.cmpop]]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
}  # fmt: skip
_UNARY: Final[dict[str, type[ast.unaryop]]] = {"not": ast.Not, "-": ast.USub, "+": ast.UAdd}
_CALLED: Final = {
    ".."        : "$range",
    "contains"  : "$contains",
    "startsWith": "$startsWith",
    "endsWith"  : "$endsWith",
    "matches"   : "$matches",
}  # fmt: skip


class Lowering:
    """Lowers one expression."""

    def __init__(self, source: str, kind: type[ExpressionError], scope: Scope) -> None:
        self.source = source
        self.kind = kind
        self.scope = scope
        self.constants = Constants(source, kind)
        self.locals: list[tuple[str, str]] = []  # (name in the text, name in the tree)
        self.owners: dict[str, str] = {}  # whose payload a `let` stands for, by the name in the tree
        self.items: list[dict[str, str]] = []  # `#`, `#index`, `#acc` of the open predicates
        self.guards: list[list[tuple[str, ast.expr]]] = []  # of the open optional chains
        self.repeated = 0  # above 0: values made here may be used or made many times
        self.count = 0
        self._depth = 0
        self._ready: dict[int, ast.expr] = {}  # first operands of a long row, by the id of the node

    def problem(self, text: str, span: syntax.Span, hint: str = "") -> ExpressionError:
        """Make the error for a place."""
        return syntax_problem(self.kind, text, source=self.source, position=span.start, hint=hint)

    def lower(self, node: syntax.Node) -> ast.expr:
        """Lower one node and all below it."""
        ready = self._ready.pop(id(node), None)
        if ready is not None:
            return ready
        self._depth += 1
        if self._depth > _DEEP:
            for inner in reversed(row_before(node)):
                self._ready[id(inner)] = self._lower_one(inner)
        lowered = self._lower_one(node)
        self._depth -= 1
        return lowered

    def _lower_one(self, node: syntax.Node) -> ast.expr:
        self.count += 1
        if self.count > MAX_NODES:
            raise self.problem("the expression is too long", node.span, "Split it over several nodes.")
        handler = getattr(self, f"_{type(node).__name__.lower()}")
        lowered: ast.expr = handler(node)
        return _at(lowered, node.span) if not hasattr(lowered, "lineno") else lowered

    def _invoke(self, name: str, *arguments: ast.expr) -> ast.expr:
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])

    def _charged(self, lowered: ast.expr, span: syntax.Span, weight: int = 0) -> ast.expr:
        """Have a value paid for when it may be made or used many times, or when many such are made in one text."""
        self.scope.made += weight
        is_paid = self.repeated or (weight and self.scope.made > FREE_WEIGHT)
        return _at(self._invoke("$charge", _at(lowered, span)), span) if is_paid else lowered

    def _fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}${self.count}"

    # -- values and names

    def _constant(self, node: syntax.Constant) -> ast.expr:
        return ast.Constant(node.value)

    def _name(self, node: syntax.Name) -> ast.expr:
        for name, local in reversed(self.locals):
            if name == node.name:
                return ast.Name(local, ast.Load())
        if node.name in VARIABLES:
            return ast.Name(node.name, ast.Load())
        if node.name in self.scope.nodes:
            self.scope.references.add(node.name)
            return self._invoke("$node", ast.Constant(node.name))
        self.scope.has_unknown = True
        if self.scope.metadata_names:
            return self._invoke("$named", ast.Constant(node.name))
        return ast.Constant(None)

    def _allnames(self, _: syntax.AllNames) -> ast.expr:
        self.scope.references.update(self.scope.nodes)
        return self._invoke("$env")

    def _item(self, node: syntax.Item) -> ast.expr:
        return ast.Name(self.items[-1][node.kind], ast.Load())

    def _listof(self, node: syntax.ListOf) -> ast.expr:
        return self._charged(ast.List([self.lower(item) for item in node.items], ast.Load()), node.span)

    def _mapof(self, node: syntax.MapOf) -> ast.expr:
        keys: list[ast.expr | None] = [self._key(key) for key, _ in node.entries]
        return self._charged(ast.Dict(keys, [self.lower(value) for _, value in node.entries]), node.span)

    def _key(self, node: syntax.Node) -> ast.expr:
        lowered = self.lower(node)
        if isinstance(lowered, ast.Constant) and isinstance(lowered.value, str):
            return lowered
        return _at(self._invoke("$key", lowered), node.span)

    # -- operators

    def _unary(self, node: syntax.Unary) -> ast.expr:
        operand = self.lower(node.operand)
        self.constants.unary(node, operand)
        if isinstance(operand, ast.Constant) and isinstance(operand.value, int | float):
            value = operand.value
            return ast.Constant(not value if node.operator == "not" else -value if node.operator == "-" else value)
        return ast.UnaryOp(_UNARY[node.operator](), operand)

    def _binary(self, node: syntax.Binary) -> ast.expr:
        if node.operator == "??":
            return self._coalesce(node)
        left, right = self.lower(node.left), self.lower(node.right)
        self.constants.binary(node, left, right)
        if node.operator in _BINARY:
            lowered = ast.BinOp(left, _BINARY[node.operator](), right)
            return self._charged(lowered, node.span, 1) if node.operator in "+*" else lowered
        if node.operator in _COMPARE:
            return ast.Compare(left, [_COMPARE[node.operator]()], [right])
        if node.operator == "in":
            return ast.Compare(left, [ast.NotIn() if node.negated else ast.In()], [right])
        called = self._invoke(_CALLED[node.operator], left, right)
        if node.negated:
            return ast.UnaryOp(ast.Not(), _at(called, node.span))
        return self._charged(called, node.span, MAKER_WEIGHT) if node.operator == ".." else called

    def _coalesce(self, node: syntax.Binary) -> ast.expr:
        value, other = self.lower(node.left), self.lower(node.right)
        name = self._fresh("value")
        test = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Constant(None)])
        return _let(name, value, _at(ast.IfExp(test, other, ast.Name(name, ast.Load())), node.span), node.span)

    def _logical(self, node: syntax.Logical) -> ast.expr:
        neutral = node.operator == "and"  # `true && x` and `x && true` are x
        operands: list[ast.expr] = []
        lowered = [self.lower(operand) for operand in node.operands]
        for index, operand in enumerate(lowered):
            if isinstance(operand, ast.Constant) and operand.value is neutral:
                continue
            if index < len(lowered) - 1:
                self.constants.logical(node, index, operand)
            operands.append(operand)
        if len(operands) > 1:
            return ast.BoolOp(ast.And() if neutral else ast.Or(), operands)
        return operands[0] if operands else ast.Constant(neutral)

    def _ordering(self, node: syntax.Ordering) -> ast.expr:
        operands = [self.lower(operand) for operand in node.operands]
        self.constants.ordering(node, operands)
        return ast.Compare(operands[0], [_COMPARE[operator]() for operator in node.operators], operands[1:])

    def _conditional(self, node: syntax.Conditional) -> ast.expr:
        branches: list[tuple[syntax.Conditional, ast.expr, ast.expr]] = []
        other: syntax.Node = node
        while isinstance(other, syntax.Conditional):
            test = self.lower(other.test)
            self.constants.condition(other, test)
            branches.append((other, test, self.lower(other.then)))
            other = other.other
        lowered = self.lower(other)
        for branch, test, then in reversed(branches):
            lowered = _at(ast.IfExp(test, then, lowered), branch.span)
        return lowered

    # -- accesses

    def _chain(self, node: syntax.Chain) -> ast.expr:
        self.guards.append([])
        body = self.lower(node.body)
        for name, value in reversed(self.guards.pop()):
            test = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Constant(None)])
            body = _let(name, value, _at(ast.IfExp(test, ast.Constant(None), body), node.span), node.span)
        return body

    def _target(self, node: syntax.Field | syntax.Index | syntax.Method) -> ast.expr:
        target = self.lower(node.target)
        if not node.optional:
            return target
        name = self._fresh("value")
        self.guards[-1].append((name, target))
        return _at(ast.Name(name, ast.Load()), node.target.span)

    def _field(self, node: syntax.Field) -> ast.expr:
        path = self._property_path(node)
        if path is not None:
            return self._invoke("$path", ast.Constant(path[0]), ast.Constant(path[1]))
        if node.name == "data" and (owner := self._payload_owner(node.target)) is not None:
            return self._invoke("$payload", ast.Constant(owner))
        target = self._target(node)
        if node.name.startswith("_"):  # no attribute of the tree does: a key of a map is meant
            return ast.Subscript(target, _at(ast.Constant(node.name), node.span), ast.Load())
        return ast.Attribute(target, node.name, ast.Load())

    def _is_variable(self, node: syntax.Node, names: frozenset[str]) -> bool:
        return (
            isinstance(node, syntax.Name)
            and node.name in names
            and not any(node.name == name for name, _ in self.locals)
        )

    def _property_path(self, node: syntax.Field) -> tuple[str, str] | None:
        """Give `("global", "a.b")` for `global.a.b`: keys of properties may hold dots."""
        names: list[str] = []
        target: syntax.Node = node
        while isinstance(target, syntax.Field) and not target.optional:
            names.append(target.name)
            target = target.target
        if len(names) < 2 or not isinstance(target, syntax.Name) or not self._is_variable(target, _ROOTS):
            return None
        return target.name, ".".join(reversed(names))

    def _payload_owner(self, target: syntax.Node) -> str | None:
        """Give "" when the target is `msg`, the node's id when it is the `msg` of a node's output.

        `let` hands that on, and so does `$env`. A payload that comes out of a function, or of a list, a map or a
        condition, is a value like any other: `.data` of it is its own key.
        """
        if isinstance(target, syntax.Name) and not self._is_variable(target, frozenset({target.name})):
            return self.owners.get(next(local for name, local in reversed(self.locals) if name == target.name))
        if self._is_variable(target, frozenset({"msg"})):
            return ""
        owner = member(target, "msg")
        if owner is None:
            return None
        if isinstance(owner, syntax.AllNames):
            return ""
        node_id = owner.name if isinstance(owner, syntax.Name) else key_of(owner)
        is_node = node_id in self.scope.nodes - VARIABLES and (
            self._is_variable(owner, frozenset({node_id})) or member(owner, node_id) is not None
        )
        if not is_node:
            return None
        self.scope.references.add(node_id)
        return node_id

    def _index(self, node: syntax.Index) -> ast.expr:
        index = self.lower(node.index)
        if isinstance(index, ast.Constant) and index.value == "data":
            owner = self._payload_owner(node.target)
            if owner is not None:
                return self._invoke("$payload", ast.Constant(owner))
        return ast.Subscript(self._target(node), index, ast.Load())

    def _slice(self, node: syntax.Slice) -> ast.expr:
        bounds = [_at(ast.Constant(None), node.span) if b is None else self.lower(b) for b in (node.low, node.high)]
        return self._charged(self._invoke("$slice", self.lower(node.target), *bounds), node.span, MAKER_WEIGHT)

    # -- calls

    def _call_arity(self, node: syntax.Call, function: Function) -> None:
        given, least, most = len(node.arguments), function.least, function.most
        if given < least or (most is not None and given > most):
            span = f"{least}" if most == least else f"at least {least}" if most is None else f"{least} to {most}"
            span = "no" if span == "0" else span
            plural = "" if span in {"1", "at least 1"} else "s"
            raise self.problem(f"{node.name}() takes {span} argument{plural}, not {given}", node.span, function.doc)

    def _method(self, node: syntax.Method) -> ast.expr:
        if self._is_host_object(node.target):
            return self._call(syntax.Call(node.span, f"{node.target.name}.{node.name}", node.arguments))
        target, name = self._target(node), _at(ast.Constant(node.name), node.span)
        return self._invoke("$method", target, name, *[self.lower(argument) for argument in node.arguments])

    def _is_host_object(self, target: syntax.Node) -> TypeGuard[syntax.Name]:
        """Tell whether this is the name of an object that the host lends."""
        if not isinstance(target, syntax.Name) or not self._is_variable(target, frozenset({target.name}) - VARIABLES):
            return False
        return any(name.startswith(f"{target.name}.") for name in self.scope.functions)

    def _predicate(self, node: syntax.Predicate) -> ast.expr:
        names = {kind: self._fresh(word) for kind, word in _ITEMS.items()}
        self.items.append(names)
        with self._repeating():
            body = self.lower(node.body)
        self.items.pop()
        return _lambda(list(names.values()), body)

    @contextmanager
    def _repeating(self) -> Generator[None]:
        self.repeated += 1
        yield
        self.repeated -= 1

    def _let(self, node: syntax.Let | syntax.Sequence) -> ast.expr:
        steps: list[tuple[str, ast.expr, syntax.Span]] = []
        known = len(self.locals)
        body: syntax.Node = node
        with self._repeating():
            while isinstance(body, syntax.Let | syntax.Sequence):
                value = self.lower(body.value if isinstance(body, syntax.Let) else body.first)
                local = self._fresh(body.name if isinstance(body, syntax.Let) else "value")
                steps.append((local, value, body.span))
                if isinstance(body, syntax.Let):
                    owner = self._payload_owner(body.value)
                    if owner is not None:
                        self.owners[local] = owner
                    self.locals.append((body.name, local))
                body = body.body if isinstance(body, syntax.Let) else body.second
            lowered = self.lower(body)
        del self.locals[known:]
        for local, value, span in reversed(steps):
            lowered = _let(local, value, lowered, span)
        return lowered

    _sequence = _let

    def _call_unknown(self, node: syntax.Call) -> ast.expr:
        self.scope.has_unknown = True
        close = get_close_matches(node.name, self.scope.functions, n=1)
        reason = f"cannot call nil: there is no function {node.name!r}"
        if told := call_hint(node.name, self.scope.functions):
            reason += f"; {told}"
        elif close:
            reason += f"; did you mean {close[0]!r}?"
        return self._invoke("$unknown", ast.Constant(reason))

    def _call(self, node: syntax.Call) -> ast.expr:
        function = self.scope.functions.get(node.name)
        if function is None:
            return self._call_unknown(node)
        self._call_arity(node, function)
        arguments = [self.lower(argument) for argument in node.arguments]
        self.constants.arguments(node, function, arguments)
        lowered = self._invoke(node.name, *arguments)
        return lowered if function.picks else self._charged(lowered, node.span, MAKER_WEIGHT)


_ITEMS: Final = {"#": "item", "#index": "index", "#acc": "acc"}


def _at(node: ast.expr, span: syntax.Span) -> ast.expr:
    """Say where a node of the tree stands in the source."""
    node.lineno = node.end_lineno = 1
    node.col_offset, node.end_col_offset = span.start, span.end
    return node


def _lambda(names: list[str], body: ast.expr) -> ast.Lambda:
    parameters = [ast.arg(name) for name in names]
    return ast.Lambda(ast.arguments([], parameters, None, [], [], None, []), body)


def _let(name: str, value: ast.expr, body: ast.expr, span: syntax.Span) -> ast.expr:
    """Bind a name: a function of one parameter, called at once."""
    return _at(ast.Call(_at(_lambda([name], body), span), [value], []), span)


def lower(node: syntax.Node, source: str, kind: type[ExpressionError], scope: Scope) -> ast.expr:
    """Lower a whole expression. Raises: ExpressionError: Of class `kind`, for what can never be evaluated."""
    return Lowering(source, kind, scope).lower(node)
