"""What is done at and behind the end of a streamed reply, over a real socket, in both wire formats."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from catenary.http import HttpClients, HttpOptions
from catenary.testing import RecordingApi, Reply, ToolCall
from catenary.testing.anthropic_wire import message_events
from catenary.testing.api import Answer
from catenary.testing.wire import events
from catenary_components.ai.messages import user_message
from catenary_components.ai.models.anthropic import AnthropicModel
from catenary_components.ai.models.assemble import ReplyBuilder
from catenary_components.ai.models.key import ApiKey
from catenary_components.ai.models.openai import OpenAIModel
from catenary_components.ai.models.types import ChatRequest, ModelError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from catenary_components.ai.models.types import Reply as ModelReply

REQUEST = ChatRequest((user_message("hi"),))
WIRES = ("openai", "anthropic")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def stream_of(reply: Reply, wire: str) -> list[bytes]:
    if wire == "openai":
        return list(events(reply, model="m", number=1, with_usage=True))
    return list(message_events(reply, model="m", number=1))


@dataclass
class Service:
    """Answers each request with the same events, in one piece; what it does behind them can be chosen."""

    body: bytes
    ends: str = "well"
    connections: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while await _request(reader):
            writer.write(HEAD + b"%x\r\n%b\r\n" % (len(self.body), self.body))
            if self.ends == "well":
                writer.write(b"0\r\n\r\n")
            if self.ends == "breaks":
                break
        writer.close()


async def _request(reader: asyncio.StreamReader) -> bool:
    """Read one request. Returns: False when the client went away."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return False
    length = next(line for line in head.lower().splitlines() if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))
    return True


@asynccontextmanager
async def asked(service: Service, wire: str, **fields: Any) -> AsyncGenerator[Any]:
    kind = OpenAIModel if wire == "openai" else AnthropicModel
    server = await asyncio.start_server(service.answer, "127.0.0.1", 0)
    clients = HttpClients()
    http = clients.client(HttpOptions(read_timeout_s=fields.pop("read_s", 15.0)))
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield kind(http, url, ApiKey("sk-1234567890"), "m", lambda: 0, **fields)
    finally:
        await clients.close()
        server.close()


async def whole(model: Any) -> ModelReply:
    builder = ReplyBuilder()
    async with aclosing(model.stream(REQUEST)) as stream:
        async for piece in stream:
            builder.add(piece)
    return builder.reply()


@pytest.mark.parametrize("wire", WIRES)
async def test_calls_one_after_the_other_use_one_connection(wire: str) -> None:
    service = Service(b"".join(stream_of(Reply(text="a b"), wire)))
    async with asked(service, wire) as model:
        texts = [(await whole(model)).content for _ in range(3)]
    assert (texts, service.connections) == (["a b"] * 3, 1)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_service_that_does_not_hang_up_is_not_waited_for(wire: str) -> None:
    service = Service(b"".join(stream_of(Reply(text="a b"), wire)), ends="never")
    async with asked(service, wire, read_s=60) as model:
        reply = await asyncio.wait_for(whole(model), 15)
    assert reply.content == "a b"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("ends", ["breaks", "never"])
async def test_what_goes_wrong_behind_the_end_of_a_reply_does_not_cost_it(wire: str, ends: str) -> None:
    told = stream_of(Reply(text="a b", tool_calls=[ToolCall("t", {"x": 1})], usage={}), wire)
    service = Service(b"".join(told[:-1]), ends)  # the end mark is missing
    async with asked(service, wire, first_byte_s=15, silence_s=1) as model:
        reply = await whole(model)
    assert (reply.content, reply.tool_calls[0].arguments, reply.finish_reason) == ("a b", '{"x":1}', "tool_calls")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("left_out", [1, 40])
async def test_a_break_before_the_end_of_a_reply_is_one(wire: str, left_out: int) -> None:
    *told, reason, _ = stream_of(Reply(text="a b", tool_calls=[ToolCall("t", {"x": 1})], usage={}), wire)
    async with asked(Service(b"".join(told) + reason[:-left_out], "breaks"), wire) as model:
        with pytest.raises(ModelError) as raised:
            await whole(model)
    assert (raised.value.retryable, raised.value.kind) == (True, "network")


def halved(text: str) -> str:
    """Give a text as escapes of its halves, for a service that cuts it anywhere."""
    return "".join(f"\\u{unit:04x}" for unit in memoryview(text.encode("utf-16-le")).cast("H"))


@pytest.mark.parametrize("cut", range(1, 7))
async def test_a_character_whose_halves_come_in_two_pieces_is_joined(cut: int) -> None:
    units = halved("a😀b😀").split("\\u")[1:]
    parts = ["".join(f"\\u{unit}" for unit in part) for part in (units[:cut], units[cut:])]
    body = "".join(f'data: {{"choices":[{{"index":0,"delta":{{"content":"{part}"}}}}]}}\n\n' for part in parts if part)
    end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    async with asked(Service((body + end).encode()), "openai") as model:
        assert (await whole(model)).content == "a😀b😀"


async def test_half_a_character_in_the_input_of_a_call_is_joined_by_its_block() -> None:
    def event(kind: str, index: int, fields: str) -> str:
        return f'data: {{"type":"{kind}","index":{index},{fields}}}\n\n'

    def grow(index: int, text: str) -> str:
        escaped = text.replace('"', '\\"')
        return event("content_block_delta", index, f'"delta":{{"type":"input_json_delta","partial_json":"{escaped}"}}')

    block = '"content_block":{"type":"tool_use","id":"","name":"t"}'
    starts = [event("content_block_start", index, block) for index in (0, 1)]
    first = [grow(0, '{"a":"\\ud83d'), grow(1, '{"b":"\\ud83d')]
    second = [grow(0, '\\ude00"}'), grow(1, '\\ude01"}')]
    end = 'data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}\n\ndata: {"type":"message_stop"}\n\n'
    async with asked(Service("".join([*starts, *first, *second, end]).encode()), "anthropic") as model:
        calls = (await whole(model)).tool_calls
    assert [call.arguments for call in calls] == ['{"a":"😀"}', '{"b":"😁"}']


async def test_half_a_character_that_stays_alone_is_shown_as_unreadable() -> None:
    body = 'data: {"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    async with asked(Service(body.encode()), "openai") as model:
        assert (await whole(model)).content == "a\ufffd"


async def test_a_whole_reply_with_half_a_character_in_it_is_read(outlet: Any) -> None:
    message = (
        '{"choices":[{"message":{"content":"\\ud83d\\ude00 and \\ud83d","tool_calls":[]},"finish_reason":"stop"}]}'
    )
    outlet.app = RecordingApi([Answer(body=message.encode(), headers={"Content-Type": "application/json"})] * 2)
    clients = HttpClients()
    model = OpenAIModel(clients.client(), f"{outlet.url}/v1", ApiKey(), "m", lambda: 0)
    assert [(await model.generate(REQUEST)).content, (await whole(model)).content] == ["😀 and \ufffd"] * 2
    await clients.close()
