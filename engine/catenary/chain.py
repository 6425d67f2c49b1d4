"""A loaded chain: its definition, its components, and its compiled forms. One version; a reload makes another one."""

from __future__ import annotations

import asyncio
import inspect
import logging
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from catenary.errors import EngineError
from catenary.runtime.compiled import Compiled, Limits, compile_chain
from catenary.runtime.context import opening_context
from catenary.runtime.entry import drive_by_hand, perform
from catenary.runtime.watch import observed
from catenary.runtime.weave import weave

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, Mapping

    from catenary.component import Component, Context, Emission
    from catenary.definition import ChainDefinition, NodeDefinition
    from catenary.engine import Engine
    from catenary.events import Event, Listener
    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.options import RunOptions
    from catenary.outcome import Outcome
    from catenary.runtime.compiled import Placed

logger = logging.getLogger(__name__)


class Chain:
    """One version of a chain that an engine has loaded. Made by `engine.load`, not by hand.

    Attributes:
        id: The id by which the engine knows the chain.
        definition: The chain as written.
        engine: The engine it belongs to.
        environment: What its expressions, templates and scripts were compiled with.
        must_open: True while components with an `async def open` wait for the first run.
        version: 1 for the first one loaded under the id, one more with each reload.
    """

    def __init__(
        self,
        engine: Engine,
        chain_id: str,
        definition: ChainDefinition,
        nodes: Iterable[tuple[NodeDefinition, Component[Any]]],
        environment: Environment,
        limits: Limits,
    ) -> None:
        self.engine = engine
        self.id = chain_id
        self.definition = definition
        self.environment = environment
        self.version = 1
        self.active = 0
        self.retired = False
        self.must_open = False
        self._limits = limits
        self._nodes = list(nodes)
        self._opened: list[Component[Any]] = []
        self._unopened: list[tuple[str, Component[Any]]] = []
        self._opening: Future[None] | None = None
        self._gate = Lock()
        self._observed: Compiled | None = None
        self._parts: dict[tuple[bool, str, bool], Compiled] = {}
        self._placed = self._weave({})
        self.compiled = self._compile()

    def _weave(self, replaced: Mapping[str, Callable[..., Any]]) -> list[Placed]:
        kept = referenced_nodes(component for _, component in self._nodes)
        return [
            weave(node, component, keeps_output=node.id in kept, instead=replaced.get(node.id))
            for node, component in self._nodes
        ]

    def _compile(self, *, watched: bool = False) -> Compiled:
        placed = [observed(node) for node in self._placed] if watched else self._placed
        written = self.definition.with_chain_nodes().connections
        connections = [(one.from_id, one.type, one.to_id) for one in written]
        return compile_chain(self, placed, connections, self.definition.first_node_index, self._limits)

    @property
    def observed(self) -> Compiled:
        """The compiled form that publishes events; made the first time somebody asks."""
        if self._observed is None:
            self._observed = self._compile(watched=True)
        return self._observed

    def part(self, compiled: Compiled, node_id: str, *, follow: bool) -> Compiled:
        """Give the part of a compiled form that starts at a node, or is that node alone."""
        key = (compiled is self.compiled, node_id, follow)
        part = self._parts.get(key)
        if part is None:
            part = compiled.from_node(node_id) if follow else compiled.only_node(node_id)
            self._parts[key] = part
        return part

    def replacing(self, runs: Mapping[str, Callable[[Context, Any], Emission | Awaitable[Emission]]]) -> Chain:
        """Give the same chain with other functions in place of what some of its nodes do: for tests and replays.

        It shares the components, open as they are, with this chain; it is not kept under an id, and to close it
        closes nothing. The settings of the nodes, such as `timeout` and `retry`, hold for the functions too.

        Args:
            runs: By node id, the `def` or `async def` that is called like the component's `run`; a join's gets the
                list of its arrivals. A node of a chain that runs inside this one is named `chain id:node id`.

        Raises:
            EngineError: When there is no such node, or when it is an `end` node.
        """
        from catenary.replaced import replace_nodes

        return replace_nodes(self, runs)

    def related(self, chain: Chain | str) -> Chain:
        """Give the chain that a node of this one runs, by id or as it was found.

        Raises:
            EngineError: When there is no such chain.
        """
        return self.engine.get(chain) if isinstance(chain, str) else chain

    def successor(self) -> Chain:
        """Give the version that is in service. Raises: EngineError: when there is none."""
        return self.engine.get(self.id)

    # Running

    def run(self, message: Message | Json, **options: Unpack[RunOptions]) -> Coroutine[Any, Any, Outcome]:
        """Run a message through the chain; to be awaited. See `Engine.run`."""
        return perform(self, message, options)

    def run_sync(self, message: Message | Json, **options: Unpack[RunOptions]) -> Outcome:
        """Run a message through the chain without an event loop, see `Engine.run_sync`."""
        coroutine = perform(self, message, options, has_loop=False)
        return drive_by_hand(coroutine, self.engine.loops)

    def stream(self, message: Message | Json, **options: Unpack[RunOptions]) -> AsyncGenerator[Event]:
        """Run a message through the chain and give the events of the run as they come, see `Engine.stream`."""
        from catenary.streaming import stream

        return stream(self, message, options)

    # Life

    def open(self) -> list[tuple[str, Exception]]:
        """Open the components whose `open` is a plain `def`; the others are opened at first use.

        Returns:
            What each node that cannot be opened raised, by node id; then what was opened is closed again.
        """
        failed: list[tuple[str, Exception]] = []
        for step in self.compiled.steps:
            component = step.component
            if inspect.iscoroutinefunction(component.open):
                self._unopened.append((step.node_id, component))
                self.must_open = True
                continue
            try:
                component.open(opening_context(step))
            except Exception as error:
                failed.append((step.node_id, error))
            else:
                self._opened.append(component)
        if failed:
            self.close_now()
        return failed

    async def open_rest(self) -> None:
        """Open the components whose `open` is an `async def`, once, whoever asks first.

        Raises:
            EngineError: When one of them cannot be opened; the next run tries again.
        """
        while self.must_open:
            mine: Future[None] = Future()
            with self._gate:
                others = self._opening
                if others is None:
                    self._opening = mine
            if others is not None:
                await asyncio.wrap_future(others)  # whoever opens may be at it in another thread, on another loop
                continue
            mine.set_running_or_notify_cancel()  # so that nobody who waits for it can cancel it
            try:
                await self._open_each()
            finally:
                self._opening = None
                mine.set_result(None)

    async def _open_each(self) -> None:
        while self._unopened:
            node_id, component = self._unopened[0]
            try:
                await component.open(opening_context(self.compiled.by_id[node_id]))  # type: ignore[misc]
            except Exception as error:
                raise EngineError(f"node {node_id!r} cannot be opened: {error}") from error
            self._opened.append(component)
            self._unopened.pop(0)
        self.must_open = False

    @contextmanager
    def in_use(self) -> Generator[None]:
        """Keep this version from being closed by a reload while a sub-run is on it."""
        self.active += 1
        try:
            yield
        finally:
            self.active -= 1

    def retire(self) -> None:
        """Take the chain out of service: its components are closed once the runs on it are over."""
        self.retired = True
        if not self.active:
            self.close_now()

    async def close_if_idle(self, *, has_loop: bool = True) -> None:
        """Close the components of a retired chain when no run is on it any more.

        Without an event loop those with an `async def close` stay open until the engine is closed.
        """
        if self.retired and not self.active:
            if has_loop:
                await self.close()
            else:
                self.close_now()

    def close_now(self) -> None:
        """Close the components whose `close` is a plain `def`; the others stay for `close`."""
        rest: list[Component[Any]] = []
        while self._opened:
            component = self._opened.pop()
            if inspect.iscoroutinefunction(component.close):
                rest.append(component)
                continue
            try:
                component.close()
            except Exception:
                self._log_close(component)
        self._opened = rest[::-1]

    async def close(self) -> None:
        """Close all components, the last one opened first; one that cannot be closed is logged."""
        self.retired = True
        while self._opened:
            component = self._opened.pop()
            try:
                closing = component.close()
                if closing is not None:
                    await closing
            except Exception:
                self._log_close(component)

    def _log_close(self, component: Component[Any]) -> None:
        node = next((node.id for node, other in self._nodes if other is component), "")
        logger.exception("a component could not be closed", extra={"chain_id": self.id, "node_id": node})

    @property
    def is_closed(self) -> bool:
        """True when nothing is left to close."""
        return not self._opened

    def to_dict(self) -> dict[str, Json]:
        """Give the chain as written: placeholders unresolved, unknown keys kept."""
        return self.definition.to_dict()

    def __repr__(self) -> str:
        return f"Chain({self.id!r}, {len(self._nodes)} nodes, version {self.version})"


def referenced_nodes(components: Iterable[Component[Any]]) -> set[str]:
    """Give the ids of the nodes whose output some component's settings name."""
    found: set[str] = set()
    waiting: list[Any] = [component.config for component in components]
    while waiting:
        value = waiting.pop()
        names = getattr(value, "node_references", None)
        if names is not None:
            found.update(names)
        elif isinstance(value, (list, tuple)):
            waiting.extend(value)  # type: ignore[arg-type]
        elif isinstance(value, dict):
            waiting.extend(value.values())  # type: ignore[arg-type]
        elif hasattr(value, "model_fields_set"):
            waiting.extend(value.__dict__.values())
    return found
