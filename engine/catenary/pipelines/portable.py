"""A chain as a plain function that can be pickled: for other processes, and for the frameworks that start them."""

from __future__ import annotations

import os
import pickle
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import EngineError
from catenary.replaced import ReplacedChain
from catenary.shared.component import SharedComponent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from catenary.chain import Chain
    from catenary.engine import Engine
    from catenary.options import RunOptions
    from catenary.pipelines.mapping import OnError

_chains: dict[tuple[int, str], Chain] = {}
"""The chains that were built in this process, by process and recipe: a forked process builds its own."""

_gate = Lock()


class ChainFunction:
    """Runs one item through a chain and gives the value of the answer. Made by `Chain.as_function`, not by hand.

    In another process the engine is built at the first call, once for all functions of the same chain and settings.
    """

    def __init__(
        self, chain: Chain, options: RunOptions, on_error: OnError, make_engine: Callable[[], Engine] | None
    ) -> None:
        self._chain: Chain | None = chain
        self._options = options
        self._on_error: OnError = on_error
        self._recipe = b""
        self._make_engine = make_engine
        self.chain_id = chain.id
        self.__name__ = f"chain_{chain.id}"
        self.__qualname__ = self.__name__

    def __call__(self, item: Any) -> Any:
        """Run one item: a `Message`, or data. Returns: the value of the answer; None for what is left out.

        Raises:
            CatenaryError: Why the run did not complete, unless `on_error` says otherwise.
        """
        from catenary.pipelines.mapping import settled

        outcome = settled(item, self.chain.run_sync(item, **self._options), self._on_error)
        return None if outcome is None else outcome.message.value

    def batch(self, items: Iterable[Any], *, concurrency: int = 1) -> list[Any]:
        """Run a batch of items. Returns: the values of the answers, in order; what is left out is not there.

        Raises:
            CatenaryError: As when it is called.
        """
        outcomes = self.chain.map_sync(items, concurrency=concurrency, on_error=self._on_error, **self._options)
        return [outcome.message.value for outcome in outcomes]

    @property
    def chain(self) -> Chain:
        """The chain that runs in this process."""
        if self._chain is None:
            self._chain = _chain_of(self._recipe)
        return self._chain

    def __getstate__(self) -> dict[str, Any]:
        """Give what is pickled. Raises: EngineError: when something the chain needs cannot be."""
        recipe = self._recipe
        if not recipe:
            recipe = _pickled(_recipe_of(self.chain, self._make_engine))
            _pickled({"id": self.chain_id, "on_error": self._on_error, **self._options})
        return {**self.__dict__, "_chain": None, "_make_engine": None, "_recipe": recipe}

    def __repr__(self) -> str:
        return f"ChainFunction({self.chain_id!r})"


def _recipe_of(chain: Chain, make_engine: Callable[[], Engine] | None) -> dict[str, Any]:
    """Give what it takes to build the chain again, and the others that it may run."""
    if chain.retired and chain.id in chain.engine.chains:
        chain = chain.successor()
    if make_engine is None and (missing := _left_behind(chain)):
        raise EngineError(
            f"the chain {chain.id!r} cannot be sent to another process: it needs {missing}, which this engine has",
            hint="use chain.as_function(engine=make_engine), where a function of a module makes an engine that has it",
        )
    others = [(other.id, other.to_dict()) for other in chain.engine.chains.values() if other.id != chain.id]
    recipe: dict[str, Any] = {"id": chain.id, "chain": chain.to_dict(), "make": make_engine}
    recipe["instead"] = chain.replacements.runs if isinstance(chain, ReplacedChain) else {}
    if make_engine is None:
        recipe["others"] = others
        recipe["settings"] = _settings_of(chain)
        recipe["host"] = chain.engine._host
        recipe["functions"] = dict(chain.engine.functions)
        recipe["tools"] = dict(chain.engine.tools)
    return recipe


def _left_behind(chain: Chain) -> str:
    """Name what a chain, or one that it may run, needs of its engine and no recipe carries; empty for nothing."""
    engine = chain.engine
    own = engine.registry.own_types()
    for one in (chain, *engine.chains.values()):
        for step in one.compiled.steps:
            if type(step.component) in own:
                return f"the component type {step.node.type!r}"
            component: Any = step.component
            borrowed = component.reference if isinstance(component, SharedComponent) else None
            if borrowed is not None and borrowed not in one.compiled.by_id:
                return f"the shared resource {borrowed!r}"
    return ""


def _settings_of(chain: Chain) -> dict[str, Any]:
    """Give the arguments that make such an engine: all but the registry, the clock and the cache."""
    engine = chain.engine
    return {
        "properties": dict(engine.properties),
        "roots": tuple(chain.environment.roots),
        "defaults": engine.defaults,
        "allowed_hosts": engine._allowed_hosts,
        "allow_link_local": engine._allow_link_local,
        "allow_web_includes": engine._allow_web_includes,
        "secret_key": engine._secret_key,
        "connect_at_load": engine.connects_at_load,
        "aspects": () if engine._roster is None else tuple(engine._roster.given),
    }


def _pickled(recipe: dict[str, Any]) -> bytes:
    try:
        return pickle.dumps(recipe)
    except Exception as error:
        named = _unpicklable(recipe)
        raise EngineError(
            f"the chain {recipe['id']!r} cannot be sent to another process: {named}: {error}",
            hint="use functions of a module, or chain.as_function(engine=make_engine) with one that makes the engine",
        ) from error


def _unpicklable(value: Any, name: str = "the chain") -> str:
    """Give the name of the part that cannot be pickled."""
    parts = cast("dict[Any, Any]", value) if isinstance(value, dict) else {}
    for key, part in parts.items():
        try:
            pickle.dumps(part)
        except Exception:
            return _unpicklable(part, str(key))
    return name


def _chain_of(recipe: bytes) -> Chain:
    """Give the chain of a recipe, built once in this process."""
    key = os.getpid(), sha256(recipe).hexdigest()
    with _gate:
        chain = _chains.get(key)
        if chain is None:
            chain = _chains[key] = _build(pickle.loads(recipe))
    return chain


def _build(recipe: dict[str, Any]) -> Chain:
    chain = _loaded(recipe)
    return chain.replacing(recipe["instead"]) if recipe["instead"] else chain


def _loaded(recipe: dict[str, Any]) -> Chain:
    if recipe["make"] is not None:
        engine: Engine = recipe["make"]()
        present = engine.chains.get(recipe["id"])
        return present or engine.load(recipe["chain"], id=recipe["id"])
    from catenary.engine import Engine

    engine = Engine(**recipe["settings"])
    engine._host = recipe["host"]
    engine.functions.update(recipe["functions"])
    engine.tools.update(recipe["tools"])
    for chain_id, definition in recipe["others"]:
        engine.load(definition, id=chain_id)
    return engine.load(recipe["chain"], id=recipe["id"])
