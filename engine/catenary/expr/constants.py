"""What can be told wrong before any message comes: operands whose kind is plain to see."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from catenary.expr import syntax
from catenary.expr.problems import syntax_problem
from catenary.expr.regex import PatternError, pattern_of

if TYPE_CHECKING:
    from catenary.errors import ExpressionError
    from catenary.expr.functions.function import Function

_OPPOSITE: Final = {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_TEXT_OPERATORS: Final = frozenset({"contains", "startsWith", "endsWith", "matches"})
_NUMBER_OPERATORS: Final = frozenset({"-", "*", "/", "%", "**", ".."})


def static_kind(node: ast.expr) -> str:
    """Give the kind a lowered expression always has; "" when that depends on the message."""
    if isinstance(node, ast.Constant):
        return _constant_kind(node.value)
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return "bool"
    if isinstance(node, ast.List):
        return "array"
    if isinstance(node, ast.Dict):
        return "map"
    return _operation_kind(node) if isinstance(node, ast.BinOp) else ""


def _operation_kind(node: ast.BinOp) -> str:
    """Give the kind of a row of operations, which is kept at the node: the next one of the row asks again."""
    kept = vars(node)
    if "static_kind" not in kept:
        kinds = static_kind(node.left), static_kind(node.right)
        kept["static_kind"] = kinds[0] if kinds[0] == kinds[1] and kinds[0] in {"number", "string"} else ""
    kind: str = kept["static_kind"]
    return kind


def _constant_kind(value: object) -> str:
    if value is None:
        return ""  # an unknown name is nil too, and that is for the evaluation to tell
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "bytes"


def _not_hint(left: syntax.Node, operator: str) -> str:
    """Say what to write when the left operand is `not x`, which binds tighter than the author thought."""
    if not isinstance(left, syntax.Unary) or left.operator != "not":
        return ""
    other = _OPPOSITE.get(operator)
    instead = f"write `a {other} b` or `not (a {operator} b)`" if other else f"write `not (a {operator} b)`"
    return f"`not` binds tighter than `{operator}`: {instead}."


class Constants:
    """Refuses operations that fail on every message."""

    def __init__(self, source: str, kind: type[ExpressionError]) -> None:
        self.source = source
        self.kind = kind

    def _problem(self, text: str, span: syntax.Span, hint: str = "") -> ExpressionError:
        return syntax_problem(self.kind, text, source=self.source, position=span.start, hint=hint)

    def unary(self, node: syntax.Unary, operand: ast.expr) -> None:
        """Check `not x`, `-x`, `+x`."""
        kind = static_kind(operand)
        wanted = "bool" if node.operator == "not" else "number"
        if kind and kind != wanted:
            hint = "Write `a not in b` for a negated test." if node.operator == "not" else ""
            raise self._problem(f"'{node.operator}' takes a {wanted}, not {kind}", node.span, hint)

    def binary(self, node: syntax.Binary, left: ast.expr, right: ast.expr) -> None:
        """Check two operands, and the pattern of `matches`."""
        kinds = static_kind(left), static_kind(right)
        if not self._fits(node.operator, *kinds):
            hint = "Use `text contains part`." if node.operator == "in" else ""
            if node.operator == "+" and "string" in kinds:
                hint = "Make it text with `string(...)`."
            hint = _not_hint(node.left, node.operator) or hint
            left_kind, right_kind = (kind or "a value" for kind in kinds)
            raise self._problem(f"'{node.operator}' cannot take {left_kind} and {right_kind}", node.span, hint)
        if node.operator == "matches" and isinstance(right, ast.Constant) and isinstance(right.value, str):
            try:
                pattern_of(right.value)
            except PatternError as error:
                raise self._problem(str(error), node.right.span) from None

    def _fits(self, operator: str, left: str, right: str) -> bool:
        known = bool(left and right)
        if operator in {"==", "!="}:
            return not known or left == right
        if operator == "+":
            return not known or (left == right and left in {"number", "string"})
        if operator in _NUMBER_OPERATORS:
            return left in {"", "number"} and right in {"", "number"}
        if operator in _TEXT_OPERATORS:
            return left in {"", "string"} and right in {"", "string"}
        return right in {"", "array", "map"}

    def arguments(self, node: syntax.Call, function: Function, arguments: list[ast.expr]) -> None:
        """Check what a function is called with."""
        for index, argument in enumerate(arguments):
            kind, kinds = static_kind(argument), function.kinds_of(index)
            if kind and kinds and kind not in kinds:
                wanted = " or ".join(sorted(kinds))
                text = f"{node.name}() takes {wanted} as argument {index + 1}, not {kind}"
                raise self._problem(text, node.arguments[index].span, function.doc)

    def ordering(self, node: syntax.Ordering, operands: list[ast.expr]) -> None:
        """Check neighbours in `a < b < c`."""
        for index, operator in enumerate(node.operators):
            left, right = static_kind(operands[index]), static_kind(operands[index + 1])
            ordered = {"", "number", "string"}
            if not {left, right} <= ordered or (left and right and left != right):
                left, right = left or "a value", right or "a value"
                hint = _not_hint(node.operands[index], operator)
                raise self._problem(f"'{operator}' cannot take {left} and {right}", node.operands[index].span, hint)

    def logical(self, node: syntax.Logical, index: int, operand: ast.expr) -> None:
        """Check what stands left of `and` or `or`."""
        kind = static_kind(operand)
        if kind not in {"", "bool"}:
            raise self._problem(f"'{node.operator}' takes a bool, not {kind}", node.operands[index].span)

    def condition(self, node: syntax.Conditional, test: ast.expr) -> None:
        """Check what stands before `?`."""
        kind = static_kind(test)
        if kind not in {"", "bool"}:
            raise self._problem(f"a condition must be a bool, not {kind}", node.test.span, "Compare it with something.")
