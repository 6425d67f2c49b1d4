"""What services do wrong, in both wire formats: nothing hangs, nothing is lost without a word, the outcome is true."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from catenary.http.asgi import BREAK_OFF, read_body, send_head, send_piece
from catenary.testing import Reply, ScriptedModel, ToolCall, calls, mock, server_error, too_many_requests
from catenary.testing.anthropic_wire import message_events
from catenary.testing.wire import events

if TYPE_CHECKING:
    from catenary import Outcome

WIRES = {"openai": "m", "anthropic": "anthropic:m"}
STREAM = {"Content-Type": "text/event-stream"}

pytestmark = pytest.mark.parametrize("wire", WIRES)


def load(bench: Any, wire: str, *replies: Any, **config: Any) -> None:
    bench.load(*replies, **{"model": WIRES[wire], **config})


def shown(outcome: Outcome) -> str:
    """Give the text that went out in pieces."""
    marks = [end.message for end in outcome.ends if end.message.metadata.get("chunk") == "true"]
    return "".join(message.text for message in marks if "tool_call" not in message.metadata)


def stream_of(reply: Reply, wire: str) -> bytes:
    if wire == "openai":
        return b"".join(events(reply, model="m", number=1, with_usage=True))
    return b"".join(message_events(reply, model="m", number=1))


class Broken:
    """Sends the beginning of a stream and breaks off; the next requests get what a script says."""

    def __init__(self, content: bytes, *replies: Any) -> None:
        self.content = content
        self.model = ScriptedModel(replies)
        self.count = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        self.count += 1
        if self.count > 1:
            return await self.model(scope, receive, send)
        await read_body(receive)
        await send_head(send, 200, STREAM)
        await send_piece(send, self.content)
        await asyncio.sleep(0)
        return BREAK_OFF


FAULTS = {
    "429 with Retry-After": too_many_requests(retry_after=1),
    "429 with a date": too_many_requests(retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    "429 with a Retry-After that is none": too_many_requests(retry_after="soon"),
    "429": too_many_requests(),
    "500": server_error(),
    "502": server_error(502),
    "529": server_error(529),
    "dropped before": Reply(drop_after=0),
    "dropped between": Reply(text="a b c", drop_after=2),
    "malformed event": Reply(body="data: {broken\n\n", headers=STREAM),
    "nested too deep": Reply(body=f"data: {'[' * 100_000}\n\n", headers=STREAM),
    "nothing at all": Reply(body="", headers=STREAM),
    "only comments": Reply(body=": hello\n\n: hello\n\n", headers=STREAM),
    "error event": Reply(error_event={"message": "overloaded", "type": "overloaded_error"}),
    "an error in place of a stream": Reply(body={"error": {"message": "wait", "type": "overloaded_error"}}),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_at_the_start_of_a_stream_is_not_seen(bench: Any, wire: str, fault: str) -> None:
    load(bench, wire, FAULTS[fault], Reply(text="Grüße aus Österreich 😀", cut_bytes=3))
    outcome = await bench.say(stream="true")
    assert (shown(outcome), outcome.message.text) == ("Grüße aus Österreich 😀",) * 2
    assert len(bench.model.requests) == 2


PASSING = [name for name in FAULTS if name[0] in "45" or name in ("dropped before", "an error in place of a stream")]


@pytest.mark.parametrize("fault", PASSING)
async def test_a_fault_of_an_answer_at_once_is_not_seen(bench: Any, wire: str, fault: str) -> None:
    load(bench, wire, FAULTS[fault], Reply(text="Grüße"))
    assert (await bench.say()).message.text == "Grüße"
    assert len(bench.model.requests) == 2


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 501, 505])
async def test_a_refusal_is_told_and_not_asked_for_again(bench: Any, wire: str, stream: str, status: int) -> None:
    load(bench, wire, Reply(status=status, body={"error": {"message": "no"}}), "never")
    outcome = await bench.say(stream=stream)
    end = outcome.ends[-1]
    assert (outcome.status, end.relation, end.message.metadata["status"]) == ("failed", "Failure", str(status))
    assert end.message.text.startswith(f"error, status code: {status}, status: {status} ")
    assert len(bench.model.requests) == 1


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_page_in_place_of_an_answer_is_told(bench: Any, wire: str, stream: str) -> None:
    load(bench, wire, Reply(body="<html>", headers={"Content-Type": "text/html"}), "never")
    outcome = await bench.say(stream=stream)
    assert (outcome.status, "text/html" in outcome.ends[-1].message.text) == ("failed", True)
    assert len(bench.model.requests) == 1


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("body", ["<html>", '{"id": "x"}', "[]", '{"choices": [{'])
async def test_a_service_that_gives_something_else_than_an_answer_is_left_for_the_next_one(
    bench: Any, wire: str, stream: str, body: str
) -> None:
    load(
        bench, wire, Reply(body=body, headers={"Content-Type": "application/json"}), failover=[{"url": "mock://spare"}]
    )
    with mock("spare", ScriptedModel(["Hello"])):
        outcome = await bench.say(stream=stream)
    assert (outcome.status, outcome.message.text, len(bench.model.requests)) == ("completed", "Hello", 1)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.15, 0.3, 0.45])
async def test_a_break_inside_the_first_pieces_is_not_seen(bench: Any, outlet: Any, wire: str, share: float) -> None:
    whole = stream_of(Reply(text="Grüße aus Österreich"), wire)
    second = whole.index(b"aus")
    outlet.app = app = Broken(whole[: int(second * share)], "all is well")
    load(bench, wire)
    outcome = await bench.say(stream="true")
    assert (shown(outcome), outcome.message.text, app.count) == ("all is well", "all is well", 2)


@pytest.mark.parametrize("left_out", [0, 1, 10, 25])
async def test_a_break_inside_a_later_piece_is_a_failure_that_ends_the_stream(
    bench: Any, outlet: Any, wire: str, left_out: int
) -> None:
    whole = stream_of(Reply(text="one two three four Österreich"), wire)
    cut = whole.index("Ö".encode()) + 1 - left_out  # inside of the character, or of its event
    outlet.app = app = Broken(whole[:cut], "never")
    load(bench, wire)
    outcome = await bench.say(stream="true")
    assert (shown(outcome), app.count) == ("one two three four ", 1)
    assert [end.relation for end in outcome.ends[-2:]] == ["Stream", "Failure"]
    assert outcome.ends[-2].message.metadata["stream_completed"] == "true"
    assert "broke off the connection" in outcome.ends[-1].message.text


@pytest.mark.parametrize("cut", [1, 2, 7])
async def test_a_stream_is_read_wherever_it_is_cut(bench: Any, wire: str, cut: int) -> None:
    @bench.engine.tool
    def note_down(word: str) -> str:
        """Note."""
        return word.upper()

    asks = Reply(text="Ä", tool_calls=[ToolCall("note_down", {"word": "größe 😀"})], cut_bytes=cut)
    load(bench, wire, asks, Reply(text="fertig 😀", cut_bytes=cut), tools=["note_down"])
    assert (await bench.say(stream="true")).message.text == "fertig 😀"
    assert "GRÖSSE 😀" in json.dumps(bench.last, ensure_ascii=False)


async def test_calls_that_come_interleaved_with_equal_ids_are_each_run_once(bench: Any, wire: str) -> None:
    ran: list[str] = []

    @bench.engine.tool
    def note_down(word: str) -> str:
        """Note."""
        ran.append(word)
        return word

    body = INTERLEAVED[wire]()
    load(bench, wire, Reply(body=body, headers=STREAM), "done", tools=["note_down"])
    assert (await bench.say(stream="true")).message.text == "done"
    assert sorted(ran) == ["one", "two"]
    assert len(set(_result_ids(bench.last))) == 2


def _result_ids(messages: list[Any]) -> list[str]:
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    told = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    return told + [message["tool_call_id"] for message in messages if message["role"] == "tool"]


FRAGMENTS = [(0, '{"wo'), (1, '{"word"'), (0, 'rd": "one"}'), (1, ': "two"}')]


def _interleaved_openai() -> str:
    def delta(call: dict[str, Any]) -> str:
        return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'tool_calls': [call]}}]})}\n\n"

    opened = [delta({"index": at, "id": "same", "function": {"name": "note_down"}}) for at in (0, 1)]
    grown = [delta({"index": at, "function": {"arguments": text}}) for at, text in FRAGMENTS]
    end = 'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}\n\ndata: [DONE]\n\n'
    return "".join([*opened, *grown, end])


def _interleaved_anthropic() -> str:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    block = {"type": "tool_use", "id": "same", "name": "note_down", "input": {}}
    opened = [event("content_block_start", index=at, content_block=block) for at in (0, 1)]
    grown = [
        event("content_block_delta", index=at, delta={"type": "input_json_delta", "partial_json": text})
        for at, text in FRAGMENTS
    ]
    end = event("message_delta", delta={"stop_reason": "tool_use"}, usage={}) + event("message_stop")
    return "".join([*opened, *grown, end])


INTERLEAVED = {"openai": _interleaved_openai, "anthropic": _interleaved_anthropic}


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("reply", [Reply(), Reply(reasoning="hm hm")], ids=["empty", "only thoughts"])
async def test_a_reply_that_says_nothing_is_asked_for_again(bench: Any, wire: str, stream: str, reply: Reply) -> None:
    load(bench, wire, reply, "at last")
    assert (await bench.say(stream=stream)).message.text == "at last"
    assert len(bench.model.requests) == 2


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_tool_that_there_is_not_is_told_to_the_model(bench: Any, wire: str, stream: str) -> None:
    load(bench, wire, calls("no_such_tool"), "sorry")
    assert (await bench.say(stream=stream)).message.text == "sorry"
    assert "Unknown tool 'no_such_tool'" in json.dumps(bench.last)


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_call_without_a_name_leaves_a_history_that_can_be_sent(bench: Any, wire: str, stream: str) -> None:
    load(bench, wire, calls("", word="a"), "sorry")
    assert (await bench.say(stream=stream)).message.text == "sorry"
    assert '"unnamed"' in json.dumps(bench.last)
    assert "The tool call has no name" in json.dumps(bench.last)


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_tool_whose_name_no_service_takes_is_called_by_another(bench: Any, wire: str, stream: str) -> None:
    bench.engine.load({"ruleChain": {"id": "stock"}, "metadata": {"nodes": [STOCK], "connections": []}})
    tool = {"type": "rulechain", "name": "Stock level!", "description": "d", "targetId": "stock"}
    load(bench, wire, calls("Stock_level_"), "120", tools=[tool])
    heard: list[str] = []
    bench.engine.subscribe(lambda event: heard.append(event.data["toolName"]) if event.name == "tool.start" else None)
    assert (await bench.say(stream=stream)).message.text == "120"
    assert bench.model.requests[0].tools == ["Stock_level_"]
    assert heard == ["Stock level!"]
    assert "120 bolts" in json.dumps(bench.last)


STOCK = {"id": "x", "type": "text/template", "configuration": {"template": "120 bolts"}}


@pytest.mark.parametrize("arguments", ['{"word": ', "[1]", "word", '{"word": "a"} trailing'])
async def test_arguments_that_are_no_object_do_not_run_the_tool(bench: Any, wire: str, arguments: str) -> None:
    ran: list[str] = []

    @bench.engine.tool
    def note_down(word: str = "") -> str:
        """Note."""
        ran.append(word)
        return word

    load(bench, wire, Reply(tool_calls=[ToolCall("note_down", arguments)]), "sorry", tools=["note_down"])
    assert (await bench.say(stream="true")).message.text == "sorry"
    assert (ran, len(_result_ids(bench.last))) == ([], 1)


async def test_a_service_that_stays_silent_in_the_middle_is_given_up(bench: Any, wire: str) -> None:
    slow = Reply(pieces=["a ", "b ", "c ", "d ", "e "], piece_delay_s=20)
    load(bench, wire, slow, silenceTimeout=0.05, maxRetries=0)
    outcome = await bench.say(stream="true")
    assert (outcome.status, outcome.ends[-1].relation) == ("failed", "Failure")


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_calls_with_duplicate_ids_all_run_and_each_has_its_result(bench: Any, wire: str, stream: str) -> None:
    seen: list[int] = []

    def look(n: int) -> str:
        seen.append(n)
        return f"seen {n}"

    bench.engine.tool(look)
    same = [ToolCall("look", {"n": n}, "c1") for n in (1, 2)]
    load(bench, wire, Reply(tool_calls=same), "done", tools=["look"], session={"key": "s"})
    assert (await bench.say(stream=stream)).message.text == "done"
    assert sorted(seen) == [1, 2]
    (agent,) = [one.component for one in bench.engine.chains["c"].instances]
    state = await agent.sessions.read("s")
    ids = [call.id for call in state.messages[1].tool_calls]
    results = [result for message in state.messages for result in message.results]
    assert [(result.call_id, result.text) for result in results] == [(ids[0], "seen 1"), (ids[1], "seen 2")]
    assert len(set(ids)) == 2
