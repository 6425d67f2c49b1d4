"""The loop of an agent: steps, tools, limits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from catenary import ChainInvalid, Engine, Message
from catenary.runtime.scope import Scope
from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.messages import ToolCall as ToolCallOfModel
from catenary_components.ai.messages import assistant_message
from catenary_components.ai.phases.act import Act
from catenary_components.ai.setup import AgentSetup
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.functions import function_tool
from catenary_components.ai.tools.tool import Toolbox


@pytest.fixture
def ping(bench: Any) -> list[str]:
    ran: list[str] = []

    def ping() -> str:
        ran.append("ping")
        return "pong"

    bench.engine.tool(ping)
    return ran


async def test_the_conversation_grows_by_call_and_result(bench: Any) -> None:
    bench.engine.tool(lambda sku: {"qty": 40}, name="stock")
    bench.load(calls("stock", sku="bolt"), "40 bolts.", systemPrompt="S", tools=["stock"])
    outcome = await bench.say("how many bolts?")
    assert outcome.message.data == "40 bolts."
    first, second = bench.model.requests
    assert first.messages == [{"role": "system", "content": "S"}, {"role": "user", "content": "how many bolts?"}]
    assert second.messages == [
        *first.messages,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "call_1_1", "type": "function", "function": {"name": "stock", "arguments": '{"sku":"bolt"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1_1", "content": '{"qty":40}'},
    ]
    assert first.tools == second.tools == ["stock"]
    assert first.body["tool_choice"] == "auto"


async def test_tokens_are_summed_over_the_run(bench: Any, ping: Any) -> None:
    bench.load(
        Reply(tool_calls=[ToolCall("ping")], usage={"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}),
        Reply(
            text="ok",
            usage={
                "prompt_tokens": 20,
                "completion_tokens": 2,
                "total_tokens": 22,
                "prompt_tokens_details": {"cached_tokens": 8},
            },
        ),
        tools=["ping"],
    )
    metadata = (await bench.say()).message.metadata
    assert [metadata[f"{name}_tokens"] for name in ("prompt", "completion", "total", "cached")] == [
        "30",
        "3",
        "33",
        "8",
    ]
    assert metadata["last_total_tokens"] == "22"
    assert (metadata["steps"], metadata["tool_calls"]) == ("2", "1")


@pytest.mark.parametrize(("max_step", "requests", "runs"), [(1, 1, 0), (2, 2, 1), (5, 5, 4)])
async def test_the_limit_counts_model_calls(bench: Any, ping: Any, max_step: int, requests: int, runs: int) -> None:
    bench.load(*[calls("ping")] * max_step, tools=["ping"], maxStep=max_step, maxRepeats=0)
    outcome = await bench.say()
    assert outcome.status == "failed"
    assert outcome.message.text.startswith(f"the agent exceeds max steps: {max_step} of {max_step} model calls")
    assert outcome.message.metadata["errorMsg"] == outcome.message.text
    assert (len(bench.model.requests), len(ping)) == (requests, runs)


async def test_one_step_is_enough_for_an_answer(bench: Any) -> None:
    bench.load("hello", maxStep=1)
    assert (await bench.say()).message.data == "hello"


async def test_two_steps_are_enough_for_one_tool(bench: Any, ping: Any) -> None:
    bench.load(calls("ping"), "pong it is", tools=["ping"], maxStep=2)
    assert (await bench.say()).message.data == "pong it is"


async def test_a_limit_below_one_means_fifty(bench: Any, ping: Any) -> None:
    bench.load(*[calls("ping")] * 50, tools=["ping"], maxStep=0)
    assert "50 of 50 model calls" in (await bench.say()).message.text


async def test_the_limit_is_150_by_default(bench: Any, ping: Any) -> None:
    bench.load(*[calls("ping")] * 150, tools=["ping"])
    assert "150 of 150 model calls" in (await bench.say()).message.text


async def test_at_the_limit_one_more_call_without_tools_may_answer(bench: Any, ping: Any) -> None:
    two = Reply(text="Wait.", tool_calls=[ToolCall("ping"), ToolCall("ping")])
    bench.load(two, "that is all I know", tools=["ping"], maxStep=1, onLimit="answer")
    outcome = await bench.say()
    assert outcome.message.data == "that is all I know"
    assert not ping
    assert "tools" not in bench.model.requests[1].body
    note = "Tool execution cancelled because maximum iterations limit (1) was reached"
    assert bench.last[-3:-1] == [
        {"role": "tool", "tool_call_id": "call_1_1", "content": note},
        {"role": "tool", "tool_call_id": "call_1_2", "content": note},
    ]
    assert "Answer now" in str(bench.last[-1]["content"])


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("reason", ["length", "stop", "content_filter"])
async def test_metadata_tells_why_the_last_reply_ended(bench: Any, reason: str, stream: str) -> None:
    bench.load(Reply(text="There are", finish_reason=reason))
    outcome = await bench.say(stream=stream)
    assert outcome.message.metadata["model_finish_reason"] == reason


async def test_when_the_last_answer_fails_the_answer_says_so(bench: Any, ping: Any) -> None:
    bench.load(calls("ping"), Reply(status=400, body="too long"), tools=["ping"], maxStep=1, onLimit="answer")
    shown: list[str] = []

    def note(event: Any) -> None:
        if getattr(event, "name", "") == "content.delta":
            shown.append(event.data["delta"])

    outcome = await bench.engine.run("c", Message("Hi", data_type="TEXT"), listener=note)
    assert outcome.ok
    assert outcome.message.data.startswith("Maximum iterations (1) reached. Error generating summary: error, status")
    assert shown == [outcome.message.data]
    assert outcome.message.metadata["finish_reason"] == "max_iterations_reached"


async def test_the_last_answer_is_streamed_as_well(bench: Any, ping: Any) -> None:
    bench.load(calls("ping"), "the end", tools=["ping"], maxStep=1, onLimit="answer")
    outcome = await bench.say(stream="true")
    assert [(end.message.text, end.message.metadata.get("phase")) for end in outcome.ends] == [
        ("the ", "limit"),
        ("end", "limit"),
        ("", None),
        ("the end", None),
    ]


async def test_an_unknown_tool_does_not_end_the_loop(bench: Any) -> None:
    bench.load(calls("nothing"), "sorry")
    assert (await bench.say()).message.data == "sorry"
    assert bench.last[-1]["content"] == "Error: Unknown tool 'nothing', please use registered tools."


async def test_calls_of_one_turn_run_at_the_same_time(bench: Any) -> None:
    together = asyncio.Barrier(3)

    async def meet(number: int) -> str:
        await asyncio.wait_for(together.wait(), 10)
        return f"met {number}"

    bench.engine.tool(meet)
    bench.load(Reply(tool_calls=[ToolCall("meet", {"number": n}) for n in range(3)]), "ok", tools=["meet"])
    await bench.say()
    assert [message["content"] for message in bench.last[-3:]] == ["met 0", "met 1", "met 2"]


async def test_calls_with_one_id_get_ids_of_their_own(bench: Any, ping: Any) -> None:
    bench.load(Reply(tool_calls=[ToolCall("ping", id="same")] * 2), "ok", tools=["ping"])
    await bench.say()
    called = [call["id"] for call in bench.last[1]["tool_calls"]]
    assert len(set(called)) == 2
    assert [message["tool_call_id"] for message in bench.last[2:]] == called


async def test_a_tool_may_give_the_answer(bench: Any, ping: Any) -> None:
    bench.load(calls("ping"), tools=[{"type": "function", "name": "ping", "returnDirect": True}])
    outcome = await bench.say()
    assert outcome.message.data == "pong"
    assert outcome.message.metadata["steps"] == "1"


async def test_a_tool_sees_the_run_it_is_in(bench: Any) -> None:
    def where(ctx: Any) -> str:
        return f"{ctx.run_id} {ctx.node_type}"

    bench.engine.tool(where)
    bench.load(calls("where"), "ok", tools=["where"])
    outcome = await bench.say()
    assert bench.last[-1]["content"] == f"{outcome.run_id} ai/act"


async def test_cancelling_a_run_stops_its_tools(bench: Any) -> None:
    seen: list[str] = []
    began = asyncio.Event()

    async def wait() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("stopped")

    bench.engine.tool(wait)
    bench.load(calls("wait"), tools=["wait"])
    task = asyncio.create_task(bench.say())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["stopped"]


def stock_chain(expression: str) -> dict[str, Any]:
    node = {"id": "look", "type": "exprTransform", "configuration": {"expr": expression}}
    return {"ruleChain": {"id": "stock-chain"}, "metadata": {"nodes": [node], "connections": []}}


STOCK = {
    "type": "rulechain",
    "name": "stock",
    "description": "Stock level",
    "targetId": "stock-chain",
    "parameters": '{"type":"object","properties":{"sku":{"type":"string"}},"required":["sku"]}',
}


async def test_a_chain_is_a_tool(bench: Any) -> None:
    bench.engine.load(stock_chain("data + ' of type ' + msgType + ' with ' + string(len(metadata))"))
    bench.load(calls("stock", sku="bolt"), "ok", tools=[STOCK])
    await bench.say(extra="1")
    assert bench.last[-1]["content"] == '{"sku":"bolt"} of type TOOL_CALL with 0'
    function = bench.model.requests[0].body["tools"][0]["function"]
    assert (function["name"], function["description"]) == ("stock", "Stock level")
    assert function["parameters"]["required"] == ["sku"]


async def test_a_chain_is_not_run_with_arguments_that_do_not_fit(bench: Any) -> None:
    bench.engine.load(stock_chain("1"))
    bench.load(calls("stock", sku=1), "ok", tools=[STOCK])
    await bench.say()
    assert bench.last[-1]["content"] == (
        "Error: blocked_invalid_arguments - invalid or empty arguments for tool stock: "
        "sku must be of type string, not number"
    )


async def test_a_chain_that_fails_or_is_not_there_is_told(bench: Any) -> None:
    bench.load(calls("stock", sku="bolt"), calls("stock", sku="bolt"), "ok", tools=[STOCK])
    bench.engine.load(stock_chain("1 / msgType"))
    await bench.say()
    first, second = [message["content"] for message in bench.last if message["role"] == "tool"]
    assert first.startswith("Error: Tool execution failed: ")
    bench.engine.remove("stock-chain")
    bench.model.add(calls("stock", sku="bolt"), "ok")
    await bench.say()
    assert bench.last[-1]["content"] == "Error: Tool execution failed: ruleChain id=stock-chain not found"
    assert second == first


async def test_an_agent_may_be_the_tool_of_another(bench: Any) -> None:
    """The inner one has a state of its own, and uses the model chosen for the outer one."""
    config = {"url": f"{bench.url}/v1", "model": "inner", "maxStep": 1}
    node = {"id": "helper", "type": "ai/agent", "configuration": config}
    bench.engine.load({"ruleChain": {"id": "stock-chain"}, "metadata": {"nodes": [node], "connections": []}})
    bench.load(calls("stock", sku="bolt"), "inner answer", "outer answer", tools=[STOCK], maxStep=2)
    outcome = await bench.say(session_model="chosen", stream="true")
    assert outcome.message.data == "outer answer"
    assert [request.body["model"] for request in bench.model.requests] == ["chosen"] * 3
    assert bench.model.requests[1].messages == [{"role": "user", "content": '{"sku":"bolt"}'}]
    assert not bench.model.requests[1].is_stream
    assert outcome.message.metadata["steps"] == "2"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("nobody", "function tool not found: nobody; registered with engine.tool: ping"),
        ({"type": "builtin", "name": "anvil"}, "builtin tool not found: anvil"),
        ({"type": "magic", "name": "wand"}, "unsupported tool type: magic"),
        ({"type": "rulechain", "name": "stock"}, "a tool of type rulechain needs name and targetId"),
        ({"type": "rulechain", "name": "a", "targetId": "b", "parameters": "{half"}, "schema of the tool's parameters"),
        (["ping", "ping"], "two tools are called 'ping'"),
    ],
)
def test_a_tool_that_cannot_be_is_refused_at_load(tool: Any, text: str) -> None:
    config = {"url": "http://127.0.0.1:1", "tools": tool}
    chain = {
        "ruleChain": {"id": "c"},
        "metadata": {"nodes": [{"id": "a", "type": "ai/agent", "configuration": config}]},
    }
    with Engine() as engine:
        engine.tool(lambda: "pong", name="ping")
        with pytest.raises(ChainInvalid) as raised:
            engine.load(chain)
    assert text in str(raised.value)


async def test_a_registered_function_is_also_found_as_builtin(bench: Any, ping: Any) -> None:
    bench.load(
        calls("ping"), "ok", tools=[{"type": "builtin", "name": "ping", "description": "Play.", "timeout": 50_000}]
    )
    await bench.say()
    assert bench.last[-1]["content"] == "pong"
    assert bench.model.requests[0].body["tools"][0]["function"]["description"] == "Play."


async def test_a_tool_has_its_own_time(bench: Any) -> None:
    async def wait() -> None:
        await asyncio.sleep(10)

    bench.engine.tool(wait)
    bench.load(calls("wait"), "ok", tools=[{"name": "wait", "timeout": 20}])
    await bench.say()
    assert bench.last[-1]["content"] == "Error: Tool execution failed: the tool took longer than 0.02 s"


def phase(name: str) -> dict[str, Any]:
    return {"id": name, "type": f"ai/{name}", "configuration": {}}


def edge(start: str, relation: str, target: str) -> dict[str, str]:
    return {"fromId": start, "toId": target, "type": relation}


async def test_a_chain_of_ones_own_may_be_the_loop(bench: Any, ping: Any) -> None:
    """Here a chain asks for tools once only, and shouts the answer."""
    shout = {"id": "shout", "type": "exprTransform", "configuration": {"expr": "upper(data)"}}
    nodes = [*(phase(name) for name in ("reason", "act", "observe", "limit", "answer")), shout]
    connections = [
        edge("reason", "ToolCalls", "act"),
        edge("reason", "Answer", "answer"),
        edge("act", "Success", "observe"),
        edge("observe", "Continue", "limit"),
        edge("limit", "Success", "answer"),
        edge("answer", "Success", "shout"),
    ]
    bench.engine.load({"ruleChain": {"id": "once"}, "metadata": {"nodes": nodes, "connections": connections}})
    bench.load(calls("ping"), "done", tools=["ping"], mode="once", onLimit="answer")
    outcome = await bench.say()
    assert outcome.message.data == "DONE"
    assert outcome.message.metadata["steps"] == "2"
    assert ping == ["ping"]


async def test_a_loop_that_is_not_there_is_a_failure(bench: Any) -> None:
    bench.load(mode="elsewhere")
    assert "ruleChain id=elsewhere not found" in (await bench.say()).message.text


async def test_a_loop_of_streams_only_has_no_answer(bench: Any) -> None:
    node = {"id": "stop", "type": "functions", "configuration": {"functionName": "stop"}}
    bench.engine.function("stop")(lambda ctx, msg: ("Stream", msg))
    bench.engine.load({"ruleChain": {"id": "mute"}, "metadata": {"nodes": [node], "connections": []}})
    bench.load(mode="mute")
    assert (await bench.say()).message.text == "the agent ended without an answer"


async def test_reasoning_beyond_the_limit_is_not_begun(bench: Any) -> None:
    """A loop that goes back to `reason` by a way of its own still ends."""
    edges = (("reason", "Answer", "reason"), ("reason", "Limit", "limit"), ("limit", "Success", "answer"))
    nodes = [phase("reason"), phase("limit"), phase("answer")]
    chain = {
        "ruleChain": {"id": "again", "configuration": {"allowCycle": True}},
        "metadata": {"nodes": nodes, "connections": [edge(*one) for one in edges]},
    }
    bench.engine.load(chain)
    bench.load("a", "b", mode="again", maxStep=2)
    outcome = await bench.say()
    assert outcome.message.text.startswith("the agent exceeds max steps: 2 of 2 model calls are made")
    assert len(bench.model.requests) == 2


PHASES = {
    "begin": "Reason",
    "reason": "Answer",
    "act": "Success",
    "observe": "Continue",
    "summarize": "Success",
    "limit": "Success",
    "verify": "Success",
    "refuse": "Success",
    "answer": "Success",
}


@pytest.mark.parametrize("name", PHASES)
async def test_a_phase_outside_an_agent_is_a_failure_that_says_what_to_do(bench: Any, name: str) -> None:
    end = {"id": "end", "type": "end"}
    connections = [edge(name, PHASES[name], "end")]
    bench.engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [phase(name), end], "connections": connections}})
    outcome = await bench.say()
    assert outcome.status == "failed"
    assert f"node '{name}' (ai/{name}): ai/{name} is a phase of an agent's loop, and this run has no agent" in str(
        outcome.error
    )
    assert "`mode` of an `ai/agent` node" in outcome.error.hint


async def test_trouble_behind_a_result_is_told_as_it_is(bench: Any) -> None:
    """And not as that of a group of tasks."""
    told: list[str] = []

    class Outside:
        node_id, watched, clock = "act", False, bench.clock

        def __init__(self, *values: Any) -> None:
            self.scope = Scope(values)

        def notify(self, *_: Any, **__: Any) -> None: ...

        async def emit(self, relation: str, message: Message) -> None:
            told.append(message.text)
            if "RESULT" in message.text:
                raise ValueError("nobody listens")

    state = AgentState([assistant_message("", (ToolCallOfModel("1", "ping"), ToolCallOfModel("2", "wait")))])
    tools = Toolbox([function_tool(lambda: "pong", name="ping"), function_tool(asyncio.Event().wait, name="wait")])
    setup = AgentSetup(bench, tools, streams=True)  # type: ignore[arg-type]
    bench.name = "m"
    with pytest.raises(ValueError, match="nobody listens"):
        await Act(None).run(Outside(state, setup), Message())  # type: ignore[arg-type]
    assert len(told) == 3
