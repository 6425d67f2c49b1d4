"""What is heard of calls while the model still writes them, and of those that nobody runs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from catenary import Message
from catenary.pauses import Answer
from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.models.assemble import ReplyBuilder
from catenary_components.ai.models.types import CallPiece, Piece

LONG = '{"text": "a          long text"}'
KINDS = ("tool", "action", "content", "model", "approval")


async def heard(bench: Any, stream: str = "true", text: str = "hi") -> list[tuple[str, Any]]:
    """Run one message; give the events."""
    message = Message(text, data_type="TEXT", metadata={"stream": stream})
    events = [event async for event in bench.engine.stream("c", message) if getattr(event, "data", None) is not None]
    return [(event.name, event.data) for event in events if event.name.split(".")[0] in KINDS]


def of_tools(seen: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(name, data) for name, data in seen if name.startswith("tool.")]


@pytest.fixture
def keep(bench: Any) -> list[str]:
    """A tool `write_down`, and what it was run with."""
    found: list[str] = []

    def write_down(text: str) -> str:
        """Write a text down."""
        found.append(text)
        return "kept"

    bench.engine.tool(write_down)
    return found


async def test_each_piece_of_the_arguments_is_one_event(bench: Any, keep: list[str]) -> None:
    bench.load(Reply(tool_calls=[ToolCall("write_down", LONG, "c1")]), "ok", tools=["write_down"])
    seen = of_tools(await heard(bench))
    pieces = [data for name, data in seen if name == "tool.args"]
    assert [data["delta"] for data in pieces] == [LONG[at : at + 8] for at in range(0, len(LONG), 8)]
    assert [data["chunkIndex"] for data in pieces] == list(range(4))
    assert [name for name, _ in seen] == ["tool.start", *["tool.args"] * 4, "tool.run", "tool.end", "tool.result"]
    start = seen[0][1]
    assert (start["callId"], start["toolName"], start["toolType"]) == ("c1", "write_down", "function")
    assert start["description"] == "Write a text down."
    assert "toolParams" not in start
    assert len({data["toolId"] for _, data in seen}) == 1
    assert keep == ["a          long text"]


async def test_arguments_are_told_before_the_reply_has_ended(bench: Any, keep: list[str]) -> None:
    bench.load(calls("write_down", text="x"), "ok", tools=["write_down"])
    names = [name for name, _ in await heard(bench)]
    assert names.index("tool.start") < names.index("tool.args") < names.index("model.end") < names.index("tool.run")


async def test_text_before_a_call_is_told_whole_before_it(bench: Any, keep: list[str]) -> None:
    reply = Reply(text="I write.", tool_calls=calls("write_down", text="x").tool_calls)
    bench.load(reply, "ok", "ok", tools=["write_down"], verify="second_pass")
    names = [name for name, _ in await heard(bench)]
    names = names[: names.index("tool.args")]
    assert names == ["model.start", "content.start", "content.delta", "content.end", "tool.start"]


async def test_calls_of_one_reply_are_told_one_after_the_other_and_end_with_their_results(
    bench: Any, keep: list[str]
) -> None:
    two = [ToolCall("write_down", {"text": "one"}, "a"), ToolCall("write-down", {"text": "two"}, "a")]
    bench.load(Reply(tool_calls=two), "ok", tools=["write_down"])
    seen = of_tools(await heard(bench))
    starts = [data for name, data in seen if name == "tool.start"]
    assert [data["toolName"] for data in starts] == ["write_down"] * 2
    assert len({data["callId"] for data in starts}) == len({data["toolId"] for data in starts}) == 2
    asked = next(one for one in bench.last if one.get("tool_calls"))
    assert [call["id"] for call in asked["tool_calls"]] == [data["callId"] for data in starts]
    names = [name for name, _ in seen if name not in ("tool.args", "tool.run")]
    assert names == ["tool.start"] * 2 + ["tool.end", "tool.result"] * 2


async def test_without_a_stream_the_arguments_come_at_once(bench: Any, keep: list[str]) -> None:
    bench.load(calls("write_down", text="x"), "ok", tools=["write_down"])
    seen = of_tools(await heard(bench, stream="false"))
    assert [name for name, _ in seen] == ["tool.start", "tool.args", "tool.run", "tool.end", "tool.result"]
    assert (seen[0][1]["toolParams"], seen[1][1]["delta"]) == ({"text": "x"}, '{"text":"x"}')


async def test_a_tool_that_is_none_is_told_when_it_is_refused(bench: Any, keep: list[str]) -> None:
    bench.load(calls("fly", to="Hull"), "ok", tools=["write_down"])
    seen = of_tools(await heard(bench))
    assert [name for name, _ in seen] == ["tool.start", "tool.args", "tool.end", "tool.result"]
    assert (seen[0][1]["toolType"], seen[-1][1]["isError"]) == ("unknown", True)


async def test_a_call_that_breaks_off_is_closed(bench: Any, keep: list[str]) -> None:
    broken = Reply(tool_calls=[ToolCall("write_down", LONG, "c1")], drop_after=4)
    bench.load(broken, tools=["write_down"], params={"maxRetries": 0})
    seen = of_tools(await heard(bench))
    assert (seen[0][0], [name for name, _ in seen[-2:]]) == ("tool.start", ["tool.end", "tool.result"])
    assert (seen[-1][1]["result"], seen[-1][1]["isError"]) == ("the call was not run", True)


async def test_calls_that_no_step_is_left_for_are_closed(bench: Any, keep: list[str]) -> None:
    bench.load(calls("write_down", text="x"), tools=["write_down"], maxStep=1)
    seen = of_tools(await heard(bench))
    assert Counter(name for name, _ in seen) == {
        "tool.start": 1, "tool.args": 2, "tool.end": 1, "tool.result": 1,
    }  # fmt: skip
    assert keep == []


async def test_a_call_that_waits_for_somebody_ends_without_a_result(bench: Any, keep: list[str]) -> None:
    bench.load(Reply(tool_calls=[ToolCall("write_down", LONG, "c1")]), "ok", tools=["write_down"], permission="default")
    seen = await heard(bench)
    assert [name for name, _ in of_tools(seen)] == ["tool.start", *["tool.args"] * 4, "tool.end"]
    request = next(data for name, data in seen if name == "approval.request")
    assert request["toolCalls"][0]["id"] == seen[1][1]["callId"] == "c1"


async def test_a_call_that_is_denied_is_seen_to_close(bench: Any, keep: list[str]) -> None:
    bench.load(Reply(tool_calls=[ToolCall("write_down", LONG, "c1")]), "ok", tools=["write_down"], permission="default")
    paused = await bench.say()
    told: list[tuple[str, Any]] = []
    bench.engine.subscribe(lambda event: told.append((event.name, getattr(event, "data", {}))))
    answers = [{"toolCallId": "c1", "decision": "deny", "note": "no"}]
    assert (await bench.engine.answer(paused.run_id, "agent", data=answers)).ok
    seen = of_tools(told)
    assert [name for name, _ in seen] == ["tool.start", "tool.args", "tool.end", "tool.result"]
    assert (seen[-1][1]["result"], seen[-1][1]["isError"]) == ("Permission denied by user: no", True)


async def test_a_result_from_outside_is_told(bench: Any) -> None:
    pick = {"type": "frontend", "name": "pick", "view": "qlc"}
    bench.load(Reply(tool_calls=[ToolCall("pick", {}, "c1")]), "ok", tools=[pick])
    paused = await bench.say(stream="true")
    told: list[tuple[str, Any]] = []
    bench.engine.subscribe(lambda event: told.append((event.name, getattr(event, "data", {}))))
    outcome = await bench.engine.answer(paused.run_id, "agent", data=[{"toolCallId": "c1", "output": {"n": 1}}])
    assert outcome.ok
    seen = of_tools(told)
    assert [name for name, _ in seen] == ["tool.start", "tool.args", "tool.end", "tool.result"]
    assert (seen[0][1]["toolType"], json.loads(seen[-1][1]["result"])) == ("qlc", {"n": 1})


def test_pieces_of_several_calls_that_are_mixed_belong_to_their_calls() -> None:
    builder = ReplyBuilder()
    first, second = builder.add(Piece(tool_calls=(CallPiece(0, "a", "one"), CallPiece(1, "a", "two"))))
    assert (first.id, first.said_id) == ("a", "a")
    assert second.id not in ("", "a")
    assert builder.add(Piece(tool_calls=(CallPiece(1, arguments="{"), CallPiece(0, arguments="[")))) == [second, first]
    builder.add(Piece(tool_calls=(CallPiece(1, arguments="}"), CallPiece(0, arguments="]"))))
    reply = builder.reply()
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("a", "one", "[]"),
        (second.id, "two", "{}"),
    ]


def test_a_call_whose_name_comes_late_has_an_id_from_then_on() -> None:
    builder = ReplyBuilder()
    (call,) = builder.add(Piece(tool_calls=(CallPiece(0, "x", arguments="{"),)))
    assert call.id == ""
    builder.add(Piece(tool_calls=(CallPiece(0, name="one", arguments="}"),)))
    assert (call.id, builder.reply().tool_calls[0].arguments) == ("x", "{}")


async def test_a_call_whose_time_is_over_is_seen_to_close(bench: Any, keep: list[str]) -> None:
    ask = {"permission": "default", "approvalTimeout": 1000, "session": "s"}
    bench.load(Reply(tool_calls=[ToolCall("write_down", LONG, "c1")]), "ok", tools=["write_down"], **ask)
    await bench.say()
    bench.clock.advance(2)
    seen = of_tools(await heard(bench, text="hello?"))
    assert [name for name, _ in seen] == ["tool.start", "tool.args", "tool.end", "tool.result"]
    assert (seen[-1][1]["state"], keep) == ("interrupted", [])


@pytest.mark.parametrize("kind", ["function", "frontend"])
async def test_a_call_that_waits_in_memory_goes_on_under_its_id(bench: Any, keep: list[str], kind: str) -> None:
    tool = {"type": kind, "name": "write_down"}
    bench.load(Reply(tool_calls=[ToolCall("write_down", LONG, "c1")]), "ok", tools=[tool], permission="default")
    flow = {"id": "f", "type": "flow", "configuration": {"targetId": "c"}}
    bench.engine.load({"ruleChain": {"id": "outer"}, "metadata": {"nodes": [flow], "connections": []}})

    def answer(pause: Any) -> None:
        said = {"output": "kept"} if pause.ask.title.startswith("Result") else {"decision": "approve"}
        data = [{"toolCallId": "c1", **said}]
        bench.engine.pauses.answer(pause.run_id, pause.node_id, None, Answer(relation="Answers", data=data))

    bench.engine.pauses.on_open(answer)
    message = Message("hi", data_type="TEXT", metadata={"stream": "true"})
    events = [event async for event in bench.engine.stream("outer", message)]
    seen = of_tools([(event.name, getattr(event, "data", {})) for event in events])
    names = [name for name, _ in seen if name != "tool.args"]
    assert names == ["tool.start", *["tool.run"] * (kind == "function"), "tool.end", "tool.result"]
    assert len({data["toolId"] for _, data in seen}) == 1
    assert (seen[-1][1]["result"], seen[-1][1]["isError"]) == ("kept", False)
