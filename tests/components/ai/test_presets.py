"""What an agent does when nobody says otherwise, row by row and preset by preset."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

import pytest

from catenary import Outcome
from catenary.load.decode import decode
from catenary.testing import Reply, calls, server_error, too_many_requests
from catenary_components.ai import tool
from catenary_components.ai.agent import AgentConfig
from catenary_components.ai.presets import PRESETS
from catenary_components.ai.sessions.store import SessionBusy
from catenary_components.ai.tools.functions import function_tool

ROUNDS = {"python": 10, "agent_api": 10, "gateway": 6}


@pytest.fixture
def look(bench: Any) -> dict[str, Any]:
    """A tool that changes nothing, and what it notices while it runs."""
    seen: dict[str, Any] = {"rounds": 0, "running": 0, "most": 0, "order": ""}

    @tool(read_only=True)
    async def look(at: str = "", size: int = 0) -> str:
        seen["rounds"] += 1
        seen["running"] += 1
        seen["most"] = max(seen["most"], seen["running"])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        seen["running"] -= 1
        seen["order"] += at
        return f"seen {at}" + "x" * size

    bench.engine.tool(look)
    return seen


def both(*places: str) -> Reply:
    return Reply(tool_calls=[call for at in places for call in calls("look", at=at).tool_calls])


def results(bench: Any) -> list[str]:
    return [message["content"] for message in bench.last if message["role"] == "tool"]


async def together(bench: Any) -> list[Outcome]:
    return list(await asyncio.gather(*[cast("Coroutine[Any, Any, Outcome]", bench.say(said)) for said in "ab"]))


def sizes_in(folder: Path) -> list[int]:
    return [file.stat().st_size for file in folder.rglob("*") if file.is_file()]


def config(**settings: Any) -> AgentConfig:
    made, problems, unknown = decode(AgentConfig, {"model": "mock:m", **settings}, None)
    assert made is not None, problems
    assert not unknown
    return made


def test_these_presets_can_be_named() -> None:
    assert set(PRESETS) == {"node", "python", "agent_api", "gateway"}
    _, problems, _ = decode(AgentConfig, {"model": "mock:m", "preset": "nobody"}, None)
    assert "preset" in problems[0].text


def test_the_defaults_of_the_options_are_those_of_the_node() -> None:
    node = config()
    assert node == config(preset="node")
    assert (node.max_step, node.on_limit, node.max_tool_output_length) == (150, "fail", 50_000)
    assert (node.max_retries, node.params.body()) == (3, {})
    assert (node.compaction, node.permission, node.session) == (None, None, None)
    assert function_tool(lambda: "x", name="x").timeout_s == 120


@pytest.mark.parametrize("nothing", [0, -1, "0"])
def test_numbers_that_are_nothing_mean_the_usual_ones(nothing: Any) -> None:
    node = config(maxStep=nothing, maxToolOutputLength=nothing, circuitCooldownSec=nothing)
    assert (node.max_step, node.max_tool_output_length, node.circuit_cooldown_sec) == (50, 50_000, 60)


async def test_in_python_a_model_is_tried_three_times_and_four_times_elsewhere(bench: Any) -> None:
    tries = {preset: 1 + config(preset=preset).max_retries for preset in ("node", "python", "gateway")}
    assert tries == {"node": 4, "python": 3, "gateway": 4}
    assert config(preset="python", maxRetries=5).max_retries == 5
    bench.load(*[server_error()] * 3, "too late", preset="python")
    assert not (await bench.say()).ok
    assert len(bench.model.requests) == 3


@pytest.mark.parametrize(
    ("preset", "first", "longest"), [("node", 1, 30), ("python", 2, 30), ("agent_api", 3, 60), ("gateway", 1, 30)]
)
async def test_waits_before_another_try_begin_and_end_as_the_preset_says(
    bench: Any, preset: str, first: float, longest: float
) -> None:
    """Each wait is twice the one before, times a half to one and a half."""
    more = {"retriesByError": {"serverError": 8}}
    bench.load(*[server_error()] * 8, "at last", preset=preset, **more)
    assert (await bench.say()).message.text == "at last"
    wished = [min(first * 2**n, longest) for n in range(8)]
    assert all(wish / 2 <= wait <= longest for wish, wait in zip(wished, bench.clock.slept, strict=True))
    assert bench.clock.slept[0] < first * 1.5
    assert bench.clock.slept[-1] == longest


@pytest.mark.parametrize(
    ("error", "given", "requests"),
    [
        (too_many_requests, {}, 3),
        (server_error, {}, 6),
        (server_error, {"maxRetries": 0}, 1),
        (server_error, {"retriesByError": {"rateLimit": 0}}, 6),
        (too_many_requests, {"retriesByError": {"rateLimit": 0}}, 1),
    ],
)
async def test_the_agent_api_tries_three_times_at_a_rate_limit_and_six_at_a_broken_server(
    bench: Any, error: Any, given: dict[str, Any], requests: int
) -> None:
    bench.load(*[error()] * 9, preset="agent_api", **given)
    assert not (await bench.say()).ok
    assert len(bench.model.requests) == requests


def test_a_model_call_of_the_agent_api_takes_ten_minutes_at_most() -> None:
    assert {preset: config(preset=preset).total_timeout for preset in PRESETS} == {
        "node": 0, "python": 0, "agent_api": 600, "gateway": 0
    }  # fmt: skip


# The limit, and what happens at it


def test_a_reply_that_does_not_end_is_cut_in_the_agent_api() -> None:
    cut = {name: (config(preset=name).same_text, config(preset=name).max_thoughts) for name in PRESETS}
    assert cut == {"node": (0, 0), "python": (0, 0), "agent_api": (4, 32_768), "gateway": (0, 0)}


@pytest.mark.parametrize("preset", ROUNDS)
async def test_after_so_many_rounds_the_model_answers_without_tools(bench: Any, look: Any, preset: str) -> None:
    rounds = ROUNDS[preset]
    replies = [calls("look", at=str(n)) for n in range(rounds)]
    bench.load(*replies, "What I know.", preset=preset, tools=["look"])
    outcome = await bench.say()
    assert (look["rounds"], len(bench.model.requests), outcome.message.text) == (rounds, rounds + 1, "What I know.")
    assert "tools" not in bench.model.requests[-1].body
    assert outcome.message.metadata["finish_reason"] == "max_iterations_reached"


@pytest.mark.parametrize(
    ("params", "given", "rounds"),
    [
        ({}, {}, 10),
        ({"reasoningEffort": "none"}, {}, 10),
        ({"reasoningEffort": "high"}, {}, 15),
        ({"thinkingBudget": 0}, {}, 10),
        ({"thinkingBudget": 2_000}, {}, 15),
        ({"reasoningEffort": "low"}, {"maxRounds": 3}, 8),
        ({"reasoningEffort": "low"}, {"maxRounds": 3, "thinkingRounds": 0}, 3),
    ],
)
async def test_a_model_that_thinks_has_five_rounds_more_in_the_agent_api(
    bench: Any, look: Any, params: dict[str, Any], given: dict[str, Any], rounds: int
) -> None:
    replies = [calls("look", at=str(n)) for n in range(rounds)]
    bench.load(*replies, "What I know.", preset="agent_api", tools=["look"], params=params, **given)
    assert (await bench.say()).message.text == "What I know."
    assert look["rounds"] == rounds
    assert f"[{rounds - 1} of {rounds} rounds" in results(bench)[-2] or rounds < 10


def test_no_limit_of_rounds_stays_none_for_a_model_that_thinks() -> None:
    free = config(preset="agent_api", maxRounds=0, params={"reasoningEffort": "high"})
    assert free.with_rounds_for(thinking=True).max_rounds == 0


async def test_a_node_fails_at_its_limit(bench: Any, look: Any) -> None:
    bench.load(*[calls("look", at=str(n)) for n in range(3)], tools=["look"], maxStep=3)
    assert "exceeds max steps" in str((await bench.say()).error)


@pytest.mark.parametrize(("given", "rounds"), [(100, 100), (101, 100), (1_000, 100), (0, 0), ("7", 7), ("700", 100)])
def test_the_agent_api_lowers_rounds_to_its_ceiling(given: Any, rounds: int) -> None:
    assert config(preset="agent_api", maxRounds=given).max_rounds == rounds
    assert config(preset="python", maxRounds=1_000).max_rounds == 1_000


async def test_the_gateway_has_one_round_or_none_in_its_other_modes(bench: Any, look: Any) -> None:
    bench.load(calls("look", at="a"), "seen", preset="gateway", mode="plain_tooling", tools=["look"])
    assert (await bench.say()).message.text == "seen"
    assert look["rounds"] == 1
    for mode in ("plain", "thinking"):
        bench.engine.remove("c")
        bench.load("as it is", preset="gateway", mode=mode, tools=["look"])
        assert (await bench.say()).message.text == "as it is"
        assert "tools" not in bench.model.requests[-1].body


# Several calls in one reply


@pytest.mark.parametrize("preset", ["node", "python", "agent_api"])
async def test_several_calls_run_beside_each_other(bench: Any, look: Any, preset: str) -> None:
    bench.load(both("a", "b", "c"), "ok", preset=preset, tools=["look"])
    await bench.say()
    assert (look["most"], results(bench)) == (3, ["seen a", "seen b", "seen c"])


@pytest.mark.parametrize(("preset", "run"), [("node", 18), ("python", 18), ("agent_api", 16)])
async def test_all_calls_of_a_reply_run_but_behind_the_agent_api_sixteen(
    bench: Any, look: Any, preset: str, run: int
) -> None:
    bench.load(both(*[chr(97 + n) for n in range(18)]), "ok", preset=preset, tools=["look"])
    await bench.say()
    assert (look["rounds"], look["most"]) == (run, 16)
    assert sum("Too many tool calls" in result for result in results(bench)) == 18 - run


async def test_the_gateway_runs_the_first_call_of_a_turn_and_tells_the_model_so(bench: Any, look: Any) -> None:
    bench.load(both("a", "b", "c"), "ok", preset="gateway", tools=["look"])
    await bench.say()
    first, *others = results(bench)
    assert (look["order"], first) == ("a", "seen a")
    assert len(others) == 2
    assert all("One tool a turn" in result for result in others)


@pytest.mark.parametrize("mode", ["plain_tooling", "thinking_tooling"])
async def test_in_its_modes_of_one_round_it_runs_all_in_order(bench: Any, look: Any, mode: str) -> None:
    bench.load(both("a", "b", "c"), "ok", preset="gateway", mode=mode, tools=["look"])
    await bench.say()
    assert (look["most"], look["order"]) == (1, "abc")


# What the model gets of a result


@pytest.mark.parametrize(
    ("preset", "longest"), [("node", 50_000), ("python", 80_000), ("agent_api", 16_000), ("gateway", 50_000)]
)
async def test_a_long_result_is_cut(bench: Any, look: Any, preset: str, longest: int) -> None:
    bench.load(
        calls("look", size=longest - 5), "ok", calls("look", size=longest + 5_000), "ok", preset=preset, tools=["look"]
    )
    await bench.say()
    assert len(results(bench)[0]) == longest
    await bench.say()
    assert len(results(bench)[0]) < longest + 500


async def test_the_agent_api_puts_results_above_8000_into_files(bench: Any, look: Any, tmp_path: Path) -> None:
    bench.engine.properties["data_dir"] = str(tmp_path)
    bench.load(Reply(tool_calls=[*calls("look", size=7_000).tool_calls]), "ok", preset="agent_api", tools=["look"])
    await bench.say()
    assert len(results(bench)[0]) == 7_005
    bench.model.add(calls("look", size=9_000), "ok")
    await bench.say()
    assert "is in the file" in results(bench)[0]
    assert sizes_in(tmp_path) == [9_005]


def test_the_agent_api_gives_a_turn_32000_characters() -> None:
    assert config(preset="agent_api").turn_budget == 32_000
    assert config(preset="python").turn_budget == 0


# Compaction


def test_compaction_is_off_unless_the_preset_or_the_agent_asks() -> None:
    assert config().compaction_options is None
    assert config(preset="gateway").compaction_options is None
    assert config(preset="python", compaction=False).compaction_options is None


def test_in_python_fifty_messages_or_a_full_window_are_too_many_and_twenty_stay() -> None:
    found = config(preset="python").compaction_options
    assert found is not None
    assert (found.trigger_messages, found.reserved_tokens, found.keep_messages) == (50, 20_000, 20)


def test_the_agent_api_counts_rounds_and_characters() -> None:
    found = config(preset="agent_api").compaction_options
    assert found is not None
    assert (found.trigger_rounds, found.trigger_characters, found.trigger_round_characters) == (25, 200_000, 32_000)
    assert found.trigger_messages == 0


async def test_the_gateway_shows_the_model_the_last_twenty_runs(bench: Any) -> None:
    bench.load(*[f"answer {n}" for n in range(23)], preset="gateway", session={"key": "k"})
    for n in range(23):
        await bench.say(f"question {n}")
    assert bench.last[0]["content"] == "question 2"
    assert len(bench.last) == 2 * 20 + 1


# Who may run a tool


@pytest.mark.parametrize(("preset", "runs"), [("node", 1), ("python", 0), ("agent_api", 1), ("gateway", 1)])
async def test_a_tool_that_may_change_something_is_asked_about_in_python_only(
    bench: Any, preset: str, runs: int
) -> None:
    run: list[int] = []

    @bench.engine.tool
    async def change() -> str:
        run.append(1)
        return "changed"

    bench.load(calls("change"), "ok", preset=preset, tools=["change"])
    assert (await bench.say()).status == ("completed" if runs else "paused")
    assert len(run) == runs


@pytest.mark.parametrize("preset", ["node", "agent_api", "gateway"])
async def test_rules_that_deny_hold_in_all_presets(bench: Any, look: Any, preset: str) -> None:
    bench.load(calls("look"), "ok", preset=preset, tools=["look"], permission={"deny": ["look"]})
    await bench.say()
    assert look["rounds"] == 0


def test_rules_do_not_take_the_mode_of_a_preset_away() -> None:
    found = config(preset="python", permission={"allow": ["look"]}).permission_options
    assert found is not None
    assert (found.mode, len(found.rules)) == ("default", 1)
    chosen = config(preset="python", permission="bypass").permission_options
    assert chosen is not None
    assert chosen.mode == "bypass"


# A second caller


@pytest.mark.parametrize("preset", ["node", "agent_api", "gateway"])
async def test_a_second_caller_of_a_session_waits(bench: Any, look: Any, preset: str) -> None:
    bench.load(calls("look"), "first", "second", preset=preset, tools=["look"], session="k")
    outcomes = await together(bench)
    assert [outcome.message.text for outcome in outcomes] == ["first", "second"]


async def test_in_python_it_fails(bench: Any, look: Any) -> None:
    bench.load(calls("look"), "first", preset="python", tools=["look"], session="k")
    outcomes = await together(bench)
    errors = [outcome.error.__cause__ for outcome in outcomes if outcome.error]
    assert [type(error) for error in errors] == [SessionBusy]


def test_no_preset_makes_an_agent_remember() -> None:
    assert not any(config(preset=preset).session_options for preset in PRESETS)


# Text before a tool call


@pytest.mark.parametrize("preset", PRESETS)
async def test_text_before_a_call_is_shown_at_once_and_the_answer_is_the_last_turn(
    bench: Any, look: Any, preset: str
) -> None:
    reply = Reply(text="I look.", tool_calls=calls("look", at="a").tool_calls)
    bench.load(reply, "It is there.", preset=preset, tools=["look"])
    outcome = await bench.say(stream="true")
    pieces = [end.message for end in outcome.ends if end.message.metadata.get("chunk") == "true"]
    said = [one for one in pieces if one.metadata.get("tool_call") != "true"]
    assert "".join(one.text for one in said) == "I look.It is there."
    assert said[0].metadata["phase"] == "reason"
    assert outcome.message.text == "It is there."


@pytest.mark.parametrize(
    ("preset", "wanted"),
    [
        ("node", (True, 0, 0, 5, 4)),
        ("python", (False, 0, 0, 0, 0)),
        ("agent_api", (True, 0, -1, 0, 0)),
        ("gateway", (False, 20, 0, 0, 0)),
    ],
)
def test_sessions_show_and_write_as_their_preset_says(preset: str, wanted: tuple[Any, ...]) -> None:
    found = config(preset=preset, session="k").session_options
    assert found is not None
    shown = (found.window, found.window_messages, found.window_tool_rounds, found.window_media)
    assert (found.save_first, *shown) == wanted


def test_what_an_agent_says_of_its_session_counts_before_the_preset() -> None:
    found = config(preset="agent_api", session={"key": "k", "windowMessages": 3}).session_options
    assert found is not None
    assert (found.window_messages, found.when_busy) == (3, "queue")
