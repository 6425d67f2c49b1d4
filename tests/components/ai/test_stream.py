"""`ai/agent` with metadata `stream` = `true`: pieces, tool events, the end mark, the whole answer."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from catenary import STREAM, Message
from catenary.testing import Reply, ToolCall, calls, dropped, server_error, too_many_requests

if TYPE_CHECKING:
    from catenary import Outcome


def told(outcome: Outcome) -> list[tuple[str, str]]:
    return [(str(end.relation), end.message.text) for end in outcome.ends]


def marks(outcome: Outcome) -> list[dict[str, Any]]:
    return [dict(end.message.metadata) for end in outcome.ends]


async def test_pieces_end_mark_and_answer_come_in_this_order(bench: Any) -> None:
    bench.load(Reply(pieces=["Hel", "lo", "  ", "you"]))
    outcome = await bench.say(stream="true")
    assert told(outcome) == [
        ("Stream", "Hel"),
        ("Stream", "lo"),
        ("Stream", "  "),
        ("Stream", "you"),
        ("Stream", ""),
        ("Success", "Hello  you"),
    ]
    assert outcome.message.data == "Hello  you"
    assert bench.model.requests[0].body["stream_options"] == {"include_usage": True}


async def test_each_message_is_marked(bench: Any) -> None:
    bench.load(Reply(pieces=["a"]))
    piece, end, answer = marks(await bench.say(stream="true"))
    assert (piece["chunk"], piece["model"], piece["phase"], piece["step"]) == ("true", "m", "reason", "1")
    assert (end["stream_completed"], end["chunk"], end["model"], end["total_tokens"]) == ("true", "", "m", "11")
    assert (answer["full_content"], answer["stream_completed"], answer["chunk"]) == ("true", "true", "")
    assert answer["total_tokens"] == "11"
    assert "full_content" not in end


async def test_reasoning_has_pieces_of_its_own(bench: Any) -> None:
    bench.load(Reply(pieces=["a"], reasoning="hm"))
    outcome = await bench.say(stream="true")
    assert told(outcome)[0] == ("Stream", "")
    assert marks(outcome)[0]["reasoning_content"] == "hm"
    assert "reasoning_content" not in marks(outcome)[1]


def parts_of_runs() -> dict[int, str]:
    return {
        id(one): name
        for one in gc.get_objects()
        if (name := type(one).__name__) in ("Run", "AgentState", "AgentSetup", "AsyncRetrying", "Response")
    }


async def test_an_agent_that_is_done_leaves_nothing_to_the_garbage_collector(bench) -> None:
    bench.engine.tool(lambda: "pong", name="ping")
    bench.load(*[calls("ping"), Reply(pieces=["Hel", "lo"])] * 2, tools=["ping"])
    await bench.say(stream="true")
    gc.collect()
    gc.disable()
    try:
        before = parts_of_runs()  # of tests that failed, for one: their report holds them
        assert (await bench.say(stream="true")).ok
        assert {name for key, name in parts_of_runs().items() if key not in before} == set()
    finally:
        gc.enable()


@pytest.mark.parametrize("stream", ["", "false", "True", "1"])
async def test_only_the_text_true_asks_for_a_stream(bench: Any, stream: str) -> None:
    bench.load("a")
    assert told(await bench.say(stream=stream)) == [("Success", "a")]


async def test_a_member_of_the_body_does_not_ask_for_a_stream(bench: Any) -> None:
    bench.load("a")
    assert told(await bench.say({"messages": [{"role": "user", "content": "x"}], "stream": True}, "JSON")) == [
        ("Success", "a")
    ]


async def test_text_before_a_tool_call_is_shown_and_the_answer_is_the_last_turn(bench: Any) -> None:
    bench.engine.tool(lambda: "pong", name="ping")
    bench.load(Reply(pieces=["Let me ", "look."], tool_calls=[ToolCall("ping")]), "Done.", tools=["ping"])
    outcome = await bench.say(stream="true")
    texts = [text for relation, text in told(outcome) if "TOOL_CALL" not in text]
    assert texts == ["Let me ", "look.", "Done.", "", "Done."]
    assert [mark["step"] for mark in marks(outcome) if "step" in mark] == ["1", "1", "2"]
    assert bench.last[1] == {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [{"id": "call_1_1", "type": "function", "function": {"name": "ping", "arguments": "{}"}}],
    }


async def test_tool_events_come_in_between(bench: Any) -> None:
    bench.engine.tool(lambda sku: {"qty": 40}, name="stock")
    bench.load(calls("stock", sku="bolt"), "40", tools=["stock"])
    outcome = await bench.say(stream="true")
    start, result = (json.loads(text) for _, text in told(outcome)[:2])
    assert marks(outcome)[0]["tool_call"] == marks(outcome)[0]["chunk"] == "true"
    assert re.fullmatch(r"tool-stock-\d+-1-\w{6}", start["toolCallId"])
    assert result["toolCallId"] == start["toolCallId"]
    del start["toolCallId"], result["toolCallId"]
    now = start["timestamp"]
    assert start == {
        "type": "TOOL_CALL_START",
        "timestamp": now,
        "toolCallName": "stock",
        "index": 1,
        "arguments": '{"sku":"bolt"}',
        "toolType": "function",
        "targetId": "",
    }
    assert result == {
        "type": "TOOL_CALL_RESULT",
        "timestamp": result["timestamp"],
        "toolCallName": "stock",
        "index": 1,
        "content": '{"qty":40}',
    }


STOCK = {"type": "rulechain", "name": "stock", "targetId": "stock-chain"}


@pytest.mark.parametrize(
    ("name", "tools", "kind", "target"),
    [
        ("stock", [STOCK], "rulechain", "stock-chain"),
        ("datetime", [{"type": "builtin", "name": "datetime"}], "builtin", ""),
        ("nobody", [], "unknown", ""),
    ],
)
async def test_tool_events_tell_of_which_kind_a_tool_is(
    bench: Any, name: str, tools: Any, kind: str, target: str
) -> None:
    bench.load(calls(name), "ok", tools=tools)
    start = json.loads(told(await bench.say(stream="true"))[0][1])
    assert (start["toolType"], start["targetId"]) == (kind, target)


async def test_a_call_that_repeats_too_often_has_its_refusal_as_error_and_as_text(bench: Any) -> None:
    bench.engine.tool(lambda: "pong", name="ping")
    bench.load(*[calls("ping")] * 3, "ok", tools=["ping"])
    outcome = await bench.say(stream="true")
    short, whole = [json.loads(text) for _, text in told(outcome) if "TOOL_CALL_RESULT" in text][-2:]
    assert (short["content"], short["error"]) == ("doom_loop_repeated", True)
    assert whole["content"].startswith("Error: doom_loop_repeated - this is call 3 of ping")
    assert "error" not in whole
    assert outcome.message.metadata["tool_calls"] == "3"


async def test_an_answer_of_a_hook_is_the_only_message(bench: Any) -> None:
    @bench.engine.agent_hook(at="around_agent")
    async def answer(step: Any, proceed: Any) -> None:
        step.answer = step.message.with_data("from here", "TEXT").put("by", "hook")

    bench.load()
    outcome = await bench.say(stream="true")
    assert told(outcome) == [("Success", "from here")]
    (metadata,) = marks(outcome)
    assert (metadata["stream_completed"], metadata["chunk"], metadata["by"]) == ("true", "", "hook")
    assert "full_content" not in metadata
    assert not bench.model.requests


async def test_a_failing_tool_has_two_results(bench: Any) -> None:
    def fail() -> None:
        raise ValueError("no paper")

    bench.engine.tool(fail, name="print")
    bench.load(calls("print"), calls("print"), "sorry", tools=["print"])
    outcome = await bench.say(stream="true")
    events = [json.loads(text) for _, text in told(outcome) if "TOOL_CALL" in text]
    assert [(event["index"], event.get("content"), event.get("error")) for event in events] == [
        (1, None, None),
        (1, "no paper", True),
        (1, "Error: Tool execution failed: no paper", None),
        (2, None, None),
        (2, "no paper", True),
        (2, "Error: Tool execution failed: no paper", None),
    ]


async def test_events_hold_the_whole_result(bench: Any) -> None:
    bench.engine.tool(lambda: "0123456789", name="digits")
    bench.load(calls("digits"), "ok", tools=["digits"], maxToolOutputLength=4)
    outcome = await bench.say(stream="true")
    assert json.loads(told(outcome)[1][1])["content"] == "0123456789"
    assert bench.last[-1]["content"] == "0123...(truncated, original: 10 bytes)"


async def test_tool_results_come_as_they_happen_and_go_to_the_model_in_order(bench: Any) -> None:
    is_told = asyncio.Event()

    async def slow() -> str:
        await asyncio.wait_for(is_told.wait(), 10)
        return "behind it"

    bench.engine.tool(slow)
    bench.engine.tool(lambda: "at once", name="fast")
    bench.engine.subscribe(lambda event: is_told.set() if event.name == "tool.result" else None)
    bench.load(Reply(tool_calls=[ToolCall("slow"), ToolCall("fast")]), "ok", tools=["slow", "fast"])
    outcome = await bench.say(stream="true")
    events = [json.loads(text) for _, text in told(outcome) if "TOOL_CALL" in text]
    assert [(event["type"][10:], event["index"]) for event in events] == [
        ("START", 1),
        ("START", 2),
        ("RESULT", 2),
        ("RESULT", 1),
    ]
    assert [(one["tool_call_id"], one["content"]) for one in bench.last[-2:]] == [
        ("call_1_1", "behind it"),
        ("call_1_2", "at once"),
    ]


async def test_a_failure_ends_the_stream_first(bench: Any) -> None:
    bench.load(Reply(status=400, body={"error": {"message": "bad"}}))
    outcome = await bench.say(stream="true")
    text = "error, status code: 400, status: 400 Bad Request, message: bad"
    assert told(outcome) == [("Stream", text), ("Failure", text)]
    for metadata in marks(outcome):
        assert (metadata["stream_completed"], metadata["chunk"]) == ("true", "")
        assert (metadata["errorMsg"], metadata["status"], metadata["attempts"]) == (text, "400", "1")
    assert outcome.status == "failed"


async def test_pieces_that_were_sent_stay_sent(bench: Any) -> None:
    bench.load(dropped(after=6, text="a b c d e f g h"))
    outcome = await bench.say(stream="true")
    assert [text for _, text in told(outcome)[:5]] == ["a ", "b ", "c ", "d ", "e "]
    assert [relation for relation, _ in told(outcome)[5:]] == ["Stream", "Failure"]
    assert "broke off the connection" in told(outcome)[6][1]
    assert len(bench.model.requests) == 1


async def test_an_early_break_is_tried_again_unseen(bench: Any) -> None:
    bench.load(dropped(after=2, text="x y z"), too_many_requests(retry_after=1), Reply(text="a b"))
    outcome = await bench.say(stream="true")
    assert [text for _, text in told(outcome)] == ["a ", "b", "", "a b"]
    assert len(bench.model.requests) == 3


async def test_in_full_mode_a_late_break_is_tried_again(bench: Any) -> None:
    bench.load(dropped(after=6, text="a b c d e f g h"), Reply(text="1 2 3 4 5 6"), streamRetryMode="full")
    outcome = await bench.say(stream="true")
    assert "".join(text for _, text in told(outcome)[:-2]) == "1 2 3 4 5 6"


async def test_exhausted_tries_of_a_stream_are_told(bench: Any) -> None:
    bench.load(server_error(), server_error(), maxRetries=1)
    outcome = await bench.say(stream="true")
    assert told(outcome)[0][1].startswith("Stream failed after 2 attempts: error, status code: 500")


async def test_an_error_event_is_a_failure(bench: Any) -> None:
    bench.load(Reply(text="a b c d", error_event={"message": "overheated"}))
    outcome = await bench.say(stream="true")
    assert told(outcome)[-1] == ("Failure", "error from the model: overheated")


async def test_a_failing_prompt_ends_the_stream_too(bench: Any) -> None:
    bench.load(systemPrompt="${1 / msg.zero}")
    outcome = await bench.say({"zero": "x"}, "JSON", stream="true")
    assert [relation for relation, _ in told(outcome)] == ["Stream", "Failure"]


async def test_a_slow_receiver_slows_the_stream(bench: Any) -> None:
    """The next piece is read when what came of the last one has ended."""
    seen: list[str] = []

    @bench.engine.function("slow")
    async def slow(ctx: Any, msg: Message) -> str:
        seen.append(f"begin {msg.text}")
        await asyncio.sleep(0.02)
        seen.append(f"end {msg.text}")
        return "Success"

    bench.load(
        Reply(pieces=["a", "b", "c"]),
        nodes=[{"id": "slow", "type": "functions", "configuration": {"functionName": "slow"}}],
        connections=[{"fromId": "agent", "toId": "slow", "type": "Stream"}],
    )
    await bench.say(stream="true")
    assert seen == [f"{what} {text}" for text in ["a", "b", "c", ""] for what in ("begin", "end")]


async def test_cancelling_a_run_closes_the_stream(bench: Any) -> None:
    begun = asyncio.Event()

    @bench.engine.function("begin")
    def begin(ctx: Any, msg: Message) -> str:
        begun.set()
        return "Success"

    bench.load(
        Reply(pieces=["x"] * 5_000, piece_delay_s=0.02),
        nodes=[{"id": "begin", "type": "functions", "configuration": {"functionName": "begin"}}],
        connections=[{"fromId": "agent", "toId": "begin", "type": "Stream"}],
    )
    task = asyncio.create_task(bench.say(stream="true"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(bench.model.requests[0].wait_disconnected)


async def test_events_carry_each_piece(bench: Any) -> None:
    bench.load(Reply(pieces=["a", "b"], reasoning="r"))
    seen = [
        (event.name, event.data["delta"])
        async for event in bench.engine.stream("c", Message("x", metadata={"stream": "true"}))
        if event.name.endswith(".delta")
    ]
    assert seen == [("reasoning.delta", "r"), ("content.delta", "a"), ("content.delta", "b")]


async def test_a_call_after_text_is_still_a_call(bench: Any) -> None:
    bench.engine.tool(lambda: "pong", name="ping")
    late = Reply(pieces=["I ", "will ", "now ", "call."], tool_calls=[ToolCall("ping")], finish_reason="stop")
    bench.load(late, "done", tools=["ping"], streamToolCallCheck="firstContent")
    assert (await bench.say(stream="true")).message.data == "done"


async def test_ten_thousand_pieces_all_come(bench: Any) -> None:
    bench.load(Reply(pieces=["x"] * 10_500))
    outcome = await bench.say(stream="true")
    assert sum(end.relation == STREAM for end in outcome.ends) == 10_501
    assert len(outcome.message.text) == 10_500
