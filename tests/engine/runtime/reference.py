"""A slow, obvious model of the token semantics, and random chains to hold the kernel against it.

The model keeps every token in a list, walks the graph anew for every question, and knows no counts. What a node does
depends on its message alone, so that all orders of completion must come to the same visits, ends and joins.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

RELATIONS = ("Success", "A", "B", "Failure")
MAX_HOPS = 9
MAX_VISITS = 120


class TooBigError(Exception):
    """The chain does more than a test has time for."""


class Parcel(NamedTuple):
    """A message: a key that tells its whole past, and how many nodes it saw."""

    key: str
    hops: int = 0

    def sent(self, node: int, relation: str, number: int) -> Parcel:
        """Give what a node sends on for it."""
        return Parcel(_hash(self.key, node, relation, number), self.hops + 1)


class Behaviour(NamedTuple):
    """What a visit does: sends on the way, then leaves by relations (none: the branch ends)."""

    emits: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


class Node(NamedTuple):
    """A node: `node`, `join` or `end`, how it is written (`def`, `async`, `flow`), and what it may do."""

    kind: str
    written: str
    behaviours: tuple[Behaviour, ...]

    def behave(self, parcel: Parcel) -> Behaviour:
        """Choose by the message alone."""
        if parcel.hops >= MAX_HOPS:
            return Behaviour()
        return self.behaviours[int(parcel.key, 16) % len(self.behaviours)]


class Plan(NamedTuple):
    """A random chain and where it starts."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, str, int], ...]
    start: tuple[int, ...]

    def targets(self, node: int, relation: str | None = None) -> list[int]:
        """Give where the connections lead, in the order written."""
        if self.nodes[node].kind == "end":
            return []
        return [to for source, name, to in self.edges if source == node and relation in (None, name)]

    @property
    def is_gated(self) -> bool:
        """True when ordinary ends are no answers."""
        return any(node.kind == "end" for node in self.nodes)


class Record(NamedTuple):
    """What a run did, without any order."""

    visits: Counter[Any]
    ends: Counter[Any]


def merged(arrivals: list[tuple[Parcel, str]]) -> Parcel:
    """Give the message of a join, which does not depend on the order of its list."""
    keys = sorted(f"{parcel.key}@{sender}" for parcel, sender in arrivals)
    return Parcel(_hash(*keys), max(parcel.hops for parcel, _ in arrivals))


def _hash(*parts: object) -> str:
    return f"{zlib.crc32(repr(parts).encode()):08x}"


@dataclass(eq=False)
class Token:
    """One token: from when it is made until its visit is over."""

    node: int
    parcel: Parcel
    came: Any
    emitter: Token | None = None
    todo: list[str] | None = None
    number: int = 0


@dataclass
class Model:
    """One run of the model."""

    plan: Plan
    tokens: list[Token] = field(default_factory=list)
    waiting: dict[int, list[tuple[Parcel, str, str]]] = field(default_factory=dict)
    visits: Counter[Any] = field(default_factory=Counter)
    ends: Counter[Any] = field(default_factory=Counter)

    def run(self, random: Random) -> Record:
        """Run to the end, any token next."""
        for node in self.plan.start:
            self.place(node, Parcel("0"), "", "", None)
        self.fire()
        while self.tokens:
            self.step(random.choice([token for token in self.tokens if not self.is_blocked(token)]))
            self.fire()
        assert not self.waiting, "no join may wait when nothing runs"
        return Record(self.visits, self.ends)

    def place(self, node: int, parcel: Parcel, sender: str, relation: str, emitter: Token | None) -> None:
        """Let a message reach a node."""
        if self.plan.nodes[node].kind == "join":
            self.waiting.setdefault(node, []).append((parcel, sender, relation))
        else:
            self.tokens.append(Token(node, parcel, (parcel.key, sender, relation), emitter))

    def fire(self) -> None:
        """Fire, all at once, the joins that nothing can reach."""
        firing = [
            join
            for join in self.waiting
            if not any(self.reaches(token.node, join) for token in self.tokens)
            and not any(self.goes_first(other, join) for other in self.waiting if other != join)
        ]
        for join in firing:
            arrivals = self.waiting.pop(join)
            parcel = merged([(parcel, sender) for parcel, sender, _ in arrivals])
            came = tuple(sorted((parcel.key, sender, relation) for parcel, sender, relation in arrivals))
            self.tokens.append(Token(join, parcel, came))

    def reaches(self, node: int, target: int, without: frozenset[tuple[int, int]] = frozenset()) -> bool:
        """Tell whether a path of one or more connections leads there."""
        seen: set[int] = set()
        heads = [to for to in self.plan.targets(node) if (node, to) not in without]
        while heads:
            head = heads.pop()
            if head == target:
                return True
            if head not in seen:
                seen.add(head)
                heads += [to for to in self.plan.targets(head) if (head, to) not in without]
        return False

    def goes_first(self, join: int, other: int) -> bool:
        """Tell whether a waiting join keeps another one from firing."""
        if not self.reaches(join, other):
            return False
        return not self.reaches(other, join) or self.reaches(join, other, without=closing(self.plan))

    def is_blocked(self, token: Token) -> bool:
        """Tell whether a token waits for what it emitted."""
        for other in self.tokens:
            above = other.emitter
            while above is not None:
                if above is token:
                    return True
                above = above.emitter
        return False

    def step(self, token: Token) -> None:
        """Do the next thing of a visit: one emission, or leave."""
        if token.todo is None:
            self.visits[token.node, token.came] += 1
            if self.visits.total() > MAX_VISITS:
                raise TooBigError
            if self.plan.nodes[token.node].kind == "end":
                self.tokens.remove(token)
                _, _, relation = token.came
                self.ends[token.node, relation, token.parcel.key if relation else "", False] += 1
                return
            token.todo = list(self.plan.nodes[token.node].behave(token.parcel).emits)
        if token.todo:
            self.send(token, token.todo.pop(0), token)
            return
        self.tokens.remove(token)
        leaves = self.plan.nodes[token.node].behave(token.parcel).leaves
        for relation in leaves:
            self.send(token, relation, token.emitter)
        if not leaves and not token.number:
            self.ends[token.node, "", "", self.plan.is_gated] += 1  # nothing sent: the branch ends with what came

    def send(self, token: Token, relation: str, emitter: Token | None) -> None:
        """Send one message by a relation."""
        parcel = token.parcel.sent(token.node, relation, token.number)
        token.number += 1
        targets = self.plan.targets(token.node, relation)
        for target in targets:
            self.place(target, parcel, str(token.node), relation, emitter)
        if not targets:
            gated = self.plan.is_gated and relation != "Failure"
            self.ends[token.node, relation, parcel.key, gated] += 1


