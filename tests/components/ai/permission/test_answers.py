"""Answers to an agent's questions: what is refused, and what comes of those that count."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.components.ai.permission.asking import approve, deny, question, wants

from catenary import Engine
from catenary.errors import AnswererRefused, AnswerInvalid, PauseError
from catenary.events import NodeEvent
from catenary.jsontext import loads
from catenary.pauses import Answer
from catenary.testing import Reply, ToolCall

if TYPE_CHECKING:
    from pathlib import Path

    from tests.components.ai.permission.conftest import Desk

    from catenary.pauses import Pause

ASKS: dict[str, Any] = {"tools": ["send"], "permission": "default"}
WRONG: list[tuple[Any, str]] = [
    ([], "there is no answer in it"),
    ({"answers": []}, "there is no answer in it"),
    ("yes", "there is no answer in it"),
    ([{"decision": "approve"}], "an answer names no call"),
    ([approve("c1"), deny("c1")], "the call c1 is answered twice"),
    ([approve("c9")], "there is no call c9 that waits for an answer"),
    ([{"toolCallId": "c1", "decision": "maybe"}], "the decision is approve or deny, not 'maybe'"),
    ([{"toolCallId": "c1", "confirmed": True}], "it waits for an approval, and 'confirmed' is no member of one"),
    (
        [{"toolCallId": "c1", "output": "42"}],
        "it waits for an approval, and 'output' is no member of one; c1: the decision is approve or deny, and",
    ),
    ([approve("c1", input="ann")], "input must be an object"),
    ([approve("c1", input={"to": 5})], "c1: input:"),
    ([approve("c1", input={"whom": "ann"})], "c1: input:"),
    ([approve("c1", acceptRules=["("])], "c1: acceptRules: '(' is no rule"),
    ([approve("c1", acceptRules=[{"tool": "send", "effect": "allow"}])], "a rule has no 'effect'"),
    ([approve("c1", input={"to": loads("[" * 500 + "]" * 500)})], "c1: the answer is nested more than 200 levels"),
    ([approve("c1", note=5)], "c1: note must be text"),
    ({"answers": [approve("c1")], "txt": "hurry"}, "answers have no 'txt' beside them"),
    ({"answers": [approve("c1")], "text": 5}, "text must be text"),
    ({"answers": [approve("c1")], "cancel": "yes"}, "cancel must be true or false"),
]


@pytest.mark.parametrize(("data", "why"), WRONG)
@pytest.mark.parametrize("session", [None, "s"])
async def test_a_wrong_answer_is_refused_with_the_reason_and_the_question_stays_open(
    desk: Desk, data: Any, why: str, session: str | None
) -> None:
    paused = await desk.ask(wants(c1="ann"), session=session)
    with pytest.raises(AnswerInvalid) as refused:
        await desk.bench.engine.answer(paused.run_id, "agent", data=data)
    assert why in str(refused.value)
    assert "waiting: c1 (send)" in refused.value.hint
    (pause,) = desk.bench.engine.pauses
    assert (await desk.answer(pause, approve("c1"))).message.text == "done"
    assert desk.sent == ["ann"]


async def test_of_several_answers_none_counts_when_one_is_wrong(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann", c2="bob"))
    with pytest.raises(AnswerInvalid, match="c2: the decision is approve or deny") as refused:
        await desk.answer(paused, approve("c1", acceptRules=["send"]), {"toolCallId": "c2"})
    assert "waiting: c1 (send), c2 (send)" in refused.value.hint
    assert desk.sent == []


async def test_an_answer_that_says_nothing_is_refused(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann"))
    with pytest.raises(AnswerInvalid, match="relation 'Answers' is none of 'Approve', 'Deny'"):
        await desk.bench.engine.answer(paused.run_id, "agent", relation="Answers")


@pytest.mark.parametrize(("relation", "sent"), [("Approve", ["ann", "bob"]), ("Deny", [])])
async def test_one_word_answers_for_all_calls(desk: Desk, relation: str, sent: list[str]) -> None:
    paused = await desk.ask(wants(c1="ann", c2="bob"))
    done = await desk.bench.engine.answer(paused.run_id, "agent", relation=relation, note="all of them")
    assert (done.message.text, sorted(desk.sent)) == ("done", sent)


async def test_who_waits_in_memory_refuses_a_wrong_answer_as_well(desk: Desk) -> None:
    desk.bench.load(wants(c1="ann"), "done", tools=["send"], permission="default")
    flow = {"id": "f", "type": "flow", "configuration": {"targetId": "c"}}
    desk.bench.engine.load({"ruleChain": {"id": "outer"}, "metadata": {"nodes": [flow]}})
    pauses = desk.bench.engine.pauses

    def respond(pause: Pause) -> None:
        with pytest.raises(AnswerInvalid, match="there is no call c9"):
            pauses.answer(pause.run_id, pause.node_id, None, Answer(data=[approve("c9")]))
        pauses.answer(pause.run_id, pause.node_id, None, Answer(data=[approve("c1")]))

    pauses.on_open(respond)
    assert (await desk.bench.engine.run("outer", "hi")).status == "completed"
    assert desk.sent == ["ann"]


async def test_of_two_answers_at_once_one_counts_and_the_other_is_told_so(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann"))
    both = [desk.answer(paused, approve("c1")), desk.answer(paused, approve("c1"))]
    done, late = sorted(await asyncio.gather(*both, return_exceptions=True), key=lambda one: isinstance(one, Exception))
    assert (done.message.text, desk.sent) == ("done", ["ann"])
    assert isinstance(late, PauseError)
    assert "was answered already" in str(late)


async def test_a_call_that_was_answered_takes_no_second_answer_and_its_state_is_told(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann", c2="bob"))
    again = await desk.answer(paused, deny("c1"))
    with pytest.raises(AnswerInvalid, match="the call c1 was answered already; its state is denied"):
        await desk.answer(again, approve("c1"))
    assert (await desk.answer(again, approve("c2"))).message.text == "done"
    assert desk.sent == ["bob"]


# Who answers


@pytest.mark.parametrize("by", ["", "bob"])
async def test_only_those_who_may_answer_do(desk: Desk, by: str) -> None:
    paused = await desk.ask(wants(c1="ann"), approvers=["ann", "managers"])
    with pytest.raises(AnswererRefused, match="may not answer here; these may: ann, managers"):
        await desk.answer(paused, approve("c1"), answerer=by)
    assert desk.sent == []
    assert (await desk.answer(paused, approve("c1"), answerer="ann")).message.text == "done"


async def test_a_role_may_answer(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann"), approvers=["managers"])
    assert (await desk.answer(paused, approve("c1"), answerer="eve", roles=["managers"])).message.text == "done"


async def test_who_may_not_answer_may_not_do_it_with_a_message_either(desk: Desk) -> None:
    await desk.ask(wants(c1="ann"), approvers=["ann"], session="s")
    refused = await desk.bench.say({"answers": [approve("c1")]}, "JSON", answerer="bob")
    assert (refused.status, desk.sent) == ("failed", [])
    assert "bob may not answer here; these may: ann" in refused.message.text
    assert (await desk.bench.say({"answers": [approve("c1")]}, "JSON", answerer="ann")).message.text == "done"
    assert desk.sent == ["ann"]


# What comes of it


async def test_the_history_shows_what_became_of_each_call(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann", c2="bob", c3="cid"), session="s")
    answers = [approve("c1"), deny("c2", note="not him"), approve("c3", input={"to": "dan"})]
    await desk.answer(paused, *answers)
    asked = next(one for one in desk.bench.last if one.get("tool_calls"))
    places = [json.loads(call["function"]["arguments"])["to"] for call in asked["tool_calls"]]
    assert places == ["ann", "bob", "dan"]
    assert desk.told == {"c1": "sent to ann", "c2": "Permission denied by user: not him", "c3": "sent to dan"}
    assert sorted(desk.sent) == ["ann", "dan"]


async def test_the_results_stand_in_the_order_of_the_calls_however_they_were_answered(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann", c2="bob", c3="cid"))
    second = await desk.answer(paused, deny("c3"))
    await desk.answer(second, approve("c1"), deny("c2"))
    assert list(desk.told) == ["c1", "c2", "c3"]


async def test_an_open_question_shows_what_was_answered_of_it(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann", c2="bob", c3="cid"), session="s")
    again = await desk.answer(paused, approve("c1"), deny("c2"))
    assert question(again)["id"] != question(paused)["id"]
    assert [call["id"] for call in question(again)["toolCalls"]] == ["c3"]
    assert desk.sent == []


async def test_a_denial_is_told_like_any_other_result(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann"))
    seen: list[tuple[str, Any]] = []
    desk.bench.engine.subscribe(
        lambda event: seen.append((event.name, event.data)) if isinstance(event, NodeEvent) else None
    )
    await desk.answer(paused, deny("c1", note="not her"))
    told = [(name, data.get("toolName") or data.get("result")) for name, data in seen if name.startswith("tool.")]
    assert told == [
        ("tool.start", "send"),
        ("tool.args", None),
        ("tool.end", None),
        ("tool.result", "Permission denied by user: not her"),
    ]


async def test_a_rule_that_comes_with_a_denial_denies_from_then_on(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann"), wants(c2="ann"), session="s")
    done = await desk.answer(paused, deny("c1", acceptRules=['send({"to":"ann"})']))
    assert (done.status, desk.sent) == ("completed", [])
    assert desk.told["c2"] == "Permission denied by rules"


async def test_what_is_said_with_a_question_that_is_taken_back_is_heard(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann"), session="s")
    over = await desk.bench.engine.answer(paused.run_id, "agent", data={"cancel": True, "text": "never mind"})
    assert (over.status, over.message.metadata["finish_reason"]) == ("completed", "stopped")
    await desk.bench.say("hello")
    assert [one["content"] for one in desk.bench.last[-3:]] == [
        "[ERROR] Tool execution was interrupted before it could run. Tool: send",
        "never mind",
        "hello",
    ]


async def test_after_a_denial_that_ends_the_agent_no_other_call_is_run(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann", c2="bob"), afterDenial="end")
    over = await desk.answer(paused, approve("c1"), deny("c2"))
    assert (over.message.metadata["finish_reason"], desk.sent) == ("all_tools_denied", [])
    assert len(desk.bench.model.requests) == 1


async def test_a_round_that_was_paused_counts_as_one(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann", c2="bob"), wants(c3="cid"), maxRounds=2, onLimit="answer")
    again = await desk.answer(paused, deny("c1"))
    once_more = await desk.answer(again, approve("c2"))
    assert once_more.status == "paused"
    done = await desk.answer(once_more, approve("c3"))
    assert (done.message.text, done.message.metadata["finish_reason"]) == ("done", "max_iterations_reached")


async def test_an_approved_call_is_run_though_one_round_is_all_there_is(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann"), maxRounds=1, onLimit="answer")
    done = await desk.answer(paused, approve("c1"))
    assert (desk.sent, done.message.metadata["finish_reason"]) == (["ann"], "max_iterations_reached")


async def test_a_loop_of_questions_comes_to_the_limit(desk: Desk) -> None:
    replies = [wants(**{f"c{n}": f"ann-{n}"}) for n in range(4)]
    outcome = await desk.ask(*replies, maxRounds=3)
    for n in range(3):
        assert outcome.status == "paused"
        outcome = await desk.answer(outcome, approve(f"c{n}"))
    assert (outcome.status, desk.sent) == ("failed", ["ann-0", "ann-1", "ann-2"])


async def test_counters_and_tokens_go_on_where_they_were(desk: Desk) -> None:
    first = Reply(
        tool_calls=[ToolCall("send", {"to": "ann"}, "c1")], usage={"prompt_tokens": 10, "completion_tokens": 5}
    )
    paused = await desk.ask(first)
    done = await desk.answer(paused, approve("c1"))
    assert (done.message.metadata["steps"], done.message.metadata["tool_calls"]) == ("2", "1")
    told = [int(done.message.metadata[name]) for name in ("total_tokens", "last_total_tokens")]
    assert told[0] == 15 + told[1]


# Edited calls


async def test_an_edited_call_that_an_ask_rule_is_about_is_asked_about_anew(desk: Desk) -> None:
    rules = {"mode": "default", "ask": [{"tool": "send", "when": "msg.to == 'eve'"}]}
    paused = await desk.ask(wants(c1="ann"), permission=rules)
    again = await desk.answer(paused, approve("c1", input={"to": "eve"}))
    (shown,) = question(again)["toolCalls"]
    assert (again.status, shown["input"], desk.sent) == ("paused", {"to": "eve"}, [])
    assert shown["reason"].startswith("asked about by the rule send when")
    assert (await desk.answer(again, approve("c1"))).message.text == "done"
    assert desk.sent == ["eve"]


async def test_a_call_that_was_edited_before_the_rest_is_answered_stays_as_it_was_edited(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann", c2="bob"))
    again = await desk.answer(paused, approve("c1", input={"to": "dan"}))
    await desk.answer(again, approve("c2"))
    assert sorted(desk.sent) == ["bob", "dan"]


@pytest.mark.parametrize("arguments", ["not json", "[1]", '{"to": 5}', "{}"])
async def test_arguments_that_cannot_be_read_or_do_not_fit_are_told_and_nobody_is_asked(
    desk: Desk, arguments: str
) -> None:
    done = await desk.ask(Reply(tool_calls=[ToolCall("send", arguments, "c1")]))
    assert (done.message.text, desk.sent) == ("done", [])
    assert desk.told["c1"].startswith("Error: blocked_invalid_arguments")


# What is kept


async def test_an_accepted_rule_is_kept_with_the_session_in_its_store(desk: Desk, tmp_path: Path) -> None:
    model = {"url": f"{desk.bench.url}/v1", "key": "k", "model": "m"}
    session = {"key": "s", "store": f"files:{tmp_path}"}
    node = {"id": "agent", "type": "ai/agent", "configuration": {**model, "session": session, **ASKS}}
    desk.bench.model.add(wants(c1="ann"), "done", wants(c2="ann"), "again")
    sent: list[str] = []
    for said in (None, {"answers": [approve("c1", acceptRules=["send"])]}, "once more"):
        async with Engine(roots=[tmp_path]) as engine:
            engine.tool(lambda to: sent.append(to) or "ok", name="send")
            engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})
            outcome = await engine.run("c", said or "write")
    assert (outcome.message.text, sent) == ("again", ["ann", "ann"])


async def test_a_budget_goes_on_where_it_was(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann"), wants(c2="bob"), budget={"modelCalls": 2}, permission={"ask": ["send"]})
    again = await desk.answer(paused, approve("c1"))
    assert again.status == "paused"
    over = await desk.answer(again, approve("c2"))
    assert (over.status, len(desk.bench.model.requests)) == ("failed", 2)
    assert "budget" in over.message.metadata["errorMsg"]
