"""The shared resources of an engine: connections by id, which any of its chains borrows with `ref://id`."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import ChainInvalid, EngineError, Problem, ResourceError
from catenary.shared.component import SharedComponent, running_loop
from catenary.shared.resource import ConnectionStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from catenary.chain import Chain
    from catenary.component import Component
    from catenary.definition import NodeDefinition
    from catenary.engine import Engine
    from catenary.life.pool import Source
    from catenary.load import Document, Settings
    from catenary.shared.resource import SharedResource

    Built = tuple[NodeDefinition, Component[Any]]


@dataclass(frozen=True, slots=True)
class _Entry:
    """One shared resource: the chain of a single node that holds it."""

    node: NodeDefinition
    component: SharedComponent[Any, Any]
    chain: Chain


class SharedResources:
    """The shared resources of an engine, see `Engine.shared`. They outlive all chains, and are closed after them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._entries: dict[str, _Entry] = {}
        self._declared: dict[str, type[Component[Any]]] = {}
        self._waiting: list[SharedResource[Any]] = []
        self._checking: set[asyncio.Task[None]] = set()
        self._closed = False

    # Loading

    def load(self, source: Source) -> list[str]:
        """Load shared resources: a definition like that of a chain, whose nodes are the connections to share.

        Args:
            source: As for `Engine.load`. Connections between its nodes mean nothing.

        Returns:
            The ids, by which chains say `ref://ID`.

        Raises:
            ChainInvalid: When it has errors, or a node is of a kind that cannot be shared; nothing is loaded then.
            EngineError: When there is a resource with one of the ids already; `reload` replaces it.
        """
        entries = self._made(source)
        for entry in entries:
            if entry.node.id in self._entries:
                self._close_now(entries)
                raise EngineError(
                    f"duplicate node id:{entry.node.id}", hint="use engine.shared.reload(...) to replace it"
                )
        self._entries.update((entry.node.id, entry) for entry in entries)
        return [entry.node.id for entry in entries]

    def declare(self, source: Source) -> list[Problem]:
        """Have chains checked as if these were loaded. Nothing is opened, and no chain can borrow them.

        Args:
            source: As for `load`.

        Returns:
            Everything that is wrong with it, warnings included, in order of place.

        Raises:
            ChainSyntaxError: When the text is neither JSON nor YAML.
        """
        from catenary.load import Document, read

        document = source if isinstance(source, Document) else read(source)
        nodes, problems = self._built(document, self._engine.settings_for(document))
        self._declared.update((node.id, type(component)) for node, component in nodes)
        return problems

    async def reload(self, source: Source, id: str | None = None) -> list[str]:  # noqa: A002 - the node's own word
        """Replace shared resources, or load those that are not there yet.

        Who uses a connection at this moment keeps it until it is given back; the next use is of the new one. When
        the source has errors, everything stays as it is.

        Args:
            source: As for `load`.
            id: Replace this one only; others in the source do not count.

        Raises:
            ChainInvalid: As for `load`.
            EngineError: When the source has no node with this id.
        """
        entries = self._made(source, id)
        if id is not None and not entries:
            raise EngineError(f"node id={id} not found", hint="the source has no node with this id")
        old = [self._entries.get(entry.node.id) for entry in entries]
        self._entries.update((entry.node.id, entry) for entry in entries)
        for entry in old:
            if entry is not None:
                await entry.chain.close()
        return [entry.node.id for entry in entries]

    async def remove(self, id: str) -> None:  # noqa: A002 - the node's own word
        """Take a shared resource out and close it; who uses it at this moment keeps it until it is given back.

        Raises:
            EngineError: When there is none.
        """
        entry = self._entry(id)
        del self._entries[id]
        await entry.chain.close()

    # Looking

    def ids(self, type: str | None = None) -> list[str]:  # noqa: A002 - the node's own word
        """Give the ids, in the order in which they were loaded; all, or those of one node type."""
        return [entry.node.id for entry in self._entries.values() if type in {None, entry.node.type}]

    def definitions(self) -> dict[str, list[NodeDefinition]]:
        """Give the nodes as they are written, by type."""
        found: dict[str, list[NodeDefinition]] = {}
        for entry in self._entries.values():
            found.setdefault(entry.node.type, []).append(entry.node)
        return found

    def get(self, id: str) -> SharedComponent[Any, Any]:  # noqa: A002 - the node's own word
        """Give the component behind a shared resource. Raises: EngineError: when there is none."""
        return self._entry(id).component

    def borrow(self, id: str) -> AbstractAsyncContextManager[Any]:  # noqa: A002 - the node's own word
        """Lend a connection to the host program: `async with engine.shared.borrow("db") as db:`.

        Raises:
            EngineError: When there is none.
            ResourceError: When it refers to something that is not there.
        """
        entry = self._entry(id)
        return entry.component.lender(entry.chain).shared.use()

    def find(self, id: str) -> tuple[SharedComponent[Any, Any], Chain] | None:  # noqa: A002 - the node's own word
        """Give the component behind a shared resource and the chain that holds it; `None` when there is none."""
        entry = self._entries.get(id)
        return None if entry is None else (entry.component, entry.chain)

    def kinds(self) -> dict[str, type[Component[Any]]]:
        """Give the component classes, by id; those that are only declared are among them."""
        return {**self._declared, **{name: type(entry.component) for name, entry in self._entries.items()}}

    def status(self, id: str) -> ConnectionStatus:  # noqa: A002 - the node's own word
        """Give how a connection is; this connects nothing. Raises: EngineError: when there is none."""
        entry = self._entry(id)
        return entry.component.lender(entry.chain).shared.status

    def statuses(self) -> dict[str, ConnectionStatus]:
        """Give how each connection is, by id; this connects nothing."""
        return {name: self.status(name) for name in self._entries}

    @staticmethod
    def statuses_of(chain: Chain) -> dict[str, ConnectionStatus]:
        """Give how the connections are that nodes of a chain use, own and borrowed ones, by node id.

        This connects nothing. A reference that leads nowhere is `disconnected`, with the reason.
        """
        found: dict[str, ConnectionStatus] = {}
        for instance in chain.instances:
            component: Any = instance.component
            if isinstance(component, SharedComponent):
                try:
                    lender = cast("SharedComponent[Any, Any]", component.lender(chain))
                    found[instance.node_id] = lender.shared.status
                except ResourceError as error:
                    found[instance.node_id] = ConnectionStatus("disconnected", str(error))
        return found

    # Connecting

    def connect_at_load(self, resource: SharedResource[Any], *, is_async: bool) -> None:
        """Connect while a chain is loaded; what needs an event loop inside one waits for `connect`."""
        if not is_async:
            resource.connect_now()
        elif running_loop() is None:
            self._engine.loops.run(resource.connect())
        else:
            self._waiting.append(resource)

    async def connect(self) -> None:
        """Connect all shared resources, and what could not be connected while it was loaded.

        Raises:
            Exception: What the first that failed raised.
        """
        waiting, self._waiting = self._waiting, []
        for resource in waiting:
            await resource.connect()
        for entry in list(self._entries.values()):
            await entry.component.lender(entry.chain).shared.connect()

    async def connect_waiting(self) -> None:
        """Connect what could not be connected while it was loaded. Raises: as `connect`."""
        waiting, self._waiting = self._waiting, []
        for resource in waiting:
            await resource.connect()

    async def check(self) -> dict[str, ConnectionStatus]:
        """Look whether the connections work, and make those again that do not; those not in use stay so.

        Returns:
            How each is afterwards, by id.
        """
        for entry in list(self._entries.values()):
            if entry.component.reference is None:
                await entry.component.shared.check()
        return self.statuses()

    def check_every(self, seconds: float) -> Callable[[], None]:
        """Check the connections again and again, in the running event loop, until the engine is closed.

        Returns:
            A function that ends it.
        """

        async def keep_checking() -> None:
            while True:
                await self._engine.clock.sleep(seconds)
                with suppress(EngineError):  # one that is taken out meanwhile
                    await self.check()

        task = asyncio.get_running_loop().create_task(keep_checking())
        self._checking.add(task)
        task.add_done_callback(self._checking.discard)

        def stop() -> None:
            task.cancel()

        return stop

    # Life

    async def close(self) -> None:
        """Close all connections. May be awaited again."""
        self._closed = True
        for task in self._checking:
            task.cancel()
        while self._entries:
            _, entry = self._entries.popitem()
            await entry.chain.close()

    def _entry(self, id: str) -> _Entry:  # noqa: A002 - the node's own word
        entry = self._entries.get(id)
        if entry is None:
            known = ", ".join(self._entries) or "none"
            raise EngineError(f"node resource not found id={id}", hint=f"the shared resources are: {known}")
        return entry

    def _made(self, source: Source, only: str | None = None) -> list[_Entry]:
        from catenary.load import Document, environment_of, read

        engine = self._engine
        if self._closed:
            raise EngineError("the engine is closed", hint="make another engine")
        document = source if isinstance(source, Document) else read(source)
        settings = engine.settings_for(document)
        nodes, problems = self._built(document, settings)
        if any(problem.severity == "error" for problem in problems):
            raise ChainInvalid(problems, file=document.file)
        environment = environment_of(document.definition, settings)
        entries: list[_Entry] = []
        for node, component in nodes:
            if only in {None, node.id}:
                chain = self._chain(document, node, component, environment)
                entries.append(_Entry(node, cast("SharedComponent[Any, Any]", component), chain))
        self._open(document, entries)
        return entries

    def _built(self, document: Document, settings: Settings) -> tuple[list[Built], list[Problem]]:
        """Make the components; a connection is needed by none of them, so that all count as reached."""
        from catenary.load import build

        nodes, found = build(document, self._engine.registry, settings)
        problems = [problem for problem in found if problem.code != "chain.unreachable-node"]
        problems += [_not_shared(document, node) for node, one in nodes if not isinstance(one, SharedComponent)]
        return nodes, sorted(problems, key=lambda problem: (problem.line, problem.column))

    def _chain(self, document: Document, node: NodeDefinition, component: Any, environment: Any) -> Chain:
        from catenary.chain import Chain

        definition = replace(
            document.definition, nodes=(node,), connections=(), rule_chain_connections=(), first_node_index=0
        )
        limits = self._engine.defaults.limits_of(definition)
        return Chain(self._engine, document.definition.id, definition, [(node, component)], environment, limits)

    def _open(self, document: Document, entries: list[_Entry]) -> None:
        for entry in entries:
            for node_id, error in entry.chain.open():
                self._close_now(entries)
                line, column = document.place_of_node(node_id)
                text = f"node {node_id!r} ({entry.node.type}) cannot be opened: {error}"
                hint = getattr(error, "hint", "")
                problem = Problem("chain.open-failed", text, hint, document.file, line, column)
                raise ChainInvalid([problem], file=document.file) from error

    @staticmethod
    def _close_now(entries: Iterable[_Entry]) -> None:
        for entry in entries:
            entry.chain.close_now()


def _not_shared(document: Document, node: NodeDefinition) -> Problem:
    line, column = document.place_of_node(node.id)
    text = f"node {node.id!r} ({node.type}): not SharedNode"
    hint = "only nodes with a connection can be shared"
    return Problem("chain.not-shared", text, hint, document.file, line, column)
