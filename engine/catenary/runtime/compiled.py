"""The compiled chain: every node a step, every connection worked out. Immutable once made."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from catenary.relation import DEFAULT, FAILURE, FALSE, STREAM, SUCCESS, TRUE, Relation
from catenary.runtime.limited import stoppable
from catenary.runtime.reach import analyse, numbers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from catenary.component import Component
    from catenary.definition import NodeDefinition
    from catenary.message import Message
    from catenary.runtime.ends import JoinLimits

_COMMON = {str(relation): relation for relation in (SUCCESS, FAILURE, TRUE, FALSE, STREAM, DEFAULT)}


class Step:
    """One node of a compiled chain whose `run` is called inline. The subclasses differ in how the loop treats them.

    Attributes:
        run: What is called: the component's `run`, with what the node's settings weave around it.
        plain: By relation, the next step, where nothing has to be decided on the way.
        loops: By relation, the next step, where nothing but its visits has to be counted.
        routes: By relation, all that follows.
        reach: The numbers of the joins that a token at this step holds up.
        join: The step's number among the joins; -1 if it is none.
        limits: For a join, when it goes on although more could reach it; None for never.
        blocks: For a join, the joins that must not fire while it waits.
        cyclic: True when the step lies on a cycle, so that its visits are counted.
    """

    __slots__ = (
        "blocks",
        "component",
        "cyclic",
        "index",
        "join",
        "limits",
        "loops",
        "node",
        "node_id",
        "owner",
        "plain",
        "reach",
        "routes",
        "run",
    )

    def __init__(self, owner: Any, node: NodeDefinition, component: Component[Any], index: int) -> None:
        self.owner = owner
        self.node = node
        self.node_id = node.id
        self.component = component
        self.index = index
        self.run: Callable[..., Any]
        self.plain: dict[str, Step] = {}
        self.loops: dict[str, Step] = {}
        self.routes: dict[str, Route] = {}
        self.reach: tuple[int, ...] = ()
        self.join = -1
        self.limits: JoinLimits | None = None
        self.blocks: tuple[int, ...] = ()
        self.cyclic = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.node_id!r})"


class AsyncStep(Step):
    """A node whose `run` is awaited.

    Attributes:
        waits: False when it awaits nothing but the kernel.
        keeps_output: True when what it emits on the way is kept for other nodes.
        emitting: What a message that it emits on the way goes through first, or None.
    """

    __slots__ = ("emitting", "keeps_output", "waits")

    def __init__(self, owner: Any, node: NodeDefinition, component: Component[Any], index: int) -> None:
        super().__init__(owner, node, component, index)
        self.waits = True
        self.keeps_output = False
        self.emitting: Callable[..., Awaitable[Message]] | None = None


class EndStep(Step):
    """A node at which branches end by definition."""

    __slots__ = ()


class Route:
    """All that follows when a message leaves a step by one relation.

    Attributes:
        targets: The steps that are visited, in the order written; joins are not among them.
        joins: The joins that the message arrives at.
        deltas: By how much the hold on each join changes when the token moves on.
        drops: The joins whose hold goes down.
    """

    __slots__ = ("deltas", "drops", "joins", "targets")

    def __init__(self, source: Step, following: Sequence[Step]) -> None:
        self.targets = tuple(step for step in following if step.join < 0)
        self.joins = tuple(step for step in following if step.join >= 0)
        changes: dict[int, int] = dict.fromkeys(source.reach, -1)
        for target in self.targets:
            for join in target.reach:
                changes[join] = changes.get(join, 0) + 1
        self.deltas = tuple((join, change) for join, change in changes.items() if change)
        self.drops = tuple(join for join, change in self.deltas if change < 0)

    def is_simple(self) -> bool:
        """Tell whether there is nothing to decide: one target, no join, the same joins in reach."""
        return len(self.targets) == 1 and not self.joins and not self.deltas


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a run may go.

    Attributes:
        max_visits: Visits of one node on a cycle in one run.
        max_depth: How deep sub-runs and emissions may be nested.
        stop_on_failure: True when the first branch that ends as `Failure` stops all others.
        max_rounds: Rounds of a loop node that says nothing about it; 0 for no limit.
    """

    max_visits: int = 10_000
    max_depth: int = 100
    stop_on_failure: bool = False
    max_rounds: int = 0


