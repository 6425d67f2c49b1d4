"""Core, plain compilation, observed compilation and the loopless face take the steps of the slow model."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.cases import times
from tests.engine.runtime.kit import Kind, load
from tests.engine.runtime.reference import Model, Parcel, Plan, Record, TooBigError, merged, plans

from catenary import Engine, Message, fail
from catenary.definition import NodeDefinition
from catenary.recording import MemoryRecorder
from catenary.runtime.compiled import EndStep, Placed, compile_chain
from catenary.runtime.emission import first_of, spread
from catenary.runtime.tokens import Core

SEEDS = st.integers(0, 2**32)


def expected(plan: Plan, seed: int) -> Record:
    """Give what the model does; chains that do too much are not looked at."""
    try:
        return Model(plan).run(Random(seed))
    except TooBigError:
        assume(condition=False)
        raise


class CoreRunner:
    """Drives the core alone, whatever may run next in random order."""

    def __init__(self, plan: Plan, random: Random) -> None:
        self.plan = plan
        self.random = random
        self.visits: Counter[Any] = Counter()
        placed = [self._placed(number) for number in range(len(plan.nodes))]
        edges = [(str(source), relation, str(to)) for source, relation, to in plan.edges]
        self.compiled = compile_chain(SimpleNamespace(id="c"), placed, edges)
        self.core = Core(self.compiled)
        self.crews: list[list[Any]] = [self.core.ready]
        self.running: list[tuple[Any, list[Any], list[Any] | None]] = []  # a visit, its crew, the crew it waits for

    def _placed(self, number: int) -> Placed:
        kind = self.plan.nodes[number].kind
        told: dict[str, Any] = {"relations": (), "run": None, "join_limits": None}
        component: Any = SimpleNamespace(collects=kind == "join", ends=kind == "end", **told)
        return Placed(NodeDefinition(str(number), "t"), component, lambda: None, False, False)

    def run(self) -> Record:
        self.core.start([(self.compiled.by_id[str(node)], Message(id="0"), None) for node in self.plan.start])
        while True:
            self._take()
            free = [one for one in self.running if one[2] is None or not self._is_busy(one[2])]
            if not free:
                break
            self._advance(self.random.choice(free))
        assert not self.running
        assert not self.core.arrived
        assert not any(self.core.holds or ())
        return Record(self.visits, ends_of(self.core.ends))

    def _take(self) -> None:
        for ready in self.crews:
            while ready:
                token = ready.pop(self.random.randrange(len(ready)))
                self.running.append((self._visit(token, ready), ready, None))

    def _is_busy(self, crew: list[Any]) -> bool:
        return bool(crew) or any(ready is crew for _, ready, _ in self.running)

    def _advance(self, one: tuple[Any, list[Any], list[Any] | None]) -> None:
        self.running.remove(one)
        visit, ready, _ = one
        crew = next(visit, None)
        if crew is not None:
            self.crews.append(crew)
            self.running.append((visit, ready, crew))

    def _visit(self, token: Any, ready: list[Any]) -> Any:
        step, message, sender, relation = token
        self.visits[seen(step.index, message, sender, relation)] += 1
        if step.__class__ is EndStep:
            self.core.end(step, relation, message, is_end_node=True)
            self.core.finish(step)
            return
        has_emitted = False
        for emits, emission in replies(self.plan, step.index, message):
            if emits:
                has_emitted = True
                crew: list[Any] = []
                self.core.emit(step, *emission, crew)
                yield crew
            elif emission is None and message is not None:
                self.core.finish(step, None if has_emitted else first_of(message))
            elif isinstance(emission, list):
                spread(self.core, step, emission, message, ready)
            else:
                self.core.follow(step, *emission, ready)


def parcel_of(message: Any) -> Parcel:
    """Read the parcel that a message carries; a join's list has one too."""
    if isinstance(message, list):
        return merged([(parcel_of(arrival.message), arrival.sender) for arrival in message])
    return Parcel(message.id, message.metadata.get("hops", 0))


def seen(node: int, message: Any, sender: Any, relation: str) -> Any:
    """Give a visit as the model notes it."""
    if isinstance(message, list):
        return node, tuple(sorted((one.message.id, one.sender, str(one.relation)) for one in message))
    return node, (message.id, sender.node_id if sender else "", str(relation))


def ends_of(ends: Any) -> Counter[Any]:
    return Counter(
        # An end by no relation keeps what came in, which at a join is the first message of a list in any order.
        (int(end.node_id), str(end.relation), end.message.id if end.relation else "", end.gated)
        for end in ends
    )


def replies(plan: Plan, node: int, message: Any) -> Any:
    """Give what a node does: `(True, what it sends on the way)` ..., then `(False, what it returns)`."""
    parcel = parcel_of(message)
    behaviour = plan.nodes[node].behave(parcel)

    def sent(number: int, relation: str) -> Any:
        key, hops = parcel.sent(node, relation, number)
        made = Message(id=key, metadata={"hops": hops})
        return fail("it failed", made) if relation == "Failure" else (relation, made)

    pairs = [sent(number, relation) for number, relation in enumerate((*behaviour.emits, *behaviour.leaves))]
    for pair in pairs[: len(behaviour.emits)]:
        yield True, pair
    returned = pairs[len(behaviour.emits) :]
    yield False, returned[0] if len(returned) == 1 else returned or None


