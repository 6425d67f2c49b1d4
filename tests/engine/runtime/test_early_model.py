"""The core with joins that may go on early takes the steps of a slow model, whatever happens in whatever order."""

from __future__ import annotations

from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.cases import times
from tests.engine.runtime.reference import Plan, closing, random_plan

from catenary import Message
from catenary.component import JoinLimits
from catenary.definition import NodeDefinition
from catenary.runtime.compiled import Placed, compile_chain
from catenary.runtime.ends import EXPIRED
from catenary.runtime.tokens import Core

RELATIONS = ("Success", "A", "B")
MAX_TOKENS = 25


class Graph:
    """Questions to a plan, each answered by a walk."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.joins = [number for number, node in enumerate(plan.nodes) if node.kind == "join"]
        self.closing = closing(plan)

    def reaches(self, node: int, target: int, without: frozenset[tuple[int, int]] = frozenset()) -> bool:
        seen: set[int] = set()
        heads = [node]
        while heads:
            head = heads.pop()
            for to in self.plan.targets(head):
                if (head, to) in without or to in seen:
                    continue
                if to == target:
                    return True
                seen.add(to)
                heads.append(to)
        return False

    def goes_first(self, join: int, other: int) -> bool:
        if join == other or not self.reaches(join, other):
            return False
        return not self.reaches(other, join) or self.reaches(join, other, self.closing)


class EarlyModel:
    """Every token in a list, every arrival in a list, no counts."""

    def __init__(self, graph: Graph, limits: dict[int, JoinLimits]) -> None:
        self.graph = graph
        self.limits = limits
        self.tokens: list[tuple[int, str]] = []  # node, message; at a join its list
        self.waiting: dict[int, list[str]] = {}
        self.closed: set[int] = set()
        self.ends: Counter[tuple[int, str, str]] = Counter()

    def place(self, node: int, message: str, due: list[int]) -> None:
        if node not in self.graph.joins:
            self.tokens.append((node, message))
        elif node in self.closed:
            self.ends[node, "Late", message] += 1
        else:
            waiting = self.waiting.setdefault(node, [])
            waiting.append(message)
            if len(waiting) == self.limits[node].quorum:
                due.append(node)

    def leave(self, token: tuple[int, str], relations: list[str]) -> None:
        self.tokens.remove(token)
        due: list[int] = []
        node, message = token[0], sent(token)
        for relation in relations:
            targets = self.graph.plan.targets(node, relation)
            for target in targets:
                self.place(target, message, due)
            if not targets:
                self.ends[node, relation, message] += 1
        if not relations:
            self.ends[node, "", message] += 1
        for join in due:
            self.early(join)
        self.fire()

    def early(self, join: int) -> None:
        if join not in self.waiting:
            return
        arrivals = self.waiting.pop(join)
        if not self.graph.reaches(join, join):
            self.closed.add(join)
        if self.limits[join].stop_rest:
            for token in [one for one in self.tokens if self.graph.reaches(one[0], join)]:
                self.tokens.remove(token)
                self.ends[token[0], "Late", token[1].split(",")[0]] += 1
            for other in [one for one in self.waiting if self.graph.reaches(one, join)]:
                for message in self.waiting.pop(other):
                    self.ends[other, "Late", message] += 1
        self.tokens.append((join, ",".join(arrivals)))

    def fire(self) -> None:
        firing = [
            join
            for join in self.waiting
            if not any(self.graph.reaches(node, join) for node, _ in self.tokens)
            and not any(self.graph.goes_first(other, join) for other in self.waiting)
        ]
        for join in firing:
            self.tokens.append((join, ",".join(self.waiting.pop(join))))


class EarlyJoins(RuleBasedStateMachine):
    """Branches leave, end, and are restarted, joins run out of time: the core and the model stay equal."""

    @initialize(
        seed=st.integers(0, 2**32),
        count=st.integers(4, 9),
        quorums=st.lists(st.integers(0, 3), min_size=9, max_size=9),
        stops=st.lists(st.booleans(), min_size=9, max_size=9),
        starts=st.lists(st.integers(0, 100), min_size=1, max_size=4),
    )
    def begin(self, seed: int, count: int, quorums: list[int], stops: list[bool], starts: list[int]) -> None:
        """Make a chain, and begin at nodes and behind nodes, as a restored run does."""
        plan = random_plan(seed, count, any_start=True, written=("def",))
        while any(node.kind == "end" for node in plan.nodes):
            seed += 1
            plan = random_plan(seed, count, any_start=True, written=("def",))
        graph = Graph(plan)
        limits = {join: JoinLimits(1.0, quorums[join], stops[join]) for join in graph.joins}
        self.model = EarlyModel(graph, limits)
        self.core, self.steps = self._core(plan, limits)
        random = Random(seed)
        places: list[Any] = []
        due: list[int] = []
        for number, place in enumerate(starts):
            node, message = place % count, f"m{number}"
            relation = random.choice([None, None, *RELATIONS])
            places.append((self.steps[node], Message(message, "", "TEXT"), relation))
            targets = [node] if relation is None else plan.targets(node, relation)
            for target in targets:
                self.model.place(target, message, due)
            if not targets:
                self.model.ends[node, relation, message] += 1
        for join in due:
            self.model.early(join)
        self.model.fire()
        self.core.start(places)

    def _core(self, plan: Plan, limits: dict[int, JoinLimits]) -> tuple[Core, list[Any]]:
        placed: list[Placed] = []
        for number, node in enumerate(plan.nodes):
            told: dict[str, Any] = {"relations": (), "run": None, "join_limits": limits.get(number), "ends": False}
            component: Any = SimpleNamespace(collects=node.kind == "join", **told)
            placed.append(Placed(NodeDefinition(str(number), "t"), component, lambda: None, False, False))
        edges = [(str(source), relation, str(to)) for source, relation, to in plan.edges]
        compiled = compile_chain(SimpleNamespace(id="c"), placed, edges)
        return Core(compiled), [compiled.by_id[str(number)] for number in range(len(plan.nodes))]

    @precondition(lambda self: self.model.tokens)
    @rule(which=st.integers(0, 100), relations=st.lists(st.sampled_from(RELATIONS), max_size=2))
    def leave(self, which: int, relations: list[str]) -> None:
        """Let any token leave by some relations, at once; none when there are too many."""
        if len(self.model.tokens) > MAX_TOKENS:
            relations = []
        token = sorted(self.model.tokens)[which % len(self.model.tokens)]
        own = next(one for one in self.core.ready if shown(one) == token)
        self.core.ready.remove(own)
        step = own[0]
        message = Message(sent(token), "", "TEXT")
        for relation in relations:
            self.core.emit(step, relation, message, self.core.ready)
        if self.core.due:
            self.core.fire_due(self.core.ready)
        self.core.finish(step, None if relations else message)
        self.model.leave(token, relations)

    @precondition(lambda self: self.model.waiting)
    @rule(which=st.integers(0, 100))
    def run_out_of_time(self, which: int) -> None:
        """Let the time of any waiting join be over."""
        node = sorted(self.model.waiting)[which % len(self.model.waiting)]
        self.core.fire_early(self.steps[node].join, self.core.ready, relation=EXPIRED)
        self.model.early(node)
        self.model.fire()

    @precondition(lambda self: not self.model.tokens)
    @rule()
    def rest(self) -> None:
        """Do nothing: the run is over."""

    @invariant()
    def equal(self) -> None:
        """Tokens, waiting joins and ends are those of the model; nothing waits for ever."""
        if not hasattr(self, "core"):
            return
        assert Counter(map(shown, self.core.ready)) == Counter(self.model.tokens)
        waiting = {
            int(self.core.compiled.joins[number].node_id): [one.message.text for one in arrivals]
            for number, arrivals in (self.core.arrived or {}).items()
        }
        assert waiting == self.model.waiting
        ends = Counter((int(end.node_id), str(end.relation), end.message.text) for end in self.core.ends)
        assert ends == self.model.ends
        if not self.model.tokens:
            assert not waiting
            assert not any(self.core.holds or ())


def sent(token: tuple[int, str]) -> str:
    """Give the message that leaves: at a join one that tells of all arrivals."""
    return token[1].replace(",", "+")


def shown(token: Any) -> tuple[int, str]:
    step, message, _, _ = token
    text = ",".join(one.message.text for one in message) if isinstance(message, list) else message.text
    return int(step.node_id), text


TestEarlyJoins = EarlyJoins.TestCase
TestEarlyJoins.settings = settings(max_examples=times(100), stateful_step_count=25)
