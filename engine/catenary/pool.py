"""The chains of an engine by id: their versions, and the way from a text to a chain in service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.chain import Chain
from catenary.errors import ChainError, ChainInvalid, EngineError, Problem

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TypeAlias

    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.load import Document

    Source: TypeAlias = str | Path | dict[str, Json] | Document


class ChainPool:
    """Keeps the present version of each chain, and the versions before it until the runs on them are over.

    Attributes:
        present: The present version of each chain, by id.
    """

    def __init__(self, engine: Engine) -> None:
        self.present: dict[str, Chain] = {}
        self._engine = engine
        self._documents: dict[str, str] = {}  # by chain id, the text it was loaded from: 1 is not true
        self._retired: list[Chain] = []
        self._closed = False

    def load(self, source: Source, chain_id: str | None) -> Chain:
        """Load a chain and keep it, see `Engine.load`."""
        document = self._read(source)
        name = document.definition.id if chain_id is None else chain_id
        present = self.present.get(name)
        if present is None:
            return self._keep(self._make(document, name), document)
        if self._documents[name] == repr(document.value):
            return present
        raise ChainError(
            f"chain.duplicate-id: a chain with the id {name!r} is loaded already, and it is another one",
            file=document.file,
            hint="use engine.reload(...) to replace it, or give it another id",
        )

    def reload(self, source: Source, chain_id: str | None) -> Chain:
        """Replace a chain by another version, see `Engine.reload`."""
        document = self._read(source)
        name = document.definition.id if chain_id is None else chain_id
        chain = self._make(document, name)
        present = self.present.get(name)
        if present is not None:
            chain.version = present.version + 1
        self._keep(chain, document)
        if present is not None:
            self._retire(present)
        return chain

    def make(self, source: Source) -> Chain:
        """Make a chain without keeping it, see `Engine.make`."""
        document = self._read(source)
        return self._make(document, document.definition.id)

    def remove(self, chain_id: str) -> None:
        """Take a chain out of service, see `Engine.remove`."""
        chain = self.get(chain_id)
        del self.present[chain_id]
        del self._documents[chain_id]
        self._retire(chain)
        self._engine.clear_cache(chain_id)

    def get(self, chain_id: str) -> Chain:
        """Give the present version of a chain. Raises: EngineError: when there is no such chain."""
        chain = self.present.get(chain_id)
        if chain is None:
            if self._closed:
                raise EngineError("the engine is closed", hint="run messages before it is closed")
            known = ", ".join(sorted(repr(name) for name in self.present)) or "none"
            raise EngineError(f"ruleChain id={chain_id} not found", hint=f"loaded chains: {known}")
        return chain

    def check(self, source: Source) -> list[Problem]:
        """Give everything that is wrong with a chain, see `Engine.check`."""
        from catenary.load import check

        document = self._read(source)
        return check(document, self._engine.registry, self._engine.settings_for(document))

    async def close(self) -> None:
        """Close all versions of all chains, and take in no more."""
        self._closed = True
        for chain in [*self.present.values(), *self._retired]:
            await chain.close()
        for chain_id in self.present:
            self._engine.clear_cache(chain_id)
        self.present.clear()
        self._documents.clear()
        self._retired.clear()

    def _read(self, source: Source) -> Document:
        from catenary.load import Document, read

        if self._closed:
            raise EngineError("the engine is closed", hint="load chains before it is closed, or make another engine")
        return source if isinstance(source, Document) else read(source)

    def _keep(self, chain: Chain, document: Document) -> Chain:
        self.present[chain.id] = chain
        self._documents[chain.id] = repr(document.value)
        return chain

    def _make(self, document: Document, chain_id: str) -> Chain:
        from catenary.load import build, environment_of

        engine = self._engine
        aspects = engine.aspects_of(chain_id)
        if aspects:
            from catenary.aspects.loading import prepared

            document = prepared(document, aspects)
        settings = engine.settings_for(document)
        nodes, problems = build(document, engine.registry, settings)
        if any(problem.severity == "error" for problem in problems):
            raise ChainInvalid(problems, file=document.file)
        definition = document.definition
        limits = engine.defaults.limits_of(definition)
        environment = environment_of(definition, settings)
        chain = Chain(engine, chain_id, definition, nodes, environment, limits, aspects=aspects)
        failed = chain.open()
        if failed:
            problems = [_open_problem(document, node_id, error) for node_id, error in failed]
            raise ChainInvalid(problems, file=document.file) from failed[0][1]
        return chain

    def _retire(self, chain: Chain) -> None:
        self._retired = [old for old in self._retired if not old.is_closed or old.active]
        chain.retire()
        if not chain.is_closed or chain.active:
            self._retired.append(chain)


def _open_problem(document: Document, node_id: str, error: Exception) -> Problem:
    node = next(node for node in document.definition.with_chain_nodes().nodes if node.id == node_id)
    line, column = document.place_of_node(node_id)
    text = f"node {node_id!r} ({node.type}) cannot be opened: {error}"
    return Problem("chain.open-failed", text, getattr(error, "hint", ""), document.file, line, column)
