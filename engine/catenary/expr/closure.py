"""Lowered trees as Python functions: the quick evaluator.

A function is written as Python text, which is several times quicker to make and to compile than a tree.
"""

from __future__ import annotations

from functools import lru_cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

from catenary.expr.budget import Budget
from catenary.expr.compiled import Compiler
from catenary.expr.inline import bare

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from catenary.expr.environment import Environment
    from catenary.expr.functions.function import Function
    from catenary.jsontext import Json

    Explain = Callable[[BaseException, int], BaseException]

FILE: Final = "<expression>"


def compile_closure(
    tree: ast.expr,
    environment: Environment,
    functions: dict[str, Function],
    explain: Explain,
    *,
    with_metadata: bool = False,
) -> Callable[..., Json]:
    """Compile a lowered tree to a function `(msg, ctx=None) -> value`.

    Args:
        tree: The lowered tree.
        environment: What it can see.
        functions: What it may call.
        explain: Makes the error to raise from one that came out, and from the offset of what failed (-1: unknown).
        with_metadata: Whether metadata keys are names.

    Raises:
        RecursionError, MemoryError, SyntaxError: When the tree is nested more deeply than Python can take.
    """
    compiler = Compiler(environment, functions, with_metadata=with_metadata)
    return _closure(closure_text(tree, compiler), compiler, explain)


def compile_text(
    pieces: Sequence[str | tuple[ast.expr, int]],
    environment: Environment,
    functions: dict[str, Function],
    explain: Explain,
) -> Callable[..., str]:
    """Compile a text with parts to a function `(msg, ctx=None) -> text`.

    Args:
        pieces: Texts, and the lowered trees of parts with the offsets where the parts begin.
        environment: What the parts can see.
        functions: What they may call.
        explain: Makes the error to raise, as for `compile_closure`.

    Raises:
        RecursionError, MemoryError, SyntaxError: When a tree is nested more deeply than Python can take.
    """
    compiler = Compiler(environment, functions, with_metadata=True)
    texts = [compiler.name_of(piece) if isinstance(piece, str) else compiler.text(*piece) for piece in pieces]
    joined = f"{compiler.name_of(''.join)}(({', '.join(texts)},))"
    return _closure(_framed(joined, compiler), compiler, explain)


def closure_text(tree: ast.expr, compiler: Compiler) -> str:
    """Give the Python text of a tree's closure; what its names stand for is in the compiler's `namespace` then."""
    return _framed(bare(compiler.rewrite(tree)), compiler)


def _framed(value: str, compiler: Compiler) -> str:
    begin = "  value = msg._value\n" if compiler.uses_value else ""
    begin += "  budget = Budget()\n" if compiler.uses_budget else ""
    frame = _FRAME.replace("NAMES", ", ".join(compiler.namespace)).replace("BEGIN", begin)
    return frame.replace("VALUE", value).replace("PARTS", "".join(compiler.outline.functions))


def _closure(text: str, compiler: Compiler, explain: Explain) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"__builtins__": {"Exception": Exception}}

    def explained(error: BaseException) -> BaseException:
        number = _failed_at(error.__traceback__, namespace, text)
        return explain(error, compiler.places[number] if number >= 0 else -1)

    make = FunctionType(_code_of(text), namespace)
    return make(explained, Budget, *compiler.namespace.values())


@lru_cache(maxsize=512)
def _code_of(text: str) -> CodeType:
    """Compile a text; expressions that differ in names and literals only have the same, and share the code."""
    module = compile(text, FILE, "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))


def forget_code() -> None:
    """Forget what is kept of earlier compilations, as those want who time them."""
    _code_of.cache_clear()


def _failed_at(traceback: TracebackType | None, namespace: dict[str, Any], text: str) -> int:
    """Give the number of the call that the innermost frame of a closure was in; -1 when that is unknown."""
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_globals is namespace:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    marks = [mark for mark in text.split("\n")[:line] if mark.startswith("#")]
    return int(marks[-1][1:]) if marks else -1


# What the closure uses are its free variables: globals would be looked up anew whenever shared code runs for another.
_FRAME: Final = """def make(explain, Budget, NAMES):
PARTS def expression(msg, ctx=None):
BEGIN  try:
   return (VALUE)
  except Exception as error:
   raise explain(error) from error
 return expression
"""
