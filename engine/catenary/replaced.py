"""A chain in which functions stand in for some nodes; the chains that it runs are seen the same way."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from catenary.chain import Chain
from catenary.dynamic.component import with_inner
from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    Runs: TypeAlias = Mapping[str, Callable[..., Any]]


def replace_nodes(chain: Chain, runs: Runs) -> Chain:
    """Give a view of a chain, see `Chain.replacing`. Raises: EngineError: when a node cannot be replaced."""
    base = chain.base if isinstance(chain, ReplacedChain) else chain
    before = chain.replacements.runs if isinstance(chain, ReplacedChain) else {}
    for name in runs:
        _check(base, name)
    return Replacements({**before, **{name: _method(run) for name, run in runs.items()}}, base).view(base)


class Replacements:
    """The functions that stand in for nodes, and the chains as they are with them.

    Attributes:
        runs: By node id of the chain at the top, or by `chain id:node id`.
    """

    def __init__(self, runs: Runs, top: Chain) -> None:
        self.runs = dict(runs)
        self._top = top.id
        self._base = top
        self._views: dict[str, ReplacedChain] = {}

    def view(self, chain: Chain) -> ReplacedChain:
        """Give a chain with what stands in for its nodes; the same one again while the chain is the same version."""
        view = self._views.get(chain.id)
        if view is None or view.base is not chain:
            view = self._views[chain.id] = ReplacedChain(chain, self)
        return view

    def of(self, chain: Chain) -> dict[str, Callable[..., Any]]:
        """Give what stands in for the nodes of a chain, by node id."""
        found: dict[str, Callable[..., Any]] = {}
        place = self._place_of(chain)
        for name, run in self.runs.items():
            if place and name.startswith(place):
                found[name[len(place) :]] = run
            elif chain.id == self._top and name in chain.compiled.by_id:
                found[name] = run
            elif name.startswith(f"{chain.id}:"):
                found[name[len(chain.id) + 1 :]] = run
        return found

    def _place_of(self, chain: Chain) -> str:
        """Give what stands before the names of nodes in a chain that a node has made for itself; empty for others."""
        around = (self._base, *chain.engine.chains.values())
        inner = (place for one in with_inner(around) for place, own in own_chains(one, self._top) if own is chain)
        return next(inner, "")


def own_chains(chain: Chain, top: str) -> Iterator[tuple[str, Chain]]:
    """Give the chains that nodes of a chain have made for themselves, and those inside, each with its place.

    Args:
        chain: The chain.
        top: The id of the chain whose nodes are named by their ids alone; others are named `chain id:node id`.

    Returns: names of nodes in them begin with the place, such as `agent/`.
    """
    yield from _own_chains(chain, "" if chain.id == top else f"{chain.id}:")


def _own_chains(chain: Chain, prefix: str) -> Iterator[tuple[str, Chain]]:
    for step in chain.compiled.steps:
        for own in step.component.own_chains():
            place = f"{prefix}{step.node_id}/"
            yield place, own
            yield from _own_chains(own, place)


class ReplacedChain(Chain):
    """A view of one version of a chain. What is open, and who is on it, is known to that version itself.

    Attributes:
        base: The version that it is a view of.
        replacements: What stands in for nodes, here and in the chains that this one runs.
    """

    def __init__(self, base: Chain, replacements: Replacements) -> None:
        self.base = base
        self.__dict__.update(base.__dict__)  # all that the two share; the properties below look at `base` itself
        self.replacements = replacements
        self._observed = None
        self._recorded = None
        self._parts = {}
        self._placed = self._weave(replacements.of(base))
        self.compiled = self._compile()

    @property
    def retired(self) -> bool:
        """True when the version is in service no more."""
        return self.base.retired

    @retired.setter
    def retired(self, retired: bool) -> None:
        self.base.retired = retired

    @property
    def stopping(self) -> bool:
        """True while the version is being stopped."""
        return self.base.stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        self.base.stopping = stopping

    @property
    def released(self) -> bool:
        """True when the version has given up its components."""
        return self.base.released

    @released.setter
    def released(self, released: bool) -> None:
        self.base.released = released

    @property
    def must_open(self) -> bool:
        """True while components with an `async def open` wait for the first run."""
        return self.base.must_open

    @must_open.setter
    def must_open(self, must: bool) -> None:
        self.base.must_open = must

    async def open_rest(self) -> None:
        """Open what the version opens at first use. Raises: EngineError: when something cannot be opened."""
        await self.base.open_rest()

    async def close_if_idle(self, *, has_loop: bool = True) -> None:
        """Let a version that is retired close its components once nobody is on it."""
        await self.base.close_if_idle(has_loop=has_loop)

    def retire(self) -> None:
        """Do nothing: the version is in service as long as its engine says so."""

    def close_now(self) -> None:
        """Do nothing: the components belong to the version."""

    async def close(self) -> None:
        """Do nothing: the components belong to the version."""

    def related(self, chain: Chain | str) -> Chain:
        """Give the chain that a node of this one runs, with what stands in for its nodes.

        Raises:
            EngineError: When there is no such chain.
        """
        found = super().related(chain)
        return found if isinstance(found, ReplacedChain) else self.replacements.view(found)

    def successor(self) -> Chain:
        """Give the view of the version that is in service. Raises: EngineError: when a node is not there any more."""
        return replace_nodes(self.base.successor(), self.replacements.runs)


def _method(run: Callable[..., Any]) -> Callable[..., Any]:
    """Give what is called when it is called: of an object, its method, which tells whether it is to be awaited."""
    return run if inspect.isroutine(run) else run.__call__


def _check(chain: Chain, name: str) -> None:
    """See that a name is that of a node with a `run`. Raises: EngineError: when it is not."""
    owner, node_id = _owner(chain, name)
    step = owner.compiled.by_id.get(node_id) if owner else None
    if step is None:
        known = ", ".join(repr(node) for node in (owner or chain).compiled.by_id)
        raise EngineError(
            f"node id={name} not found",
            hint=f"nodes of {(owner or chain).id!r}: {known}; those of other chains are named 'chain id:node id'",
        )
    if step.component.ends:
        raise EngineError(f"node {name!r} is one at which branches end: it has nothing that could be replaced")


def _owner(chain: Chain, name: str) -> tuple[Chain | None, str]:
    """Give the chain that a name belongs to, and the id of the node in it."""
    if name in chain.compiled.by_id:
        return chain, name
    outer, _, node_id = name.rpartition("/")
    for other in with_inner((chain, *chain.engine.chains.values())):
        for place, own in own_chains(other, chain.id) if outer else ():
            if place == f"{outer}/" and node_id in own.compiled.by_id:
                return own, node_id
        if name.startswith(f"{other.id}:"):
            return other, name[len(other.id) + 1 :]
    return None, name
