"""Operators written out in place for the kinds of operands that are usual."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from catenary.expr import operators
from catenary.expr.constants import static_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_COMPARE: Final[dict[type[ast.cmpop], tuple[str, str, Callable[..., Any]]]] = {
    ast.Eq: ("==", "$equal", operators.equal),
    ast.NotEq: ("!=", "$unequal", operators.unequal),
    ast.Lt: ("<", "$less", operators.less),
    ast.LtE: ("<=", "$less_equal", operators.less_equal),
    ast.Gt: (">", "$greater", operators.greater),
    ast.GtE: (">=", "$greater_equal", operators.greater_equal),
    ast.In: ("in", "$in", operators.is_in),
    ast.NotIn: ("not in", "$not_in", operators.not_in),
}
_BINARY: Final[dict[type[ast.operator], tuple[str, str, Callable[..., Any]]]] = {
    ast.Add: ("+", "$add", operators.add),
    ast.Sub: ("-", "$subtract", operators.subtract),
    ast.Mult: ("*", "$multiply", operators.multiply),
    ast.Div: ("/", "$divide", operators.divide),
    ast.Mod: ("%", "$modulo", operators.modulo),
    ast.Pow: ("**", "$power", operators.power),
}
_SMALL: Final = 2**62
_UNARY: Final[dict[type[ast.unaryop], tuple[str, Callable[..., Any]]]] = {
    ast.Not: ("$invert", operators.invert),
    ast.USub: ("$negate", operators.negate),
    ast.UAdd: ("$positive", operators.positive),
}


class _Filler(ast.NodeTransformer):
    def __init__(self, parts: Mapping[str, ast.expr | str]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self.parts.get(node.id)
        if part is None:
            return node
        if isinstance(part, str):
            return ast.copy_location(ast.Name(part, node.ctx), node)
        return part


def fill(tree: ast.AST, parts: Mapping[str, ast.expr | str]) -> Any:
    """Replace names in a tree, in place: by another name, or by a tree."""
    return _Filler(parts).visit(tree)


class Inline:
    """The part of the compiler that writes operators."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}
        self.uses_budget = False
        self._temporaries = 0

    def rewrite(self, node: ast.expr) -> ast.expr:
        """Rewrite one node of the lowered tree."""
        raise NotImplementedError

    # -- small things

    def need(self, name: str, value: Any) -> None:
        """Put a value among the globals of the closure."""
        self.namespace[name] = value

    def temporary(self) -> str:
        """Give a name that nobody has."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def template(self, pattern: str, at: ast.expr, **parts: ast.expr | str) -> ast.expr:
        """Make a tree from Python text, names in capitals replaced, standing where `at` stands."""
        tree = ast.parse(pattern, mode="eval").body
        start, end = at.col_offset, at.end_col_offset
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                node.lineno = node.end_lineno = 1
                node.col_offset, node.end_col_offset = start, end
        return fill(tree, parts)

    def invoke(self, name: str, function: Callable[..., Any], *arguments: ast.expr, at: ast.expr) -> ast.expr:
        """Call a function of the engine."""
        self.need(name, function)
        called = ast.Call(ast.copy_location(ast.Name(name, ast.Load()), at), list(arguments), [])
        return ast.copy_location(called, at)

    def held(self, value: ast.expr) -> tuple[ast.expr, str]:
        """Give an expression for the first use of a value, and the name by which it may be used again."""
        if isinstance(value, ast.Name):
            return value, value.id
        name = self.temporary()
        target = ast.copy_location(ast.Name(name, ast.Store()), value)
        return ast.copy_location(ast.NamedExpr(target, value), value), name

    def budget(self, at: ast.expr) -> ast.expr:
        """Give the budget of the evaluation."""
        self.uses_budget = True
        return ast.copy_location(ast.Name("budget", ast.Load()), at)

    def _constant(self, node: ast.Constant) -> ast.expr:
        return node

    def _list(self, node: ast.List) -> ast.expr:
        return ast.List([self.rewrite(element) for element in node.elts], ast.Load())

    def _dict(self, node: ast.Dict) -> ast.expr:
        keys = [self.rewrite(key) for key in node.keys if key is not None]
        return ast.Dict([*keys], [self.rewrite(value) for value in node.values])

    # -- arithmetic

    def _unaryop(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.rewrite(node.operand)
        if isinstance(node.op, ast.Not) and static_kind(node.operand) == "bool":
            return ast.UnaryOp(node.op, operand)
        name, function = _UNARY[type(node.op)]
        return self.invoke(name, function, operand, at=node)

    def _binop(self, node: ast.BinOp) -> ast.expr:
        symbol, name, function = _BINARY[type(node.op)]
        self.need(name, function)
        left, right = self.rewrite(node.left), self.rewrite(node.right)
        usual = self._usual_arithmetic(symbol, node)
        if not usual:
            return self.invoke(name, function, left, right, at=node)
        self.need("$float", float)
        self.need("$int", int)
        left_held, left_name = self.held(left)
        parts: dict[str, ast.expr | str] = {
            "A": left_name, "HELD": left_held, "CALL": name, "FLOAT": "$float", "INT": "$int",
        }  # fmt: skip
        if isinstance(node.right, ast.Constant):
            return self.template(f"(A {symbol} B if {usual} else CALL(A, B))", node, **parts, B=right)
        right_held, right_name = self.held(right)
        return self.template(
            f"(A {symbol} B if {usual} else CALL(A, B))", node, **parts, B=right_name, OTHER=right_held
        )

    def _usual_arithmetic(self, symbol: str, node: ast.BinOp) -> str:
        """Give the test under which Python's own operator does the same; "" when it never does."""
        if isinstance(node.left, ast.Constant) or symbol in {"%", "**"}:
            return ""
        if isinstance(node.right, ast.Constant):
            value: Any = node.right.value
            if value.__class__ not in {int, float} or abs(value) > 2**31 or (symbol == "/" and value == 0):
                return ""
            if symbol == "*":  # so small that the guarded operator has nothing to say
                return f"HELD.__class__ is FLOAT or (A.__class__ is INT and {-_SMALL} < A < {_SMALL})"
            return "HELD.__class__ is FLOAT" if symbol == "/" else "HELD.__class__ is FLOAT or A.__class__ is INT"
        if symbol == "/":
            return ""
        if symbol == "*":
            return "(HELD.__class__ is FLOAT) & (OTHER.__class__ is FLOAT)"
        return "HELD.__class__ is OTHER.__class__ and (A.__class__ is FLOAT or A.__class__ is INT)"

    # -- comparisons

    def _compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) > 1:
            return self._row(node)
        if isinstance(node.ops[0], ast.Is):
            return ast.Compare(self.rewrite(node.left), node.ops, [self.rewrite(node.comparators[0])])
        return self._comparison(node.ops[0], node.left, node.comparators[0], node)

    def _row(self, node: ast.Compare) -> ast.expr:
        """Write `a < b < c` as `a < (t := b) and t < c`."""
        links: list[ast.expr] = []
        left = node.left
        for index, (operation, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            last = index == len(node.ops) - 1
            keep = None if last or isinstance(right, ast.Constant) else f"{self.temporary()}$"
            links.append(self._comparison(operation, left, right, node, keep=keep))
            left = right if keep is None else ast.copy_location(ast.Name(keep, ast.Load()), right)
        return ast.BoolOp(ast.And(), links)

    def _comparison(
        self, operation: ast.cmpop, left: ast.expr, right: ast.expr, at: ast.expr, *, keep: str | None = None
    ) -> ast.expr:
        symbol, name, function = _COMPARE[type(operation)]
        a, b = self.rewrite(left), self.rewrite(right)
        if keep is not None:
            b = ast.copy_location(ast.NamedExpr(ast.copy_location(ast.Name(keep, ast.Store()), b), b), b)
        if isinstance(operation, ast.In | ast.NotIn) and _is_texts(right):
            return self.template(f"(A {symbol} B)", at, A=a, B=b)
        if isinstance(operation, ast.In | ast.NotIn):
            return self.invoke(name, function, a, b, at=at)
        if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
            return self.invoke(name, function, a, b, at=at)
        if isinstance(right, ast.Constant):
            quick = self._with_constant(symbol, a, right, at)
            return quick or self.invoke(name, function, a, b, at=at)
        return self._with_any(symbol, name, function, a, b, at)

    def _with_constant(self, symbol: str, a: ast.expr, right: ast.Constant, at: ast.expr) -> ast.expr | None:
        value = right.value
        if symbol in {"==", "!="}:
            if value is None or value is True or value is False:
                return self.template(f"(A {'is' if symbol == '==' else 'is not'} B)", at, A=a, B=right)
            if value.__class__ is str or (value.__class__ in {int, float} and value not in (0, 1)):
                return self.template(f"(A {symbol} B)", at, A=a, B=right)
            return None
        _, name, function = next(entry for entry in _COMPARE.values() if entry[0] == symbol)
        self.need(name, function)
        held, held_name = self.held(a)
        if value.__class__ is str:
            self.need("$str", str)
            return self.template(
                f"(A {symbol} B if HELD.__class__ is STR else CALL(A, B))",
                at, A=held_name, HELD=held, B=right, STR="$str", CALL=name,
            )  # fmt: skip
        if value.__class__ not in {int, float}:
            return None
        self.need("$float", float)
        self.need("$int", int)
        return self.template(
            f"(A {symbol} B if HELD.__class__ is INT or A.__class__ is FLOAT else CALL(A, B))",
            at, A=held_name, HELD=held, B=right, INT="$int", FLOAT="$float", CALL=name,
        )  # fmt: skip

    def _with_any(
        self, symbol: str, name: str, function: Callable[..., Any], a: ast.expr, b: ast.expr, at: ast.expr
    ) -> ast.expr:
        self.need(name, function)
        for kind in (str, int, float):
            self.need(f"${kind.__name__}", kind)
        first, first_name = self.held(a)
        second, second_name = self.held(b)
        return self.template(
            f"(A {symbol} B if FIRST.__class__ is (SECOND).__class__"
            " and (A.__class__ is FLOAT or A.__class__ is STR or A.__class__ is INT) else CALL(A, B))",
            at, A=first_name, B=second_name, FIRST=first, SECOND=second,
            STR="$str", INT="$int", FLOAT="$float", CALL=name,
        )  # fmt: skip

    # -- truth

    def _boolop(self, node: ast.BoolOp) -> ast.expr:
        values = [self.rewrite(value) for value in node.values]
        result = values[-1]
        is_and = isinstance(node.op, ast.And)
        name, check = ("$and", operators.and_left) if is_and else ("$or", operators.or_left)
        for value, lowered in zip(reversed(values[:-1]), reversed(node.values[:-1]), strict=True):
            if static_kind(lowered) == "bool" or _is_plain(lowered):
                result = self._joined(is_and, value, result, node)
                continue
            self.need(name, check)
            held, held_name = self.held(value)
            pattern = (
                "(NEXT if HELD is True else CHECK(V))" if is_and
                else "(True if HELD is True else NEXT if V is False else CHECK(V))"
            )  # fmt: skip
            result = self.template(pattern, lowered, V=held_name, HELD=held, NEXT=result, CHECK=name)
        return result

    def _joined(self, is_and: bool, value: ast.expr, rest: ast.expr, at: ast.expr) -> ast.expr:
        if isinstance(rest, ast.BoolOp) and isinstance(rest.op, ast.And) is is_and:
            return ast.copy_location(ast.BoolOp(rest.op, [value, *rest.values]), at)
        return ast.copy_location(ast.BoolOp(ast.And() if is_and else ast.Or(), [value, rest]), at)

    def _ifexp(self, node: ast.IfExp) -> ast.expr:
        test, body, other = self.rewrite(node.test), self.rewrite(node.body), self.rewrite(node.orelse)
        if static_kind(node.test) == "bool" or _is_plain(node.test):
            return ast.IfExp(test, body, other)
        self.need("$test", operators.test)
        held, name = self.held(test)
        return self.template(
            "(BODY if HELD is True else OTHER if V is False else CHECK(V))",
            node, V=name, HELD=held, BODY=body, OTHER=other, CHECK="$test",
        )  # fmt: skip


def _is_texts(node: ast.expr) -> bool:
    """Tell whether this is a list of nothing but literal texts, which only texts can be in."""
    return isinstance(node, ast.List) and all(
        isinstance(element, ast.Constant) and isinstance(element.value, str) for element in node.elts
    )


def _is_plain(node: ast.expr) -> bool:
    """Tell whether an `and`, `or` or call always gives a bool."""
    if isinstance(node, ast.BoolOp):
        return all(static_kind(value) == "bool" or _is_plain(value) for value in node.values)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TESTS


_TESTS: Final = frozenset({"$contains", "$startsWith", "$endsWith", "$matches"})
