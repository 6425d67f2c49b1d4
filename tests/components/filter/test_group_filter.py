"""`groupFilter`: one answer from several filters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.engine.runtime.stepping import stepped

from catenary import End, Engine, Message

Load = Callable[..., Any]
MESSAGE = Message('{"t": 60}', metadata={"k": "v"})


@pytest.fixture
def seen(engine: Engine) -> list[str]:
    """Register functions that say `True` or `False` late; gives what they tell."""
    seen: list[str] = []

    async def late(ctx: Any, relation: str, *, comes: bool = True) -> str:
        try:
            await (asyncio.sleep(0.02) if comes else asyncio.Event().wait())
        except asyncio.CancelledError:
            seen.append(f"{ctx.node_id} stopped")
            raise
        return relation

    engine.function("lateTrue")(lambda ctx, msg: late(ctx, "True"))
    engine.function("lateFalse")(lambda ctx, msg: late(ctx, "False"))
    engine.function("never")(lambda ctx, msg: late(ctx, "True", comes=False))
    return seen


def ask(load: Load, node_ids: Any, configuration: dict[str, Any] | None = None) -> End:
    """Ask filters: t is true, f is false, x fails, lt and lf say so late, n never does."""
    nodes: list[Any] = [
        ("g:groupFilter", {"nodeIds": node_ids, **(configuration or {})}),
        ("t:exprFilter", {"expr": "msg.t > 50"}),
        ("f:exprFilter", {"expr": "msg.t < 50"}),
        ("x:exprFilter", {"expr": "msg.absent > 50"}),
        ("lt:functions", {"functionName": "lateTrue"}),
        ("lf:functions", {"functionName": "lateFalse"}),
        ("n:functions", {"functionName": "never"}),
    ]
    (end,) = load(nodes).run_sync(MESSAGE).ends
    return end


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize(
    ("node_ids", "any_matches", "all_match"),
    [
        ("t", "True", "True"),
        ("f", "False", "False"),
        ("t,f", "True", "False"),
        ("t,lt", "True", "True"),
        ("lf,f", "False", "False"),
        ("x", "False", "False"),
        ("x,t", "True", "False"),
        ("none", "False", "False"),
        ("none,t", "True", "False"),
        (" t , f ", "True", "False"),
        (["t", " lt "], "True", "True"),
        (["f", "f"], "False", "False"),
    ],
)
def test_one_filter_or_all_must_say_true(load: Load, node_ids: Any, any_matches: str, all_match: str) -> None:
    assert ask(load, node_ids).relation == any_matches
    assert ask(load, node_ids, {"allMatches": True}).relation == all_match


@pytest.mark.parametrize(("first", "all_matches", "relation"), [("t", False, "True"), ("f", True, "False")])
def test_the_first_answer_that_decides_stops_the_others(
    load: Load, seen: list[str], first: str, all_matches: bool, relation: str
) -> None:
    assert ask(load, f"n,{first}", {"allMatches": all_matches}).relation == relation
    assert seen == ["n stopped"]


@pytest.mark.usefixtures("seen")
def test_the_message_goes_on_unchanged(load: Load) -> None:
    for node_ids in ("t", "f", "x", "none"):
        assert ask(load, node_ids).message is MESSAGE


def test_a_filter_runs_alone_and_what_it_changes_is_not_seen(load: Load, engine: Engine, seen: list[str]) -> None:
    engine.function("change")(lambda ctx, msg: ("True", msg.with_data("changed").put("x", "y")))
    engine.function("behind")(lambda ctx, msg: seen.append("behind"))
    nodes = [("g:groupFilter", {"nodeIds": "c"}), ("c:functions", {"functionName": "change"})]
    (end,) = load([*nodes, ("b:functions", {"functionName": "behind"})], "c True b").run_sync(MESSAGE).ends
    assert (end.node_id, end.relation, end.message is MESSAGE, seen) == ("g", "True", True, [])


def test_when_the_time_is_over_it_fails(load: Load, seen: list[str]) -> None:
    end = ask(load, "f,n", {"timeout": 0.05})
    assert (end.relation, str(end.error), end.message.data) == ("Failure", "context deadline exceeded", '{"t": 60}')
    assert seen == ["n stopped"]


@pytest.mark.parametrize("configuration", [{}, {"nodeIds": ""}, {"nodeIds": []}])
def test_no_ids_are_a_failure(send: Callable[..., End], configuration: dict[str, Any]) -> None:
    end = send("groupFilter", configuration, "{}")
    assert (end.relation, str(end.error)) == ("Failure", "nodeIds is empty")


def test_a_cancelled_run_leaves_no_task(load: Load, seen: list[str]) -> None:
    chain = load([("g:groupFilter", {"nodeIds": "n"}), ("n:functions", {"functionName": "never"})])

    async def out_of_time() -> str:
        before = asyncio.all_tasks()
        outcome = await chain.run(MESSAGE, timeout=20)  # sooner than the group's 30 s
        assert asyncio.all_tasks() == before
        return outcome.status

    assert (stepped(out_of_time()), seen) == ("cancelled", ["n stopped"])