class LoopRunner:
    """Runs a plan by the real loop."""

    def __init__(self, engine: Engine, plan: Plan, seed: int) -> None:
        self.plan = plan
        self.seed = seed
        self.visits: Counter[Any] = Counter()
        nodes = {str(number): self._node(number) for number in range(len(plan.nodes))}
        edges = [f"{source} {relation} {to}" for source, relation, to in plan.edges]
        self.chain = load(engine, nodes, edges, allowCycle=True)

    def _node(self, number: int) -> Kind:
        kind, written, _ = self.plan.nodes[number]
        if kind == "end":
            return Kind("t/end")
        types = {"def": ("t/def", "t/join"), "async": ("t/async", "t/asyncJoin"), "flow": ("t/flow", "t/flowJoin")}
        return Kind(types[written][kind == "join"], self._call if written == "def" else self._wait)

    def _call(self, ctx: Any, message: Any) -> Any:
        self.visits[self._seen(ctx, message)] += 1
        ((_, emission),) = replies(self.plan, int(ctx.node_id), message)
        return emission

    async def _wait(self, ctx: Any, message: Any) -> Any:
        self.visits[self._seen(ctx, message)] += 1
        emission = None
        for emits, emission in replies(self.plan, int(ctx.node_id), message):
            if ctx.node_type in {"t/async", "t/asyncJoin"}:
                for _ in range((int(parcel_of(message).key, 16) + self.seed + int(ctx.node_id)) % 3):
                    await asyncio.sleep(0)
            if emits:
                await ctx.emit(*emission)
        return emission

    @staticmethod
    def _seen(ctx: Any, message: Any) -> Any:
        return seen(int(ctx.node_id), message, ctx._sender, ctx.relation)

    def record(self, outcome: Any) -> Record:
        visits, self.visits = self.visits, Counter()
        return Record(visits, ends_of(outcome.ends))


def without_ends(plan: Plan, record: Record) -> Record:
    """Leave out visits of `end` nodes, which call nothing."""
    kept = {visit: count for visit, count in record.visits.items() if plan.nodes[visit[0]].kind != "end"}
    return Record(Counter(kept), record.ends)


@given(plan=plans(any_start=True), seed=SEEDS)
@settings(max_examples=times(150))
def test_core_equals_the_model_in_any_order_of_completion(plan, seed):
    wanted = expected(plan, seed)
    assert Model(plan).run(Random(seed + 1)) == wanted, "the model itself must not depend on the order"
    for turn in range(3):
        assert CoreRunner(plan, Random(seed + turn)).run() == wanted


@given(plan=plans(), seed=SEEDS)
@settings(max_examples=times(80))
async def test_plain_and_observed_runs_equal_the_model(plan, seed):
    whole = expected(plan, seed)
    wanted = without_ends(plan, whole)
    events: list[Any] = []
    recorder = MemoryRecorder()
    async with Engine() as engine:
        runner = LoopRunner(engine, plan, seed)
        plain = runner.record(await runner.chain.run(Message(id="0")))
        observed = runner.record(await runner.chain.run(Message(id="0"), listener=events.append))
        recorded = runner.record(await runner.chain.run(Message(id="0"), recorder=recorder))
    assert plain == wanted
    assert observed == wanted
    assert recorded == wanted
    visited = Counter(int(visit.node_id) for visit in recorder.records[0].visits)
    assert visited == Counter(visit[0] for visit in whole.visits.elements())
    started = Counter(int(event.node_id) for event in events if event.name == "node.start")
    assert started == Counter(visit[0] for visit in whole.visits.elements()), "whoever looks sees `end` nodes visited"
    assert ends_of(event for event in events if event.name == "branch.end") == wanted.ends


@given(plan=plans(written=("def", "flow")), seed=SEEDS)
@settings(max_examples=times(60))
def test_runs_without_a_loop_equal_the_model(plan, seed):
    wanted = without_ends(plan, expected(plan, seed))
    with Engine() as engine:
        runner = LoopRunner(engine, plan, seed)
        assert runner.record(runner.chain.run_sync(Message(id="0"))) == wanted
        assert not engine.loops._idle, "nothing asked for an event loop"


@given(plan=plans(written=("def", "async", "flow")), seed=SEEDS)
@settings(max_examples=times(30))
def test_runs_that_ask_for_a_loop_on_the_way_equal_the_model(plan, seed):
    wanted = without_ends(plan, expected(plan, seed))
    with Engine() as engine:
        runner = LoopRunner(engine, plan, seed)
        assert runner.record(runner.chain.run_sync(Message(id="0"))) == wanted
