"""Tokens to a syntax tree: operators and their precedence. The operands are in `operands.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.errors import ExpressionError
from catenary.expr.lexer import tokens_of
from catenary.expr.operands import CONSTANTS, WORDS, Operands
from catenary.expr.syntax import Binary, Conditional, Let, Logical, Node, Ordering, Sequence, Span, Unary

if TYPE_CHECKING:
    from typing import Literal

# Loosest to tightest. `^` is `**`; `&&` is `and`.
PRECEDENCE: Final = {
    "|": 0,
    "||": 10, "or": 10,
    "&&": 15, "and": 15,
    "==": 20, "!=": 20, "<": 20, ">": 20, "<=": 20, ">=": 20,
    "in": 20, "matches": 20, "contains": 20, "startsWith": 20, "endsWith": 20,
    "..": 25,
    "+": 30, "-": 30,
    "*": 60, "/": 60, "%": 60,
    "**": 100, "^": 100,
    "??": 500,
}  # fmt: skip
UNARY: Final = {"not": 50, "!": 50, "-": 90, "+": 90}
LONG: Final = {"||": "or", "&&": "and", "^": "**"}
_ORDERINGS: Final = frozenset({"<", ">", "<=", ">="})
NEGATABLE: Final = frozenset({"in", "matches", "contains", "startsWith", "endsWith"})
_RIGHT_TO_LEFT: Final = frozenset({"**", "^"})


class Parser(Operands):
    """Precedence climbing over a list of tokens."""

    def program(self) -> Node:
        """Parse the whole text."""
        if self.is_at_end():
            raise self.problem("the expression is empty", self.token)
        node = self.sequence()
        if not self.is_at_end():
            raise self.stray(f"unexpected {self.shown(self.token)}")
        return node

    def sequence(self) -> Node:
        """Parse `let x = e; ...` and `a; b`; a semicolon at the end is allowed."""
        steps: list[tuple[int, str, Node]] = []  # (start, name or "", value)
        known = len(self.scope)
        while True:
            start = self.token.span.start
            if self.token.kind == "name" and self.token.text == "let" and self.following.kind == "name":
                steps.append((start, *self._let()))
                continue
            node = self.expression()
            if not self.take("operator", ";") or self.ends_sequence():
                break
            steps.append((start, "", node))
        del self.scope[known:]
        for start, name, value in reversed(steps):
            span = Span(start, node.span.end)
            node = Let(span, name, value, node) if name else Sequence(span, value, node)
        return node

    def _let(self) -> tuple[str, Node]:
        self.advance()
        name = self.advance()
        if name.text in self.scope:
            raise self.problem(f"{name.text!r} is declared already", name, "Choose another name.")
        if name.text in WORDS or name.text in CONSTANTS or name.text == "$env":
            raise self.problem(f"{name.text!r} cannot be declared", name, "Choose another name.")
        self.expect("operator", "=", "`let` is written `let name = value; expression`.")
        value = self.expression()
        self.expect("operator", ";", "`let` is written `let name = value; expression`.")
        if self.ends_sequence():
            raise self.problem("`let` needs an expression after it", self.token)
        self.scope.append(name.text)
        return name.text, value

    def expression(self) -> Node:
        """Parse one expression of the loosest precedence: conditionals and pipes included."""
        with self:
            branches: list[tuple[int, Node, Node]] = []  # (start, test, then)
            while True:
                start = self.token.span.start
                if self.is_operator("if", kind="name"):
                    self.advance()
                    test = self.expression()
                    branches.append((start, test, self._block()))
                    self.expect("name", "else", "`if` needs an `else`: `if test { value } else { other }`.")
                    if self.is_operator("if", kind="name"):
                        continue
                    node = self._block()
                    break
                node = self._binary(0, "")
                if self.take("operator", "?"):
                    branches.append((start, node, self.expression()))
                    self.expect("operator", ":", "A condition is written `test ? value : other`.")
                elif self.take("name", "if"):
                    branches.append((start, self._binary(0, ""), node))
                    self.expect("name", "else", "A condition is written `value if test else other`.")
                else:
                    break
            end = self.previous_end
            for start, test, then in reversed(branches):
                node = Conditional(Span(start, end), test, then, node)
            return node

    def _block(self) -> Node:
        self.expect("operator", "{", "A branch stands in braces: `if test { value } else { other }`.")
        body = self.sequence()
        self.expect("operator", "}", "The brace opened before is not closed.")
        return body

    def _binary(self, least: int, outer: str) -> Node:
        """Parse operators that bind at least as tightly as `least`, as right side of the operator `outer`."""
        left = self._unary()
        previous = ""
        while True:
            operator, negated = self._operator_here()
            precedence = PRECEDENCE.get(operator, -1)
            if precedence < least:
                return left
            if operator == "|":
                self.advance()
                left = self.piped(left)
                continue
            if operator == "??" and (previous or outer) not in {"", "??"}:
                raise self._mixed(previous or outer)
            if previous == "??" != operator:
                raise self._mixed(operator)
            left = self._operation(left, operator, precedence, negated=negated)
            previous = operator

    def _mixed(self, operator: str) -> ExpressionError:
        return self.problem(f"'??' cannot be mixed with {operator!r}", self.token, "Put one of them into parentheses.")

    def _operator_here(self) -> tuple[str, bool]:
        token = self.token
        if token.kind not in {"operator", "name"}:
            return "", False
        if token.text == "not" and self.following.kind == "name" and self.following.text in NEGATABLE:
            return self.following.text, True
        return token.text, False

    def _operation(self, left: Node, operator: str, precedence: int, *, negated: bool) -> Node:
        self.advance()
        if negated:
            self.advance()
        if operator in _ORDERINGS:
            return self._ordering(left, operator, precedence)
        long = LONG.get(operator, operator)
        if long == "and" or long == "or":
            return self._logical(left, long, precedence)
        right = self._binary(precedence if operator in _RIGHT_TO_LEFT else precedence + 1, operator)
        return Binary(Span(left.span.start, right.span.end), long, left, right, negated=negated)

    def _ordering(self, left: Node, operator: str, precedence: int) -> Node:
        operators, operands = [operator], [left, self._binary(precedence + 1, operator)]
        while self.token.kind == "operator" and self.token.text in _ORDERINGS:
            operators.append(self.advance().text)
            operands.append(self._binary(precedence + 1, operators[-1]))
        return Ordering(Span(left.span.start, operands[-1].span.end), tuple(operators), tuple(operands))

    def _logical(self, left: Node, operator: Literal["and", "or"], precedence: int) -> Node:
        operands = [left, self._binary(precedence + 1, operator)]
        while self.token.kind in {"operator", "name"} and LONG.get(self.token.text, self.token.text) == operator:
            self.advance()
            operands.append(self._binary(precedence + 1, operator))
        return Logical(Span(left.span.start, operands[-1].span.end), operator, tuple(operands))

    def _unary(self) -> Node:
        token = self.token
        if token.kind in {"operator", "name"} and token.text in UNARY:
            with self:
                self.advance()
                operand = self._binary(UNARY[token.text], "")
                operator = "not" if token.text == "!" else token.text
                return self.postfix(Unary(Span(token.span.start, operand.span.end), operator, operand))
        return self.postfix(self.operand())


def parse(source: str, start: int = 0, end: int | None = None, kind: type[ExpressionError] = ExpressionError) -> Node:
    """Parse the stretch of `source` from `start` to `end` as one expression.

    Args:
        source: The whole text; positions in the tree and in errors refer to it.
        start: Where the expression begins.
        end: Where it ends, exclusive; the end of `source` if absent.
        kind: The class of errors to raise.

    Raises:
        ExpressionError: Of class `kind`, with the position and a hint, when the text is no expression.
    """
    tokens = tokens_of(source, start, len(source) if end is None else end, kind)
    return Parser(source, tokens, kind).program()
