"""The modes turn by turn, as a gateway has them: how many calls each makes, what it shows, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from catenary.testing import Reply, calls

if TYPE_CHECKING:
    from catenary import Outcome

THOUGHT = '{"reasoningSummary": "twice two", "finalText": "4"}'
TOOLING = ("plain_tooling", "thinking_tooling")
MODES = ("plain", "thinking", *TOOLING, "react")


@pytest.fixture
def ping(bench: Any) -> None:
    bench.engine.tool(lambda: "pong", name="ping")


def answer_of(mode: str, text: str = "4") -> str:
    return THOUGHT.replace('"4"', f'"{text}"') if mode.startswith("thinking") else text


def shown(outcome: Outcome) -> str:
    """Give the text that those who listen have seen."""
    pieces = [end.message for end in outcome.ends if end.message.metadata.get("chunk") == "true"]
    return "".join(piece.text for piece in pieces if piece.metadata.get("tool_call") != "true")


def load(bench: Any, mode: str, *replies: Any, **settings: Any) -> None:
    bench.load(*replies, preset="gateway", mode=mode, tools=["ping"], **settings)


async def requests(bench: Any, **metadata: str) -> int:
    before = len(bench.model.requests)
    outcome = await bench.say(**metadata)
    assert outcome.message.text == "4", outcome.error
    return len(bench.model.requests) - before


# How many calls


@pytest.mark.parametrize(
    ("mode", "without", "with_tools"),
    [("plain", 1, None), ("thinking", 1, None), ("plain_tooling", 1, 2), ("thinking_tooling", 2, 2), ("react", 1, 2)],
)
@pytest.mark.parametrize("verify", [False, True])
async def test_so_many_calls_are_made(
    bench: Any, ping: None, mode: str, without: int, with_tools: int | None, *, verify: bool
) -> None:
    load(bench, mode, verify="second_pass" if verify else "off")
    checked = ["4"] if verify else []
    bench.model.add(*["no need"] * (mode == "thinking_tooling"), answer_of(mode), *checked)
    assert await requests(bench) == without + verify
    if with_tools is not None:
        bench.model.add(calls("ping"), answer_of(mode), *checked)
        assert await requests(bench) == with_tools + verify


@pytest.mark.parametrize("mode", TOOLING)
async def test_a_tool_that_is_required_costs_one_call_more(bench: Any, ping: None, mode: str) -> None:
    load(bench, mode, "no", calls("ping"), answer_of(mode), toolPolicy="required")
    assert await requests(bench) == 3


async def test_the_loop_asks_for_a_tool_again_and_again_and_answers_at_its_limit(bench: Any, ping: None) -> None:
    load(bench, "react", *["no"] * 7, maxStep=8, toolPolicy="required")
    bench.model.add("no", "4")
    assert await requests(bench) == 9
    assert [request.body.get("tool_choice") for request in bench.model.requests] == ["required"] * 8 + [None]


# What is in a request


@pytest.mark.parametrize("mode", ["plain", "thinking"])
async def test_without_tools_a_request_says_nothing_of_tools(bench: Any, ping: None, mode: str) -> None:
    load(bench, mode, answer_of(mode), params={"parallelToolCalls": False})
    await requests(bench)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & bench.model.requests[0].body.keys()


async def test_with_tools_it_does(bench: Any, ping: None) -> None:
    load(bench, "react", "4", params={"parallelToolCalls": False})
    await requests(bench)
    body = bench.model.requests[0].body
    assert body["parallel_tool_calls"] is False
    assert body["tools"][0]["type"] == "function"


async def test_text_beside_a_call_is_in_the_next_request_and_calls_are_functions(bench: Any, ping: None) -> None:
    load(bench, "react", Reply(text="I look.", tool_calls=calls("ping").tool_calls), "4")
    await requests(bench)
    said, result = bench.last[-2:]
    assert (said["content"], said["tool_calls"][0]["type"]) == ("I look.", "function")
    assert (result["role"], result["content"]) == ("tool", "pong")


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "content_filter", ""])
async def test_why_the_service_says_it_stopped_does_not_matter(bench: Any, ping: None, reason: str) -> None:
    asked = calls("ping")
    load(
        bench, "react", Reply(tool_calls=asked.tool_calls, finish_reason=reason), Reply(text="4", finish_reason=reason)
    )
    assert await requests(bench) == 2


# The check before the answer


@pytest.mark.parametrize("mode", MODES)
async def test_only_the_checked_answer_is_shown(bench: Any, ping: None, mode: str) -> None:
    first = ["no need"] if mode == "thinking_tooling" else []
    load(bench, mode, *first, answer_of(mode, "3"), "4", verify="second_pass")
    outcome = await bench.say(stream="true")
    assert outcome.message.text == "4"
    assert "3" not in shown(outcome)
    assert shown(outcome).endswith("4")


async def test_the_last_answer_at_the_limit_is_checked_as_well(bench: Any, ping: None) -> None:
    load(bench, "react", calls("ping"), "3", "4", maxRounds=1, verify="second_pass")
    outcome = await bench.say(stream="true")
    assert (outcome.message.text, shown(outcome)) == ("4", "4")
    assert outcome.message.metadata["finish_reason"] == "max_iterations_reached"


@pytest.mark.parametrize("mode", ["plain", "react"])
async def test_there_is_nothing_to_check_in_an_empty_answer(bench: Any, ping: None, mode: str) -> None:
    load(bench, mode, Reply(text=""), verify="second_pass", emptyReplies=0)
    outcome = await bench.say()
    assert (outcome.message.text, len(bench.model.requests)) == ("", 1)


async def test_the_check_has_the_prompt_of_the_agent_the_candidate_and_no_tools(bench: Any, ping: None) -> None:
    load(bench, "react", "3", "4", verify="second_pass", systemPrompt="Be exact.")
    await requests(bench)
    request = bench.model.requests[-1]
    assert request.system_text == "Be exact."
    assert request.messages[-2] == {"role": "assistant", "content": "3"}
    assert str(request.messages[-1]["content"]).endswith("3")
    assert "tools" not in request.body


# How a run fails


@pytest.mark.parametrize(
    ("budget", "kind"),
    [({"modelCalls": 1}, "model calls"), ({"toolCalls": 1}, "tool calls"), ({"tokens": 1}, "tokens")],
)
async def test_each_budget_is_an_error_of_its_own(bench: Any, ping: None, budget: dict[str, int], kind: str) -> None:
    twice = [*calls("ping").tool_calls, *calls("ping").tool_calls]
    load(bench, "plain_tooling", Reply(tool_calls=twice), "never", budget=budget, onLimit="fail")
    outcome = await bench.say()
    assert (outcome.status, outcome.ends[-1].error.code) == ("failed", "budget.exceeded")
    assert kind in str(outcome.ends[-1].error)


async def test_a_batch_over_the_budget_runs_nothing_and_every_call_that_was_told_is_closed(bench: Any) -> None:
    ran: list[int] = []
    bench.engine.tool(lambda: ran.append(1), name="ping")
    twice = [*calls("ping").tool_calls, *calls("ping").tool_calls]
    load(bench, "plain_tooling", Reply(tool_calls=twice), budget={"toolCalls": 1}, onLimit="fail")
    told = [event.name async for event in bench.engine.stream("c", "hi")]
    assert ran == []
    assert told.count("tool.start") == told.count("tool.result") == 0
    assert told[-1] == "run.error"