@dataclass(frozen=True, slots=True)
class Compiled:
    """All steps of a chain, by number and by node id.

    Attributes:
        first: The entry; None when the chain has no nodes.
        entry: The same, where a run can begin at it without counting anything; else None.
        gated: True when the chain has `end` nodes, so that ordinary ends elsewhere are no answers.
        hurried: True when some join may go on before all that could reach it has come.
    """

    steps: tuple[Step, ...]
    by_id: Mapping[str, Step]
    first: Step | None
    joins: tuple[Step, ...]
    gated: bool
    limits: Limits
    chain_id: str = ""
    entry: Step | None = None
    hurried: bool = False

    def from_node(self, node_id: str) -> Compiled:
        """Give the chain as it runs from one node on: gated only when an `end` node comes after that one."""
        seen = {self.by_id[node_id]}
        waiting = list(seen)
        while waiting:
            for route in waiting.pop().routes.values():
                for step in (*route.targets, *route.joins):
                    if step not in seen:
                        seen.add(step)
                        waiting.append(step)
        gated = any(step.component.ends for step in seen)
        return replace(self, first=self.by_id[node_id], entry=None, gated=gated)

    def only_node(self, node_id: str) -> Compiled:
        """Give a chain of this one node, with nothing after it."""
        step = self.by_id[node_id]
        alone = copy.copy(step)
        alone.plain, alone.loops, alone.routes, alone.reach, alone.blocks, alone.cyclic = {}, {}, {}, (), (), False
        joins: tuple[Step, ...] = ()
        if alone.join >= 0:
            alone.join, joins = 0, (alone,)
        return replace(
            self,
            steps=(alone,),
            by_id={node_id: alone},
            first=alone,
            entry=None,
            joins=joins,
            gated=False,
            hurried=step.limits is not None,
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """One node of a chain with its component instance and what is called for it.

    Attributes:
        is_visited: True for an `end` node whose `run` is called, and ends the branch itself: somebody looks.
    """

    node: NodeDefinition
    component: Component[Any]
    run: Callable[..., Any]
    is_async: bool
    waits: bool
    keeps_output: bool = False
    emitting: Callable[..., Awaitable[Message]] | None = None
    is_visited: bool = False


def compile_chain(
    owner: Any,
    nodes: Sequence[Placed],
    connections: Sequence[tuple[str, str, str]],
    first: int = 0,
    limits: Limits | None = None,
) -> Compiled:
    """Turn nodes and connections into steps.

    Args:
        owner: The chain that the steps belong to; has an `id`; the steps carry it for `ctx`.
        nodes: The nodes in the order written; ids are unique.
        connections: `(from id, relation, to id)` in the order written; both ids exist.
        first: The number of the entry node; past the end, the chain counts as empty.
        limits: How far runs of the chain may go.
    """
    steps = [_make_step(owner, placed, index) for index, placed in enumerate(nodes)]
    by_id = {step.node_id: step for step in steps}
    following: list[dict[str, list[Step]]] = [{} for _ in steps]
    targets: list[list[int]] = [[] for _ in steps]  # in the order written, whatever the relation
    for source_id, relation, target_id in connections:
        source = by_id[source_id]
        if not source.component.ends:
            following[source.index].setdefault(relation, []).append(by_id[target_id])
            targets[source.index].append(by_id[target_id].index)
    joins = tuple(step for step in steps if step.component.collects)
    entry = steps[first] if first < len(steps) else None
    _mark(steps, targets, joins, entry)
    for step in steps:
        _connect(step, following[step.index])
    _make_stoppable(steps, joins)
    gated = any(step.component.ends for step in steps)
    counts = entry is None or entry.reach or entry.cyclic or entry.join >= 0
    return Compiled(
        tuple(steps),
        by_id,
        entry,
        joins,
        gated,
        limits or Limits(),
        owner.id,
        entry=None if counts else entry,
        hurried=any(join.limits is not None for join in joins),
    )


def _make_step(owner: Any, placed: Placed, index: int) -> Step:
    component = placed.component
    ends = component.ends and not placed.is_visited
    kind = EndStep if ends else AsyncStep if placed.is_async else Step
    step = kind(owner, placed.node, component, index)
    step.run = placed.run
    if isinstance(step, AsyncStep):
        step.waits = placed.waits
        step.keeps_output = placed.keeps_output
        step.emitting = placed.emitting
    return step


def _mark(steps: Sequence[Step], targets: Sequence[Sequence[int]], joins: Sequence[Step], entry: Step | None) -> None:
    reach = analyse(targets, [join.index for join in joins], entry.index if entry else 0)
    for step in steps:
        step.reach = numbers(reach.joins_after[step.index])
        step.cyclic = reach.cyclic[step.index]
    for position, join in enumerate(joins):
        join.join = position
        join.limits = join.component.join_limits
        join.blocks = numbers(reach.blocks[position])


def _make_stoppable(steps: Sequence[Step], joins: Sequence[Step]) -> None:
    """Let joins that go on early stop what is awaited on the way to them."""
    stopping = {join.join for join in joins if join.limits is not None and join.limits.stop_rest}
    if stopping:
        for step in steps:
            if step.__class__ is AsyncStep and not stopping.isdisjoint(step.reach):
                step.run = stoppable(step.run)


def _connect(step: Step, following: Mapping[str, Sequence[Step]]) -> None:
    declared = {str(relation): relation for relation in step.component.relations}
    for name, targets in following.items():
        # The very object that the component returns: the look-up of each hop then ends at the first comparison.
        relation = declared.get(name) or _COMMON.get(name) or Relation(name)
        route = Route(step, targets)
        step.routes[relation] = route
        if route.is_simple():
            target = route.targets[0]
            (step.loops if target.cyclic else step.plain)[relation] = target
