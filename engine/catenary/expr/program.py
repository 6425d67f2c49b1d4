"""One compiled expression: text to tree to closure, with errors that name the place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from catenary.errors import ExpressionError
from catenary.expr.compiled import compile_closure
from catenary.expr.functions import functions_of
from catenary.expr.lower import Scope, lower
from catenary.expr.parser import parse
from catenary.expr.problems import place, shorten, syntax_problem

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from catenary.expr.environment import Environment
    from catenary.jsontext import Json


MAX_KEPT: Final = 1_000
"""How many programs an environment keeps; texts that come later are compiled each time."""


@dataclass(frozen=True, slots=True)
class Program:
    """An expression ready to run.

    Attributes:
        call: The closure `(msg, ctx=None) -> value`; it raises `ExpressionError`s.
        tree: The lowered tree, for the reference evaluator.
        references: The ids of the nodes whose output it reads.
    """

    call: Callable[..., Json]
    tree: ast.expr
    references: frozenset[str]


def compile_program(
    source: str,
    environment: Environment,
    *,
    start: int = 0,
    end: int | None = None,
    kind: type[ExpressionError] = ExpressionError,
    in_template: bool = False,
) -> Program:
    """Compile the stretch of `source` from `start` to `end`; the same text is compiled once for an environment.

    Args:
        source: The whole text; positions in errors refer to it.
        environment: What the expression can see.
        start: Where the expression begins.
        end: Where it ends, exclusive; the end of `source` if absent.
        kind: The class of errors.
        in_template: True when metadata keys are names too.

    Raises:
        ExpressionError: Of class `kind`, when the text is no expression or can never be evaluated.
    """
    stop = len(source) if end is None else end
    key, host = (source, start, stop, kind, in_template), list(environment.functions.items())
    known = environment.programs.get(key)
    if known is not None and known[0] == host:
        return known[1]
    functions = functions_of(environment)
    scope = Scope(environment.nodes, functions, metadata_names=in_template)
    explain = _explainer(source, start, stop, kind)
    try:
        tree = lower(parse(source, start, stop, kind), source, kind, scope)
        call = compile_closure(tree, environment, functions, explain, with_metadata=in_template)
    except (RecursionError, MemoryError, SyntaxError) as error:
        if isinstance(error, SyntaxError) and "nested" not in str(error):
            raise
        text = "the expression is nested too deeply"
        raise syntax_problem(kind, text, source=source, position=start, hint="Split it with `let`.") from None
    program = Program(call, tree, frozenset(scope.references))
    if len(environment.programs) < MAX_KEPT:
        environment.programs[key] = (host, program)
    return program


def _explainer(
    source: str, start: int, end: int, kind: type[ExpressionError]
) -> Callable[[BaseException, int], ExpressionError]:
    """Give what makes an `ExpressionError` of anything that a closure of this text raises."""

    def explain(error: BaseException, position: int) -> ExpressionError:
        position = start if position < 0 else position
        line, column = place(source, position)
        reason = str(error) or type(error).__name__
        if isinstance(error, RecursionError):
            reason = "the value is nested too deeply"
        return kind(
            f"expression {shorten(source[start:end])!r}, line {line}, column {column}: {reason}",
            source=source,
            position=position,
        )

    return explain
