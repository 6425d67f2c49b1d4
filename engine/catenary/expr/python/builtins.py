"""The functions that Python expressions may call: those of Python that are safe, and those of the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from catenary.expr.functions.hosted import host_functions
from catenary.expr.functions.table import functions_of
from catenary.expr.kinds import MAX_ITEMS, EvaluationError, bounded_integer, is_number, kind_of
from catenary.expr.python.operators import as_text, listed, power

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.environment import Environment
    from catenary.expr.functions.function import Function
    from catenary.jsontext import Json

_NOTHING: Final[Any] = object()


def _integer(*arguments: Json) -> int:
    return bounded_integer(int(*arguments))


def _round(number: Json, ndigits: Json = None) -> Json:
    if isinstance(ndigits, int) and abs(ndigits) > 400:
        raise EvaluationError("round() takes at most 400 digits")
    return round(number) if ndigits is None else round(number, ndigits)


def _range(*bounds: Json) -> list[int]:
    made = range(*bounds)
    try:
        length = len(made)
    except OverflowError:
        length = MAX_ITEMS + 1
    if length > MAX_ITEMS:
        raise EvaluationError(f"memory budget exceeded: a range has at most {MAX_ITEMS} elements")
    return list(made)


def _sum(values: Json, start: Json = 0) -> Json:
    if not is_number(start):
        raise EvaluationError(f"sum() adds numbers, and cannot start with {kind_of(start)}")
    return bounded_integer(sum(listed(values), start))


def _power(base: Json, exponent: Json) -> Json:
    return power(base, exponent)


def _enumerate(values: Json, start: Json = 0) -> list[Json]:
    return list(enumerate(listed(values), start))


def _zip(*values: Json) -> list[Json]:
    return list(zip(*map(listed, values), strict=False))


def _reversed(values: Json) -> list[Json]:
    return listed(values)[::-1]


def _sorted(values: Json, *, reverse: Json = False) -> list[Json]:
    return sorted(listed(values), reverse=bool(reverse))


def _next(values: Json, default: Json = _NOTHING) -> Json:
    made = listed(values)
    if made:
        return made[0]
    if default is _NOTHING:
        raise EvaluationError("next() of nothing; a second argument says what it gives then")
    return default


def _list(values: Json = ()) -> list[Json]:
    return listed(values)


def _tuple(values: Json = ()) -> tuple[Json, ...]:
    return tuple(listed(values))


def _set(values: Json = ()) -> set[Json]:
    return set(listed(values))


def _dict(*pairs: Json, **entries: Json) -> dict[str, Json]:
    return dict(*pairs, **entries)


BUILTINS: Final[dict[str, Callable[..., Any]]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "chr": chr,
    "dict": _dict,
    "divmod": divmod,
    "enumerate": _enumerate,
    "float": float,
    "int": _integer,
    "len": len,
    "list": _list,
    "max": max,
    "min": min,
    "next": _next,
    "ord": ord,
    "pow": _power,
    "range": _range,
    "reversed": _reversed,
    "round": _round,
    "set": _set,
    "sorted": _sorted,
    "str": as_text,
    "sum": _sum,
    "tuple": _tuple,
    "zip": _zip,
}
"""Python's own functions, which win over those of the language with the same name."""


@dataclass(frozen=True, slots=True)
class Callee:
    """What is behind the name of a function; when `contextual`, it gets the context before the arguments."""

    call: Callable[..., Any]
    contextual: bool = False


def python_functions(environment: Environment) -> dict[str, Callee]:
    """Give all functions by name: the host's win over Python's, and those over the language's."""
    table = functions_of(environment)
    language = {
        name: Callee(_checked(function), function.contextual)
        for name, function in table.items()
        if not function.counted and name.partition(".")[0] not in environment.functions
    }
    python = {name: Callee(call) for name, call in BUILTINS.items()}
    host = {name: Callee(function.call) for name, function in host_functions(environment).items()}
    return {**language, **python, **host}


def _checked(function: Function) -> Callable[..., Any]:
    """Give a function of the language that looks at the number of its arguments."""
    least, most, call, more = function.least, function.most, function.call, int(function.contextual)

    def checked(*arguments: Json) -> Json:
        given = len(arguments) - more
        if given < least or (most is not None and given > most):
            raise EvaluationError(f"{function.name}() does not take {given} arguments")
        return call(*arguments)

    return checked
