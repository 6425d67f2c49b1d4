"""Functions with predicates, written as Python's comprehensions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from catenary.expr.functions.lists import add_up, refuse
from catenary.expr.inline import Inline, bare, is_bool, is_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FORMS: Final[dict[str, tuple[str, str, Callable[..., Any] | None]]] = {
    "filter": ("[ITEM for EACH if PASSED]", "[]", None),
    "map": ("[BODY for EACH]", "[]", None),
    "any": ("CALL(PASSED for EACH)", "False", any),
    "all": ("CALL(PASSED for EACH)", "True", all),
    "none": ("not CALL(PASSED for EACH)", "True", any),
    "one": ("CALL([0 for EACH if PASSED]) == 1", "False", len),
    "count": ("CALL([0 for EACH if PASSED])", "0", len),
    "find": ("CALL((ITEM for EACH if PASSED), None)", "None", next),
    "findIndex": ("CALL((INDEX for EACH if PASSED), None)", "None", next),
    "sum": ("CALL(BODY for EACH)", "0", add_up),
}
"""By function: its comprehension, what it gives for an empty list, and what it calls."""

QUICK_NAMES: Final = frozenset({"msg", "msgType", "type", "dataType", "id", "ts"})
TEXT_MAPS: Final = frozenset({"metadata", "global", "vars"})
_QUICK_PARTS: Final = 50  # of a predicate; the units of an evaluation bound the time of those with fewer


def local_name(name: str) -> str:
    """Give the Python name of a `let` or of a part of a predicate: what the author called it does not matter."""
    return f"v{name.rpartition('$')[2]}"


class Comprehensions(Inline):
    """The part of the compiler that writes predicates."""

    def loop(self, name: str, node: ast.Call) -> str:
        """Write a function with a predicate; empty for one that has to be called."""
        form = _FORMS.get(name)
        if form is None or len(node.args) != 2 or not isinstance(node.args[1], ast.Lambda):
            return ""
        text, empty, called = form
        predicate = node.args[1]
        item, index, _ = [local_name(parameter.arg) for parameter in predicate.args.args]
        body = self.rewrite(predicate.body)
        passed = body if "PASSED" not in text or is_bool(predicate.body) else self._checked(name, body, node)
        held = self.temporary()
        elements = held if is_quick(predicate.body) else f"{self.mark(node)}{self.budget()}.timed({held})"
        each = f"{item} in {elements}"
        if "INDEX" in text or index in body:
            each = f"{index}, {item} in {self.name_of(enumerate)}({elements})"
        if called is not None:
            text = text.replace("CALL", self.mark(node) + self.name_of(called))
        text = text.replace("ITEM", item).replace("INDEX", index).replace("EACH", each)
        text = text.replace("PASSED", passed).replace("BODY", body)
        entered = f"{self.mark(node)}{self.budget()}.enter({self.name_of(name)}, {bare(self.rewrite(node.args[0]))})"
        return f"({text} if ({held} := {entered}) else {empty})"

    def _checked(self, name: str, body: str, node: ast.Call) -> str:
        """Write the test of a predicate that need not give a bool."""
        first, one = self.held(body)
        return f"({first} is True or {one} is not False and {self.invoke(refuse, self.name_of(name), one, at=node)})"


def is_quick(predicate: ast.expr) -> bool:
    """Tell whether each step takes so little time that paying for the steps bounds the time of all."""
    pending: list[ast.expr] = [predicate]
    for _ in range(_QUICK_PARTS):
        if not pending:
            return True
        parts = _quick_parts(pending.pop())
        if parts is None:
            return False
        pending += parts
    return False


def _quick_parts(node: ast.expr) -> Sequence[ast.expr] | None:
    """Give what this operation is put to; None for one whose time depends on how large the values are."""
    match node:
        case ast.Constant():
            return ()
        case ast.Name():
            return () if "$" in node.id or node.id in QUICK_NAMES else None
        case ast.Attribute() | ast.Subscript(slice=ast.Constant(value=str())):
            return () if isinstance(node.value, ast.Name) and node.value.id in TEXT_MAPS else (node.value,)
        case ast.BoolOp():
            return node.values
        case ast.UnaryOp():
            return (node.operand,)
        case ast.IfExp():
            return (node.test, node.body, node.orelse)
        case ast.Compare(ops=[operation], comparators=[right]):
            return (node.left,) if _is_quick_comparison(operation, right) else None
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()) | ast.BinOp(right=ast.Constant()):
            return (node.left, node.right)
        case ast.List():
            return node.elts
        case ast.Call():
            return _quick_call(node)
        case _:
            return None


def _is_quick_comparison(operation: ast.cmpop, right: ast.expr) -> bool:
    return is_texts(right) if isinstance(operation, ast.In | ast.NotIn) else isinstance(right, ast.Constant)


def _quick_call(node: ast.Call) -> Sequence[ast.expr] | None:
    if isinstance(node.func, ast.Lambda):
        return (node.func.body, *node.args)
    assert isinstance(node.func, ast.Name)
    if node.func.id == "$charge":
        return node.args
    if node.func.id in _FORMS and len(node.args) == 2 and isinstance(node.args[1], ast.Lambda):
        return (node.args[0], node.args[1].body)
    return None
