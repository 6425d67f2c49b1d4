"""Calls whose results come from outside: of another system, or of who shows the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.components.ai.permission.asking import approve, question

from catenary.errors import AnswerInvalid
from catenary.jsontext import loads
from catenary.testing import Reply, ToolCall

if TYPE_CHECKING:
    from tests.components.ai.permission.conftest import Desk

    from catenary import Outcome

SCHEMA = {"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]}
WEIGH = {"type": "external", "name": "weigh", "description": "Weigh.", "parameters": SCHEMA}


def weighs(*ids: str, **letters: str) -> Reply:
    calls = [ToolCall("weigh", {"of": f"bolt {call_id}"}, call_id) for call_id in ids]
    return Reply(tool_calls=[*calls, *(ToolCall("send", {"to": to}, call_id) for call_id, to in letters.items())])


async def hand_out(desk: Desk, *replies: Any, **options: Any) -> Outcome:
    return await desk.ask(*replies, **{"tools": [WEIGH, "send"], "permission": "listed", **options})


async def test_a_call_that_is_done_outside_has_the_agent_wait_for_its_result(desk: Desk) -> None:
    paused = await hand_out(desk, weighs("c1"))
    assert (paused.status, paused.ends[-1].relation) == ("paused", "AwaitExternal")
    assert question(paused)["kind"] == "external"
    assert question(paused)["toolCalls"] == [
        {"id": "c1", "name": "weigh", "input": {"of": "bolt c1"}, "state": "submitted"}
    ]
    done = await desk.answer(paused, {"toolCallId": "c1", "output": "12 g"})
    assert (done.message.text, desk.told) == ("done", {"c1": "12 g"})


async def test_a_result_may_be_any_json_and_may_say_that_it_failed(desk: Desk) -> None:
    paused = await hand_out(desk, weighs("c1", "c2"))
    answers = [{"toolCallId": "c1", "output": {"g": 12}}, {"toolCallId": "c2", "output": "broken", "isError": True}]
    await desk.answer(paused, *answers)
    assert desk.told == {"c1": '{"g":12}', "c2": "broken"}


async def test_what_is_run_here_is_run_and_only_what_is_done_outside_stays_open(desk: Desk) -> None:
    paused = await hand_out(desk, weighs("c1", c2="ann"), session="s")
    assert desk.sent == ["ann"]
    assert [call["id"] for call in question(paused)["toolCalls"]] == ["c1"]
    await desk.answer(paused, {"toolCallId": "c1", "output": "12 g"})
    assert list(desk.told.items()) == [("c1", "12 g"), ("c2", "sent to ann")]
    assert desk.sent == ["ann"]


async def test_of_a_part_of_the_results_the_rest_stays_open_and_is_not_run_here(desk: Desk) -> None:
    paused = await hand_out(desk, weighs("c1", "c2"))
    again = await desk.answer(paused, {"toolCallId": "c2", "output": "13 g"})
    assert (again.status, again.ends[-1].relation) == ("paused", "AwaitExternal")
    assert [call["id"] for call in question(again)["toolCalls"]] == ["c1"]
    assert len(desk.bench.model.requests) == 1
    await desk.answer(again, {"toolCallId": "c1", "output": "12 g"})
    assert list(desk.told.items()) == [("c1", "12 g"), ("c2", "13 g")]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([{"toolCallId": "c1", "output": "1"}, {"toolCallId": "c1", "output": "2"}], "the call c1 is answered twice"),
        ([{"toolCallId": "c9", "output": "1"}], "there is no call c9 that waits for an answer"),
        ([{"toolCallId": "c1", "output": loads("[" * 500 + "]" * 500)}], "c1: the answer is nested more than 200 lev"),
        ([{"toolCallId": "c1"}], "c1: the result of a call needs an output"),
        ([{"toolCallId": "c1", "output": "1", "isError": "no"}], "c1: isError must be true or false"),
        ([approve("c1")], "c1: the result of a call has no 'decision'"),
    ],
)
async def test_wrong_results_are_refused_and_nothing_of_them_counts(desk: Desk, answers: Any, why: str) -> None:
    paused = await hand_out(desk, weighs("c1", "c2"))
    with pytest.raises(AnswerInvalid, match=why) as refused:
        await desk.answer(paused, {"toolCallId": "c2", "output": "3"}, *answers)
    assert "waiting: c1 (weigh), c2 (weigh)" in refused.value.hint


async def test_a_call_may_be_asked_about_first_and_be_done_outside_then(desk: Desk) -> None:
    paused = await hand_out(desk, weighs("c1"), permission="default")
    assert paused.ends[-1].relation == "AwaitConfirm"
    outside = await desk.answer(paused, approve("c1"))
    assert outside.ends[-1].relation == "AwaitExternal"
    assert (await desk.answer(outside, {"toolCallId": "c1", "output": "12 g"})).message.text == "done"


async def test_arguments_that_do_not_fit_are_told_before_anything_is_handed_out(desk: Desk) -> None:
    call = ToolCall("weigh", {"what": "bolt"}, "c1")
    done = await hand_out(desk, Reply(tool_calls=[call]))
    assert (done.status, done.message.text) == ("completed", "done")
    assert desk.told["c1"].startswith("Error: blocked_invalid_arguments")


# What comes after: a round is a round


async def test_a_long_result_from_outside_is_cut_like_any_other(desk: Desk) -> None:
    paused = await hand_out(desk, weighs("c1", c2="a" * 300), maxToolOutputLength=100)
    await desk.answer(paused, {"toolCallId": "c1", "output": "x" * 5000})
    assert desk.told["c1"] == "x" * 100 + "...(truncated, original: 5000 bytes)"
    assert desk.told["c2"] == "sent to " + "a" * 92 + "...(truncated, original: 308 bytes)"


async def test_the_results_of_a_round_with_a_pause_share_the_room_of_a_round(desk: Desk) -> None:
    paused = await hand_out(desk, weighs("c1", c2="a" * 4000), turnBudget=6000)
    await desk.answer(paused, {"toolCallId": "c1", "output": "x" * 4000})
    assert sum(map(len, desk.told.values())) <= 6000


async def test_a_result_from_outside_may_be_the_answer(desk: Desk) -> None:
    paused = await hand_out(desk, weighs("c1"), tools=[{**WEIGH, "returnDirect": True}])
    done = await desk.answer(paused, {"toolCallId": "c1", "output": "12 g"})
    assert (done.message.text, done.message.metadata["finish_reason"]) == ("12 g", "return_direct")
    assert len(desk.bench.model.requests) == 1


async def test_the_answer_of_a_tool_that_ran_before_the_pause_is_the_answer(desk: Desk) -> None:
    tools = [WEIGH, {"name": "send", "returnDirect": True}]
    paused = await hand_out(desk, weighs("c1", c2="ann"), tools=tools)
    assert paused.status == "paused"
    done = await desk.answer(paused, {"toolCallId": "c1", "output": "12 g"})
    assert (done.message.text, desk.sent) == ("sent to ann", ["ann"])


async def test_rounds_that_are_done_outside_come_to_the_limit(desk: Desk) -> None:
    paused = await hand_out(desk, weighs("c1"), maxRounds=1, onLimit="answer")
    done = await desk.answer(paused, {"toolCallId": "c1", "output": "12 g"})
    assert done.message.metadata["finish_reason"] == "max_iterations_reached"
    assert "tools" not in desk.bench.model.requests[-1].body


async def test_a_session_takes_results_as_a_message_and_what_is_said_follows_them(desk: Desk) -> None:
    await hand_out(desk, weighs("c1"), session="s")
    answers = {"answers": [{"toolCallId": "c1", "output": "12 g"}], "text": "be quick"}
    done = await desk.bench.say(answers, "JSON")
    assert done.message.text == "done"
    assert [one["content"] for one in desk.bench.last[-2:]] == ["12 g", "be quick"]
