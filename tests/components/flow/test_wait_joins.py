"""`wait` and `join`: a join waits for the answer, and its time stands still meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pytest
from tests.components.flow.kit import begun, rest

from catenary import Chain, Engine, Outcome
from catenary.errors import PauseError
from catenary.testing import FakeClock

Load = Callable[..., Chain]


@pytest.fixture
def engine(fake_clock: FakeClock) -> Generator[Engine]:
    """An engine whose clock stands still."""
    made = Engine(clock=fake_clock)
    yield made
    made.close_sync()


async def test_a_join_waits_for_the_answer(engine: Engine, load: Load) -> None:
    chain = load(
        ["f:fork", ("w:wait", {"use": "merge"}), "a:log", ("j:join", {"mergeToMap": True})],
        "f Success w, f Success a, w Success j, a Success j",
    )
    run = await begun(chain, {"n": 1})
    assert not run.done()
    await engine.answer(next(iter(engine.pauses)).run_id, "w", data={"w": 2})
    outcome = await run
    assert [end.node_id for end in outcome.ends] == ["j"]
    assert outcome.message.value == {"n": 1, "w": 2}


LIMITED = {"timeout": 2, "stopRest": True}
TWO_WAITS = "f Success w, f Success a, f Success b, w Success j, a Success j, b Success j"
JOINED = "f Success w, f Success a, w Success j, a Success j"


async def moved(clock: FakeClock, seconds: float) -> None:
    """Let time pass."""
    await rest()
    clock.advance(seconds)
    await rest()


async def left_waiting(chain: Chain, clock: FakeClock) -> asyncio.Task[Outcome]:
    """Begin a run, and wait for longer than its joins would."""
    run = await begun(chain)
    for seconds in (1, 100):
        await moved(clock, seconds)
    assert not run.done()
    return run


@pytest.mark.parametrize("arrival", ["a:log", ("a:delay", {"delayMs": 1000})], ids=["before", "meanwhile"])
async def test_the_time_of_a_join_stands_still_while_it_waits_for_an_answer(
    engine: Engine, load: Load, fake_clock: FakeClock, arrival: Any
) -> None:
    run = await left_waiting(load(["f:fork", arrival, "w:wait", ("j:join", {"timeout": 2})], JOINED), fake_clock)
    await engine.answer(next(iter(engine.pauses)).run_id, "w")
    assert [(end.node_id, end.relation) for end in (await run).ends] == [("j", "Success")]


async def test_the_time_of_a_join_stands_still_as_long_as_one_of_several_waits(
    engine: Engine, load: Load, fake_clock: FakeClock
) -> None:
    chain = load(["f:fork", "a:wait", "w:wait", "b:log", ("j:join", {"timeout": 2})], TWO_WAITS)
    run = await left_waiting(chain, fake_clock)
    for node in ("a", "w"):
        await engine.answer(next(iter(engine.pauses)).run_id, node)
        await moved(fake_clock, 100)
    assert [(end.node_id, end.relation) for end in (await run).ends] == [("j", "Success")]


async def test_the_time_of_a_join_goes_on_after_the_answer(engine: Engine, load: Load, fake_clock: FakeClock) -> None:
    run = await left_waiting(
        load(
            ["f:fork", "a:log", "w:wait", ("b:delay", {"delayMs": 1000000}), ("j:join", LIMITED)],
            "f Success w, f Success a, w Success b, b Success j, a Success j",
        ),
        fake_clock,
    )
    await engine.answer(next(iter(engine.pauses)).run_id, "w")
    await moved(fake_clock, 1.9)
    assert not run.done()
    await moved(fake_clock, 0.2)
    assert [(end.node_id, end.relation) for end in (await run).ends] == [("j", "Failure"), ("b", "Late")]


async def test_joins_around_a_sub_chain_wait_too(engine: Engine, load: Load, fake_clock: FakeClock) -> None:
    inner = load(["f:fork", "w:wait", "a:log", ("j:join", {"timeout": 2})], JOINED)
    around = load(["f:fork", "a:log", ("w:flow", {"targetId": inner.id}), ("j:join", {"timeout": 2})], JOINED)
    run = await left_waiting(around, fake_clock)
    await engine.answer(next(iter(engine.pauses)).run_id, "w")
    assert [(end.node_id, end.relation) for end in (await run).ends] == [("j", "Success")]


async def test_the_time_of_a_join_that_the_node_cannot_reach_goes_on(
    engine: Engine, load: Load, fake_clock: FakeClock
) -> None:
    chain = load(
        ["f:fork", "w:wait", "a:log", ("b:delay", {"delayMs": 1000000}), ("j:join", LIMITED)],
        "f Success w, f Success a, f Success b, a Success j, b Success j",
    )
    run = await left_waiting(chain, fake_clock)
    await engine.answer(next(iter(engine.pauses)).run_id, "w")
    outcome = await run
    assert sorted((end.node_id, end.relation) for end in outcome.ends) == [
        ("b", "Late"),
        ("j", "Failure"),
        ("w", "Success"),
    ]


@pytest.mark.parametrize("is_inside", [False, True], ids=["here", "in a sub-chain"])
async def test_a_join_that_stops_the_rest_closes_the_question(engine: Engine, load: Load, *, is_inside: bool) -> None:
    waiting = ("w:flow", {"targetId": load(["v:wait"]).id}) if is_inside else "w:wait"
    quick = ("j:join", {"quorum": 1, "stopRest": True, "mergeToMap": True})
    run = await begun(load(["f:fork", waiting, "a:wait", quick], JOINED), {"n": 1})
    pauses = {pause.node_id: pause for pause in engine.pauses}
    pause = pauses["v" if is_inside else "w"]
    await engine.answer(pauses["a"].run_id, "a")
    outcome = await run
    assert sorted((end.node_id, str(end.relation)) for end in outcome.ends) == [("j", "Success"), ("w", "Late")]
    assert not list(engine.pauses)
    with pytest.raises(PauseError, match="its run was stopped"):
        await engine.answer(pause.run_id, pause.node_id)


async def test_an_answer_after_the_join_went_on_is_late(engine: Engine, load: Load) -> None:
    nodes = ["f:fork", "w:wait", "a:log", ("j:join", {"quorum": 1, "mergeToMap": True})]
    run = await begun(load(nodes, JOINED), {"n": 1})
    (pause,) = engine.pauses
    await engine.answer(pause.run_id, "w")
    assert [(end.node_id, str(end.relation)) for end in (await run).ends] == [("j", "Success"), ("j", "Late")]


async def test_a_reload_while_it_waits_leaves_the_run_with_the_chain_it_began_on(engine: Engine, load: Load) -> None:
    chain = load(["f:fork", "w:wait", "a:log", ("j:join", {"mergeToMap": True})], JOINED)
    run = await begun(chain, {"n": 1})
    changed: Any = chain.to_dict()
    changed["metadata"]["nodes"][3]["configuration"] = {}
    engine.reload(changed)
    (pause,) = engine.pauses
    await engine.answer(pause.run_id, "w")
    assert (await run).message.value == {"n": 1}
    again = await begun(engine.get(chain.id), {"n": 1})
    (pause,) = engine.pauses
    await engine.answer(pause.run_id, "w")
    assert [entry["nodeId"] for entry in (await again).message.value] == ["a", "w"]


@pytest.mark.parametrize("options", [{}, {"listener": lambda event: None}], ids=["alone", "heard"])
async def test_a_question_that_a_join_stops_before_it_is_asked_is_never_asked(
    engine: Engine, load: Load, options: dict[str, Any]
) -> None:
    quick = ("j:join", {"quorum": 1, "stopRest": True, "mergeToMap": True})
    asked: list[str] = []
    engine.pauses.on_open(lambda pause: asked.append(pause.node_id))
    chain = load(["f:fork", "w:wait", "a:log", quick], JOINED)
    outcome = await asyncio.wait_for(chain.run({"n": 1}, **options), 15)
    assert sorted((end.node_id, str(end.relation)) for end in outcome.ends) == [("j", "Success"), ("w", "Late")]
    assert asked == []
