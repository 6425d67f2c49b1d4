"""Routers: which messages an endpoint takes in, what is done with them first, and where they go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from catenary.endpoints.exchange import Exchange
    from catenary.jsontext import Json

AnswerPolicy: TypeAlias = Literal["last", "first", "list"]


def _nothing() -> dict[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class Target:
    """Where the messages of a router go: its `to`.

    Args:
        path: The target as written: `chain:ID`, `ID`, each with `:NODE` to start there, or `component:TYPE`; empty for
            the chain that the endpoint is in. In the path of a chain, `${key}` is the metadata value of that key.
        wait: True to answer when the chain has ended; else the answer is empty, at once.
        processors: Names of the processors of answers, in order; they are called at each end.
        configuration: The settings of a component target.
        answer: Which end is the answer when several branches end: the last one, the first one, or a list of all.
    """

    path: str = ""
    wait: bool = False
    processors: tuple[str, ...] = ()
    configuration: Mapping[str, Json] = field(default_factory=_nothing)
    answer: AnswerPolicy = "last"


@dataclass(frozen=True, slots=True)
class Router:
    """One router of an endpoint, as it was read, placeholders resolved.

    Args:
        id: Unique in the endpoint.
        params: What the type of the endpoint makes of it: the method for `http`.
        path: `from.path`: a path, a topic, a cron expression, by the type of the endpoint.
        configuration: `from.configuration`.
        processors: Names of the processors of messages, in order; those of the endpoint come before.
        to: Where messages go.
        additional_info: Free.
    """

    id: str
    params: tuple[Json, ...] = ()
    path: str = ""
    configuration: Mapping[str, Json] = field(default_factory=_nothing)
    processors: tuple[str, ...] = ()
    to: Target = field(default_factory=Target)
    additional_info: Mapping[str, Json] = field(default_factory=_nothing)
    plan: Any = field(default=None, compare=False, repr=False)
    """What `Endpoint.handle` does for a message of this router; made by the engine."""


Processor: TypeAlias = "Callable[[Router, Exchange], bool | Awaitable[bool | None] | None]"
"""Gets the router and the exchange, whose message or answer it may change. `False` stops there, silently."""
