"""The text of a Python expression to a syntax tree, with errors that name the place."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from typing import TYPE_CHECKING, Any, Final, Literal

from catenary.expr.problems import syntax_problem

if TYPE_CHECKING:
    from catenary.errors import ExpressionError

MAX_CHARACTERS: Final = 100_000
MAX_NODES: Final = 10_000
MAX_TRIES: Final = 20

GLOBAL: Final = "glo\u0432al"
"""Stands for `global`, a word of Python that is a name here: as long, and nothing that anybody writes."""

_HINTS: Final = (
    ("${", "Names stand alone: write `msg.t`, not `${msg.t}`."),
    ("&&", "Write `and`."),
    ("||", "Write `or`."),
    ("?", "Write `a if test else b`."),
    ("!", "Write `not`; unequal is `!=`."),
)


class Source:
    """A text that was parsed, and where its nodes stand in it.

    It is parsed inside of parentheses, so that it may have several lines.
    """

    def __init__(self, text: str, kind: type[ExpressionError]) -> None:
        self.text = text
        self.kind = kind
        self._parsed = f"({_with_global_as_name(text)}\n)"
        self._lines = self._parsed.split("\n")

    def offset(self, line: int, column: int) -> int:
        """Give the offset in the text of a line, from 1, and a column in bytes, from 0, as syntax trees tell them."""
        before = self._lines[line - 1].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")
        return self._clamped(sum(len(one) + 1 for one in self._lines[: line - 1]) + len(before) - 1)

    def problem(self, text: str, position: int, hint: str = "") -> ExpressionError:
        """Make the error for a place."""
        return syntax_problem(self.kind, text, source=self.text, position=position, hint=hint)

    def refuse(self, node: ast.AST, text: str, hint: str = "") -> ExpressionError:
        """Make the error for the place of a node."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 1)
        return self.problem(text, self.offset(line, column), hint)

    def parse(self) -> ast.expr:
        """Give the syntax tree. Raises: ExpressionError: when the text is no Python expression."""
        if not self.text.strip():
            raise self.problem("the expression is empty", 0)
        if len(self.text) > MAX_CHARACTERS:
            raise self.problem("the expression is too long", 0, "Split it over several nodes.")
        try:
            tree = _parse(self._parsed)
        except SyntaxError as error:
            raise self._explained(error) from None
        except (RecursionError, MemoryError):
            raise self.problem("the expression is nested too deeply", 0, "Split it over several nodes.") from None
        except ValueError as error:  # a zero byte, half of a surrogate pair
            raise self.problem(f"the expression cannot be read: {error}", 0) from None
        if (tree.lineno, tree.col_offset) == (1, 0) and not isinstance(tree, ast.Tuple | ast.GeneratorExp):
            raise self.problem("unmatched ')'", self.text.find(")"))  # ours was taken for one of the author's
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
            raise self.problem("the expression is too long", 0, "Split it over several nodes.")
        return tree

    def _explained(self, error: SyntaxError) -> ExpressionError:
        """Make the error of a text that Python cannot read, in the words of Python."""
        line, column = error.lineno or 1, error.offset or 1
        at = sum(len(one) + 1 for one in self._lines[: line - 1]) + column - 2
        text = error.msg
        if "never closed" in text or "does not match" in text:  # those may be our parentheses
            try:
                _parse(self._parsed[1:-2].lstrip())
            except SyntaxError as plain:
                text = plain.msg
                at = (plain.offset or 1) - 1 + len(self.text) - len(self.text.lstrip())
        if at >= len(self.text.rstrip()):
            text = "the expression ends too early"
        text = text.partition(" (detected at")[0].replace(GLOBAL, "global")
        hint = next((hint for sign, hint in _HINTS if sign in self.text), "")
        return self.problem(text, self._clamped(at), hint)

    def _clamped(self, position: int) -> int:
        return max(0, min(position, len(self.text)))


def _parse(text: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that Python does not know, for one
        return tree_of(text, "eval").body


def tree_of(text: str, mode: Literal["eval", "exec"] = "exec") -> Any:
    """Give what `ast.parse` gives.

    While CPython 3.11 makes a tree it keeps the depth in one place for all threads. When garbage is collected then,
    code that runs for it, or another thread, may parse something too: a `SystemError` that has nothing to do with the
    text. The garbage is gone after that, so another try gives the tree.
    """
    for _ in range(MAX_TRIES - 1):
        try:
            return ast.parse(text, mode=mode)
        except SystemError:
            continue
    return ast.parse(text, mode=mode)


def _with_global_as_name(text: str) -> str:
    """Give a text in which the word `global` is a name."""
    if "global" not in text:
        return text
    lines = [list(line) for line in f"({text}\n)".split("\n")]
    reader = io.StringIO(f"({text}\n)").readline
    try:
        for token in tokenize.generate_tokens(reader):
            if token.type == tokenize.NAME and token.string == "global":
                row, column = token.start
                lines[row - 1][column : column + len(GLOBAL)] = GLOBAL
    except (tokenize.TokenError, SyntaxError):
        pass  # what cannot be read is told by the parser
    return "\n".join("".join(line) for line in lines)[1:-2]
