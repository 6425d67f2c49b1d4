"""Aspects: what a host program weaves around nodes, runs and the loading of chains.

`Aspect` has the join points; `Engine.around`, `before` and `after` take plain functions. The built-in ones are
`Metrics`, `ConcurrencyLimit`, `RateLimit`, `SkipFallback`, `Retrying`, `Caching` and `Validator`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from catenary.aspects.base import Aspect, Objection, Proceed, error_of

__all__ = ["Aspect", "Objection", "Proceed", "error_of"]

_MODULES: Final = {
    "Aspect": "base",
    "Objection": "base",
    "Proceed": "base",
    "error_of": "base",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
