"""What was granted on the way: modes and rules that are set, accepted, looked at and taken back; and the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.components.ai.permission.asking import approve, deny, question, wants

from catenary.errors import EngineError
from catenary_components.ai import Agent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.components.ai.permission.conftest import Desk


@pytest.fixture
async def agent(desk: Desk) -> AsyncGenerator[Agent]:
    """An agent in Python that asks before it sends."""
    options: dict[str, Any] = {"url": f"{desk.bench.url}/v1", "key": "k", "model": "m", "permission": "default"}
    async with Agent("Clerk", engine=desk.bench.engine, tools=["send"], **options) as made:
        yield made


async def test_a_mode_that_is_set_holds_from_the_next_call_on_for_its_session(desk: Desk, agent: Agent) -> None:
    desk.bench.model.add(wants(c1="ann"), "done", wants(c2="bob"), wants(c3="cid"), "done")
    await agent.permissions("s").set_mode("bypass")
    assert (await agent.permissions("s").read()).mode == "bypass"
    assert (await agent.call("write", session="s")).text == "done"
    assert (await agent.call("write", session="other")).finish_reason == "await_confirm"
    await agent.permissions("s").set_mode("explore")
    await agent.call("write", session="s")
    assert desk.sent == ["ann"]
    assert desk.told["c3"] == "Permission denied by rules"


async def test_without_a_mode_of_its_own_a_session_has_that_of_the_agent(desk: Desk, agent: Agent) -> None:
    desk.bench.model.add(wants(c1="ann"))
    await agent.permissions().set_mode("bypass")
    await agent.permissions().set_mode(None)
    assert (await agent.permissions().read()).mode is None
    assert (await agent.call("write")).finish_reason == "await_confirm"


async def test_a_mode_that_is_none_is_refused(agent: Agent) -> None:
    with pytest.raises(EngineError, match="there is no mode 'yolo'"):
        await agent.permissions().set_mode("yolo")  # type: ignore[arg-type]


async def test_an_accepted_rule_is_shown_with_who_accepted_it_and_can_be_taken_back(desk: Desk, agent: Agent) -> None:
    desk.bench.model.add(wants(c1="ann"), "done", wants(c2="ann"), "done", wants(c3="ann"))
    await agent.call("write")
    await agent.resume([approve("c1", acceptRules=['send({"to":"ann"})'])], attributes={"answerer": "eve"})
    (rule,) = (await agent.permissions().read()).rules
    assert (rule.text, rule.behavior, rule.by, rule.source) == ('send({"to":"ann"})', "allow", "eve", "accepted")
    assert (await agent.call("write again")).text == "done"
    assert await agent.permissions().revoke(rule) == 1
    assert (await agent.permissions().read()).rules == ()
    assert (await agent.call("and again")).finish_reason == "await_confirm"
    assert desk.sent == ["ann", "ann"]


async def test_all_rules_can_be_taken_back_at_once(agent: Agent) -> None:
    await agent.permissions().add("send(a*)", {"tool": "fetch"}, by="eve")
    await agent.permissions().add("bash(rm *)", behavior="deny")
    found = (await agent.permissions().read()).rules
    assert [(rule.text, rule.behavior) for rule in found] == [
        ("send(a*)", "allow"),
        ("fetch", "allow"),
        ("bash(rm *)", "deny"),
    ]
    assert await agent.permissions().revoke("fetch") == 1
    assert await agent.permissions().revoke() == 2


async def test_of_two_rules_with_one_text_the_one_that_is_meant_is_taken_back(agent: Agent) -> None:
    await agent.permissions().add("send", by="eve")
    await agent.permissions().add("send", behavior="deny", by="eve")
    first, second = (await agent.permissions().read()).rules
    assert await agent.permissions().revoke(second) == 1
    assert (await agent.permissions().read()).rules == (first,)


async def test_what_is_no_rule_is_refused(agent: Agent) -> None:
    with pytest.raises(EngineError, match="the scope of a rule is session or run"):
        await agent.permissions().add({"tool": "send", "scope": "ever"})


async def test_a_rule_for_a_run_holds_until_that_run_is_over(desk: Desk, agent: Agent) -> None:
    desk.bench.model.add(wants(c1="ann"), wants(c2="bob"), "done", wants(c3="cid"))
    await agent.call("write")
    assert (await agent.resume([approve("c1", acceptRules=[{"tool": "send", "scope": "run"}])])).text == "done"
    assert desk.sent == ["ann", "bob"]
    assert (await agent.call("write again")).finish_reason == "await_confirm"


async def test_an_agent_that_remembers_nothing_has_no_permissions_to_change(desk: Desk) -> None:
    async with Agent("Clerk", engine=desk.bench.engine, store=None, url="http://127.0.0.1:9/v1", model="m") as agent:
        with pytest.raises(EngineError, match="does not remember"):
            agent.permissions()


async def test_every_decision_is_in_the_log_of_the_session_those_of_people_too(desk: Desk, agent: Agent) -> None:
    desk.bench.model.add(wants(c1="ann", c2="bob"), "done")
    await agent.call("write")
    await agent.resume([approve("c1"), deny("c2", note="not him")], attributes={"answerer": "eve"})
    log = (await agent.permissions().read()).log
    told = [(one["toolCallId"], one["decision"], one["by"], one.get("answerer"), one["reason"]) for one in log]
    assert told == [
        ("c1", "ask", "mode", None, "no rule allows it"),
        ("c2", "ask", "mode", None, "no rule allows it"),
        ("c1", "allow", "person", "eve", "somebody was asked"),
        ("c2", "deny", "person", "eve", "not him"),
    ]


async def test_where_permission_is_set_calls_that_pass_are_in_the_log_as_well(desk: Desk) -> None:
    await desk.ask(wants(c1="ann"), permission="listed", session="s")
    state = await next(iter(desk.bench.engine.chains["c"].instances)).component.sessions.read("s")
    assert [one["decision"] for one in state.permissions["log"]] == ["allow"]


async def test_the_model_does_not_hear_of_tools_that_are_denied_whatever_it_says(desk: Desk) -> None:
    tools = ["send", {"type": "external", "name": "weigh", "description": "Weigh."}]
    await desk.ask(tools=tools, permission={"deny": ["send", "weigh(x*)"]})
    assert [tool["function"]["name"] for tool in desk.bench.model.requests[0].body["tools"]] == ["weigh"]


async def test_a_question_tells_why_it_is_asked_and_what_may_be_accepted(desk: Desk) -> None:
    paused = await desk.ask(wants(c1="ann"))
    (shown,) = question(paused)["toolCalls"]
    (pause,) = desk.bench.engine.pauses
    assert pause.ask.details == question(paused)
    assert shown["reason"] == "no rule allows it"
