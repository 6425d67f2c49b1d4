"""What an agent tells while it answers: as events and as blocks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any

import pytest
from tests.components.ai.face.streaming import assert_balanced, blocks, of_type, types

from catenary import Engine
from catenary.events import NodeEvent
from catenary.testing import Reply, ScriptedModel, calls, mock, server_error
from catenary_components.ai import Agent, BlockEvent, tool
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.hooks.steps import ModelStep
from catenary_components.ai.messages import ImagePart

MODEL = "mock:face-stream"


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    scripted = ScriptedModel()
    with mock("face-stream", scripted):
        yield scripted


@tool(read_only=True)
async def look(at: str) -> str:
    """Look at something."""
    return f"seen {at}"


async def test_events_are_numbered_anew_and_the_last_one_tells_how_it_ended(model: ScriptedModel) -> None:
    model.add(Reply(text="one two", reasoning="hm"))
    async with Agent("A", model=MODEL) as agent:
        events = [event async for event in agent.stream("hi")]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert (events[0].name, events[-1].name) == ("run.start", "run.complete")
    assert not any(event.name.startswith(("node.", "branch.")) for event in events)
    deltas = [event.data["delta"] for event in events if event.name == "content.delta"]  # type: ignore[attr-defined]
    assert deltas == ["one ", "two"]


async def test_a_failed_run_ends_its_events_with_the_error(model: ScriptedModel) -> None:
    model.add(server_error(501))
    async with Agent("A", model=MODEL) as agent:
        events = [event async for event in agent.stream("hi")]
    assert events[-1].name == "run.error"


async def test_the_statuses_of_its_life_are_told(model: ScriptedModel) -> None:
    model.add(calls("look", at="a"), "ok")
    async with Agent("A", model=MODEL, tools=[look]) as agent:
        events = [event async for event in agent.stream("hi")]
    told = [event.data["status"] for event in events if event.name == "agent.status"]  # type: ignore[attr-defined]
    assert told == ["running", "executing", "running", "done", "idle"]


async def test_blocks_come_one_after_the_other_with_the_calls_inside_the_model_call(model: ScriptedModel) -> None:
    model.add(Reply(reasoning="hm", text="I look.", tool_calls=calls("look", at="a").tool_calls), "It is there.")
    async with Agent("A", model=MODEL, tools=[look]) as agent:
        events = await blocks(agent)
    assert types(events) == [
        "AGENT_START",
        "MODEL_CALL_START",
        "THINKING_BLOCK_START",
        "THINKING_BLOCK_DELTA",
        "THINKING_BLOCK_END",
        "TEXT_BLOCK_START",
        "TEXT_BLOCK_DELTA",
        "TEXT_BLOCK_END",
        "TOOL_CALL_START",
        "TOOL_CALL_DELTA",
        "TOOL_CALL_END",
        "MODEL_CALL_END",
        "TOOL_RESULT_START",
        "TOOL_RESULT_TEXT_DELTA",
        "TOOL_RESULT_END",
        "MODEL_CALL_START",
        "TEXT_BLOCK_START",
        "TEXT_BLOCK_DELTA",
        "TEXT_BLOCK_END",
        "MODEL_CALL_END",
        "AGENT_RESULT",
        "AGENT_END",
    ]
    assert_balanced(events)
    assert len({event.reply_id for event in events}) == 1
    assert events[0].data == {"sessionId": "A", "name": "A", "role": "assistant"}
    assert len({event.id for event in events}) == len(events)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert "".join(data["delta"] for data in of_type(events, "TOOL_CALL_DELTA")) == '{"at":"a"}'
    result: Any = events[-2].data["result"]
    assert result["blocks"][-1]["text"] == "It is there."
    assert result["generateReason"] == "MODEL_STOP"
    usage = of_type(events, "MODEL_CALL_END")[0]["usage"]
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"] > 0
    assert usage["time"] >= 0


async def test_calls_of_one_reply_begin_in_their_order_and_keep_the_ids_of_the_model(model: ScriptedModel) -> None:
    both = [*calls("look", at="a").tool_calls, *calls("look", at="b").tool_calls]
    model.add(Reply(tool_calls=both), "ok")
    async with Agent("A", model=MODEL, tools=[look]) as agent:
        events = await blocks(agent)
        asked = [call.id for call in (await agent.state()).messages[1].tool_calls]
    assert_balanced(events)
    for type_ in ("TOOL_CALL_START", "TOOL_RESULT_START"):
        assert [event.data["toolCallId"] for event in events if event.type == type_] == asked
    order = types(events)
    assert order.index("TOOL_RESULT_START") + 1 == order.index(
        "TOOL_RESULT_START", order.index("TOOL_RESULT_START") + 1
    )


async def test_a_failed_call_ends_balanced_and_without_a_result(model: ScriptedModel) -> None:
    model.add(Reply(pieces=["one ", "two ", "three ", "four ", "five"], drop_after=5))
    async with Agent("A", model=MODEL) as agent:
        events = await blocks(agent)
    assert_balanced(events)
    assert "AGENT_RESULT" not in types(events)
    assert (events[-1].type, events[-1].data["status"]) == ("AGENT_END", "failed")
    assert events[-1].data["error"]


async def test_an_interrupted_call_ends_balanced_with_what_was_said(model: ScriptedModel) -> None:
    model.add(Reply(pieces=["one ", "two ", *["more "] * 1000, "five"], piece_delay_s=0.01))
    async with Agent("A", model=MODEL) as agent:
        events: list[BlockEvent] = []
        said = ""
        async for event in agent.stream("hi", vocabulary="blocks"):
            events.append(event)
            if event.type == "TEXT_BLOCK_DELTA":
                said += str(event.data["delta"])
                agent.interrupt()
    assert_balanced(events)
    assert events[-1].data["status"] == "completed"
    result: Any = events[-2].data["result"]
    assert (result["finishReason"], result["blocks"][0]["text"]) == ("stopped", said)
    assert result["generateReason"] == "INTERRUPTED"
    assert "five" not in said


async def test_the_limit_is_told_before_the_last_answer(model: ScriptedModel) -> None:
    model.add(calls("look", at="a"), "What I know.")
    async with Agent("A", model=MODEL, tools=[look], max_iters=1) as agent:
        events = await blocks(agent)
    order = types(events)
    assert order.index("EXCEED_MAX_ITERS") < order.index("TEXT_BLOCK_START")
    assert of_type(events, "EXCEED_MAX_ITERS") == [{"maxIters": 1, "currentIter": 1}]
    assert of_type(events, "AGENT_RESULT")[0]["result"]["generateReason"] == "MAX_ITERATIONS"
    assert_balanced(events)


async def test_an_agent_below_has_a_source_and_blocks_of_its_own(model: ScriptedModel) -> None:
    inner = {"id": "inner", "type": "ai/agent", "configuration": {"model": MODEL}}
    helper = {"type": "rulechain", "name": "helper", "targetId": "helper", "description": "helps", "readOnly": True}
    model.add(calls("helper", q="?"), "helped", "done")
    async with Agent("A", model=MODEL, tools=[helper]) as agent:
        agent.engine.load({"ruleChain": {"id": "helper"}, "metadata": {"nodes": [inner]}})
        events = await blocks(agent)
    assert_balanced(events)
    assert {event.source for event in events if event.type == "MODEL_CALL_START"} == {"", "main/helper"}
    assert events[-1].source == ""


async def test_who_leaves_early_cancels_the_call(model: ScriptedModel) -> None:
    model.add(Reply(pieces=["one ", "two ", "three ", "four"], piece_delay_s=0.5), "ok")
    async with Agent("A", model=MODEL) as agent:
        stream = agent.stream("hi", vocabulary="blocks")
        async for event in stream:
            if event.type == "TEXT_BLOCK_DELTA":
                break
        await stream.aclose()
        assert (await agent.call("again")).text == "ok"


def test_an_event_is_json_by_the_names_of_the_wire() -> None:
    event = BlockEvent("TEXT_BLOCK_DELTA", 3, "r", "main/x", {"delta": "a"}, id="i", created_at="2026-01-01")
    assert event.to_dict() == {
        "id": "i",
        "type": "TEXT_BLOCK_DELTA",
        "seq": 3,
        "createdAt": "2026-01-01",
        "source": "main/x",
        "replyId": "r",
        "delta": "a",
    }


async def test_one_round_that_its_loop_has_is_no_limit(model: ScriptedModel) -> None:
    model.add(calls("look", at="a"), "seen")
    async with Agent("A", model=MODEL, tools=[look], mode="plain_tooling") as agent:
        assert "EXCEED_MAX_ITERS" not in types(await blocks(agent))


async def test_the_limit_of_an_agent_below_is_its_own(model: ScriptedModel) -> None:
    settings = {"model": MODEL, "maxRounds": 2, "onLimit": "answer", "tools": ["look"]}
    inner = {"id": "inner", "type": "ai/agent", "configuration": settings}
    helper = {"type": "rulechain", "name": "helper", "targetId": "helper", "description": "helps", "readOnly": True}
    model.add(calls("helper", q="?"), calls("look", at="a"), calls("look", at="b"), "What I know.", "done")
    async with Agent("A", model=MODEL, tools=[helper, look]) as agent:
        agent.engine.tool(look)
        agent.engine.load({"ruleChain": {"id": "helper"}, "metadata": {"nodes": [inner]}})
        events = await blocks(agent)
    limit = next(event for event in events if event.type == "EXCEED_MAX_ITERS")
    assert (limit.source, limit.data) == ("main/helper", {"maxIters": 2, "currentIter": 2})


async def test_pieces_of_a_tool_are_deltas_and_the_last_one_is_not_told_twice(model: ScriptedModel) -> None:
    @tool(read_only=True)
    async def count() -> AsyncGenerator[str]:
        """Count."""
        yield "one"
        yield "two"

    model.add(calls("count"), "ok")
    async with Agent("A", model=MODEL, tools=[count]) as agent:
        events = await blocks(agent)
    assert [data["delta"] for data in of_type(events, "TOOL_RESULT_TEXT_DELTA")] == ["one", "two"]


async def test_pictures_of_a_tool_are_data(model: ScriptedModel) -> None:
    @tool(read_only=True)
    def photo() -> Any:
        """Take a photo."""
        return ["here", ImagePart("https://x/p.png")]

    model.add(calls("photo"), "ok")
    async with Agent("A", model=MODEL, tools=[photo]) as agent:
        events = await blocks(agent)
    (data,) = of_type(events, "TOOL_RESULT_DATA_DELTA")
    assert data["data"] == {"type": "image", "url": "https://x/p.png"}
    assert_balanced(events)


@pytest.mark.parametrize(("given", "state"), [("a", "success"), ("", "error")])
async def test_the_end_of_a_result_says_what_became_of_the_call(model: ScriptedModel, given: str, state: str) -> None:
    @tool(read_only=True)
    def halve(text: str) -> str:
        """Halve a text."""
        return text[0]

    model.add(calls("halve", text=given), "ok")
    async with Agent("A", model=MODEL, tools=[halve]) as agent:
        events = await blocks(agent)
    assert [data["state"] for data in of_type(events, "TOOL_RESULT_END")] == [state]


async def test_calls_whose_name_is_put_right_and_calls_of_one_tool_keep_their_ids(model: ScriptedModel) -> None:
    wrong = [*calls("Look", at="a").tool_calls, *calls("look", at="b").tool_calls]
    model.add(Reply(tool_calls=wrong), "ok")
    async with Agent("A", model=MODEL, tools=[look]) as agent:
        events = await blocks(agent)
        answered = [result.call_id for message in (await agent.state()).messages for result in message.results]
    assert [data["toolCallId"] for data in of_type(events, "TOOL_RESULT_START")] == answered


async def test_what_else_is_told_is_custom(model: ScriptedModel) -> None:
    class Speaker(AgentHook):
        async def before_reasoning(self, step: ModelStep) -> None:
            step.publish("house.light", on=True)
            step.publish("content.delta", delta="of no block")

    model.add("ok")
    async with Engine() as engine:
        engine.agent_hook(Speaker())
        async with Agent("A", model=MODEL, engine=engine, budget={"model_calls": 1}) as agent:
            events = await blocks(agent)
    assert [data["name"] for data in of_type(events, "CUSTOM")] == ["house.light", "content.delta", "budget.warning"]
    assert of_type(events, "CUSTOM")[0]["value"] == {"on": True}


AGENT_EVENTS = [
    *[f"{kind}.{what}" for kind in ("content", "reasoning") for what in ("start", "delta", "end")],
    *[f"{kind}.{what}" for kind in ("tool", "action") for what in ("start", "args", "run", "delta", "result")],
    *["agent.limit", "agent.reminder", "approval.request", "approval.resolved", "hook.goto"],
]


WRONG_FIELDS: list[dict[str, Any]] = [
    {},
    {"toolId": "x"},
    {"id": 1, "kind": 1, "expires": 1, "toolCalls": [{}], "calls": 7, "messages": 7},
]


@pytest.mark.parametrize("fields", WRONG_FIELDS)
async def test_what_hooks_publish_under_names_of_agents_without_their_fields_is_custom(
    model: ScriptedModel, fields: dict[str, Any]
) -> None:
    class Speaker(AgentHook):
        async def before_reasoning(self, step: ModelStep) -> None:
            for name in AGENT_EVENTS:
                step.publish(name, **fields)

    model.add(calls("look", at="a"), "ok")
    async with Engine() as engine:
        engine.agent_hook(Speaker())
        async with Agent("A", model=MODEL, engine=engine, tools=[look]) as agent:
            events = await blocks(agent)
    custom = {data["name"] for data in of_type(events, "CUSTOM")}
    assert custom == set(AGENT_EVENTS) - (
        {"tool.run", "action.run", "tool.delta", "action.delta"} if "toolId" in fields else set()
    )
    assert of_type(events, "AGENT_END") == [{"status": "completed"}]
    assert_balanced(events)


async def test_a_reply_that_is_cut_is_told_behind_its_block(model: ScriptedModel) -> None:
    copy = "The bolts are in the third drawer. "
    model.add(Reply(pieces=["Well: ", *[copy] * 50]))
    async with Agent("A", model=MODEL, preset="agent_api") as agent:
        events = await blocks(agent)
    (custom,) = of_type(events, "CUSTOM")
    assert (custom["name"], custom["value"]["reason"]) == ("content.truncated", "content_loop")
    types = [event.type for event in events]
    assert types.index("TEXT_BLOCK_END") < types.index("CUSTOM") < types.index("MODEL_CALL_END")
    assert of_type(events, "AGENT_RESULT")[0]["result"]["blocks"] == [{"type": "text", "text": f"Well: {copy}".strip()}]


async def test_a_hook_that_stops_says_so(model: ScriptedModel) -> None:
    class Guard(AgentHook):
        async def after_reasoning(self, step: ModelStep) -> None:
            step.stop("enough")

    model.add(calls("look", at="a"))
    async with Engine() as engine:
        engine.agent_hook(Guard())
        async with Agent("A", model=MODEL, engine=engine, tools=[look]) as agent:
            events = await blocks(agent)
    assert of_type(events, "REQUEST_STOP") == [{"reason": "enough", "generateReason": "MIDDLEWARE_STOP_REQUESTED"}]
    assert of_type(events, "AGENT_RESULT")[0]["result"]["generateReason"] == "MIDDLEWARE_STOP_REQUESTED"
    assert_balanced(events)


async def test_what_the_model_is_reminded_of_and_what_a_hook_says_are_hints(model: ScriptedModel) -> None:
    class Back(AgentHook):
        async def after_reasoning(self, step: ModelStep) -> None:
            if step.reply is not None and step.reply.content == "one":
                step.goto("Once more.")

    model.add(Reply(text="", reasoning="hm"), "one", "two")
    async with Engine() as engine:
        engine.agent_hook(Back())
        async with Agent("A", model=MODEL, engine=engine) as agent:
            events = await blocks(agent)
    hints = of_type(events, "HINT_BLOCK")
    assert [hint["hintSource"] for hint in hints] == ["empty_response", "hook"]
    assert hints[1]["hint"] == "Once more."
    assert "no text" in hints[0]["hint"]
    assert_balanced(events)


async def test_an_agent_may_speak_of_its_memory(model: ScriptedModel) -> None:
    model.add("I have a good memory")
    async with Agent("A", model=MODEL) as agent:
        events = [event async for event in agent.stream("hi")]
    deltas = [str(event.data["delta"]) for event in events if isinstance(event, NodeEvent) and "delta" in event.data]
    assert "".join(deltas) == "I have a good memory"
