"""How services that speak the same format differ, and what a request says to each of them."""

from __future__ import annotations

from typing import Any

import pytest

from catenary_components.ai.messages import (
    AudioPart,
    ChatMessage,
    DataPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    assistant_message,
    tool_message,
    user_message,
)
from catenary_components.ai.models.faults import kind_of
from catenary_components.ai.models.registry import PLAIN, Profile, resolve
from catenary_components.ai.models.retry import RetryingModel, RetryPolicy
from catenary_components.ai.models.types import ChatRequest, ModelError, Reply, ToolSpec
from catenary_components.ai.models.wire import read_piece, read_reply, request_body

TOOL = ToolSpec("stock", "Stock level", {"type": "object"})
KEYS = {"DASHSCOPE_API_KEY": "k", "DEEPSEEK_API_KEY": "k"}


def thinking(text: str, said: str) -> ChatMessage:
    return ChatMessage("assistant", (ThinkingPart(text), TextPart(said)))


def body(*messages: ChatMessage, profile: Profile = PLAIN, given: Any = None, **fields: Any) -> dict[str, Any]:
    return request_body(ChatRequest(messages, **fields), "m", given or {}, stream=False, profile=profile)


@pytest.mark.parametrize(("model", "name"), [("deepseek:x", "max_tokens"), ("ollama:x", "max_tokens")])
def test_the_limit_of_a_reply_goes_by_the_name_the_service_knows(model: str, name: str) -> None:
    profile = resolve(model, KEYS).profile
    assert body(profile=profile, given={"max_completion_tokens": 9})[name] == 9
    assert body(given={"max_completion_tokens": 9})["max_completion_tokens"] == 9


def test_thoughts_go_back_as_far_as_the_service_wants_them() -> None:
    said = (user_message("a"), thinking("one", "1"), user_message("b"), thinking("two", "2"))

    def sent(profile: Profile) -> list[str]:
        return [message.get("reasoning_content", "") for message in body(*said, profile=profile)["messages"]]

    assert sent(PLAIN) == ["", "", "", ""]
    assert sent(resolve("deepseek:x", KEYS).profile) == ["", "", "", "two"]
    assert sent(Profile(thinking_back="always")) == ["", "one", "", "two"]


def test_a_service_that_cannot_be_told_that_a_tool_must_be_called_chooses() -> None:
    assert body(tools=(TOOL,), tool_choice="required")["tool_choice"] == "required"
    assert body(tools=(TOOL,), tool_choice="required", profile=resolve("ollama:x", {}).profile)["tool_choice"] == "auto"
    assert body(tools=(TOOL,), tool_choice="stock")["tool_choice"] == {
        "type": "function",
        "function": {"name": "stock"},
    }


def test_results_go_with_their_tool_where_the_service_wants_it() -> None:
    result = tool_message("a", "1", name="stock")
    assert "name" not in body(result)["messages"][0]
    assert body(result, profile=resolve("dashscope:x", KEYS).profile)["messages"][0]["name"] == "stock"


def test_what_concerns_tools_is_sent_with_tools_alone() -> None:
    assert set(body(tool_choice="required", given={"parallel_tool_calls": False})) == {"model", "messages"}
    assert body(tools=(TOOL,), given={"parallel_tool_calls": False})["parallel_tool_calls"] is False
    assert body(tools=(TOOL,), parallel_calls=True, given={"parallel_tool_calls": False})["parallel_tool_calls"] is True


def test_names_of_speakers_are_made_of_what_services_accept() -> None:
    assert (
        body(user_message("hi", name="Ada Lovelace!" + "x" * 80))["messages"][0]["name"] == "Ada_Lovelace_" + "x" * 51
    )


def test_a_schema_is_sent_as_the_format_of_the_answer() -> None:
    wire = body(response_schema={"type": "object"})["response_format"]
    assert wire == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
    }


