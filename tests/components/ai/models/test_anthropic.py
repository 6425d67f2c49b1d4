"""The client of Anthropic's messages format, over a real socket."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from catenary.http import HttpClients, HttpOptions
from catenary.testing import Reply, ScriptedModel, ToolCall, dropped, too_many_requests
from catenary_components.ai.messages import (
    AudioPart,
    ChatMessage,
    DataPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    Usage,
    assistant_message,
    system_message,
    tool_message,
    user_message,
)
from catenary_components.ai.messages import ToolCall as Call
from catenary_components.ai.models.anthropic import AnthropicModel, AnthropicReader
from catenary_components.ai.models.anthropic_body import anthropic_body
from catenary_components.ai.models.assemble import ReplyBuilder
from catenary_components.ai.models.key import ApiKey
from catenary_components.ai.models.prices import Price
from catenary_components.ai.models.registry import PLAIN, Profile
from catenary_components.ai.models.types import ChatRequest, ModelError, ToolSpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from catenary.jsontext import Json
    from catenary_components.ai.models.types import Reply as ModelReply

REQUEST = ChatRequest((user_message("hi"),))
TOOL = ToolSpec("stock", "Stock level", {"type": "object"})


@pytest.fixture
async def client(outlet: Any) -> AsyncGenerator[Callable[..., AnthropicModel]]:
    """Gives a client of a scripted model on a real port."""
    clients = HttpClients()

    def made(*replies: Any, **fields: Any) -> tuple[AnthropicModel, ScriptedModel]:
        script = ScriptedModel(replies)
        outlet.app = script
        http = clients.client(HttpOptions(read_timeout_s=15))
        return AnthropicModel(http, outlet.url, ApiKey("sk-ant-123456789"), "claude", lambda: 0, **fields), script

    yield made
    await clients.close()


async def streamed(model: AnthropicModel, request: ChatRequest = REQUEST) -> ModelReply:
    builder = ReplyBuilder()
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            builder.add(piece)
    return builder.reply()


def body(*messages: ChatMessage, parameters: dict[str, Json] | None = None, **fields: Any) -> dict[str, Any]:
    profile = fields.pop("profile", PLAIN)
    return anthropic_body(ChatRequest(messages, **fields), "claude", parameters or {}, profile, stream=False)


async def test_a_request_goes_to_messages_with_key_and_version(client: Any) -> None:
    model, script = client("hello")
    reply = await model.generate(REQUEST)
    (request,) = script.requests
    assert (reply.content, reply.finish_reason, reply.usage) == ("hello", "stop", Usage(10, 1, 11))
    assert request.path == "/v1/messages"
    assert (request.headers["x-api-key"], request.headers["anthropic-version"]) == ("sk-ant-123456789", "2023-06-01")
    assert "authorization" not in request.headers
    assert request.body == {
        "model": "claude",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "max_tokens": 4096,
    }


@pytest.mark.parametrize("cut", [0, 1, 7])
async def test_a_stream_gives_what_an_answer_at_once_gives(client: Any, cut: int) -> None:
    said = Reply(
        text="Grüße aus Wien", reasoning="hm", tool_calls=[ToolCall("stock", {"sku": "bölt"}, "c1")], cut_bytes=cut
    )
    model, _ = client(said, said, price=Price(1, 10))
    whole, pieces = await model.generate(REQUEST), await streamed(model)
    assert (whole.id, pieces.id) == ("msg_1", "msg_2")
    assert replace(whole, id="") == replace(pieces, id="")
    assert (pieces.content, pieces.reasoning, pieces.finish_reason) == ("Grüße aus Wien", "hm", "tool_calls")
    assert pieces.tool_calls == (Call("c1", "stock", '{"sku":"bölt"}'),)
    assert pieces.thoughts == (ThinkingPart("hm", {"signature": "signed"}),)
    assert (pieces.model, pieces.cost) == ("claude", pytest.approx(50e-6))


def test_a_strict_tool_is_offered_as_such() -> None:
    written = body(user_message("hi"), tools=(TOOL, replace(TOOL, name="strict", is_strict=True)))
    assert [tool.get("strict") for tool in written["tools"]] == [None, True]


async def test_tokens_in_the_cache_count_as_part_of_the_request(client: Any) -> None:
    counts = {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7}
    model, _ = client(Reply(text="ok", usage=counts), Reply(text="ok", usage=counts))
    for reply in (await model.generate(REQUEST), await streamed(model)):
        assert reply.usage == Usage(102, 2, 104, 90, 7)


async def test_interleaved_blocks_are_told_apart_by_their_index() -> None:
    reader, builder = AnthropicReader(), ReplyBuilder()

    def feed(kind: str, **fields: Any) -> None:
        builder.add(reader.read(kind, {"type": kind, **fields}))

    for index, name in ((0, "one"), (1, "two")):
        feed("content_block_start", index=index, content_block={"type": "tool_use", "id": name, "name": name})
    for index, text in ((1, '{"b"'), (0, '{"a"'), (1, ":2}"), (0, ":1}")):
        feed("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": text})
    feed("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 4})
    assert (reader.is_over, reader.is_at_end) == (True, False)
    feed("message_stop")
    assert reader.is_over
    assert [call.arguments for call in builder.reply().tool_calls] == ['{"a":1}', '{"b":2}']


async def test_arguments_that_were_cut_off_are_marked(client: Any) -> None:
    model, _ = client(Reply(tool_calls=[ToolCall("stock", '{"sku": "bo')], finish_reason="length"))
    (call,) = (await streamed(model)).tool_calls
    assert call.metadata == {"cutOff": True}


async def test_errors_are_told_with_their_kind(client: Any) -> None:
    overloaded = {"type": "overloaded_error", "message": "Overloaded"}
    model, _ = client(
        too_many_requests(retry_after=3), Reply(error_event=overloaded), dropped(after=4, text="a b c"),
        Reply(status=400, body={"type": "error", "error": {"type": "x", "message": "prompt is too long"}}),
    )  # fmt: skip
    errors: list[ModelError] = []
    for _ in range(4):
        with pytest.raises(ModelError) as raised:
            await streamed(model)
        errors.append(raised.value)
    assert [error.kind for error in errors] == ["rate_limit", "rate_limit", "network", "prompt_too_long"]
    assert [error.retryable for error in errors] == [True, True, True, False]
    assert errors[0].retry_after_s == 3


def test_thoughts_go_back_with_their_signature_and_others_stay_away() -> None:
    said = ChatMessage(
        "assistant",
        (
            ThinkingPart("hm", {"signature": "s"}),
            ThinkingPart("", {"redacted": "xyz"}),
            ThinkingPart("from elsewhere"),
            TextPart("ok"),
        ),
    )
    assert body(user_message("hi"), said)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "ok"},
    ]


def test_results_of_one_turn_are_one_message_of_the_user() -> None:
    calls = assistant_message("", (Call("a", "stock", '{"x":1}'), Call("b", "stock", "broken")))
    failed = tool_message("b", "Error: no", state="error")
    written = body(system_message("S"), user_message("hi"), calls, tool_message("a", ""), failed)
    assert written["system"] == "S"
    assert written["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "stock", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "stock", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a"},
                {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "Error: no"}],
                 "is_error": True},
            ],
        },
    ]  # fmt: skip


def test_a_conversation_begins_with_the_user() -> None:
    assert [message["role"] for message in body(assistant_message("so"), user_message("hi"))["messages"]] == [
        "user", "assistant", "user",
    ]  # fmt: skip


def test_parameters_go_by_their_names_here() -> None:
    given: dict[str, Json] = {
        "temperature": 0, "max_completion_tokens": 50, "stop": ["END"], "seed": 1, "thinking_budget": 2000,
        "presence_penalty": 1, "metadata": {"user_id": "u"},
    }  # fmt: skip
    written = body(user_message("hi"), parameters=given)
    del written["model"], written["messages"]
    assert written == {
        "temperature": 0,
        "max_tokens": 50,
        "stop_sequences": ["END"],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "metadata": {"user_id": "u"},
    }


@pytest.mark.parametrize(
    ("effort", "sent"), [("high", "high"), ("xhigh", "xhigh"), ("minimal", "low"), ("none", "low")]
)
def test_how_much_is_thought_and_the_form_of_the_answer_go_into_one_member(effort: str, sent: str) -> None:
    schema: dict[str, Json] = {"type": "object"}
    written = body(user_message("hi"), parameters={"reasoning_effort": effort}, response_schema=schema)
    assert written["output_config"] == {"effort": sent, "format": {"type": "json_schema", "schema": schema}}


@pytest.mark.parametrize(
    ("choice", "wire"),
    [("auto", {"type": "auto"}), ("required", {"type": "any"}), ("none", {"type": "none"}),
     ("stock", {"type": "tool", "name": "stock"})],
)  # fmt: skip
def test_the_choice_of_tools_goes_by_its_names_here(choice: str, wire: Json) -> None:
    assert body(user_message("hi"), tools=(TOOL,), tool_choice=choice)["tool_choice"] == wire
    alone = body(user_message("hi"), tools=(TOOL,), parameters={"parallel_tool_calls": False})
    assert alone["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def test_what_is_the_same_each_time_is_marked_for_the_cache_when_asked_for() -> None:
    written = body(system_message("S"), user_message("hi"), tools=(TOOL,), parameters={"cache_control": True})
    mark = {"cache_control": {"type": "ephemeral"}}
    assert written["system"] == [{"type": "text", "text": "S", **mark}]
    assert written["tools"][0]["cache_control"] == {"type": "ephemeral"}
    assert written["messages"][0]["content"] == [{"type": "text", "text": "hi", **mark}]
    assert "cache_control" not in str(body(system_message("S"), user_message("hi"), tools=(TOOL,)))


def test_a_medium_that_the_format_has_no_place_for_is_named_in_a_text() -> None:
    parts = (
        ImagePart("data:image/bmp;base64,QUJD"),
        DataPart("data:video/mp4;base64,QUJD", "video/mp4", "a.mp4"),
        DataPart("data:video/mp4;base64,QUJD"),
        AudioPart("data:audio/mpeg;base64,QUJD"),
    )
    content = body(user_message(parts))["messages"][0]["content"]
    assert [block["text"] for block in content] == [
        "[a picture, which this model cannot read]",
        "[a file: a.mp4, which this model cannot read]",
        "[a file, which this model cannot read]",
        "[a sound, which this model cannot read]",
    ]


@pytest.mark.parametrize("url", ["data:text/csv;base64,YSxiCg==", "data:text/csv,a%2Cb%0A"])
def test_a_file_of_text_goes_as_text(url: str) -> None:
    (block,) = body(user_message((DataPart(url),)))["messages"][0]["content"]
    assert block == {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b\n"}}


def test_media_go_as_address_or_as_data() -> None:
    parts = (
        ImagePart("https://x.example/a.png"),
        ImagePart("data:image/png;base64,QUJD"),
        DataPart("data:application/pdf;base64,QUJD"),
    )
    content = body(user_message(parts))["messages"][0]["content"]
    inline = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    assert content[0] == {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}}
    assert content[1] == {"type": "image", "source": inline}
    assert content[2]["type"] == "document"
    blind = body(user_message(parts[:2]), profile=Profile(sees=False))["messages"][0]["content"]
    assert [block["text"] for block in blind] == ["[a picture: https://x.example/a.png]", "[a picture]"]
