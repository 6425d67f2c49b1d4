"""How long an expression takes to compile and to evaluate."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Final

from catenary.errors import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from catenary.cli._formula import Kind
    from catenary.cli._given import Given
    from catenary.expr import Environment
    from catenary.jsontext import Json

_COMPILATIONS: Final = 5
_SECONDS: Final = 0.1
"""How long an evaluation is repeated to be timed."""


def times_of(kind: Kind, source: str, environment: Environment, given: Given) -> dict[str, Json]:
    """Time compiling, with nothing known from before, and evaluating: the shortest of several, in microseconds."""
    from catenary.cli._formula import compiled

    call = compiled(kind, source, environment)
    times: dict[str, Json] = {"compileUs": _microseconds(min(_compile_times(kind, source, environment)))}
    with contextlib.suppress(ExpressionError):  # the evaluation tells it
        times["evaluateUs"] = _microseconds(min(_evaluation_times(call, given)))
    return times


def _compile_times(kind: Kind, source: str, environment: Environment) -> Iterator[float]:
    from catenary.cli._formula import compiled
    from catenary.expr.closure import forget_code

    for _ in range(_COMPILATIONS):
        fresh = replace(environment)  # which keeps no programs
        forget_code()
        began = perf_counter()
        compiled(kind, source, fresh)
        yield perf_counter() - began


def _evaluation_times(call: Callable[..., Json], given: Given) -> Iterator[float]:
    message = given.message
    call(message, given)  # parses the data, which is done once a message
    end = perf_counter() + _SECONDS
    rounds = 1
    while (began := perf_counter()) < end:
        for _ in range(rounds):
            call(message, given)
        took = perf_counter() - began
        yield took / rounds
        rounds = min(rounds * 2, 1000) if took < 0.001 else rounds


def _microseconds(seconds: float) -> float:
    return float(f"{seconds * 1e6:.3g}")