def test_media_have_their_own_forms() -> None:
    parts = (
        ImagePart("https://x.example/a.png", "low"),
        AudioPart("data:audio/mpeg;base64,QUJD"),
        DataPart("data:application/pdf;base64,QUJD", "application/pdf", "a.pdf"),
    )
    assert body(user_message(parts))["messages"][0]["content"] == [
        {"type": "image_url", "image_url": {"url": "https://x.example/a.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}},
    ]


def test_what_has_no_form_by_its_address_is_named_in_a_text() -> None:
    parts = (AudioPart("https://x.example/a.mp3"), DataPart("https://x.example/a.pdf", "application/pdf", "a.pdf"))
    assert body(user_message(parts))["messages"][0]["content"] == [
        {"type": "text", "text": "[a sound: https://x.example/a.mp3]"},
        {"type": "text", "text": "[a file: https://x.example/a.pdf]"},
    ]


@pytest.mark.parametrize(
    ("kind", "name"), [("wav", "wav"), ("x-wav", "wav"), ("mpeg", "mp3"), ("ogg", "ogg"), ("", "wav")]
)
def test_the_format_of_a_sound_is_told(kind: str, name: str) -> None:
    (part,) = body(user_message((AudioPart(f"data:audio/{kind};base64,QUJD"),)))["messages"][0]["content"]
    assert part["input_audio"] == {"data": "QUJD", "format": name}


def test_what_a_provider_puts_beside_a_call_goes_back_with_it() -> None:
    extra = {"google": {"thought_signature": "s"}}
    call = {"id": "a", "function": {"name": "stock", "arguments": "{}"}, "extra_content": extra}
    reply = read_reply({"choices": [{"message": {"tool_calls": [call]}}]})
    sent = body(assistant_message("", reply.tool_calls))["messages"][0]["tool_calls"][0]
    assert sent["extra_content"] == extra
    piece = read_piece({"choices": [{"delta": {"tool_calls": [{"index": 0, **call}]}}]})
    assert piece.tool_calls[0].metadata == {"extra_content": extra}


@pytest.mark.parametrize("arguments", ['{"sku": "bo', ""])
def test_a_call_of_a_reply_that_was_too_long_is_marked_when_it_is_no_json(arguments: str) -> None:
    calls = [{"id": "a", "function": {"name": "t", "arguments": arguments}},
             {"id": "b", "function": {"name": "t", "arguments": "{}"}}]  # fmt: skip
    reply = read_reply({"choices": [{"message": {"tool_calls": calls}, "finish_reason": "length"}]})
    assert [call.metadata for call in reply.tool_calls] == [{"cutOff": True}, {}]


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (400, "This model's maximum context length is 8192 tokens", "prompt_too_long"),
        (401, "no", "auth"),
        (429, "insufficient_quota", "rate_limit"),
        (529, "Overloaded", "rate_limit"),
        (400, "Expected `thinking` blocks", "thinking_block"),
        (402, "pay", "billing"),
        (404, "The model `x` does not exist", "model_not_found"),
        (404, "no such page", "client_error"),
        (400, "bad", "client_error"),
        (503, "later", "server_error"),
        (0, "?", "unknown"),
    ],
)
def test_errors_are_told_apart(status: int, text: str, kind: str) -> None:
    assert kind_of(status, text) == kind


class Thoughtless:
    """A model that refuses thoughts in its history."""

    name = "m"

    def __init__(self) -> None:
        self.asked: list[ChatRequest] = []

    async def generate(self, request: ChatRequest) -> Reply:
        self.asked.append(request)
        if any(message.thinking for message in request.messages):
            raise ModelError("Invalid thinking block", status=400, kind="thinking_block")
        return Reply("ok")


async def _no_sleep(seconds: float) -> None: ...


async def test_thoughts_that_are_refused_stay_away_the_second_time() -> None:
    model = Thoughtless()
    retrying = RetryingModel(model, RetryPolicy(_no_sleep))  # type: ignore[arg-type]
    call = ToolCall("a", "t")
    said = ChatMessage("assistant", (ThinkingPart("hm"), call))
    assert (await retrying.generate(ChatRequest((said, tool_message("a", "1"))))).content == "ok"
    assert [len(request.messages[0].blocks) for request in model.asked] == [2, 1]


async def test_a_refusal_without_thoughts_to_take_away_is_told() -> None:
    class Stubborn(Thoughtless):
        async def generate(self, request: ChatRequest) -> Reply:
            raise ModelError("Invalid thinking block", status=400, kind="thinking_block")

    with pytest.raises(ModelError, match="Invalid thinking block"):
        await RetryingModel(Stubborn(), RetryPolicy(_no_sleep)).generate(ChatRequest((user_message("hi"),)))  # type: ignore[arg-type]


async def test_a_tool_that_must_be_called_is_offered_when_that_is_refused() -> None:
    """Models that think refuse to be told that they must call a tool."""
    told: list[tuple[str, Any]] = []
    asked: list[str] = []

    class Thinker(Thoughtless):
        async def generate(self, request: ChatRequest) -> Reply:
            asked.append(request.tool_choice)
            if request.tool_choice != "auto":
                raise ModelError("tool_choice: any is not supported", status=400, kind="client_error")
            return Reply("ok")

    model = RetryingModel(Thinker(), RetryPolicy(_no_sleep))  # type: ignore[arg-type]
    for choice in ("required", "stock"):
        request = ChatRequest((), tool_choice=choice, tell=lambda event, what: told.append((event, what["status"])))
        assert (await model.generate(request)).content == "ok"
    assert asked == ["required", "auto", "stock", "auto"]
    assert told == [("model.retry", 400)] * 2


GLM, KIMI, MINIMAX = (resolve(f"{name}:m", {}, is_offline=True).profile for name in ("glm", "kimi", "minimax"))
TOOLS = (ToolSpec("stock", "Stock", {"type": "object"}),)


@pytest.mark.parametrize(
    ("choice", "sent"), [("auto", "auto"), ("required", "auto"), ("stock", "auto"), ("none", None)]
)
def test_a_service_that_cannot_be_told_of_a_choice_is_offered_tools_or_none(choice: str, sent: str | None) -> None:
    request = ChatRequest((user_message("hi", name="Ann"),), TOOLS, tool_choice=choice)
    wire = request_body(request, "m", {}, stream=True, profile=GLM)
    assert (wire.get("tool_choice"), "tools" in wire) == (sent, sent is not None)
    assert "stream_options" not in wire
    assert "name" not in wire["messages"][0]


def test_thoughts_go_back_in_tags_where_the_service_had_them_there() -> None:
    said = (user_message("a"), assistant_message("b", thinking="so"), user_message("c"))
    assert request_body(ChatRequest(said), "m", {}, stream=False, profile=MINIMAX)["messages"][1] == {
        "role": "assistant",
        "content": "<think>\nso\n</think>\n\nb",
    }
    kimi = request_body(ChatRequest(said), "m", {}, stream=False, profile=KIMI)["messages"][1]
    assert (kimi["content"], kimi["reasoning_content"]) == ("b", "so")
