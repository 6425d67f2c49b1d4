"""Functions and objects that the host program lends, as functions of the language."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.expr.functions.function import Function
from catenary.expr.kinds import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.environment import Environment
    from catenary.jsontext import Json

_KEPT: Final = "host functions"
_SIMPLE: Final = frozenset({str, int, float, bool, type(None)})
_KINDS: Final = (str, int, float, bytes, datetime, timedelta, tzinfo)


def host_functions(environment: Environment) -> dict[str, Function]:
    """Give the host's functions by name, and the public methods of its objects as `object.method`."""
    if not environment.functions:
        return {}
    items = list(environment.functions.items())
    known = environment.programs.get(_KEPT)
    if known is not None and known[0] == items:
        return known[1]
    table: dict[str, Function] = {}
    for name, lent in items:
        if callable(lent):
            table[name] = _function(name, lent)
        else:
            table |= {path: _function(path, method) for path, method in _methods(name, lent).items()}
    environment.programs[_KEPT] = (items, table)
    return table


def public_methods(value: object) -> list[str]:
    """Give the names of the methods of an object that may be called: those without an underscore in front."""
    names = [name for name in dir(value) if not name.startswith("_")]
    return [name for name in names if not _is_computed(value, name) and callable(getattr(value, name, None))]


def _is_computed(value: object, name: str) -> bool:
    """Tell of a property, which must not run only because somebody looks for methods."""
    found = inspect.getattr_static(value, name, None) or inspect.getattr_static(type(value), name, None)
    return isinstance(found, property | cached_property)


def _methods(name: str, lent: object) -> dict[str, Callable[..., Any]]:
    return {f"{name}.{method}": getattr(lent, method) for method in public_methods(lent)}


def _function(name: str, call: Callable[..., Any]) -> Function:
    doc = (inspect.getdoc(call) or "A function of the host program.").strip().split("\n")[0]
    least, most = _arity(call)
    return Function(name, _guarded(name, call), least, most, doc)


def _arity(call: Callable[..., Any]) -> tuple[int, int | None]:
    """Give the smallest and largest number of arguments; any number when that is not known."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return 0, None
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        most = None
    else:
        most = sum(parameter.kind in {0, 1} for parameter in parameters)
    least = sum(parameter.kind in {0, 1} and parameter.default is parameter.empty for parameter in parameters)
    return least, most


def _guarded(name: str, call: Callable[..., Any]) -> Callable[..., Json]:
    """Give a function whose errors tell its name, and which gives nothing that the language does not know."""

    def guarded(*arguments: Json, **named: Json) -> Json:
        try:
            result = call(*arguments, **named)
        except Exception as error:
            raise EvaluationError(_reason(name, error)) from error
        return result if result.__class__ in _SIMPLE else _admitted(name, result)

    return guarded


def _reason(name: str, error: Exception) -> str:
    kind, text = error.__class__.__name__, str(error)
    text = f"{kind}: {text}" if text and isinstance(error, KeyError) else text or kind
    return text if text.startswith(f"{name}()") else f"{name}(): {text}"


def _admitted(name: str, value: Any) -> Json:
    """Give a value as the language has it: read-only mappings become maps, tuples lists.

    Raises:
        EvaluationError: When there is no such kind in the language.
    """
    if value.__class__ in _SIMPLE or isinstance(value, _KINDS):
        return value
    if isinstance(value, Mapping):
        held = cast("Mapping[Any, Any]", value)
        return {_admitted_key(name, key): _admitted(name, item) for key, item in held.items()}
    if isinstance(value, list | tuple):
        return [_admitted(name, item) for item in cast("list[Any]", value)]
    if isinstance(value, bytearray | memoryview):
        return bytes(cast("bytearray", value))
    if inspect.isawaitable(value):
        getattr(value, "close", getattr(value, "cancel", list))()
        raise EvaluationError(f"{name}() is async, and an expression cannot wait; register a plain function")
    kind = value.__class__.__name__
    raise EvaluationError(f"{name}() gave a value of kind {kind}; it must give a JSON value, a time or a duration")


def _admitted_key(name: str, key: Any) -> Any:
    if key.__class__ in _SIMPLE or isinstance(key, str):
        return key
    raise EvaluationError(f"{name}() gave a map with a key of kind {key.__class__.__name__}; a key is a string")
