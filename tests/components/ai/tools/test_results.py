"""What the model gets of the results of a round, and what it is told of how long it may go on."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.options.loop import LoopOptions
from catenary_components.ai.setup import AgentSetup
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.results import cut_in_the_middle, with_notes, within
from catenary_components.ai.tools.tool import Toolbox


@pytest.mark.parametrize(("steps", "is_told"), [(1, False), (2, True), (4, True), (5, False)])
def test_three_steps_before_the_last_the_model_is_told_and_not_after_it(steps: int, *, is_told: bool) -> None:
    setup = AgentSetup(cast("Any", None), Toolbox(), loop=LoopOptions(max_step=5))
    told = with_notes(setup, AgentState(steps=steps), ["x"])
    assert told == [f"Steps are running out ({steps}/5): come to an answer soon.\n\nx" if is_told else "x"]


def results(bench: Any) -> list[str]:
    return [str(message["content"]) for message in bench.last if message["role"] == "tool"]


def test_the_middle_is_left_out_and_its_size_told() -> None:
    cut = cut_in_the_middle("a" * 500 + "b" * 500, 100)
    assert cut == f"{'a' * 40}\n...(900 of 1000 characters left out)...\n{'b' * 60}"
    assert cut_in_the_middle("a" * 100, 100) == "a" * 100


@pytest.mark.parametrize("word", ["Error", "TRACEBACK", "fatal", "stack trace"])
def test_more_of_the_tail_stays_when_it_looks_like_an_error(word: str) -> None:
    cut = cut_in_the_middle(f"{'a' * 5000} {word} ", 100)
    assert cut.startswith("a" * 20 + "\n...(")


def test_a_word_that_only_contains_error_is_none() -> None:
    assert cut_in_the_middle(f"{'a' * 5000} terrors ", 100).startswith("a" * 40)


def test_the_longest_results_of_a_round_are_cut_first() -> None:
    cut = within(["a" * 9_000, "b" * 100, "c" * 20_000], 20_000)
    assert (cut[0], cut[1]) == ("a" * 9_000, "b" * 100)
    assert sum(map(len, cut)) <= 20_000
    assert within(["a" * 9_000], 0) == ["a" * 9_000]


@given(st.lists(st.integers(0, 30_000), min_size=1, max_size=6), st.integers(20_000, 40_000))
def test_a_round_has_room_or_its_results_are_as_short_as_they_get(sizes: list[int], budget: int) -> None:
    cut = within(["x" * size for size in sizes], budget)
    assert sum(map(len, cut)) <= budget or all(len(text) <= 2_100 for text in cut)
    assert all(text == "x" * size or "left out" in text for text, size in zip(cut, sizes, strict=True))


async def test_results_of_a_round_share_its_budget(bench: Any) -> None:
    bench.engine.tool(lambda n: "x" * n, name="dump")
    many = Reply(tool_calls=[ToolCall("dump", {"n": 30_000}), ToolCall("dump", {"n": 9_000})])
    bench.load(many, "ok", tools=["dump"], turnBudget=20_000, toolOutputCut="middle", maxToolOutputLength=16_000)
    await bench.say()
    first, second = results(bench)
    assert len(second) == 9_000
    assert len(first) + len(second) <= 20_000


async def test_the_model_is_told_when_its_steps_run_out(bench: Any) -> None:
    bench.engine.tool(lambda n: f"{n}", name="step")
    script = [calls("step", n=n) for n in range(4)]
    bench.load(*script, "ok", tools=["step"], maxStep=5)
    await bench.say()
    assert results(bench) == ["0"] + [
        f"Steps are running out ({n}/5): come to an answer soon.\n\n{n - 1}" for n in range(2, 5)
    ]


async def test_the_hint_stands_before_what_is_told_of_a_repeat_and_of_failures(bench: Any) -> None:
    bench.engine.tool(lambda: "x", name="step")
    bench.load(*[calls("step")] * 4, "ok", tools=["step"], maxStep=6, foldRepeats=False, warnAfterFailures=2)
    await bench.say()
    hint = "Steps are running out ({}/6): come to an answer soon.\n\n"
    third, fourth = results(bench)[2:]
    assert third.startswith(f"{hint.format(3)}Error: doom_loop_repeated - this is call 3 of step")
    assert fourth.startswith(f"{hint.format(4)}Warning: the last 2 tool calls failed in a row")
    assert "\n\nError: doom_loop_repeated" in fourth


async def test_a_hint_can_be_switched_off(bench: Any) -> None:
    bench.engine.tool(lambda: "x", name="step")
    bench.load(calls("step"), "ok", tools=["step"], maxStep=3, stepHint=0)
    await bench.say()
    assert results(bench) == ["x"]


async def test_the_model_sees_that_its_rounds_run_out(bench: Any) -> None:
    bench.engine.tool(lambda n: f"{n}", name="step")
    bench.load(*[calls("step", n=n) for n in range(9)], "ok", tools=["step"], maxRounds=10)
    await bench.say()
    texts = results(bench)
    assert texts[:6] == list("012345")
    assert texts[6] == "6\n\n[7 of 10 rounds of tools are used, 3 are left. Plan the rest with care.]"
    assert texts[8].startswith("8\n\n[9 of 10 rounds of tools are used, only 1 left.")


async def test_the_same_round_again_and_again_is_a_limit_with_its_own_reason(bench: Any) -> None:
    bench.engine.tool(lambda: "nothing", name="poll")
    settings: Any = {"tools": ["poll"], "sameRounds": 3, "maxRepeats": 0, "maxRounds": 9}
    bench.load(*[calls("poll")] * 3, "I give up", onLimit="answer", **settings)
    outcome = await bench.say()
    assert (outcome.message.data, outcome.message.metadata["finish_reason"]) == ("I give up", "repeated_observation")
    assert len(bench.model.requests) == 4


async def test_the_same_round_fails_an_agent_that_fails_at_its_limit(bench: Any) -> None:
    bench.engine.tool(lambda: "nothing", name="poll")
    bench.load(*[calls("poll")] * 2, tools=["poll"], sameRounds=2, maxRepeats=0)
    outcome = await bench.say()
    assert "the agent made 2 rounds with the same calls and the same results" in str(outcome.error)


async def test_another_result_is_no_repeat(bench: Any) -> None:
    seen: list[int] = []
    bench.engine.tool(lambda: str(seen.append(1) or len(seen)), name="poll")
    bench.load(*[calls("poll")] * 4, "ok", tools=["poll"], sameRounds=2, maxRepeats=0)
    assert (await bench.say()).message.data == "ok"


@pytest.mark.parametrize("text", ["", " \n"])
async def test_results_that_say_nothing_are_no_repeat(bench: Any, text: str) -> None:
    bench.engine.tool(lambda: text, name="poll")
    bench.load(*[calls("poll")] * 4, "ok", tools=["poll"], sameRounds=2, maxRepeats=0)
    assert (await bench.say()).message.data == "ok"


async def test_a_result_that_says_it_is_an_error_counts_as_failure(bench: Any) -> None:
    bench.engine.tool(lambda n: "Error: no", name="try_it")
    bench.load(*[calls("try_it", n=n) for n in range(5)], "ok", tools=["try_it"])
    await bench.say()
    assert results(bench)[-1].startswith("Warning: the last 5 tool calls failed in a row")
