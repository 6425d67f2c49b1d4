"""The shared resources of an engine: connections by id, which any of its chains borrows with `ref://id`."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import ChainInvalid, EngineError, Problem
from catenary.shared.component import SharedComponent, running_loop
from catenary.shared.health import Health, statuses_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from catenary.chain import Chain
    from catenary.component import Component
    from catenary.definition import NodeDefinition
    from catenary.endpoints.standalone import Alone
    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.life.pool import Source, Uses
    from catenary.load import Document, Settings
    from catenary.load.build import Assembly
    from catenary.load.endpoints import BuiltEndpoint
    from catenary.shared.resource import ConnectionStatus, SharedResource


@dataclass(frozen=True, slots=True)
class _Entry:
    """One shared resource: the chain of a single node that holds it.

    Attributes:
        value: What it was read of, with all that is beside it, as plain values.
        fingerprint: The same for two whose settings are the same.
    """

    node: NodeDefinition
    component: SharedComponent[Any, Any]
    chain: Chain
    value: Json
    file: str
    fingerprint: str = field(repr=False)


class SharedResources:
    """The shared resources of an engine, see `Engine.shared`. They outlive all chains, and are closed after them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._entries: dict[str, _Entry] = {}
        self._declared: dict[str, type[Component[Any]]] = {}
        self._waiting: list[SharedResource[Any]] = []
        self._retired: list[Chain] = []
        self._checking: set[asyncio.Task[None]] = set()
        self._closed = False

    # Loading

    def load(self, source: Source) -> list[str]:
        """Load shared resources: a definition like that of a chain, whose nodes are the connections to share.

        Its endpoints stand alone, as those of `engine.endpoints.add`; endpoints of chains may borrow their servers.

        Args:
            source: As for `Engine.load`. Connections between its nodes mean nothing.

        Returns:
            The ids, by which chains say `ref://ID`: those of the nodes, then those of the endpoints.

        Raises:
            ChainInvalid: When it has errors, or a node is of a kind that cannot be shared; nothing is loaded then.
            EngineError: When there is a resource with one of the ids already; `reload` replaces it.
        """
        entries, alone = self._made(source)
        ids = [*(entry.node.id for entry in entries), *(one.id for one in alone)]
        taken = [name for name in ids if name in self._entries or self._engine.stands_alone(name)]
        self._refuse(entries, taken, "use engine.shared.reload(...) to replace it")
        self._put(entries, alone)
        return ids

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
        built = self._built(document, self._engine.settings_for(document))
        self._declared.update((node.id, type(component)) for node, component in built.nodes)
        self._declared.update((one.definition.id, type(one.component)) for one in built.endpoints)
        return built.problems

    async def reload(self, source: Source, id: str | None = None) -> list[str]:  # noqa: A002 - the node's own word
        """Replace shared resources, or load those that are not there yet.

        Who uses a connection at this moment keeps it until it is given back; the next use is of the new one. An
        endpoint with the same configuration goes on running. When the source has errors, everything stays as it is.

        Args:
            source: As for `load`.
            id: Replace this one only; others in the source do not count.

        Raises:
            ChainInvalid: As for `load`.
            EngineError: When the source has no node with this id.
        """
        entries, alone = self._made(source, id)
        if id is not None and not entries and not alone:
            raise EngineError(f"node id={id} not found", hint="the source has no node with this id")
        taken = [entry.node.id for entry in entries if self._engine.stands_alone(entry.node.id)]
        taken += [one.id for one in alone if one.id in self._entries]
        self._refuse(entries, taken, "it is a node here and an endpoint there; take another id")
        old = [self._entries.get(entry.node.id) for entry in entries]
        self._put(entries, alone)
        for entry in old:
            if entry is not None:
                await entry.chain.close()
        return [*(entry.node.id for entry in entries), *(one.id for one in alone)]

    def remake(self, uses: Uses | None = None) -> list[Problem]:
        """Make the connections anew whose settings have changed, see `Engine.reload_all`; with errors they stay.

        Args:
            uses: Not `None` when a component type is replaced by another chain, which no connection is.

        Returns:
            What is wrong with those that could not be made.
        """
        from catenary.load import read

        problems: list[Problem] = []
        for name, before in list(self._entries.items()) if uses is None else ():
            document = read(cast("dict[str, Json]", before.value), file=before.file)
            try:
                (entry,), _ = self._built_of(document, name)
                if entry.fingerprint == before.fingerprint:
                    continue
                self._open(document, [entry])
            except ChainInvalid as error:
                problems += error.problems
                continue
            self._entries[name] = entry
            self._retired = [one for one in self._retired if not one.is_closed] + [before.chain]
            before.chain.retire()
        return list(dict.fromkeys(problems))

    def _refuse(self, entries: list[_Entry], taken: list[str], hint: str) -> None:
        if taken:
            self._close_now(entries)
            raise EngineError(f"duplicate node id:{taken[0]}", hint=hint)

    def _put(self, entries: list[_Entry], alone: list[Alone]) -> None:
        self._entries.update((entry.node.id, entry) for entry in entries)
        if alone:
            self._engine.endpoints.put(*alone)

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
        return statuses_of(chain)

    def health(self) -> Health:
        """Give how the connections of the engine and of all its chains are; this connects nothing."""
        chains = {chain.id: statuses_of(chain) for chain in self._engine.chains.values()}
        return Health(self.statuses(), {name: found for name, found in chains.items() if found})

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

        Connections that nodes of chains own are looked at too.

        Returns:
            How each shared resource is afterwards, by id.
        """
        found: list[Any] = [entry.component for entry in self._entries.values()]
        found += [instance.component for chain in self._engine.chains.values() for instance in chain.instances]
        owners = [cast("SharedComponent[Any, Any]", one) for one in found if isinstance(one, SharedComponent)]
        await asyncio.gather(*(one.shared.check() for one in owners if one.reference is None))
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
        while self._retired:
            await self._retired.pop().close()

    def _entry(self, id: str) -> _Entry:  # noqa: A002 - the node's own word
        entry = self._entries.get(id)
        if entry is None:
            known = ", ".join(self._entries) or "none"
            raise EngineError(f"node resource not found id={id}", hint=f"the shared resources are: {known}")
        return entry

    def _made(self, source: Source, only: str | None = None) -> tuple[list[_Entry], list[Alone]]:
        from catenary.load import Document, read

        if self._closed:
            raise EngineError("the engine is closed", hint="make another engine")
        document = source if isinstance(source, Document) else read(source)
        entries, endpoints = self._built_of(document, only)
        self._open(document, entries)
        return entries, self._engine.endpoints.made_of(document, endpoints) if endpoints else []

    def _built_of(self, document: Document, only: str | None) -> tuple[list[_Entry], list[BuiltEndpoint]]:
        """Make what a document has, or the one thing with an id; nothing is opened."""
        from catenary.load import environment_of
        from catenary.load.endpoints import fingerprint_of

        engine = self._engine
        settings = engine.settings_for(document)
        built = self._built(document, settings)
        if any(problem.severity == "error" for problem in built.problems):
            raise ChainInvalid(built.problems, file=document.file)
        environment = environment_of(document.definition, settings)
        entries: list[_Entry] = []
        for node, component in built.nodes:
            if only in {None, node.id}:
                chain = self._chain(document, node, component, environment)
                fingerprint = fingerprint_of(component, node.configuration, environment)
                shared = cast("SharedComponent[Any, Any]", component)
                entries.append(_Entry(node, shared, chain, document.value, document.file, fingerprint))
        return entries, [one for one in built.endpoints if only in {None, one.definition.id}]

    def _built(self, document: Document, settings: Settings) -> Assembly:
        """Make the components; a connection is needed by none of them, so that all count as reached."""
        from catenary.load import assemble

        made = assemble(document, self._engine.registry, settings, stands_alone=True)
        moot = {"chain.unreachable-node"} | ({"chain.no-nodes"} if made.endpoints else set[str]())
        problems = [problem for problem in made.problems if problem.code not in moot]
        problems += [_not_shared(document, node) for node, one in made.nodes if not isinstance(one, SharedComponent)]
        return replace(made, problems=sorted(problems, key=lambda problem: (problem.line, problem.column)))

    def _chain(self, document: Document, node: NodeDefinition, component: Any, environment: Any) -> Chain:
        from catenary.chain import Chain

        definition = replace(
            document.definition, nodes=(node,), connections=(), rule_chain_connections=(), first_node_index=0
        )
        limits = self._engine.defaults.limits_of(definition)
        chain = Chain(self._engine, document.definition.id, definition, [(node, component)], environment, limits)
        chain.gate.loop = running_loop()
        return chain

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
