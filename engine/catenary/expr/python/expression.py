"""`PythonExpression`: a formula over a message in the spelling of Python, compiled once."""

from __future__ import annotations

import ast
import warnings
from itertools import islice
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, Self

from catenary.errors import ExpressionError
from catenary.expr.environment import Environment, output_of, record
from catenary.expr.formula import Formula
from catenary.expr.python import operators as guards
from catenary.expr.python.builtins import python_functions
from catenary.expr.python.compiler import PythonCompiler
from catenary.expr.python.syntax import Source, tree_of
from catenary.message import UNREAD
from catenary.reasons import reason_of
from catenary.text_places import place, shorten

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from catenary.jsontext import Json

FILE: Final = "<python expression>"


class PythonExpression(Formula):
    """A formula such as `msg.t > 40 and metadata.get('kind') == 'a'`. Safe to use from many tasks at once.

    It is Python's own expression syntax on the names that expressions know: comprehensions, f-strings, slices,
    chained comparisons, Python's truth for `and`, `or` and `not`, and those functions and methods of Python that change
    nothing. After a dot stands the key of a map, or a method that is called; a key that is not there is an error.

    Attributes:
        tree: The syntax tree, for the reference evaluator.
    """

    __slots__ = ("tree",)
    format = "catenary-python-expression"

    def __init__(self, source: str, call: Callable[..., Json], tree: ast.expr, references: frozenset[str]) -> None:
        super().__init__(source, call, references)
        self.tree = tree

    @classmethod
    def compile(cls, source: str, environment: Environment | None = None) -> Self:
        """Compile an expression.

        Raises:
            ExpressionError: When it cannot be compiled, with position and hint.
        """
        used = environment or Environment()
        text = Source(source, ExpressionError)
        tree = text.parse()
        compiler = PythonCompiler(text, used, python_functions(used))
        try:
            call = _closure(compiler, compiler.rewrite(tree), text)
        except (RecursionError, MemoryError):
            raise text.problem("the expression is nested too deeply", 0, "Split it over several nodes.") from None
        return cls(source, call, tree, frozenset(compiler.references))


_FRAME: Final = """
def make():
    def expression(message, ctx=None):
        try:
            PROLOGUE
            return VALUE
        except Exception as error:
            raise explain(error) from error
    return expression
"""
_READ: Final = {
    "msg": "u_msg = message._value\nif u_msg is unread:\n u_msg = message.value",
    "data": "u_data = message.text",
    "id": "u_id = message.id",
    "ts": "u_ts = message.ts",
    "msgType": "u_msgType = message._type",
    "type": "u_type = message._type",
    "dataType": "u_dataType = message._data_type",
    "metadata": "u_metadata = dict(message._metadata)",
    "global": "u_global = dict(roots('global'))",
    "vars": "u_vars = dict(roots('vars'))",
    "ruleChain": "u_ruleChain = dict(roots('ruleChain'))",
}


def _closure(compiler: PythonCompiler, value: ast.expr, text: Source) -> Callable[..., Json]:
    """Compile what the compiler wrote to a function `(msg, ctx=None) -> value`."""
    if compiler.uses_budget:
        value = compiler.invoke(guards.charge, ast.Name("work", ast.Load()), value, at=value)
    module = tree_of(_FRAME)
    make: Any = module.body[0]
    attempt: Any = make.body[0].body[0]
    prologue = [_READ[name] for name in sorted(compiler.used)]
    prologue += [f"{name} = record(output_of(ctx, {node_id!r}))" for node_id, name in compiler.references.items()]
    if compiler.uses_budget:
        prologue.append("work = Work()")
    attempt.body = [*tree_of("\n".join(prologue)).body, ast.Return(value)]
    kept: dict[str, Any] = {
        "Work": guards.Work,
        "record": record,
        "output_of": output_of,
        "unread": UNREAD,
        "dict": dict,
    }
    kept |= {"roots": compiler.environment.root, **compiler.namespace}
    make.args.args = [ast.arg(name) for name in ("explain", *kept)]
    namespace: dict[str, Any] = {"__builtins__": {"Exception": Exception}}

    def explain(error: BaseException) -> ExpressionError:
        return _explained(error, _failed_at(error.__traceback__, namespace, text), text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of literals that are called, compared by 'is' and so on
        compiled = compile(ast.fix_missing_locations(module), FILE, "exec")
    code = next(constant for constant in compiled.co_consts if isinstance(constant, CodeType))
    closure: Callable[..., Json] = FunctionType(code, namespace)(explain, *kept.values())
    return closure


def _explained(error: BaseException, position: int, text: Source) -> ExpressionError:
    """Make an `ExpressionError` of anything that a closure raises."""
    reason = reason_of(error)
    if isinstance(error, KeyError):
        key = error.args[0] if error.args else ""
        reason = f"there is no key {key!r}; `.get({key!r})` gives None where it is missing"
    if isinstance(error, RecursionError):
        reason = "the value is nested too deeply"
    line, column = place(text.text, position)
    return ExpressionError(
        f"expression {shorten(text.text)!r}, line {line}, column {column}: {reason}",
        source=text.text,
        position=position,
    )


def _failed_at(traceback: TracebackType | None, namespace: dict[str, Any], text: Source) -> int:
    """Give the offset of what the innermost frame of a closure was at."""
    found: TracebackType | None = None
    while traceback is not None:
        if traceback.tb_frame.f_globals is namespace:
            found = traceback
        traceback = traceback.tb_next
    if found is None:
        return 0
    positions = islice(found.tb_frame.f_code.co_positions(), found.tb_lasti // 2, None)
    line, _, column, _ = next(positions, (None, None, None, None))
    return 0 if line is None or column is None else text.offset(line, column)
