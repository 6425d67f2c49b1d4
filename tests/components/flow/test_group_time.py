"""The time that groups of nodes have: by the engine's clock, and not while one of them waits for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pytest

from catenary import Chain, End, Engine, Message
from catenary.testing import FakeClock

Load = Callable[..., Chain]
GROUPS = pytest.mark.parametrize("group", ["groupAction", "groupFilter"])
OVER = ("g", "Failure", "context deadline exceeded")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def engine(clock: FakeClock) -> Generator[Engine]:
    """An engine whose clock stands still."""
    made = Engine(clock=clock)
    yield made
    made.close_sync()


async def rest() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def moved(clock: FakeClock, seconds: float) -> None:
    await rest()
    clock.advance(seconds)
    await rest()


async def ends_of(run: asyncio.Task[Any]) -> list[tuple[str, str, str]]:
    ends: list[End] = (await run).ends
    return [(end.node_id, str(end.relation), str(end.error or "")) for end in ends]


def begun(load: Load, nodes: list[Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(load(nodes).run(Message('{"t":1}')))


@GROUPS
@pytest.mark.parametrize("settings", [{}, {"timeout": 0}, {"timeout": "-1"}, {"timeout": None}])
async def test_without_a_limit_of_its_own_a_group_has_thirty_seconds(
    load: Load, clock: FakeClock, group: str, settings: Any
) -> None:
    run = begun(load, [(f"g:{group}", {"nodeIds": "d", **settings}), ("d:delay", {"delayMs": 60_000})])
    await moved(clock, 29.9)
    assert not run.done()
    await moved(clock, 0.2)
    assert await ends_of(run) == [OVER]


@GROUPS
async def test_the_time_of_a_group_is_that_of_the_clock_of_the_engine(load: Load, clock: FakeClock, group: str) -> None:
    run = begun(load, [(f"g:{group}", {"nodeIds": "d", "timeout": 3600}), ("d:delay", {"delayMs": 7_200_000})])
    await moved(clock, 3599)
    assert not run.done()
    await moved(clock, 1)
    assert await ends_of(run) == [OVER]


def test_members_that_never_wait_have_the_time_of_that_clock_too(load: Load, engine: Engine, clock: FakeClock) -> None:
    engine.function("spend")(lambda ctx, msg: clock.advance(20) or "Success")
    nodes = [
        ("g:groupAction", {"nodeIds": "a,b,c"}),
        *((f"{one}:functions", {"functionName": "spend"}) for one in "abc"),
    ]
    (end,) = load(nodes).run_sync("{}").ends
    assert (end.relation, str(end.error)) == ("Failure", "context deadline exceeded")


@GROUPS
async def test_time_stands_still_while_a_member_waits_for_an_answer(
    load: Load, engine: Engine, clock: FakeClock, group: str
) -> None:
    inner = load(["w:wait", ("z:exprFilter", {"expr": "true"})], "w Success z").id
    nodes = [(f"g:{group}", {"nodeIds": "s", "matchRelationType": "True"})]
    run = begun(load, [*nodes, ("s:flow", {"targetId": inner, "extend": True})])
    await moved(clock, 1000)
    assert not run.done()
    await engine.answer(next(iter(engine.pauses)).run_id, "w")
    assert [relation for _, relation, _ in await ends_of(run)] == ["Success" if group == "groupAction" else "True"]


@GROUPS
async def test_time_goes_on_after_the_answer_where_it_stood(
    load: Load, engine: Engine, clock: FakeClock, group: str
) -> None:
    group_node = (f"g:{group}", {"nodeIds": "w,d", "allMatches": True})
    asking = ("w:wait", {"relations": ["True"]})
    run = begun(load, [group_node, asking, ("d:delay", {"delayMs": 3_600_000})])
    await moved(clock, 100)
    await engine.answer(next(iter(engine.pauses)).run_id, "w")
    await moved(clock, 29.9)
    assert not run.done()
    await moved(clock, 0.2)
    assert await ends_of(run) == [OVER]


async def test_time_stands_still_as_long_as_one_of_several_waits(load: Load, engine: Engine, clock: FakeClock) -> None:
    run = begun(
        load, [("g:groupAction", {"nodeIds": "v,w,d"}), "v:wait", "w:wait", ("d:delay", {"delayMs": 3_600_000})]
    )
    await moved(clock, 100)
    for node in ("v", "w"):
        assert not run.done()
        await engine.answer(next(iter(engine.pauses)).run_id, node)
        await moved(clock, 20)
    assert not run.done()
    await moved(clock, 11)
    assert await ends_of(run) == [OVER]


async def test_time_of_the_groups_around_stands_still_too(load: Load, engine: Engine, clock: FakeClock) -> None:
    nodes = [("g:groupAction", {"nodeIds": "h", "timeout": 5}), ("h:groupAction", {"nodeIds": "w"}), "w:wait"]
    run = begun(load, nodes)
    await moved(clock, 100)
    await engine.answer(next(iter(engine.pauses)).run_id, "w")
    assert [relation for _, relation, _ in await ends_of(run)] == ["Success"]


async def test_the_time_of_a_group_that_the_waiting_node_is_not_in_goes_on(
    load: Load, engine: Engine, clock: FakeClock
) -> None:
    nodes = ["f:fork", "w:wait", ("g:groupAction", {"nodeIds": "d"}), ("d:delay", {"delayMs": 3_600_000})]
    run = asyncio.ensure_future(load(nodes, "f Success w, f Success g").run("{}"))
    await moved(clock, 31)
    await engine.answer(next(iter(engine.pauses)).run_id, "w")
    assert await ends_of(run) == [OVER, ("w", "Success", "")]
