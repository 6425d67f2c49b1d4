"""Values of a run: one for each type, inherited by its sub-runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast, overload

T = TypeVar("T")
D = TypeVar("D")


class Scope:
    """Holds one value for each type. A sub-run sees its caller's values and may lay its own over them.

    Nothing in it is ever written anywhere.
    """

    __slots__ = ("_own", "_parent")

    def __init__(self, values: Iterable[Any] | Mapping[type, Any] | None = None, parent: Scope | None = None) -> None:
        self._parent = parent
        self._own: dict[type, Any] = {}
        if isinstance(values, Mapping):
            self._own.update(cast("Mapping[type, Any]", values))
        else:
            for value in values or ():
                self._own[type(value)] = value

    def __getitem__(self, kind: type[T]) -> T:
        """Give the value of this type. Raises: KeyError: when the run has none."""
        scope: Scope | None = self
        while scope is not None:
            if kind in scope._own:
                return scope._own[kind]
            scope = scope._parent
        raise KeyError(f"the run has no {kind.__qualname__}; lay one into its scope when you start it")

    def __contains__(self, kind: type) -> bool:
        return kind in self._own or (self._parent is not None and kind in self._parent)

    @overload
    def get(self, kind: type[T]) -> T | None: ...
    @overload
    def get(self, kind: type[T], default: D) -> T | D: ...
    def get(self, kind: type[T], default: Any = None) -> Any:
        """Give the value of this type, or `default` when the run has none."""
        try:
            return self[kind]
        except KeyError:
            return default

    def set(self, value: Any, kind: type | None = None) -> None:
        """Lay a value into this run's own scope, under its type or under `kind` (a base class or protocol)."""
        self._own[kind or type(value)] = value
