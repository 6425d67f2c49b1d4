"""`join`: its time limit, and how many branches are enough."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.components.flow.kit import begun, rest

import catenary_components
from catenary import Chain, ChainInvalid, Engine, Message, Outcome
from catenary.testing import FakeClock

assert catenary_components.__doc__

WAYS = "f Success a, f Success b, a Success j, b Success j"
MESSAGE = Message("text", "T", "TEXT", {"k": "v"}, "m1", 7)


def loaded(clock: FakeClock, connections: str = WAYS, **settings: Any) -> Chain:
    """Load two branches, `b` an hour later than `a`, that meet in the join `j`; `j` may lead to `r`."""
    engine = Engine(clock=clock)
    kinds = {"f": "fork", "a": "fork", "b": "delay", "j": "join", "r": "log"}
    options: dict[str, Any] = {"b": {"delayMs": 3_600_000}, "j": settings}
    return engine.load(
        {
            "ruleChain": {"id": "x"},
            "metadata": {
                "nodes": [
                    {"id": name, "type": kind, "configuration": options.get(name, {})} for name, kind in kinds.items()
                ],
                "connections": [
                    dict(zip(("fromId", "type", "toId"), way.split(), strict=True)) for way in connections.split(",")
                ],
            },
        }
    )


def ways(outcome: Outcome) -> list[tuple[str, str]]:
    return [(end.node_id, str(end.relation)) for end in outcome.ends]


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 30),
        ({"timeout": None}, 30),
        ({"timeout": 0}, 30),
        ({"timeout": -5}, 30),
        ({"timeout": "0"}, 30),
        ({"timeout": 2}, 2),
        ({"TimeOut": "2"}, 2),
        ({"timeout": 0.5}, 0.5),
    ],
)
async def test_a_join_waits_for_so_many_seconds_after_the_first_arrival(
    fake_clock: FakeClock, settings: dict[str, Any], seconds: float
) -> None:
    run = await begun(loaded(fake_clock, **settings, stopRest=True), MESSAGE)
    fake_clock.advance(seconds - 0.001)
    await rest()
    assert not run.done()
    fake_clock.advance(0.001)
    assert ways(await run) == [("j", "Failure"), ("b", "Late")]


@pytest.mark.parametrize("merge", [False, True])
async def test_when_its_time_is_over_the_message_that_came_first_leaves_by_failure(
    fake_clock: FakeClock, *, merge: bool
) -> None:
    run = await begun(loaded(fake_clock, mergeToMap=merge, stopRest=True), MESSAGE)
    fake_clock.advance(30)
    outcome = await run
    end = outcome.ends[0]
    message = end.message
    assert (message.data, message.data_type, message.type, message.id, message.ts) == ("text", "TEXT", "T", "m1", 7)
    assert dict(message.metadata) == {"k": "v", "errorMsg": "context deadline exceeded"}
    assert str(end.error) == "context deadline exceeded"
    assert (outcome.status, "context deadline exceeded" in str(outcome.error)) == ("failed", True)


async def test_what_comes_after_the_time_is_late_and_neither_answer_nor_failure(fake_clock: FakeClock) -> None:
    run = await begun(loaded(fake_clock, WAYS + ", j Failure r", timeout=2), MESSAGE)
    fake_clock.advance(2)
    await rest()
    assert not run.done()
    fake_clock.advance(3600)
    outcome = await run
    assert (ways(outcome), outcome.ok) == ([("r", "Success"), ("j", "Late")], True)
    assert outcome.message.metadata["errorMsg"] == "context deadline exceeded"


async def test_a_quorum_goes_on_with_what_arrived_and_stops_the_rest_when_asked_to(fake_clock: FakeClock) -> None:
    outcome = await loaded(fake_clock, quorum=1, stopRest=True).run(MESSAGE)
    assert sorted(ways(outcome)) == [("b", "Late"), ("j", "Success")]
    assert [entry["nodeId"] for entry in json.loads(outcome.message.text)] == ["a"]
    assert outcome.ok


async def test_a_branch_that_is_not_stopped_arrives_late(fake_clock: FakeClock) -> None:
    run = await begun(loaded(fake_clock, quorum="1", mergeToMap=True), MESSAGE)
    assert not run.done()
    fake_clock.advance(3600)
    outcome = await run
    assert ways(outcome) == [("j", "Success"), ("j", "Late")]
    assert outcome.message.value == {"a": "text"}


@pytest.mark.parametrize("quorum", [0, 2, 7])
async def test_a_quorum_that_all_branches_do_not_exceed_waits_for_all(fake_clock: FakeClock, quorum: int) -> None:
    run = await begun(loaded(fake_clock, quorum=quorum, timeout=9999), MESSAGE)
    assert not run.done()
    fake_clock.advance(3600)
    outcome = await run
    assert ways(outcome) == [("j", "Success")]
    assert [entry["nodeId"] for entry in json.loads(outcome.message.text)] == ["a", "b"]


async def test_an_errored_arrival_counts_for_the_quorum_and_fails_it(load: Callable[..., Chain]) -> None:
    nodes = ["f:fork", ("a:exprTransform", {"expr": "msg.x + 1"}), "b:fork", ("j:join", {"quorum": 1})]
    outcome = load(nodes, "f Success a, f Success b, a Failure j, b Success j").run_sync(Message("{}"))
    end = next(end for end in outcome.ends if end.relation == "Failure")
    assert str(end.error).startswith("NodeId=a,Err=")
    assert [entry["nodeId"] for entry in json.loads(end.message.text)] == ["a"]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"timeout": "soon"}, "timeout must be a number, not 'soon'"),
        ({"timeout": [1]}, "timeout must be a number, not [1]"),
        ({"quorum": -1}, "quorum must be at least 0, not -1"),
        ({"quorum": 1.5}, "quorum must be a whole number, not 1.5"),
        ({"mergeToMap": "zzz"}, "mergeToMap must be true or false, not 'zzz'"),
        ({"stopRest": "zzz"}, "stopRest must be true or false, not 'zzz'"),
    ],
)
def test_wrong_settings_are_told_at_load(load: Callable[..., Chain], settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ChainInvalid) as caught:
        load(["f:fork", ("j:join", settings)], "f Success j")
    assert [problem.text for problem in caught.value.problems] == [f"node 'j' (join): {text}"]


def test_an_unknown_setting_is_a_warning_with_a_guess(load: Callable[..., Chain], engine: Engine) -> None:
    chain = load(["f:fork", ("j:join", {"quorom": 2})], "f Success j")
    (problem,) = engine.check(chain.to_dict())
    assert (problem.code, problem.severity, problem.hint) == (
        "config.unknown-option",
        "warning",
        "did you mean 'quorum'?",
    )
