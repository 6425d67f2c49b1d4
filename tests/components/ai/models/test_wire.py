"""The OpenAI wire format, written and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary_components.ai.messages import (
    ChatMessage,
    ImagePart,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
    assistant_message,
    tool_message,
    user_message,
)
from catenary_components.ai.models.assemble import ReplyBuilder
from catenary_components.ai.models.types import CallPiece, ChatRequest, ModelError, Piece, ToolSpec
from catenary_components.ai.models.wire import error_text, merged, nested, read_piece, read_reply, request_body

QUESTION = user_message("how many bolts?")


def test_nothing_is_sent_that_was_not_set() -> None:
    body = request_body(ChatRequest((QUESTION,)), "m", {}, stream=False)
    assert body == {"model": "m", "messages": [{"role": "user", "content": "how many bolts?"}]}


def test_parameters_are_sent_as_they_are_also_zero() -> None:
    body = request_body(ChatRequest((QUESTION,)), "m", {"temperature": 0, "stop": ["x"]}, stream=False)
    assert body["temperature"] == 0
    assert body["stop"] == ["x"]


def test_a_stream_asks_for_its_usage() -> None:
    body = request_body(ChatRequest((QUESTION,)), "m", {}, stream=True)
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


def test_tools_are_listed_and_chosen_by_the_model() -> None:
    spec = ToolSpec("stock", "Stock level", {"type": "object"})
    body = request_body(ChatRequest((QUESTION,), (spec,)), "m", {}, stream=False)
    assert body["tool_choice"] == "auto"
    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "stock", "description": "Stock level", "parameters": {"type": "object"}},
        }
    ]


@pytest.mark.parametrize("arguments", ["", "null", "[1]", "{broken"])
def test_arguments_in_the_history_that_are_no_object_become_an_empty_one(arguments: str) -> None:
    message = assistant_message("", (ToolCall("c1", "stock", arguments),))
    wire = request_body(ChatRequest((message,)), "m", {}, stream=False)["messages"][0]
    assert wire["tool_calls"][0]["function"] == {"name": "stock", "arguments": "{}"}
    assert wire["content"] == ""


def test_a_result_names_its_call() -> None:
    wire = request_body(ChatRequest((tool_message("c1", "40"),)), "m", {}, stream=False)
    assert wire["messages"] == [{"role": "tool", "content": "40", "tool_call_id": "c1"}]


def test_each_of_several_results_in_one_message_is_sent() -> None:
    results = tuple(ToolResult(f"c{number}", "t", (TextPart(str(number)),)) for number in (1, 2))
    wire = request_body(ChatRequest((ChatMessage("tool", results),)), "m", {}, stream=False)["messages"]
    assert [(one["tool_call_id"], one["content"]) for one in wire] == [("c1", "1"), ("c2", "2")]


def test_parts_keep_their_order() -> None:
    message = user_message((TextPart("a"), ImagePart("http://x/y.png", "low"), ImagePart("http://x/z.png")))
    wire = request_body(ChatRequest((message,)), "m", {}, stream=False)["messages"][0]["content"]
    assert wire == [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "http://x/y.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "http://x/z.png"}},
    ]
    assert message.text == "a"


def test_dotted_fields_become_objects() -> None:
    fields = nested({"thinking.type": "off", "thinking.budget": 5, "seed": 1})
    assert fields == {"thinking": {"type": "off", "budget": 5}, "seed": 1}


def test_laying_objects_over_each_other_goes_deep() -> None:
    assert merged({"a": {"b": 1, "c": 2}, "d": 1}, {"a": {"c": 3}, "d": [1]}) == {"a": {"b": 1, "c": 3}, "d": [1]}


def test_a_reply_is_read_whole() -> None:
    reply = read_reply(
        {
            "choices": [
                {
                    "message": {
                        "content": "Let me look.",
                        "reasoning_content": "hm",
                        "tool_calls": [{"id": "c1", "function": {"name": "stock", "arguments": {"sku": "bolt"}}}],
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}},
        }
    )
    assert (reply.content, reply.reasoning, reply.finish_reason) == ("Let me look.", "hm", "tool_calls")
    assert reply.tool_calls == (ToolCall("c1", "stock", '{"sku":"bolt"}'),)
    assert reply.usage == Usage(5, 2, 7, 3)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"choices": []}, "has no choices"),
        ({}, "has no choices"),
        ([], "no JSON object"),
        ({"error": {"message": "too long"}}, "too long"),
        ({"error": "bad"}, "bad"),
    ],
)
def test_a_reply_that_is_none_is_an_error(body: object, text: str) -> None:
    with pytest.raises(ModelError, match=text.replace(".", r"\.")):
        read_reply(body)


@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [
        ({"message": "busy", "code": 503}, 503, True),
        ({"message": "slow down", "code": "429"}, 429, True),
        ({"message": "overloaded", "type": "overloaded_error"}, 0, True),
        ({"message": "no", "code": "invalid"}, 0, False),
        ({"message": "no such call", "code": 501}, 501, False),
    ],
)
def test_an_error_in_a_stream_tells_whether_to_try_again(error: object, status: int, retryable: bool) -> None:
    with pytest.raises(ModelError) as raised:
        read_piece({"error": error})
    assert (raised.value.status, raised.value.retryable) == (status, retryable)


def test_an_event_with_usage_only_is_an_empty_piece() -> None:
    piece = read_piece({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}})
    assert piece == Piece(usage=Usage(1, 2, 3))


def test_an_event_is_read_with_all_it_holds() -> None:
    piece = read_piece(
        {
            "choices": [
                {
                    "delta": {
                        "content": " a ",
                        "reasoning_content": "r",
                        "tool_calls": [{"index": 1, "id": "c", "function": {"name": "n", "arguments": "{"}}, "odd"],
                    },
                    "finish_reason": "stop",
                }
            ],
        }
    )
    assert piece == Piece(" a ", "r", (CallPiece(1, "c", "n", "{"),), "stop")


def test_the_sentence_of_an_error_is_found() -> None:
    assert error_text({"error": {"message": "m"}}) == "m"
    assert error_text({"message": "m"}) == "m"
    assert error_text({"detail": 1}) == '{"detail":1}'
    assert error_text("plain") == "plain"


@given(st.data())
def test_calls_cut_anywhere_are_joined_by_index(data: st.DataObject) -> None:
    calls = data.draw(st.lists(st.text(max_size=12), min_size=1, max_size=4))
    builder = ReplyBuilder()
    rest = dict(enumerate(calls))
    for index in rest:
        builder.add(Piece(tool_calls=(CallPiece(index, f"c{index}", f"t{index}"),)))
    while rest:
        index = data.draw(st.sampled_from(sorted(rest)))
        size = data.draw(st.integers(1, 5))
        builder.add(Piece(tool_calls=(CallPiece(index, arguments=rest[index][:size]),)))
        rest[index] = rest[index][size:]
        if not rest[index]:
            del rest[index]
    assert builder.reply().tool_calls == tuple(ToolCall(f"c{n}", f"t{n}", text) for n, text in enumerate(calls))


def test_calls_without_an_index_are_told_apart() -> None:
    builder = ReplyBuilder()
    fragments = [
        CallPiece(None, "c1", "one", "{"),
        CallPiece(None, "", "", "}"),
        CallPiece(None, "c2", "two", "["),
        CallPiece(None, "c1", "", " "),
        CallPiece(None, "c2", "", "]"),
        CallPiece(None, "", "three", ""),
    ]
    for fragment in fragments:
        builder.add(Piece(tool_calls=(fragment,)))
    calls = builder.reply().tool_calls
    assert [(call.name, call.arguments) for call in calls] == [("one", "{} "), ("two", "[]"), ("three", "")]
    assert len({call.id for call in calls}) == 3


def test_a_reply_is_put_together_from_its_pieces() -> None:
    builder = ReplyBuilder()
    for piece in (Piece("a ", "x"), Piece("b", "y", finish_reason="stop"), Piece(usage=Usage(1, 1, 2))):
        builder.add(piece)
    reply = builder.reply()
    assert (reply.content, reply.reasoning, reply.finish_reason, reply.usage) == ("a b", "xy", "stop", Usage(1, 1, 2))


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "other"}, None, {"type": "text", "text": "two"}]
    assert read_reply({"choices": [{"message": {"content": parts}}]}).content == "one two"
    assert read_piece({"choices": [{"delta": {"content": parts}}]}).content == "one two"


def test_entries_that_call_nothing_are_no_calls() -> None:
    entries = [None, 5, {}, {"index": "0"}, {"id": "", "function": {"name": None}}]
    assert read_reply({"choices": [{"message": {"tool_calls": entries}}]}).tool_calls == ()
    builder = ReplyBuilder()
    builder.add(read_piece({"choices": [{"delta": {"tool_calls": entries}}]}))
    assert builder.reply().tool_calls == ()


def test_token_counts_may_be_written_with_a_point() -> None:
    usage = {"prompt_tokens": 3.0, "completion_tokens": "7", "total_tokens": float("inf")}
    assert read_reply({"choices": [{}], "usage": usage}).usage == Usage(3, 0, 3)


def test_of_several_choices_only_the_first_one_is_read() -> None:
    def chunk(index: int, text: str, **more: object) -> object:
        return {"choices": [{"index": index, "delta": {"content": text}, **more}]}

    texts = [read_piece(chunk(index, text)).content for index, text in ((0, "a"), (1, "x"), (0, "b"), (2, "y"))]
    assert texts == ["a", "", "b", ""]
    both = {"choices": [{"index": 1, "delta": {"content": "x"}}, {"index": 0, "delta": {"content": "c"}}]}
    assert read_piece(both).content == "c"
    assert read_piece(chunk(1, "", finish_reason="stop")).finish_reason == ""


def test_a_refusal_is_what_the_model_says() -> None:
    assert read_piece({"choices": [{"delta": {"content": None, "refusal": "I cannot"}}]}).content == "I cannot"
    reply = read_reply({"choices": [{"message": {"content": None, "refusal": "I cannot"}, "finish_reason": "stop"}]})
    assert reply.content == "I cannot"


@pytest.mark.parametrize(
    ("counts", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 3}}, 3),
        ({"cached_tokens": 4}, 4),
        ({"prompt_cache_hit_tokens": 5}, 5),
    ],
)
def test_tokens_in_the_cache_are_found_wherever_a_service_counts_them(counts: dict[str, object], cached: int) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, **counts}
    assert read_piece({"choices": [], "usage": usage}).usage == Usage(9, 1, 10, cached)
    assert read_piece({"choices": [{"index": 0, "delta": {}, "usage": usage}]}).usage == Usage(9, 1, 10, cached)
    assert read_piece({"choices": [{"index": 0, "delta": {"content": "a"}, "usage": usage}]}).usage is not None
