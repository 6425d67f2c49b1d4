"""The scripted model, over a socket and in this process."""

from __future__ import annotations

import asyncio

import pytest
from tests.programs import eventually

from catenary.errors import ConnectFailed
from catenary.http import sse_events
from catenary.jsontext import dumps, loads
from catenary.testing import Reply, ScriptedModel, ToolCall, calls, dropped, server_error, too_many_requests

USER = {"role": "user", "content": "Hi"}


async def ask(client, url, **fields):
    body = dumps({"model": "m", "messages": [USER], **fields})
    return await client.request("POST", f"{url}/v1/chat/completions", content=body)


async def ask_stream(client, url, **fields) -> list[str]:
    body = dumps({"model": "m", "messages": [USER], "stream": True, **fields})
    async with client.stream("POST", f"{url}/v1/chat/completions", content=body) as answer:
        assert answer.media_type == "text/event-stream"
        return [event.data async for event in sse_events(answer)]


def deltas(events: list[str]) -> list[dict]:
    choices = [choice for event in events if event != "[DONE]" for choice in loads(event)["choices"]]
    return [choice["delta"] for choice in choices]


async def test_replies_come_in_order(client, serving):
    model = ScriptedModel(["one", Reply(text="two")])
    model.add({"text": "three"})
    with serving(model) as url:
        texts = [(await ask(client, url)).json()["choices"][0]["message"]["content"] for _ in range(3)]
    assert texts == ["one", "two", "three"]
    assert model.left == 0


async def test_an_answer_has_the_parts_of_a_completion(client, serving):
    with serving(ScriptedModel([Reply(text="Hi", reasoning="Hm", usage={"total_tokens": 3})])) as url:
        answer = (await ask(client, url)).json()
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "m"
    message = {"role": "assistant", "content": "Hi", "reasoning_content": "Hm"}
    assert answer["choices"] == [{"index": 0, "message": message, "finish_reason": "stop"}]
    assert answer["usage"] == {"total_tokens": 3}


async def test_tool_calls_carry_their_arguments_as_text(client, serving):
    model = ScriptedModel([Reply(tool_calls=[ToolCall("a", {"x": 1}), ToolCall("b", "{broken", "mine")])])
    with serving(model) as url:
        choice = (await ask(client, url)).json()["choices"][0]
    first, second = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert first == {"id": "call_1_1", "type": "function", "function": {"name": "a", "arguments": '{"x":1}'}}
    assert (second["id"], second["function"]["arguments"]) == ("mine", "{broken")


async def test_a_stream_sends_reasoning_then_words_then_the_end(client, serving):
    with serving(ScriptedModel([Reply(text="Hi there you", reasoning="Hm")])) as url:
        events = await ask_stream(client, url, stream_options={"include_usage": True})
    assert deltas(events) == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "Hm"},
        {"content": "Hi "},
        {"content": "there "},
        {"content": "you"},
        {},
    ]
    assert events[-1] == "[DONE]"
    assert loads(events[-2])["choices"] == []
    assert loads(events[-2])["usage"]["completion_tokens"] == 3


async def test_a_stream_sends_usage_only_when_asked(client, serving):
    with serving(ScriptedModel(["Hi"])) as url:
        assert not any("usage" in event for event in await ask_stream(client, url))


async def test_a_stream_sends_tool_calls_in_fragments_by_index(client, serving):
    reply = Reply(tool_calls=[ToolCall("a", {"city": "Oslo"}), ToolCall("b")])
    with serving(ScriptedModel([reply])) as url:
        pieces = [call for delta in deltas(await ask_stream(client, url)) for call in delta.get("tool_calls", ())]
    arguments = {0: "", 1: ""}
    for piece in pieces:
        arguments[piece["index"]] += piece["function"]["arguments"]
    assert arguments == {0: '{"city":"Oslo"}', 1: "{}"}
    assert [piece["function"]["name"] for piece in pieces if "id" in piece] == ["a", "b"]
    assert len(pieces) > 4


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_a_stream_may_be_cut_through_characters(client, serving, size):
    with serving(ScriptedModel([Reply(pieces=["Grü", "ße 👋"], cut_bytes=size)])) as url:
        events = await ask_stream(client, url)
    assert "".join(delta.get("content", "") for delta in deltas(events)) == "Grüße 👋"


async def test_an_error_in_the_middle_ends_the_stream(client, serving):
    with serving(ScriptedModel([Reply(text="Hi", error_event={"message": "overload"})])) as url:
        events = await ask_stream(client, url)
    assert loads(events[-1]) == {"error": {"message": "overload"}}


async def test_the_end_mark_may_be_left_out(client, serving):
    with serving(ScriptedModel([Reply(text="Hi", done=False)])) as url:
        assert "[DONE]" not in await ask_stream(client, url)


async def test_errors_have_status_headers_and_body(client, serving):
    with serving(ScriptedModel([too_many_requests(retry_after=2), server_error(503), too_many_requests()])) as url:
        answers = [await ask(client, url, stream=True) for _ in range(3)]
    assert [answer.status for answer in answers] == [429, 503, 429]
    assert answers[0].headers["retry-after"] == "2"
    assert answers[1].json()["error"]["message"] == "the server has a problem"
    assert "retry-after" not in answers[2].headers


