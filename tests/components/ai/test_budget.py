"""Budgets: what a run may use up, with everything below it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from tests.components.ai.conftest import Bench
from tests.programs import eventually

from catenary import Engine, Message
from catenary.events import NodeEvent
from catenary.testing import FakeClock, Reply, ScriptedModel, calls, mock
from catenary_components.ai.budget import Budget, BudgetExceeded, Limits
from catenary_components.ai.messages import Usage
from catenary_components.ai.state import FinishReason

USED_60 = {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}


def look(at: str) -> str:
    """Look at something."""
    return f"seen {at}"


def cause(outcome: Any) -> BudgetExceeded:
    error = outcome.ends[-1].error
    assert isinstance(error, BudgetExceeded)
    return error


async def test_a_run_ends_when_no_model_call_is_left(bench: Bench) -> None:
    bench.engine.tool(look)
    bench.load(calls("look", at="a"), calls("look", at="b"), "never", tools=["look"], budget={"modelCalls": 2})
    outcome = await bench.say()
    error = cause(outcome)
    assert (error.code, error.kind, error.limit, error.spent) == ("budget.exceeded", "model_calls", 2, 2)
    assert "2 of 2 model calls" in outcome.message.text
    assert len(bench.model.requests) == 2


async def test_the_reply_that_uses_up_the_tokens_stands_and_the_next_one_is_not_asked_for(bench: Bench) -> None:
    bench.engine.tool(look)
    bench.load(Reply(text="done", usage=USED_60), budget={"tokens": 50})
    assert (await bench.say()).message.text == "done"


async def test_tokens_that_are_used_up_end_the_run_before_the_next_model_call(bench: Bench) -> None:
    bench.engine.tool(look)
    first = Reply(tool_calls=calls("look", at="a").tool_calls, usage=USED_60)
    bench.load(first, "never", tools=["look"], budget={"tokens": 50})
    assert cause(await bench.say()).kind == "tokens"
    assert len(bench.model.requests) == 1


async def test_no_call_of_a_reply_runs_when_not_all_of_them_may(bench: Bench) -> None:
    ran: list[str] = []

    @bench.engine.tool
    def look(at: str) -> None:
        ran.append(at)

    reply = Reply(tool_calls=[*calls("look", at="a").tool_calls, *calls("look", at="b").tool_calls])
    bench.load(reply, "never", tools=["look"], budget={"toolCalls": 1})
    error = cause(await bench.say())
    assert (error.kind, ran) == ("tool_calls", [])
    assert "2 more were asked for" in str(error)


async def test_a_stream_is_counted_as_well(bench: Bench) -> None:
    bench.engine.tool(look)
    first = Reply(tool_calls=calls("look", at="a").tool_calls, usage=USED_60)
    bench.load(first, "never", tools=["look"], budget={"tokens": 50})
    assert cause(await bench.say(stream="true")).kind == "tokens"


async def test_on_limit_answer_gives_what_is_known_and_leaves_no_call_open(bench: Bench) -> None:
    bench.engine.tool(look)
    first = Reply(text="I look.", tool_calls=calls("look", at="a").tool_calls)
    bench.load(first, "never", tools=["look"], budget={"modelCalls": 1}, onLimit="answer")
    outcome = await bench.say()
    assert outcome.ok
    assert outcome.message.text == "I look."
    assert outcome.message.metadata["finish_reason"] == FinishReason.BUDGET_EXCEEDED


async def test_without_any_text_the_answer_says_that_the_budget_is_used_up(bench: Bench) -> None:
    bench.engine.tool(look)
    bench.load(calls("look", at="a"), "never", tools=["look"], budget={"modelCalls": 1}, onLimit="answer")
    assert (await bench.say()).message.text.startswith("There is no answer: the budget of this run is used up")


async def test_who_listens_is_warned_once_at_four_fifths(bench: Bench) -> None:
    bench.engine.tool(look)
    seen: list[dict[str, Any]] = []
    bench.engine.subscribe(
        lambda event: (
            seen.append(dict(event.data)) if isinstance(event, NodeEvent) and event.name == "budget.warning" else None
        )
    )
    rounds = [calls("look", at=str(n)) for n in range(4)]
    bench.load(*rounds, "done", tools=["look"], budget={"modelCalls": 5})
    assert (await bench.say()).ok
    assert seen == [{"kind": "modelCalls", "spent": 4, "limit": 5}]


async def test_the_budget_of_a_caller_holds_for_the_agents_it_calls(bench: Bench) -> None:
    """The inner agent has a budget of its own that would let it go on."""
    inner = {
        "id": "inner",
        "type": "ai/agent",
        "configuration": {
            "url": f"{bench.url}/v1",
            "key": "k",
            "model": "m",
            "tools": ["look"],
            "budget": {"modelCalls": 50},
        },
    }
    bench.engine.tool(look)
    bench.engine.load({"ruleChain": {"id": "helper"}, "metadata": {"nodes": [inner]}})
    tool = {"type": "rulechain", "name": "helper", "targetId": "helper", "description": "helps"}
    bench.load(
        calls("helper", q="?"),
        *[calls("look", at=str(n)) for n in range(3)],
        tools=[tool],
        budget={"modelCalls": 3},
    )
    assert cause(await bench.say()).kind == "model_calls"
    assert len(bench.model.requests) == 3


async def test_a_budget_in_the_scope_of_a_run_is_shared_by_all_its_agents(bench: Bench) -> None:
    bench.load("one", "two", "never")
    budget = Budget(Limits(model_calls=2), bench.clock)
    for expected in ("one", "two"):
        outcome = await bench.engine.run("c", Message("hi", data_type="TEXT"), scope=[budget])
        assert outcome.message.text == expected
    outcome = await bench.engine.run("c", Message("hi", data_type="TEXT"), scope=[budget])
    assert cause(outcome).kind == "model_calls"
    assert budget.left("model_calls") == 0


async def test_time_that_is_over_ends_a_run_that_waits_for_its_model() -> None:
    model, clock = ScriptedModel([Reply(text="late", delay_s=600)]), FakeClock()
    warned = asyncio.Event()
    with mock("slow-budget", model):
        async with Engine(clock=clock) as engine:
            config = {"model": "mock:slow-budget", "budget": {"seconds": 10}}
            engine.load(
                {
                    "ruleChain": {"id": "c"},
                    "metadata": {"nodes": [{"id": "a", "type": "ai/agent", "configuration": config}]},
                }
            )
            engine.subscribe(lambda event: warned.set() if event.name == "budget.warning" else None)
            run = asyncio.create_task(engine.run("c", Message("hi", data_type="TEXT")))
            await eventually(lambda: bool(model.requests))
            clock.advance(8.5)
            await asyncio.wait_for(warned.wait(), 10)
            clock.advance(2)
            error = cause(await asyncio.wait_for(run, 10))
    assert (error.kind, error.limit) == ("seconds", 10)


def test_what_is_left_is_the_least_of_all_budgets_around() -> None:
    outer = Budget(Limits(tokens=100, cost=1.0), FakeClock())
    inner = Budget(Limits(tokens=500), FakeClock(), outer=outer)
    inner.begin_model_call()
    inner.end_model_call(Usage(20, 10, 30), 0.25)
    assert (inner.left("tokens"), inner.left("cost"), inner.left("model_calls")) == (70, 0.75, None)
    assert outer.shown() == {
        "spent": {"model_calls": 1, "tokens": 30, "cost": 0.25},
        "limits": {"tokens": 100, "cost": 1.0},
    }


@pytest.mark.parametrize("kind", ["tokens", "cost", "modelCalls", "toolCalls", "seconds"])
async def test_a_limit_below_nothing_is_refused(bench: Bench, kind: str) -> None:
    with pytest.raises(Exception, match=f"budget.{kind} must be at least 0"):
        bench.load("x", budget={kind: -1})


def told(bench: Bench, name: str) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    bench.engine.subscribe(
        lambda event: seen.append(dict(event.data)) if isinstance(event, NodeEvent) and event.name == name else None
    )
    return seen


async def test_money_that_is_used_up_ends_the_run_where_prices_are_known(bench: Bench, tmp_path: Path) -> None:
    bench.engine.tool(look)
    prices = tmp_path / "prices.yaml"
    prices.write_text("models: {scripted: {input: 1000, output: 1000}, m: {input: 1000, output: 1000}}")
    cast("dict[str, Any]", bench.engine.properties)["data_dir"] = str(tmp_path)
    warned = told(bench, "budget.warning")
    first = Reply(tool_calls=calls("look", at="a").tool_calls, usage=USED_60)
    bench.load(first, "never", tools=["look"], budget={"cost": 0.05}, prices=str(prices))
    error = cause(await bench.say())
    assert (error.kind, error.limit) == ("cost", 0.05)
    assert error.spent == pytest.approx(0.06)
    assert [one["kind"] for one in warned] == ["cost"]


async def test_who_listens_is_told_once_when_a_limit_of_money_cannot_hold(bench: Bench) -> None:
    bench.engine.tool(look)
    seen = told(bench, "budget.unpriced")
    bench.load(calls("look", at="a"), calls("look", at="b"), "ok", tools=["look"], budget={"cost": 0.05})
    assert (await bench.say()).ok
    assert seen == [{"limit": 0.05}]


async def test_the_check_of_an_answer_has_no_part_in_the_model_calls_of_a_budget(bench: Bench) -> None:
    warned = told(bench, "budget.warning")
    bench.load("3", "4", verify="second_pass", maxStep=1, budget={"modelCalls": 2})
    outcome = await bench.say()
    assert (outcome.message.data, len(bench.model.requests), warned) == ("4", 2, [])


@pytest.mark.parametrize("stream", ["true", ""])
async def test_an_answer_for_whose_check_nothing_is_left_is_given_unchecked(bench: Bench, stream: str) -> None:
    seen = told(bench, "agent.unverified")
    bench.load(Reply(text="3", usage=USED_60), "never", verify="second_pass", budget={"tokens": 50})
    outcome = await bench.say(stream=stream)
    assert (outcome.status, outcome.message.data, len(bench.model.requests)) == ("completed", "3", 1)
    assert "60 of 50 tokens" in outcome.message.metadata["verify_error"]
    assert [one["kind"] for one in seen] == ["tokens"]


async def test_time_stands_still_while_somebody_is_asked() -> None:
    def change() -> str:
        """Change something."""
        return "changed"

    model, clock = ScriptedModel([calls("change"), "done"]), FakeClock()
    settings = {"model": "mock:asked-budget", "tools": ["change"], "permission": "default", "budget": {"seconds": 10}}
    chains: list[Any] = [
        ("inner", {"id": "a", "type": "ai/agent", "configuration": settings}),
        ("outer", {"id": "f", "type": "flow", "configuration": {"targetId": "inner"}}),
    ]
    with mock("asked-budget", model):
        async with Engine(clock=clock) as engine:
            engine.tool(change)
            for name, node in chains:
                engine.load({"ruleChain": {"id": name}, "metadata": {"nodes": [node]}})
            run = asyncio.create_task(engine.run("outer", Message("hi", data_type="TEXT")))
            await eventually(lambda: len(engine.pauses) == 1)
            clock.advance(1_000)
            (pause,) = engine.pauses
            await engine.answer(pause.run_id, pause.node_id, relation="Approve")
            outcome = await asyncio.wait_for(run, 10)
    assert outcome.ok
    assert '"data":"done"' in outcome.message.text