def closing(plan: Plan) -> frozenset[tuple[int, int]]:
    """Give the connections that close a cycle: they lead to a node on the path of a depth-first walk."""
    found: set[tuple[int, int]] = set()
    done: set[int] = set()

    def walk(node: int, path: tuple[int, ...]) -> None:
        done.add(node)
        for target in plan.targets(node):
            if target in (*path, node):
                found.add((node, target))
            elif target not in done:
                walk(target, (*path, node))

    for root in range(len(plan.nodes)):
        if root not in done:
            walk(root, ())
    return frozenset(found)


def random_plan(seed: int, count: int, *, any_start: bool, written: tuple[str, ...]) -> Plan:
    """Make up a chain: splits, cases, joins, loops, early ends, failures, emissions."""
    random = Random(seed)
    kinds = ["node", *random.choices(("node", "join", "end"), (5, 3, 0.4), k=count - 1)]
    inner = [number for number, kind in enumerate(kinds) if kind != "end"]
    tree = [(random.choice([n for n in inner if n < number]), number) for number in range(1, count)]
    more = [(random.choice(inner), random.randrange(count)) for _ in range(random.randrange(2 * count))]
    if random.random() < 0.4:
        more = [(min(pair), max(pair)) for pair in more if pair[0] != pair[1]]  # no cycles
    names = random.choices(RELATIONS, (6, 2, 2, 1), k=len(tree) + len(more))
    edges = list(dict.fromkeys((source, name, to) for (source, to), name in zip([*tree, *more], names, strict=True)))
    random.shuffle(edges)
    nodes: list[Node] = []
    for number, kind in enumerate(kinds):
        style = random.choice(written)
        used = [name for source, name, _ in edges if source == number] or ["Success"]
        nodes.append(Node(kind, style, tuple(_behaviour(random, style, used) for _ in range(random.randint(1, 3)))))
    start = random.sample(range(count), random.randint(1, 3)) if any_start else [0]
    return Plan(tuple(nodes), tuple(edges), tuple(start))


def _behaviour(random: Random, style: str, used: list[str]) -> Behaviour:
    names = used if random.random() < 0.95 else RELATIONS[:3]
    emits = () if style == "def" else tuple(random.choices(names, k=random.choice((0, 0, 1, 2))))
    leaves = random.choices(names, k=random.choice((0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3)))
    if random.random() < 0.1:
        leaves = ["Failure"]
    return Behaviour(tuple(name for name in emits if name != "Failure"), tuple(leaves))


def plans(*, any_start: bool = False, written: tuple[str, ...] = ("def", "async", "flow")) -> st.SearchStrategy[Plan]:
    """Draw a chain; a seed is drawn and not each part, which is a hundred times as quick.

    Args:
        any_start: True to start at several nodes, joins among them.
        written: How nodes may be written.
    """
    return st.builds(
        lambda seed, count: random_plan(seed, count, any_start=any_start, written=written),
        st.integers(0, 2**32),
        st.integers(5, 12),
    )
