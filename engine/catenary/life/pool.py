"""The chains of an engine by id and alias: their versions, and the way from a text to a chain in service."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

from catenary.chain import Chain
from catenary.errors import ChainError, ChainInvalid, ConfigError, EngineError, Problem
from catenary.life.notices import Notices
from catenary.life.stopping import Stops
from catenary.life.versions import SHUTTING_DOWN
from catenary.masking import secrets_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from catenary.component import Component
    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.load import Document, Settings
    from catenary.masking import Masker

    Source: TypeAlias = str | Path | dict[str, Json] | Document
    Uses: TypeAlias = Callable[[Iterable[str]], bool]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a chain was loaded from.

    Attributes:
        file: The file; empty when it came from elsewhere.
        value: The plain value of the document, as it was before any aspect changed it.
    """

    file: str
    value: Json

    def is_same(self, document: Document) -> bool:
        """Tell whether a document says the same; the number 1 is not `true`."""
        return repr(self.value) == repr(document.value)


class ChainPool:
    """Keeps the present version of each chain, and the versions before it until the runs on them are over.

    Loading is done by one thread at a time; looking up waits for nobody.

    Attributes:
        present: The present version of each chain, by id; one that is being stopped is still among them.
        retired: Earlier versions that are not closed yet.
        notices: Who is told of changes.
        loop: The event loop on which chains were last loaded or opened.
        drain: Stops what brings messages into these chains, within so many seconds; None while nothing does.
        remakes: Each makes something that stands outside of chains anew, all of it or what uses some types, and gives
            what is wrong with it.
        stays_closed: Gives the ids of the nodes of a chain that are not opened, as something else stands in for them.
    """

    def __init__(self, engine: Engine) -> None:
        self.present: dict[str, Chain] = {}
        self.retired: list[Chain] = []
        self.notices = Notices()
        self.closed = False
        self.loop: asyncio.AbstractEventLoop | None = None
        self.drain: Callable[[Collection[str], float], Awaitable[None]] | None = None
        self.remakes: list[Callable[[Uses | None], list[Problem]]] = []
        self.stays_closed: Callable[[Chain], Collection[str]] | None = None
        self._engine = engine
        self._loaded: dict[str, Loaded] = {}
        self._hosts: dict[str, str] = {}  # id of a chain inside another one -> id of the one that is in service
        self._aliases: dict[str, list[str]] = {}
        self._lock = RLock()
        self.stops = Stops(self)

    # Looking up

    def get(self, name: str) -> Chain:
        """Give the present version of a chain. Raises: EngineError: when there is none, or several have the alias."""
        chain = self.present.get(name)
        if chain is None:
            chain = self.present.get(self.id_of(name))
        if chain is None:
            if self.closed:
                raise EngineError("the engine is closed", hint="run messages before it is closed")
            known = ", ".join(sorted(repr(name) for name in self.present)) or "none"
            raise EngineError(f"ruleChain id={name} not found", hint=f"loaded chains: {known}")
        return chain

    def has(self, name: str) -> bool:
        """Tell whether a chain has that id, or several may have it as their alias."""
        return name in self.present or name in self._aliases

    def id_of(self, name: str) -> str:
        """Give the id that a name stands for: itself, when it is no alias. Raises: EngineError: when it is unclear."""
        ids = self._aliases.get(name)
        if not ids or name in self.present:
            return name
        if len(ids) > 1:
            several = ", ".join(repr(one) for one in ids)
            raise EngineError(
                f"{name!r} is the own id of several chains: {several}", hint="name the one that is meant by its id"
            )
        return ids[0]

    # Changing

    def load(self, source: Source, chain_id: str | None) -> Chain:
        """Load a chain and keep it, see `Engine.load`."""
        document = self._read(source)
        name = document.definition.id if chain_id is None else chain_id
        with self._lock:
            present = self._free_for(name)
            if present is None:
                chain = self._make(document, name)
                self._keep(chain, document)
            elif self._loaded[present.id].is_same(document):
                return present
            else:
                raise _taken(document, name, present)
        self.notices.tell(self.notices.new, chain)
        return chain

    def reload(self, source: Source, chain_id: str | None) -> Chain:
        """Replace a chain by another version, see `Engine.reload`."""
        document = self._read(source)
        with self._lock:
            name = self.id_of(document.definition.id if chain_id is None else chain_id)
            before = self._free_for(name)
            chain = self._make(document, name)
            self._replace(before, chain, document)
        if before is None:
            self.notices.tell(self.notices.new, chain)
        else:
            self.notices.tell(self.notices.updated, chain, "")
        return chain

    def reload_all(self, names: Collection[str] | None = None, uses: Uses | None = None) -> list[Chain]:
        """Make another version of each chain, see `Engine.reload_all`, and of what stands outside of chains.

        Args:
            names: Those with these ids; all if absent.
            uses: Tells by the types of their targets which endpoints that stand alone; all if absent.
        """
        from catenary.load import read

        chains: list[Chain] = []
        problems: list[Problem] = []
        for name, loaded in list(self._loaded.items()):
            if names is not None and name not in names:
                continue
            try:
                chains.append(self.reload(read(cast("dict[str, Json]", loaded.value), file=loaded.file), name))
            except ChainInvalid as error:
                problems += [replace(one, text=f"chain {name!r}: {one.text}") for one in error.problems]
        for remake in self.remakes:
            problems += remake(uses)
        if problems:
            raise ChainInvalid(problems)
        return chains

    def reload_node(self, chain_id: str, node: dict[str, Json] | str) -> Chain:
        """Replace one node of a chain, see `Engine.reload_node`."""
        from catenary.life.nodes import with_node

        with self._lock:
            before = self._free_for(self.get(chain_id).id)
            assert before is not None
            loaded = self._loaded[before.id]
            document, node_id = with_node(loaded.value, node, loaded.file)
            kept = {one.node_id: one.component for one in before.instances if one.node_id != node_id}
            chain = self._make(document, before.id, before=before, kept=kept)
            self._replace(before, chain, document)
        self.notices.tell(self.notices.updated, chain, node_id)
        return chain

    def make(self, source: Source, inside: str = "") -> Chain:
        """Make a chain without keeping it, see `Engine.make`."""
        document = self._read(source)
        name = document.definition.id
        if inside:
            self._hosts[name] = self._hosts.get(inside, inside)
        return self._make(document, name)

    def remove(self, name: str) -> None:
        """Take a chain out of service, see `Engine.remove`."""
        with self._lock:
            chain = self._free_for(self.get(name).id)
            assert chain is not None
            self.drop(chain)
            self._retire(chain)
        self.forget(chain.id)

    def drop(self, chain: Chain) -> None:
        """Forget a chain and its alias. What it keeps open is left to the caller."""
        with self._lock:
            if self.present.get(chain.id) is chain:
                self._forget_alias(chain)
                del self.present[chain.id]
                del self._loaded[chain.id]

    def forget(self, chain_id: str) -> None:
        """Drop what a chain that was taken out of service has kept, and tell of it."""
        self._clear_cache(chain_id)
        self.notices.tell(self.notices.deleted, chain_id)

    def check(self, source: Source, beside: Container[str] = ()) -> list[Problem]:
        """Give everything that is wrong with a chain, see `Engine.check`."""
        from catenary.load import check

        document, settings = self.prepared(self._read(source))

        def has_chain(name: str) -> bool:
            return name in beside or self.has(name)

        return check(document, self._engine.registry, replace(settings, has_chain=has_chain))

    def prepared(self, document: Document) -> tuple[Document, Settings]:
        """Give a chain as the aspects leave it, and what the engine brings to its loading."""
        aspects = self._engine.aspects_of(document.definition.id)
        if aspects:
            from catenary.aspects.loading import prepared

            document = prepared(document, aspects)
        return document, self._engine.settings_for(document)

    async def close(self, grace_s: float) -> None:
        """Stop all chains and take in no more; close what earlier versions still keep open."""
        self.closed = True
        await self.stops.stop(list(self.present.values()), grace_s)
        for chain in list(self.retired):
            await chain.close()
        self.retired.clear()

    async def put_off(self, versions: Collection[Chain]) -> None:
        """Let runs on these versions that wait for an answer end as paused: no time that they are given would do."""
        await self._engine.pauses.put_off(chains=versions)

    async def sweep(self) -> None:
        """Close earlier versions that nobody is on, where that has to be awaited."""
        for chain in list(self.retired):
            await chain.close_if_idle()
        self.retired = [chain for chain in self.retired if not chain.is_closed]

    # Inside

    def _read(self, source: Source) -> Document:
        from catenary.load import Document, read

        if self.closed:
            raise _closed()
        return source if isinstance(source, Document) else read(source)

    def _free_for(self, name: str) -> Chain | None:
        """Give the chain that may be replaced under a name. Raises: EngineError: when it is just being stopped."""
        chain = self.present.get(self.id_of(name))
        if chain is not None and chain.stopping:
            raise EngineError(SHUTTING_DOWN, hint=f"load the chain {name!r} again when it has been stopped")
        return chain

    def _make(
        self,
        document: Document,
        chain_id: str,
        *,
        before: Chain | None = None,
        kept: Mapping[str, Component[Any]] | None = None,
    ) -> Chain:
        from catenary.load import assemble, environment_of

        engine = self._engine
        settings = engine.settings_for(document)
        aspects = engine.aspects_of(chain_id)
        if aspects:
            from catenary.aspects.loading import prepared

            document = prepared(document, aspects)
        made = assemble(document, engine.registry, settings, kept=kept or {})
        nodes, problems = made.nodes, made.problems
        if any(problem.severity == "error" for problem in problems):
            raise ChainInvalid(problems, file=document.file)
        definition = document.definition
        limits = engine.defaults.limits_of(definition)
        environment = environment_of(definition, settings)
        chain = Chain(engine, chain_id, definition, nodes, environment, limits, aspects=aspects, before=before)
        if problems:
            chain.warnings = problems
        failed = chain.open(but=self.stays_closed(chain) if self.stays_closed else ())
        if failed:
            problems = [_open_problem(document, node_id, error, engine.masker) for node_id, error in failed]
            raise ChainInvalid(problems, file=document.file) from failed[0][1]
        if made.endpoints:
            chain.endpoints = made.endpoints
            engine.masker.add(*secrets_in([built.component.config for built in made.endpoints]))
            _ = engine.endpoints  # which hears of the chain when it is in service
        self._announce(chain)
        return chain

    def _announce(self, chain: Chain) -> None:
        """Tell of a version before it is in service. Raises: Exception: what refuses it; it is closed again then."""
        chain.on_closed = self._tell_closed
        try:
            for callback in list(self.notices.created):
                callback(chain)
        except BaseException:
            chain.retire()
            raise

    def _tell_closed(self, chain: Chain) -> None:
        self._clear_cache(chain.id)  # its last runs may have kept something after it was taken out
        self.notices.tell(self.notices.closed, chain)

    def _clear_cache(self, chain_id: str) -> None:
        """Drop what a chain and those inside it have kept, unless it is in service: it may be loaded again by now."""
        host = self._hosts.get(chain_id, chain_id)
        if host in self.present:
            return
        for name in [chain_id, *(inner for inner, outer in list(self._hosts.items()) if outer == host)]:
            self._hosts.pop(name, None)
            self._engine.clear_cache(name)

    def _replace(self, before: Chain | None, chain: Chain, document: Document) -> None:
        if before is not None:
            chain.version = before.version + 1
            self._forget_alias(before)
        self._keep(chain, document)
        if before is not None:
            self._retire(before)

    def _keep(self, chain: Chain, document: Document) -> None:
        own = chain.definition.id
        if own and own != chain.id:
            self._aliases.setdefault(own, []).append(chain.id)
        self.loop = asyncio._get_running_loop() or self.loop
        self._loaded[chain.id] = Loaded(document.file, document.value)
        self.present[chain.id] = chain  # last: who looks it up sees all of it
        if self.closed:  # meanwhile, by another thread, which may not have seen the chain
            self.drop(chain)
            chain.retire()
            raise _closed()

    def _forget_alias(self, chain: Chain) -> None:
        own = chain.definition.id
        ids = self._aliases.get(own)
        if ids and chain.id in ids:
            ids.remove(chain.id)
            if not ids:
                del self._aliases[own]

    def _retire(self, chain: Chain) -> None:
        self.retired = [old for old in self.retired if not old.is_closed]
        if chain.gate.loop is None:
            chain.gate.loop = self.loop
        self.retired.append(chain)  # before it is closed: what cannot be closed here is closed later
        chain.retire()


def _closed() -> EngineError:
    return EngineError("the engine is closed", hint="load chains before it is closed, or make another engine")


def _taken(document: Document, name: str, present: Chain) -> ChainError:
    text = f"chain.duplicate-id: a chain with the id {name!r} is loaded already, and it is another one"
    if present.id != name:
        text = f"chain.duplicate-id: {name!r} is another name of the chain {present.id!r}, which is another one"
    return ChainError(text, file=document.file, hint="use engine.reload(...) to replace it, or give it another id")


def _open_problem(document: Document, node_id: str, error: Exception, masker: Masker) -> Problem:
    node = next(node for node in document.definition.with_chain_nodes().nodes if node.id == node_id)
    line, column = document.place_of_node(
        node_id, error.field.partition(",")[0] if isinstance(error, ConfigError) else ""
    )
    text = masker.text(f"node {node_id!r} ({node.type}) cannot be opened: {error}")
    return Problem("chain.open-failed", text, getattr(error, "hint", ""), document.file, line, column)
