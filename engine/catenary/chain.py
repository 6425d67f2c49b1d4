"""A loaded chain: its definition, its components, and its compiled forms. One version; a reload makes another one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from catenary.errors import EngineError
from catenary.life.versions import SHUTTING_DOWN, Instance, Version
from catenary.masking import secrets_in
from catenary.pipelines.chain import Pipelines
from catenary.relation import STREAM
from catenary.runtime.compiled import Compiled, Limits, compile_chain
from catenary.runtime.entry import perform
from catenary.runtime.loops import drive_by_hand
from catenary.runtime.observing import observed
from catenary.runtime.tape import recorded
from catenary.runtime.weave import weave

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence

    from catenary.aspects import Aspect
    from catenary.aspects.runs import RunAspects
    from catenary.aspects.weaving import NodeAspects
    from catenary.component import Component, Context, Emission
    from catenary.definition import ChainDefinition, NodeDefinition
    from catenary.engine import Engine
    from catenary.errors import Problem
    from catenary.events import Event
    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.load.endpoints import BuiltEndpoint
    from catenary.message import Message
    from catenary.options import RunOptions
    from catenary.outcome import Outcome
    from catenary.runtime.compiled import Placed


class Chain(Version, Pipelines):
    """One version of a chain that an engine has loaded. Made by `engine.load`, not by hand.

    Attributes:
        id: The id by which the engine knows the chain.
        definition: The chain as written.
        engine: The engine it belongs to.
        environment: What its expressions, templates and scripts were compiled with.
        version: 1 for the first one loaded under the id, one more with each reload.
        aspects: What is woven around its nodes and runs, the outermost first.
        run_aspects: What they bring to runs of the chain, or None.
        endpoints: The endpoints that it has; the engine runs them.
        warnings: What is doubtful about it, in order of place; it runs all the same.
    """

    run_aspects: RunAspects | None = None
    endpoints: Sequence[BuiltEndpoint] = ()
    warnings: Sequence[Problem] = ()

    def __init__(
        self,
        engine: Engine,
        chain_id: str,
        definition: ChainDefinition,
        nodes: Iterable[tuple[NodeDefinition, Component[Any]]],
        environment: Environment,
        limits: Limits,
        *,
        before: Chain | None = None,
        aspects: Sequence[Aspect] = (),
    ) -> None:
        """Put a chain together; components that the version before has too are shared with it."""
        known = {id(one.component): one for one in before.instances} if before else {}
        nodes = list(nodes)
        instances = [known.get(id(component)) or Instance(node.id, component) for node, component in nodes]
        super().__init__(instances, before.gate if before else None)
        self.engine = engine
        self.id = chain_id
        self.definition = definition
        self.environment = environment
        engine.masker.add(*environment.secrets.values(), *secrets_in([component.config for _, component in nodes]))
        self.version = 1
        if any(key.lower() == "limits" for key in definition.configuration):
            from catenary.aspects.written import with_limits

            aspects = with_limits(aspects, definition, engine.chains.get(chain_id))
        self.aspects = aspects
        self._limits = limits
        self._nodes = nodes
        self._written: Mapping[str, Json] | None = None
        self._observed: Compiled | None = None
        self._recorded: Compiled | None = None
        self._parts: dict[tuple[int, str, bool], Compiled] = {}
        self._placed = self._weave({})
        _ = self.compiled  # made by one thread, before anybody runs it
        if aspects:
            from catenary.aspects.runs import runs_of

            self.run_aspects = runs_of(self)

    def _weave(self, replaced: Mapping[str, Callable[..., Any]]) -> list[Placed]:
        kept = referenced_nodes(component for _, component in self._nodes)
        at: Callable[..., NodeAspects | None] = _no_aspects
        if self.aspects:
            from catenary.aspects.weaving import aspects_at as at

            kept.update(node_id for aspect in self.aspects for node_id in aspect.reads(self.definition))
        return [
            weave(
                node,
                component,
                keeps_output=node.id in kept,
                instead=replaced.get(node.id),
                aspects=at(self, node, component),
            )
            for node, component in self._nodes
        ]

    def _compile(self, watched: Callable[[Placed], Placed] | None = None) -> Compiled:
        placed = [watched(node) for node in self._placed] if watched else self._placed
        written = self.definition.with_chain_nodes().connections
        connections = [(one.from_id, one.type, one.to_id) for one in written]
        return compile_chain(self, placed, connections, self.definition.first_node_index, self._limits)

    @cached_property
    def compiled(self) -> Compiled:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The compiled form that most runs go by; that of a closed version is made anew if anybody asks."""
        return self._compile()

    @property
    def observed(self) -> Compiled:
        """The compiled form that publishes events; made the first time somebody asks."""
        if self._observed is None:
            self._observed = self._compile(observed)
        return self._observed

    @property
    def recorded(self) -> Compiled:
        """The compiled form that notes visits on a tape; made the first time somebody records a run."""
        if self._recorded is None:
            self._recorded = self._compile(recorded)
        return self._recorded

    @cached_property
    def may_stream(self) -> bool:
        """Whether a branch may end by `Stream`: a node may leave by it, and it is not connected there."""
        connected = {one.from_id for one in self.definition.connections if one.type == STREAM}
        return any(_may_stream(component) for node, component in self._nodes if node.id not in connected)

    def give_up_forms(self) -> None:
        """Forget the compiled forms, whose steps name this version."""
        self.__dict__.pop("compiled", None)
        self._observed = self._recorded = None
        self._parts = {}

    def part(self, compiled: Compiled, node_id: str, *, follow: bool) -> Compiled:
        """Give the part of a compiled form that starts at a node, or is that node alone."""
        key = (id(compiled), node_id, follow)
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
                list of its arrivals. A node of a chain that runs inside this one is named `chain id:node id`; the id
                of a chain that is the component of a node is `chain id#node id`.

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
        """Give the version that is in service. Raises: EngineError: when there is none, or it is being stopped."""
        if self.stopping:
            raise EngineError(SHUTTING_DOWN, hint=f"the chain {self.id!r} is being stopped and takes in nothing more")
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

    def to_dict(self) -> dict[str, Json]:
        """Give the chain as written: placeholders unresolved, unknown keys kept."""
        return self.definition.to_dict()

    def as_written(self) -> Mapping[str, Json]:
        """Give what `to_dict` gives with secrets masked, made once for all records of runs; not to be changed."""
        if self._written is None:
            self._written = self.engine.masker.items(self.definition.to_dict())
        return self._written

    def __repr__(self) -> str:
        return f"Chain({self.id!r}, {len(self._nodes)} nodes, version {self.version})"


def _may_stream(component: Component[Any]) -> bool:
    if component.ends or STREAM in component.relations:
        return not component.ends
    if component.relations and not component.free_relations:
        return False
    named = component.named_relations()
    return named is None or STREAM in named


def _no_aspects(*_: Any) -> None:
    """Stand in for what finds the aspects of a node, where the chain has none."""


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
