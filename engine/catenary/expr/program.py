"""One compiled expression: text to tree to closure, with errors that name the place."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from catenary.errors import ExpressionError, TemplateError
from catenary.expr.advice import Advice
from catenary.expr.closure import compile_closure, compile_text
from catenary.expr.functions.table import functions_of
from catenary.expr.lower import lower
from catenary.expr.parser import parse
from catenary.expr.problems import syntax_problem
from catenary.expr.scope import Scope
from catenary.expr.syntax import Binary
from catenary.message import Message
from catenary.reasons import reason_of
from catenary.text_places import place, shorten

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Generator, Sequence

    from catenary.expr.environment import Environment
    from catenary.jsontext import Json

    _Explain = Callable[[BaseException, int], ExpressionError]

_Made = TypeVar("_Made")

MAX_KEPT: Final = 1_000
"""How many programs an environment keeps; texts that come later are compiled each time."""


@dataclass(frozen=True, slots=True)
class Program:
    """An expression ready to run.

    Attributes:
        call: The closure `(msg, ctx=None) -> value`; it raises `ExpressionError`s.
        tree: The lowered tree, for the reference evaluator.
        references: The ids of the nodes whose output it reads.
        has_unknown: True when there is a name that nothing, or at most a key of the metadata, is known by, or an
            unknown function.
        is_range: True when it is a range `a..b` as a whole.
    """

    call: Callable[..., Json]
    tree: ast.expr
    references: frozenset[str]
    has_unknown: bool
    is_range: bool = False


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

    def make() -> Program:
        functions = functions_of(environment)
        scope = Scope(environment.nodes, functions, metadata_names=in_template)
        with _nesting(source, start, kind):
            syntax = parse(source, start, stop, kind)
            tree = lower(syntax, source, kind, scope)
            explain = _explainer(source, start, stop, kind, environment)
            call = compile_closure(tree, environment, functions, explain, with_metadata=in_template)
        is_range = isinstance(syntax, Binary) and syntax.operator == ".."
        return Program(call, tree, frozenset(scope.references), scope.has_unknown, is_range)

    return _kept(environment, (source, start, stop, kind, in_template), make)


@dataclass(frozen=True, slots=True)
class TextProgram:
    """A text with parts, ready to run.

    Attributes:
        call: The closure `(msg, ctx=None) -> text`; it raises `TemplateError`s that tell of the part.
        references: The ids of the nodes whose output the parts read.
        has_unknown: As that of `Program`, of any part.
    """

    call: Callable[..., str]
    references: frozenset[str]
    has_unknown: bool


def compile_text_program(source: str, parts: Sequence[tuple[str, int, int]], environment: Environment) -> TextProgram:
    """Compile a text with parts: `(text before, where the part begins, where it ends)` for each, -1 for no part.

    Raises:
        TemplateError: When a part is no expression or can never be evaluated.
    """

    def make() -> TextProgram:
        functions = functions_of(environment)
        scope = Scope(environment.nodes, functions, metadata_names=True)
        pieces: list[str | tuple[ast.expr, int]] = []
        explainers: dict[int, _Explain] = {}
        for text, start, end in parts:
            pieces.append(text)
            if start >= 0:
                with _nesting(source, start, TemplateError):
                    tree = lower(parse(source, start, end, TemplateError), source, TemplateError, scope)
                pieces.append((tree, start))
                explainers[start] = _explainer(source, start, end, TemplateError, environment)
        starts = list(explainers)

        def explain(error: BaseException, position: int) -> ExpressionError:
            return explainers[starts[bisect_right(starts, position) - 1]](error, position)

        with _nesting(source, starts[0], TemplateError):
            call = compile_text([piece for piece in pieces if piece], environment, functions, explain)
        return TextProgram(call, frozenset(scope.references), scope.has_unknown)

    return _kept(environment, (source, tuple(parts)), make)


@contextmanager
def _nesting(source: str, start: int, kind: type[ExpressionError]) -> Generator[None]:
    """Tell of an expression that is nested more deeply than Python can take."""
    try:
        yield
    except (RecursionError, MemoryError, SyntaxError) as error:
        if isinstance(error, SyntaxError) and "nested" not in str(error):
            raise
        text = "the expression is nested too deeply"
        raise syntax_problem(kind, text, source=source, position=start, hint="Split it with `let`.") from None


def _kept(environment: Environment, key: object, make: Callable[[], _Made]) -> _Made:
    """Give what was made before for an environment with the same host functions, else make it."""
    host = list(environment.functions.items())
    known = environment.programs.get(key)
    if known is not None and known[0] == host:
        return known[1]
    made = make()
    if len(environment.programs) < MAX_KEPT:
        environment.programs[key] = (host, made)
    return made


def _explainer(source: str, start: int, end: int, kind: type[ExpressionError], environment: Environment) -> _Explain:
    """Give what makes an `ExpressionError` of anything that a closure of this text raises."""
    advice = Advice(source, start, end, environment)

    def explain(error: BaseException, position: int) -> ExpressionError:
        position = start if position < 0 else position
        line, column = place(source, position)
        reason = reason_of(error)
        if isinstance(error, RecursionError):
            reason = "the value is nested too deeply"
        told = advice.on(_message_of(error))
        return kind(
            f"expression {shorten(source[start:end])!r}, line {line}, column {column}: {reason}"
            + (f"; {told}" if told else ""),
            source=source,
            position=position,
        )

    return explain


def _message_of(error: BaseException) -> Message | None:
    """Give the message of the closure that an error came out of."""
    found = error.__traceback__.tb_frame.f_locals.get("msg") if error.__traceback__ else None
    return found if isinstance(found, Message) else None
