"""The other libraries, where they are installed (extra `bench`)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Mapping

_MODULES: Final = {"langgraph": "langgraph_chains", "pydantic-graph": "pydantic_graph_chains"}


@dataclass(frozen=True, slots=True)
class Peer:
    """The same chains in another library.

    Attributes:
        cases: By name, what handles this many messages.
        waiting: Makes a run that reads a message and waits at a gate.
    """

    name: str
    version: str
    cases: Mapping[str, Callable[[int], None]]
    waiting: Callable[[asyncio.Event], Callable[[], Awaitable[Any]]]


def find() -> tuple[list[Peer], list[str]]:
    """Give the libraries that are installed, and the names of those that are not."""
    found: list[Peer] = []
    missing: list[str] = []
    for name, module_name in _MODULES.items():
        try:
            module = import_module(f"peers.{module_name}")
        except ImportError:
            missing.append(name)
        else:
            found.append(Peer(name, version(name), module.cases(), module.waiting))
    return found, missing
