"""What scripts may ask of the host program: its functions, its objects and `$ctx`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import ScriptError
from catenary.expr.functions.hosted import public_methods
from catenary.expr.script.values import parse
from catenary.jsontext import dumps, dumps_in_order, loads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catenary.expr.script.engine import ScriptHost
    from catenary.jsontext import Json

_CACHES = {"ChainCache": "chain_cache", "GlobalCache": "global_cache"}
_GETTERS = {f"$ctx.{cache}.Get" for cache in _CACHES}
"""What gives values that are kept: `None` is one of them, `null`, while it is nothing from any other function."""

_OPERATIONS = {
    "Set": "set",
    "Get": "get",
    "Has": "has",
    "Delete": "delete",
    "GetByPrefix": "get_by_prefix",
    "DeleteByPrefix": "delete_by_prefix",
}


def names_of(host: ScriptHost) -> str:
    """Give the JSON of the names a realm installs: null for a function, the names of its methods for an object."""
    return dumps({name: None if callable(value) else public_methods(value) for name, value in host.functions.items()})


class Replay:
    """The host's side of one call of a script: answers each request once, and keeps the answers on record.

    A script cannot wait for the host, so it is stopped at a request that is not on record yet and run again with the
    answer. What a host function does is done once for each time the script calls it.

    Args:
        host: The functions and objects.
        ctx: What stands behind `$ctx`.
        most: How many requests may be answered.
    """

    def __init__(self, host: ScriptHost, ctx: object, most: int) -> None:
        self._host = host
        self._ctx = ctx
        self._most = most
        self._answers: list[str] = []

    def answer(self, told: str) -> str:
        """Answer a request and give the record with which the script is to be run again.

        Raises:
            ScriptError: When there were too many, or the script did not go the same way twice.
        """
        request, seed, times = loads(told)
        if request is None:
            raise ScriptError(
                "the script called other host functions when it was run again",
                hint="a script that calls host functions must not depend on what a host script remembers",
            )
        name, arguments = parse(request)
        if len(self._answers) >= self._most:
            raise ScriptError(
                f"the script called host functions more than {self._most} times",
                hint=f"look for a loop around `{name}`, or give it a list to work on at once",
            )
        worked, text = self._ask(name, arguments)
        self._answers.append(dumps([request, worked, text]))
        return f"[[{','.join(self._answers)}],{dumps(seed)},{dumps(times)}]"

    def _ask(self, name: str, arguments: list[Json]) -> tuple[bool, str]:
        try:
            result = self._find(name)(*arguments)
            if inspect.isawaitable(result):
                _close(result)
                raise TypeError(f"{name} is async, and a script cannot wait: register a plain function")
            return True, "null" if result is None and name in _GETTERS else _text_of(name, result)
        except Exception as error:
            text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
            return False, text or error.__class__.__name__

    def _find(self, name: str) -> Callable[..., Any]:
        if name.startswith("$ctx."):
            return self._of_context(name)
        head, _, method = name.partition(".")
        if name in self._host.functions:
            return cast("Callable[..., Any]", self._host.functions[name])
        return cast("Callable[..., Any]", getattr(self._host.functions[head], method))

    def _of_context(self, name: str) -> Callable[..., Any]:
        _, part, *operation = name.split(".")
        if self._ctx is None:
            raise LookupError(f"{name}: the script runs outside of a chain")
        if part == "GetSelfId":
            return lambda: getattr(self._ctx, "node_id")  # noqa: B009 - any context will do
        if part == "GetChainId":
            return lambda: getattr(self._ctx, "chain_id")  # noqa: B009
        cache = getattr(self._ctx, _CACHES[part])
        return cast("Callable[..., Any]", getattr(cache, _OPERATIONS[operation[0]]))


def _text_of(name: str, result: object) -> str:
    if result is None:
        return ""
    try:
        return dumps_in_order(_plain(result))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{name} gave what is no JSON value: {error}") from None


def _plain(value: Any) -> Json:
    """Turn read-only mappings and tuples into what JSON text can hold."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return value


def _close(awaitable: object) -> None:
    close = getattr(awaitable, "close", None) or getattr(awaitable, "cancel", None)
    if close is not None:
        close()
