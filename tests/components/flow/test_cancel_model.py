"""Whatever a chain is at when its caller cancels the run: it stops, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times
from tests.engine.runtime.kit import Kind, definition, flow, limited, together
from tests.engine.runtime.stepping import LoopClock, stepped

from catenary import SUCCESS, Engine, Message

LONG_S = 3  # what a slow clean-up takes; meanwhile others could wake up
DELIVERED = 3  # turns of the loop after which a cancellation has reached tasks of tasks
TERMINAL = {"run.complete", "run.error", "run.pause", "run.cancel"}


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


# What nodes do


async def naps(ctx: Any, msg: Any) -> Any:
    await turns(3)
    return SUCCESS


async def answers_at_once(ctx: Any, msg: Any) -> Any:
    return SUCCESS


async def sleeps(ctx: Any, msg: Any) -> Any:
    await ctx.clock.sleep(1)
    return SUCCESS


async def hangs(ctx: Any, msg: Any) -> Any:
    await asyncio.Event().wait()


async def cleans_up_slowly(ctx: Any, msg: Any) -> Any:
    try:
        await ctx.clock.sleep(1)
    finally:
        await ctx.clock.sleep(LONG_S)
    return SUCCESS


async def swallows(ctx: Any, msg: Any) -> Any:
    with suppress(asyncio.CancelledError):
        await ctx.clock.sleep(1)
    return SUCCESS


async def swallows_slowly(ctx: Any, msg: Any) -> Any:
    with suppress(asyncio.CancelledError):
        await ctx.clock.sleep(1)
    await ctx.clock.sleep(LONG_S)
    return SUCCESS


async def raises_in_the_end(ctx: Any, msg: Any) -> Any:
    try:
        await ctx.clock.sleep(1)
    finally:
        raise ValueError("raised in a finally")


async def fails_late(ctx: Any, msg: Any) -> Any:
    await turns(2)
    raise ValueError("failed")


async def emits(ctx: Any, msg: Any) -> Any:
    for _ in range(2):
        await ctx.emit(SUCCESS, msg)
        await turns(1)


async def emits_after_a_cancellation(ctx: Any, msg: Any) -> Any:
    try:
        await ctx.clock.sleep(1)
    finally:
        await ctx.emit(SUCCESS, msg)


async def emits_beside_itself(ctx: Any, msg: Any) -> Any:
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(ctx.emit(SUCCESS, msg))


async def runs_a_chain(ctx: Any, msg: Any) -> Any:
    await ctx.run_chain("sub", msg)
    return SUCCESS


async def runs_a_chain_in_the_end(ctx: Any, msg: Any) -> Any:
    try:
        await ctx.clock.sleep(1)
    finally:
        await ctx.run_chain("sub", msg)


async def hands_on_what_a_chain_gives(ctx: Any, msg: Any) -> Any:
    await ctx.run_chain("sub", msg, each=lambda end: ctx.emit(end.relation, end.message))


async def joins_slowly(ctx: Any, arrivals: Any) -> Any:
    await turns(2)
    return SUCCESS, arrivals[0].message


def fails(ctx: Any, msg: Any) -> Any:
    raise ValueError("failed")


def passes(ctx: Any, msg: Any) -> Any:
    return SUCCESS


AWAITED = [
    *(answers_at_once, naps, sleeps, hangs, cleans_up_slowly, swallows, swallows_slowly, raises_in_the_end),
    *(fails_late, emits, emits_after_a_cancellation, emits_beside_itself),
]
CALLERS = [runs_a_chain, runs_a_chain_in_the_end, hands_on_what_a_chain_gives]
JOINS = [
    *(Kind("t/join", together), Kind("t/asyncJoin", joins_slowly)),
    *(limited(quorum=1), limited(quorum=1, stop_rest=True), limited(timeout_s=0.5, stop_rest=True)),
    *(limited(timeout_s=0.5), limited(quorum=2, timeout_s=1, stop_rest=True)),
]
KEYS = {
    "for": {"type": "for", "configuration": {"range": "1..2", "do": "chain:sub", "mode": 1}},
    "for beside": {"type": "for", "configuration": {"range": "1..2", "do": "chain:sub", "mode": 3}},
    "group": {"type": "groupAction", "configuration": {"nodeIds": ["m1", "m2"], "matchNum": 1}},
    "group of all": {"type": "groupAction", "configuration": {"nodeIds": ["m1", "m2"], "timeout": 1}},
    "flow": {"type": "flow", "configuration": {"targetId": "sub", "extend": True}},
    "flow as one": {"type": "flow", "configuration": {"targetId": "sub"}},
}


@dataclass(frozen=True)
class Node:
    """A node of a chain to be made, and the numbers of the nodes that send to it."""

    what: Any
    sources: tuple[int, ...]
    keys: dict[str, Any]


@st.composite
def chains(draw: Any, *, is_sub: bool) -> list[Node]:
    whats: list[Any] = [passes, fails, *AWAITED, *map(flow, (naps, emits)), *JOINS]
    if not is_sub:
        whats += [*CALLERS, *map(flow, CALLERS), *KEYS]
    nodes = [Node(passes, (), {})]
    for number in range(1, draw(st.integers(1, 4 if is_sub else 6)) + 1):
        what = draw(st.sampled_from(whats))
        is_join = isinstance(what, Kind) and "oin" in what.type
        sources = draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=3 if is_join else 2, unique=True))
        extra = draw(st.sampled_from([{}, {}, {"timeout": "500ms"}, {"retry": {"maxRetries": 1, "delay": "100ms"}}]))
        nodes.append(Node(what, tuple(sources), {} if what in (passes, *JOINS) else extra))
    return nodes


@dataclass(frozen=True)
class Case:
    """A chain, and how its run is cancelled."""

    nodes: list[Node]
    sub: list[Node]
    steps: int
    idle_s: float
    again: int | None
    is_limited: bool
    heard: bool
    timeout: float | None
    stop: bool
    sub_stop: bool


cases = st.builds(
    Case,
    nodes=chains(is_sub=False),
    sub=chains(is_sub=True),
    steps=st.integers(0, 25),
    idle_s=st.sampled_from([0, 0, 0, 0.25, 0.5, 1, 1.5]),
    again=st.none() | st.integers(0, 15),
    is_limited=st.booleans(),
    heard=st.booleans(),
    timeout=st.sampled_from([None, None, 0.7, 1]),
    stop=st.booleans(),
    sub_stop=st.booleans(),
)


class Log:
    """What began, and at which turn of the loop."""

    def __init__(self) -> None:
        self.began: list[tuple[int, float, str]] = []

    def noting(self, what: Any) -> Any:
        """Give a node that notes when it begins."""
        kind = what if isinstance(what, Kind) else None
        function = what if kind is None else kind.function

        def called(ctx: Any, msg: Any) -> Any:
            self.began.append((*now(), ctx.node_id))
            return function(ctx, msg)

        async def awaited(ctx: Any, msg: Any) -> Any:
            return await called(ctx, msg)

        noted = awaited if asyncio.iscoroutinefunction(function) else called
        return noted if kind is None else Kind(kind.type, noted, kind.limits)


def now() -> tuple[int, float]:
    """Give the turn of the loop, and its time."""
    loop: Any = asyncio.get_running_loop()
    return loop.turns, loop.now


class Caller:
    """Runs a chain, and is cancelled: by somebody else, or by a time limit of its own."""

    def __init__(self, chain: Any, options: dict[str, Any], *, is_limited: bool) -> None:
        self.limit: asyncio.Timeout | None = asyncio.timeout(None) if is_limited else None
        self.asked = 0
        self.is_over = False
        self.cancelled_at: tuple[int, float] | None = None
        self.task = asyncio.create_task(self._limited(chain, options) if is_limited else self._run(chain, options))

    async def _run(self, chain: Any, options: dict[str, Any]) -> None:
        task: Any = asyncio.current_task()
        try:
            await chain.run(Message("x"), **options)
        finally:
            assert task.cancelling() == self.asked
            self.is_over = True
        await asyncio.sleep(0)  # what was left of a cancellation would come here

    async def _limited(self, chain: Any, options: dict[str, Any]) -> None:
        task: Any = asyncio.current_task()
        assert self.limit is not None
        with suppress(TimeoutError):
            async with self.limit:
                await chain.run(Message("x"), **options)
            assert not self.limit.expired()
        self.is_over = True
        assert task.cancelling() == 0
        await asyncio.sleep(0)

    def cancel(self) -> None:
        if self.is_over:
            return
        if self.cancelled_at is None:
            self.cancelled_at = now()
        if self.limit is None:
            self.asked += 1
            self.task.cancel()
        elif not self.limit.expired():
            self.limit.reschedule(asyncio.get_running_loop().time())

    async def over(self) -> bool:
        """Wait until the run is over; tells whether it was cancelled, as it has to be when that was asked for."""
        await asyncio.wait([self.task])
        if self.limit is not None:
            self.task.result()
            return self.limit.expired()
        if self.asked:
            assert self.task.cancelled()
        else:
            self.task.result()
        return self.asked > 0


def written(log: Log, nodes: list[Node], chain_id: str, *, stop: bool) -> dict[str, Any]:
    kinds: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    edges: list[str] = []
    for number, node in enumerate(nodes):
        name = f"{chain_id[0]}{number}"
        is_own = not isinstance(node.what, str)
        kinds[name] = log.noting(node.what) if is_own else None
        keys[name] = {**node.keys, **({} if is_own else KEYS[node.what])}
        edges += [f"{chain_id[0]}{source} {name}" for source in node.sources]
    kinds |= {"m1": log.noting(naps), "m2": log.noting(cleans_up_slowly)}
    return definition(kinds, edges, id=chain_id, keys=keys, onFailure="stop" if stop else "continue")


async def perform(case: Case) -> None:
    log = Log()
    async with Engine(clock=LoopClock()) as engine:
        engine.load(written(log, case.sub, "sub", stop=case.sub_stop))
        chain = engine.load(written(log, case.nodes, "chain", stop=case.stop))
        await _cancelled(case, log, chain)
        assert (chain.active, engine.get("sub").active) == (0, 0)


async def _cancelled(case: Case, log: Log, chain: Any) -> None:
    events: list[Any] = []
    options: dict[str, Any] = {"listener": events.append} if case.heard else {}
    if case.timeout is not None:
        options["timeout"] = case.timeout
    caller = Caller(chain, options, is_limited=case.is_limited)
    await turns(max(case.steps, case.is_limited))  # a limit is entered in the first step
    if case.idle_s:
        await asyncio.sleep(case.idle_s)
    caller.cancel()
    if case.again is not None:
        await turns(case.again)
        caller.cancel()
    is_cancelled = await caller.over()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    if is_cancelled:
        turn, seconds = caller.cancelled_at
        assert [began for began in log.began if began[0] > turn + DELIVERED or began[1] > seconds] == []
    if case.heard:
        _look_at(events, is_cancelled=is_cancelled)


def _look_at(events: list[Any], *, is_cancelled: bool) -> None:
    names = [event.name for event in events]
    if not names:
        return  # cancelled before its first step
    assert names[0] == "run.start"
    assert [name for name in names if name in TERMINAL] == names[-1:]
    if is_cancelled:
        assert names[-1] == "run.cancel"
    visits = {
        name: Counter(event.visit for event in events if event.name == name) for name in ("node.start", "node.end")
    }
    assert visits["node.start"] == visits["node.end"]


@settings(max_examples=times(50))
@given(case=cases)
def test_a_cancelled_run_stops_and_leaves_nothing_behind(case: Case) -> None:
    stepped(perform(case))