async def test_a_reply_may_be_no_json_at_all(client, serving):
    with serving(ScriptedModel([Reply(body="<html>"), Reply(status=502)])) as url:
        assert (await ask(client, url)).text == "<html>"
        assert (await ask(client, url)).status == 502


async def test_a_connection_may_break_before_the_answer(client, serving):
    with (
        serving(ScriptedModel([dropped()])) as url,
        pytest.raises(ConnectFailed, match="broke off"),
    ):
        await ask(client, url)


@pytest.mark.parametrize("ask_it", [ask, ask_stream])
async def test_a_connection_may_break_in_the_middle(client, serving, ask_it):
    with (
        serving(ScriptedModel([dropped(after=2, text="a b c d")])) as url,
        pytest.raises(ConnectFailed, match="broke off"),
    ):
        await ask_it(client, url)


async def test_a_script_that_is_over_says_so(client, serving):
    with serving(ScriptedModel(["one"])) as url:
        await ask(client, url)
        answer = await ask(client, url)
    assert answer.status == 400
    assert answer.json()["error"]["message"] == "the script has 1 replies, and this is request 2"


async def test_a_default_answers_when_the_script_is_over(client, serving):
    with serving(ScriptedModel(["one"], default=lambda request: f"echo {request.user_text}")) as url:
        await ask(client, url)
        answer = await ask(client, url)
    assert answer.json()["choices"][0]["message"]["content"] == "echo Hi"


async def test_requests_are_recorded(client, serving):
    model = ScriptedModel(["Hi"])
    parts = [{"type": "text", "text": "Hi "}, {"type": "text", "text": "you"}]
    fields = {
        "messages": [{"role": "system", "content": "Be kind"}, {"role": "user", "content": parts}],
        "tools": [{"type": "function", "function": {"name": "weather"}}],
    }
    with serving(model) as url:
        body = dumps(fields)
        headers = {"Authorization": "Bearer k"}
        await client.request("POST", f"{url}/v1/chat/completions", headers=headers, content=body)
    request = model.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer k"
    assert (request.system_text, request.user_text, request.tools) == ("Be kind", "Hi you", ["weather"])
    assert not request.is_stream
    assert not request.disconnected


async def test_a_request_that_is_no_json_is_recorded_too(client, serving):
    model = ScriptedModel(["Hi"])
    with serving(model) as url:
        await client.request("POST", f"{url}/v1/chat/completions", content="{no")
    assert (model.requests[0].body, model.requests[0].messages, model.requests[0].user_text) == (None, [], "")


async def test_a_client_that_goes_away_is_noticed(client, serving):
    model = ScriptedModel([Reply(text="word " * 2000, piece_delay_s=0.05)])
    with serving(model) as url:
        body = dumps({"messages": [USER], "stream": True})
        async with client.stream("POST", f"{url}/chat/completions", content=body) as answer:
            await anext(aiter(answer))
        assert await asyncio.to_thread(model.requests[0].wait_disconnected, 15)


async def test_an_answer_may_be_late(client, serving):
    with serving(ScriptedModel([Reply(text="Hi", delay_s=0.05)])) as url:
        assert (await ask(client, url)).status == 200


async def test_the_model_is_listed_and_other_paths_are_not_there(client, serving):
    with serving(ScriptedModel(model="tiny")) as url:
        models = await client.request("GET", f"{url}/v1/models")
        other = await client.request("GET", f"{url}/v1/chat/completions")
    assert models.json()["data"] == [{"id": "tiny", "object": "model"}]
    assert other.status == 404


async def test_a_server_that_stops_does_not_wait_for_its_answers(client):
    from catenary.testing import serve

    model = ScriptedModel([Reply(text="Hi", delay_s=60)])
    with serve(model) as server:
        asking = asyncio.create_task(ask(client, server.url))
        await eventually(lambda: bool(model.requests))
    with pytest.raises(ConnectFailed):
        await asking


async def test_a_function_that_fails_is_told_and_not_asked_again(client, serving):
    def broken(request):
        raise KeyError("weather")

    with serving(ScriptedModel([broken, lambda request: 7])) as url:
        first, second = await ask(client, url), await ask(client, url)
    assert (first.status, second.status) == (400, 400)
    assert "no reply to request 1: KeyError: 'weather'" in first.text
    assert "no reply to request 2: ValueError: 7 is no reply" in second.text


def test_replies_are_read_from_plain_values():
    assert Reply.of("Hi") == Reply(text="Hi")
    assert Reply.of(ToolCall("a")) == Reply(tool_calls=[ToolCall("a")])
    assert Reply.of({"text": "Hi", "tool_calls": [{"name": "a"}]}) == Reply(text="Hi", tool_calls=[ToolCall("a")])
    assert calls("weather", city="Oslo") == Reply(tool_calls=[ToolCall("weather", {"city": "Oslo"})])
    assert Reply(pieces=["a", "b"]).full_text == "ab"


@pytest.mark.parametrize(("source", "text"), [({"txt": "Hi"}, "no field 'txt'"), (7, "7 is no reply")])
def test_what_is_no_reply_is_refused(source, text):
    with pytest.raises(ValueError, match=text):
        Reply.of(source)


@pytest.mark.parametrize("script", ["Hello.", {"text": "Hello."}, Reply(text="Hello."), lambda request: "Hello."])
def test_a_single_reply_is_no_script(script):
    """A text would be one reply a letter."""
    with pytest.raises(TypeError, match="a script is a list of replies"):
        ScriptedModel(script)
