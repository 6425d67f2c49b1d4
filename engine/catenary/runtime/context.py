"""What a node sees of its run: `ctx`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.errors import EngineError
from catenary.relation import Failed
from catenary.runtime.ends import Arrival, End

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping

    from catenary.cache import Cache
    from catenary.chain import Chain
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.relation import Relation
    from catenary.runtime.compiled import Step
    from catenary.runtime.crew import Crew
    from catenary.runtime.run import Run
    from catenary.runtime.scope import Scope

__all__ = ["Arrival", "Context", "End"]


class Context:
    """The place of a node in its chain and its run.

    A plain `def run` gets the one context of the run, which is valid during the call only; an `async def run` gets
    one of its own, valid until it returns. In `open` there is no run yet: what belongs to a run raises there.
    """

    # A context is made for each visit of an async node: the last three are there only once they are set.
    __slots__ = ("_crew", "_relation", "_run", "_sender", "_step", "_cancelling", "_emitted", "_visit")  # noqa: RUF023
    _cancelling: int
    _emitted: bool
    _visit: int

    def __init__(
        self, run: Run | None, crew: Crew | None, step: Step, sender: Step | None, relation: Relation | str
    ) -> None:
        self._run = run
        self._crew = crew  # None when the visit is over, and for a plain `def`
        self._step = step
        self._sender = sender
        self._relation = relation

    # The node and its chain

    @property
    def node_id(self) -> str:
        """The id of this node."""
        return self._step.node_id

    @property
    def node_type(self) -> str:
        """The component type of this node, as written in the chain."""
        return self._step.node.type

    @property
    def node_name(self) -> str:
        """The display name of this node; its id if it has none."""
        return self._step.node.name or self._step.node_id

    @property
    def chain(self) -> Chain:
        """The chain this node belongs to, in the version the run began with."""
        return self._step.owner

    @property
    def chain_id(self) -> str:
        """The id of the chain."""
        return self._step.owner.id

    @property
    def properties(self) -> Mapping[str, Json]:
        """The engine's properties, which chains see as `global`."""
        return self._step.owner.environment.properties

    @property
    def vars(self) -> Mapping[str, Json]:
        """The chain's variables."""
        return self._step.owner.environment.vars

    @property
    def rule_chain(self) -> Mapping[str, Json]:
        """The head of the chain: `id`, `name`, `root`, `debugMode`, `disabled`, `additionalInfo`, `configuration`."""
        return self._step.owner.environment.rule_chain

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The functions registered with `engine.function`."""
        return self._step.owner.engine.functions

    @property
    def tools(self) -> Mapping[str, Any]:
        """The functions registered with `engine.tool`."""
        return self._step.owner.engine.tools

    @property
    def http(self) -> Any:
        """The engine's `catenary.http.HttpClients`."""
        return self._step.owner.engine.http

    @property
    def clock(self) -> Any:
        """The engine's clock: `monotonic()` in seconds, `time_ms()` since 1970, `await sleep(seconds)`."""
        return self._step.owner.engine.clock

    @property
    def global_cache(self) -> Cache:
        """What all chains of the engine keep between messages."""
        return self._step.owner.engine.cache

    @property
    def chain_cache(self) -> Cache:
        """What this chain keeps between messages, reloads included; gone when the chain is removed."""
        from catenary.cache import ChainCache

        return ChainCache(self.global_cache, self.chain_id)

    def is_connected(self, relation: str) -> bool:
        """Tell whether a connection leaves this node by `relation`."""
        return relation in self._step.routes

    # The run

    @property
    def run_id(self) -> str:
        """The id of the run; sub-runs have the id of the run they belong to."""
        return self._live_run().root.id

    @property
    def relation(self) -> Relation | str:
        """The relation by which the message came; empty at the first node."""
        return self._relation

    @property
    def sender(self) -> str:
        """The id of the node the message came from; of this node itself at the first one."""
        return self._sender.node_id if self._sender else self._step.node_id

    @property
    def error(self) -> BaseException | None:
        """The error the message comes with, when the last hop was a `Failure` that had one."""
        relation = self._relation
        return relation.error if isinstance(relation, Failed) else None

    @property
    def scope(self) -> Scope:
        """The values of the run, one for each type."""
        return self._live_run().scope

    def output(self, node_id: str) -> Message | None:
        """Give what another node last sent on in this run; kept only for nodes that somebody's settings name."""
        outputs = self._live_run().outputs
        return outputs.get(node_id) if outputs else None

    def keep_output(self, message: Message) -> None:
        """Keep a message as what this node last sent on, for `output`."""
        run = self._live_run()
        if run.outputs is None:
            run.outputs = {}
        run.outputs[self._step.node_id] = message

    @property
    def visit(self) -> int:
        """The number of this visit among the visits of the run, from 1; 0 when nobody watches the run."""
        visit = getattr(self, "_visit", 0)
        run = self._run
        return visit or (run.watch.visit if run is not None and run.watch is not None else 0)

    @property
    def cancelling(self) -> int:
        """How often the task of this visit had been asked to stop when the visit began."""
        return getattr(self, "_cancelling", 0)

    @property
    def has_emitted(self) -> bool:
        """True once this visit has sent something on the way."""
        return getattr(self, "_emitted", False)

    @property
    def watched(self) -> bool:
        """True when somebody listens to the events of this run, or records it."""
        run = self._run
        return run is not None and run.watch is not None

    def notify(self, type: str, **data: Json) -> None:  # noqa: A002 - the field's name in the event
        """Publish an event of this visit, when somebody listens or records; else do nothing.

        Args:
            type: A dotted name such as `content.delta`.
            **data: What the event carries.
        """
        run = self._run
        if run is not None and run.watch is not None:
            run.watch.notify(self, type, data)

    def emit(self, relation: Relation | str, message: Message) -> Coroutine[Any, Any, None]:
        """Send a message on the way: `await ctx.emit(...)` comes back when all that came of it has ended, or waits.

        Raises:
            EngineError: When the visit is over already, or the node is a plain `def`.
            DepthLimitReached: When emissions and sub-runs are nested too deeply.
        """
        return self._live_run().emit_from(self, relation, message)

    async def need_loop(self) -> None:
        """Make sure that an event loop is there, before a node that declares `waits = False` awaits something else."""
        run = self._live_run()
        if not run.root.has_loop:
            from catenary.runtime.run import ask_for_loop

            await ask_for_loop(run, self)

    def needs_await(self, node_id: str) -> bool:
        """Tell whether a node of this chain is awaited; one that is not, or does not exist, needs no event loop."""
        from catenary.runtime.compiled import AsyncStep

        return isinstance(self.chain.compiled.by_id.get(node_id), AsyncStep)

    def run_chain(
        self,
        chain: Chain | str,
        message: Message,
        *,
        start: str | Iterable[str] | None = None,
        each: Callable[[End], Awaitable[None]] | None = None,
        scope: Iterable[Any] | Mapping[type, Any] | None = None,
    ) -> Coroutine[Any, Any, list[End]]:
        """Run a chain as part of this visit: `ends = await ctx.run_chain(...)`, in the order in which they came.

        Args:
            chain: The chain, or the id of one that the engine has loaded.
            message: What it starts with.
            start: The node or nodes to start at; the chain's first node if absent.
            each: Is awaited with every end as it comes, in the task that made it.
            scope: Values laid over those of this run.

        Raises:
            EngineError: When there is no such chain or node.
            StepLimitReached, DepthLimitReached: When the sub-run went too far.
        """
        from catenary.runtime import subrun

        return subrun.run_chain(self, chain, message, start=start, each=each, scope=scope)

    def run_node(
        self,
        node_id: str,
        message: Message,
        *,
        chain_id: str | None = None,
        follow: bool = False,
        each: Callable[[End], Awaitable[None]] | None = None,
        scope: Iterable[Any] | Mapping[type, Any] | None = None,
    ) -> Coroutine[Any, Any, list[End]]:
        """Run one node, of this chain or another, as part of this visit; with `follow`, what follows too. To await.

        The arguments are as for `run_chain`. Raises: as `run_chain`.
        """
        from catenary.runtime import subrun

        return subrun.run_node(self, node_id, message, chain_id=chain_id, follow=follow, each=each, scope=scope)

    def _live_run(self) -> Run:
        if self._run is None:
            raise EngineError(f"node {self._step.node_id!r}: there is no run yet in open()")
        return self._run


def opening_context(step: Step) -> Context:
    """Give the context that a component's `open` gets."""
    return Context(None, None, step, None, "")
