"""Where messages go: what the path of a target means, and how it is run for one message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from catenary.errors import EngineError
from catenary.life.versions import SHUTTING_DOWN
from catenary.message import metadata_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from catenary.chain import Chain
    from catenary.endpoints.exchange import Exchange
    from catenary.endpoints.router import Router
    from catenary.engine import Engine
    from catenary.errors import CatenaryError
    from catenary.message import Message, Metadata

    Executor: TypeAlias = Callable[[Router, Exchange], Awaitable[Message | None]]

COMPONENT: Final = "component"
_KEY: Final = re.compile(r"\$\{\s*([^{}]+?)\s*\}")


@dataclass(frozen=True, slots=True)
class Place:
    """What the path of a target says.

    Attributes:
        executor: `chain`, `component`, or the name of an executor of the host.
        name: The id of the chain (empty: that of the endpoint), the type of the component, or what the executor makes
            of it.
        node: The node to start at; empty for the first one.
    """

    executor: str
    name: str
    node: str = ""


def read_path(path: str, executors: Mapping[str, Any]) -> Place:
    """Read the path of a target. Raises: ValueError: when it says nothing that could be run."""
    head, colon, rest = path.strip().partition(":")
    if colon and (head == COMPONENT or head in executors):
        if head == COMPONENT and not rest.strip():
            raise ValueError("names no component: write component:TYPE")
        return Place(head, rest.strip())
    if not colon or head != "chain":
        head, _, rest = path.strip().partition(":")
        return Place("chain", head.strip(), rest.strip())
    name, _, node = rest.partition(":")
    return Place("chain", name.strip(), node.strip())


class Finder(Protocol):
    """Gives the chain of a target and the node to start at."""

    def __call__(self, metadata: Metadata) -> tuple[Chain, str]:
        """Find them. Raises: EngineError: when there is no such chain."""
        ...


class FixedChain:
    """A chain that is named in the path; looked up for each message, so that it is the present version."""

    __slots__ = ("_chain_id", "_engine", "_node")

    def __init__(self, engine: Engine, chain_id: str, node: str) -> None:
        self._engine = engine
        self._chain_id = chain_id
        self._node = node

    def __call__(self, metadata: Metadata) -> tuple[Chain, str]:
        del metadata
        return find_chain(self._engine, self._chain_id), self._node


class NamedChain:
    """A chain whose id, or whose node, is in the metadata of the message.

    A value stands for its part of the path only: what is sent as the id of a chain never names a node in it.
    """

    __slots__ = ("_engine", "_own", "_place")

    def __init__(self, engine: Engine, place: Place, own: str) -> None:
        self._engine = engine
        self._place = place
        self._own = own

    def __call__(self, metadata: Metadata) -> tuple[Chain, str]:
        def value(match: re.Match[str]) -> str:
            held = metadata.get(match.group(1))
            return match.group() if held is None else metadata_text(held)

        name = _KEY.sub(value, self._place.name)
        return find_chain(self._engine, name or self._own), _KEY.sub(value, self._place.node)


class PrivateChain:
    """A chain of one component."""

    __slots__ = ("_chain",)

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def __call__(self, metadata: Metadata) -> tuple[Chain, str]:
        del metadata
        return self._chain, ""


class Unavailable:
    """A target that could not be made."""

    __slots__ = ("_error",)

    def __init__(self, error: CatenaryError) -> None:
        self._error = error

    def __call__(self, metadata: Metadata) -> tuple[Chain, str]:
        del metadata
        raise EngineError(str(self._error), hint=self._error.hint)


def find_chain(engine: Engine, chain_id: str) -> Chain:
    """Give the present version of a chain. Raises: EngineError: when there is none."""
    try:
        return engine.get(chain_id)
    except EngineError as error:
        if engine.is_closing:
            raise EngineError(SHUTTING_DOWN, hint="the engine is being closed") from None
        raise EngineError(f"chainId={chain_id} not found error", hint=error.hint) from None


def has_key(path: str) -> bool:
    """Tell whether a path has a `${key}` that is found in the metadata of each message."""
    return _KEY.search(path) is not None
