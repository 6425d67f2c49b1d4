"""Operators written out in place, as Python text, for the kinds of operands that are usual."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from catenary.expr import operators
from catenary.expr.constants import static_kind
from catenary.expr.outline import DEEP, Outline

if TYPE_CHECKING:
    from collections.abc import Callable

_COMPARE: Final[dict[type[ast.cmpop], tuple[str, Callable[..., Any]]]] = {
    ast.Eq: ("==", operators.equal),
    ast.NotEq: ("!=", operators.unequal),
    ast.Lt: ("<", operators.less),
    ast.LtE: ("<=", operators.less_equal),
    ast.Gt: (">", operators.greater),
    ast.GtE: (">=", operators.greater_equal),
    ast.In: ("in", operators.is_in),
    ast.NotIn: ("not in", operators.not_in),
}
_BINARY: Final[dict[type[ast.operator], tuple[str, Callable[..., Any]]]] = {
    ast.Add: ("+", operators.add),
    ast.Sub: ("-", operators.subtract),
    ast.Mult: ("*", operators.multiply),
    ast.Div: ("/", operators.divide),
    ast.Mod: ("%", operators.modulo),
    ast.Pow: ("**", operators.power),
}
_UNARY: Final[dict[type[ast.unaryop], Callable[..., Any]]] = {
    ast.Not: operators.invert,
    ast.USub: operators.negate,
    ast.UAdd: operators.positive,
}
_SMALL: Final = 2**62
_TESTS: Final = frozenset({"$contains", "$startsWith", "$endsWith", "$matches"})


def bare(text: str) -> str:
    """Take the parentheses off, where a text may stand without."""
    return text[1:-1] if text[0] == "(" and text[-1] == ")" else text


class Inline:
    """The part of the compiler that writes operators.

    Every text that is made may stand anywhere in an expression: it is a name, a literal, a call, or in parentheses.
    What can fail is a call, and is written on a line of its own after a comment with its number in `places`.
    Names and literals of an author are never written: no text of an author is ever read as Python, and expressions of
    the same shape have the same text.
    """

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}
        self.places: list[int] = []  # offsets in the source
        self.uses_budget = False
        self.outline = Outline()
        self._globals: dict[int, str] = {}
        self._temporaries = 0

    def rewrite(self, node: ast.expr) -> str:
        """Write one node of the lowered tree and all below it."""
        raise NotImplementedError

    # -- small things

    def name_of(self, value: Any) -> str:
        """Give the name by which the closure knows a value of the engine."""
        name = self._globals.get(id(value))
        if name is None:
            name = self._globals[id(value)] = f"g{len(self._globals)}"
            self.namespace[name] = value  # which keeps the value, and so its id, alive
        return name

    def temporary(self) -> str:
        """Give a name that nobody has."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def invoke(self, function: Callable[..., Any], *arguments: str, at: ast.expr) -> str:
        """Call a function of the engine; when it fails, the place of `at` is told."""
        return f"{self.mark(at)}{self.name_of(function)}({', '.join(map(bare, arguments))})"

    def mark(self, at: ast.expr | int) -> str:
        """Say whose place is told when the call that follows fails."""
        self.places.append(at if isinstance(at, int) else at.col_offset)
        return f"\n#{len(self.places) - 1}\n"

    def held(self, text: str) -> tuple[str, str]:
        """Give a text for the first use of a value, and one for further uses."""
        if text.isidentifier():
            return text, text
        name, is_bound, _ = text[1:].partition(" := ")
        if is_bound and name.isidentifier():
            return text, name
        name = self.temporary()
        return f"({name} := {bare(text)})", name

    def budget(self) -> str:
        """Give the budget of the evaluation."""
        self.uses_budget = True
        return "budget"

    def _constant(self, node: ast.Constant) -> str:
        value: Any = node.value
        return repr(value) if value is None or value is True or value is False else self.name_of(value)

    def _list(self, node: ast.List) -> str:
        return f"[{', '.join([bare(self.rewrite(element)) for element in node.elts])}]"

    def _dict(self, node: ast.Dict) -> str:
        keys = [self.rewrite(key) for key in node.keys if key is not None]
        values = [bare(self.rewrite(value)) for value in node.values]
        return f"{{{', '.join([f'{key}: {value}' for key, value in zip(keys, values, strict=True)])}}}"

    # -- arithmetic

    def _unaryop(self, node: ast.UnaryOp) -> str:
        operand = self.rewrite(node.operand)
        if isinstance(node.op, ast.Not) and static_kind(node.operand) == "bool":
            return f"(not {operand})"
        return self.invoke(_UNARY[type(node.op)], operand, at=node)

    def charged(self, text: str, *, at: ast.expr) -> str:
        """Pay for a value that is made."""
        return f"{self.mark(at)}{self.budget()}.charge({bare(text)})"

    def binary(self, node: ast.BinOp, *, is_charged: bool = False) -> str:
        """Write an operation on two operands; `is_charged` for one whose result has to be paid for."""
        symbol, function = _BINARY[type(node.op)]
        left, right = self.rewrite(node.left), self.rewrite(node.right)

        def guarded(a: str, b: str) -> str:
            slow = self.invoke(function, a, b, at=node)
            return self.charged(slow, at=node) if is_charged else slow

        if isinstance(node.left, ast.Constant) or symbol in {"%", "**"}:
            return guarded(left, right)
        first, a = self.held(left)
        if isinstance(node.right, ast.Constant):
            usual = self._fits_number(symbol, first, a, node.right.value, is_charged=is_charged)
            return f"({a} {symbol} {right} if {usual} else {guarded(a, right)})" if usual else guarded(left, right)
        second, b = self.held(right)
        usual = self._fit_each_other(symbol, (first, a), (second, b), is_charged=is_charged)
        return f"({a} {symbol} {b} if {usual} else {guarded(a, b)})"

    def _fits_number(self, symbol: str, first: str, a: str, value: Any, *, is_charged: bool) -> str:
        """Write the test that `a` may be put together with a literal as it is; empty when it never may."""
        if value.__class__ not in {int, float} or abs(value) > 2**31 or (symbol == "/" and value == 0):
            return ""
        usual = f"{first}.__class__ is {self.name_of(float)}"
        if symbol == "/":
            return usual
        whole = f"{a}.__class__ is {self.name_of(int)}"
        if symbol == "*" or is_charged:  # so small that the guarded operator has nothing to say
            whole = f"({whole} and {-_SMALL} < {a} < {_SMALL})"
        return f"{usual} or {whole}"

    def _fit_each_other(self, symbol: str, left: tuple[str, str], right: tuple[str, str], *, is_charged: bool) -> str:
        """Write the test that two operands, given for the first and for further uses, are put together as they are."""
        (first, a), (second, b) = left, right
        real, whole = self.name_of(float), self.name_of(int)
        if symbol == "/":
            return f"{first}.__class__ is {second}.__class__ is {real} and {b}"
        small = f" and {-_SMALL} < {a} < {_SMALL} and {-_SMALL} < {b} < {_SMALL}"
        same = f"{a}.__class__ is {whole}{small if symbol == '*' or is_charged else ''}"
        mixed = " or ".join(
            [f"{a}.__class__ is {one} and {b}.__class__ is {other}" for one, other in ((real, whole), (whole, real))]
        )
        return f"{first}.__class__ is {second}.__class__ and ({a}.__class__ is {real} or {same}) or {mixed}"

    # -- comparisons

    def _compare(self, node: ast.Compare) -> str:
        if len(node.ops) > 1:
            return self._row(node)
        left, right = node.left, node.comparators[0]
        if isinstance(node.ops[0], ast.Is):
            return f"({self.rewrite(left)} is {self.rewrite(right)})"
        return self._comparison(node.ops[0], left, right, self.rewrite(left), self.rewrite(right), at=node)

    def _row(self, node: ast.Compare) -> str:
        """Write `a < b < c` as `a < (t := b) and t < c`."""
        links: list[str] = []
        left, a = node.left, self.rewrite(node.left)
        for index, (operation, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            b = following = self.rewrite(right)
            if index < len(node.ops) - 1 and not isinstance(right, ast.Constant):
                b, following = self.held(b)
            links.append(self._comparison(operation, left, right, a, b, at=node))
            left, a = right, following
        return f"({' and '.join(links)})"

    def _comparison(
        self, operation: ast.cmpop, left: ast.expr, right: ast.expr, a: str, b: str, *, at: ast.expr
    ) -> str:
        """Write one comparison of `left` and `right`, whose texts are `a` and `b`."""
        symbol, function = _COMPARE[type(operation)]
        if symbol in {"in", "not in"}:
            return f"({a} {symbol} {b})" if is_texts(right) else self.invoke(function, a, b, at=at)
        if isinstance(left, ast.Constant):
            return self.invoke(function, a, b, at=at)
        if isinstance(right, ast.Constant):
            return self._with_constant(symbol, function, a, right, at)
        first, one = self.held(a)
        second, other = self.held(b)
        real, text, whole = self.name_of(float), self.name_of(str), self.name_of(int)
        usual = f"{one}.__class__ is {real} or {one}.__class__ is {text} or {one}.__class__ is {whole}"
        slow = self.invoke(function, one, other, at=at)
        return f"({one} {symbol} {other} if {first}.__class__ is {second}.__class__ and ({usual}) else {slow})"

    def _with_constant(
        self, symbol: str, function: Callable[..., Any], a: str, right: ast.Constant, at: ast.expr
    ) -> str:
        value, b = right.value, self.rewrite(right)
        kind = value.__class__
        if symbol in {"==", "!="}:
            if value is None or value is True or value is False:
                return f"({a} {'is' if symbol == '==' else 'is not'} {b})"
            if kind is str or ((kind is int or kind is float) and value not in (0, 1)):
                return f"({a} {symbol} {b})"
            return self.invoke(function, a, b, at=at)
        if kind is not str and kind is not int and kind is not float:
            return self.invoke(function, a, b, at=at)
        first, one = self.held(a)
        usual = f"{first}.__class__ is {self.name_of(str if kind is str else int)}"
        if kind is not str:
            usual += f" or {one}.__class__ is {self.name_of(float)}"
        return f"({one} {symbol} {b} if {usual} else {self.invoke(function, one, b, at=at)})"

    # -- truth

    def _boolop(self, node: ast.BoolOp) -> str:
        is_and = isinstance(node.op, ast.And)
        check = operators.and_left if is_and else operators.or_left
        result = self.rewrite(node.values[-1])
        row: list[str] = [result]  # operands that are bools, with Python's own operator between them
        for level, value in enumerate(reversed(node.values[:-1]), 1):
            if is_bool(value):
                row.insert(0, self.rewrite(value))
                continue
            rest = self._joined(row, is_and=is_and)
            if level % DEEP == 0:
                rest = self.outline.add(bare(rest))
            first, one = self.held(self.rewrite(value))
            failing = self.invoke(check, one, at=value)
            if is_and:
                row = [f"({rest} if {first} is True else {failing})"]
            else:
                row = [f"(True if {first} is True else {rest} if {one} is False else {failing})"]
        return self._joined(row, is_and=is_and)

    def _joined(self, row: list[str], *, is_and: bool) -> str:
        return row[0] if len(row) == 1 else f"({(' and ' if is_and else ' or ').join(row)})"

    def _ifexp(self, node: ast.IfExp) -> str:
        row = [node]
        while isinstance(row[-1].orelse, ast.IfExp):
            row.append(row[-1].orelse)
        other = self.rewrite(row[-1].orelse)
        for level, branch in enumerate(reversed(row), 1):
            other = self._branch(branch, other)
            if level % DEEP == 0:
                other = self.outline.add(bare(other))
        return other

    def _branch(self, node: ast.IfExp, other: str) -> str:
        test, body = self.rewrite(node.test), self.rewrite(node.body)
        if is_bool(node.test):
            return f"({body} if {test} else {bare(other)})"
        first, one = self.held(test)
        failing = self.invoke(operators.test, one, at=node)
        return f"({body} if {first} is True else {other} if {one} is False else {failing})"


def is_texts(node: ast.expr) -> bool:
    """Tell whether this is a list of nothing but literal texts, which only texts can be in."""
    return isinstance(node, ast.List) and all(
        isinstance(element, ast.Constant) and isinstance(element.value, str) for element in node.elts
    )


def is_bool(node: ast.expr) -> bool:
    """Tell whether this always gives a bool, when it does not fail."""
    if isinstance(node, ast.BoolOp):
        return all(map(is_bool, node.values))
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _TESTS
    return static_kind(node) == "bool"
