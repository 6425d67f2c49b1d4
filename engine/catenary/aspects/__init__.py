"""Aspects: what a host program weaves around nodes, runs and the loading of chains.

`Aspect` has the join points; `Engine.around`, `before` and `after` take plain functions. The built-in ones are
`Metrics`, `ConcurrencyLimit`, `RateLimit`, `SkipFallback`, `Retrying`, `Caching` and `Validator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.lazy_names import lazy_getattr

if TYPE_CHECKING:
    from catenary.aspects.base import Aspect, Objection, Proceed, error_of
    from catenary.aspects.breaker import SkipFallback
    from catenary.aspects.caching import Caching
    from catenary.aspects.limits import ConcurrencyLimit, RateLimit
    from catenary.aspects.metrics import Metrics
    from catenary.aspects.retrying import Retrying
    from catenary.aspects.runs import when_over
    from catenary.aspects.validator import Rule, Validator

__all__ = [
    "Aspect",
    "Caching",
    "ConcurrencyLimit",
    "Metrics",
    "Objection",
    "Proceed",
    "RateLimit",
    "Retrying",
    "Rule",
    "SkipFallback",
    "Validator",
    "error_of",
    "when_over",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "Aspect": "base",
        "Objection": "base",
        "Proceed": "base",
        "error_of": "base",
        "SkipFallback": "breaker",
        "Caching": "caching",
        "ConcurrencyLimit": "limits",
        "RateLimit": "limits",
        "Metrics": "metrics",
        "Retrying": "retrying",
        "when_over": "runs",
        "Rule": "validator",
        "Validator": "validator",
    },
)
