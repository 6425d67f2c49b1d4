"""The client of OpenAI-compatible services, over a real socket."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from catenary.http import HttpClients, HttpOptions
from catenary.testing import RecordingApi, Reply, ScriptedModel, calls, dropped, too_many_requests
from catenary.testing.api import Answer
from catenary_components.ai.messages import Usage, user_message
from catenary_components.ai.models.key import ApiKey
from catenary_components.ai.models.openai import OpenAIModel
from catenary_components.ai.models.types import ChatRequest, ModelError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from catenary_components.ai.models.types import Piece

REQUEST = ChatRequest((user_message("hi"),))
SECRET = "sk-1234567890abcdef"


@pytest.fixture
async def client(outlet: Any) -> AsyncGenerator[Callable[..., OpenAIModel]]:
    """Gives a client of an application on a real port."""
    clients = HttpClients()

    def made(app: object, *, silence_s: float = 15.0, key: str = SECRET) -> OpenAIModel:
        outlet.app = app
        http = clients.client(HttpOptions(read_timeout_s=silence_s))
        return OpenAIModel(http, f"{outlet.url}/v1/", ApiKey(key), "m", lambda: 60_000)

    yield made
    await clients.close()


async def pieces(model: OpenAIModel) -> list[Piece]:
    async with aclosing(model.stream(REQUEST)) as stream:
        return [piece async for piece in stream]


async def failure(model: OpenAIModel, *, stream: bool = False) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await (pieces(model) if stream else model.generate(REQUEST))
    return raised.value


async def test_a_request_goes_to_chat_completions_with_the_key(client: Any) -> None:
    script = ScriptedModel(["hello"])
    model = client(script)
    reply = await model.generate(REQUEST)
    assert reply.content == "hello"
    assert reply.usage == Usage(10, 1, 11)
    assert script.requests[0].path == "/v1/chat/completions"
    assert script.requests[0].headers["authorization"] == f"Bearer {SECRET}"


async def test_without_a_key_no_token_is_sent(client: Any) -> None:
    script = ScriptedModel(["hello"])
    model = client(script, key="")
    await model.generate(REQUEST)
    assert "authorization" not in script.requests[0].headers


@pytest.mark.parametrize("cut", [0, 1, 7])
async def test_a_stream_is_read_however_it_is_cut(client: Any, cut: int) -> None:
    script = ScriptedModel([Reply(pieces=["Grüße", " ", "aus Österreich"], reasoning="hm", cut_bytes=cut)])
    model = client(script)
    got = await pieces(model)
    assert [piece.content for piece in got if piece.content] == ["Grüße", " ", "aus Österreich"]
    assert [piece.reasoning for piece in got if piece.reasoning] == ["hm"]
    assert got[-1].usage == Usage(10, 3, 13)
    assert not got[-1].content


@pytest.mark.parametrize("stream", [False, True])
async def test_an_http_error_is_told_with_status_and_host(client: Any, stream: bool) -> None:
    model = client(ScriptedModel([too_many_requests(retry_after=7)]))
    error = await failure(model, stream=stream)
    assert str(error) == "error, status code: 429, status: 429 Too Many Requests, message: too many requests"
    assert (error.status, error.retryable, error.retry_after_s) == (429, True, 7)
    assert error.endpoint.startswith("127.0.0.1:")


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (401, False), (500, True), (501, False), (529, True)])
async def test_the_status_decides_whether_another_try_may_help(client: Any, status: int, retryable: bool) -> None:
    model = client(ScriptedModel([Reply(status=status, body="no")]))
    error = await failure(model)
    assert (error.status, error.retryable) == (status, retryable)
    assert str(error).endswith("message: no")


async def test_the_key_is_masked_in_what_the_service_says(client: Any) -> None:
    model = client(ScriptedModel([Reply(status=401, body={"error": f"bad key {SECRET}"})]))
    error = await failure(model)
    shown = repr(model)
    assert SECRET not in str(error) + shown
    assert "bad key sk-1****cdef" in str(error)


async def test_an_answer_that_is_no_json_is_an_error(client: Any) -> None:
    model = client(ScriptedModel([Reply(body="<html>")]))
    error = await failure(model)
    assert "is not JSON" in str(error)
    assert not error.retryable


@pytest.mark.parametrize("stream", [False, True])
async def test_a_broken_connection_may_be_tried_again(client: Any, stream: bool) -> None:
    model = client(ScriptedModel([dropped(after=2, text="a b c")]))
    assert (await failure(model, stream=stream)).retryable


async def test_a_stream_that_ends_too_early_is_broken(client: Any) -> None:
    body = b'data: {"choices":[{"delta":{"content":"half"}}]}\n\n'
    api = RecordingApi([Answer(body=body, headers={"Content-Type": "text/event-stream"})])
    model = client(api)
    error = await failure(model, stream=True)
    assert "broke off before the reply was complete" in str(error)
    assert error.retryable


async def test_a_stream_without_its_end_mark_is_whole_when_it_says_why_it_ended(client: Any) -> None:
    model = client(ScriptedModel([Reply(text="all of it", done=False)]))
    got = await pieces(model)
    assert "".join(piece.content for piece in got) == "all of it"


async def test_an_error_within_a_stream_is_an_error(client: Any) -> None:
    model = client(ScriptedModel([Reply(text="a", error_event={"message": "overheated"})]))
    assert "overheated" in str(await failure(model, stream=True))


async def test_an_event_that_is_no_json_is_an_error(client: Any) -> None:
    api = RecordingApi([Answer(body=b"data: {half\n\n", headers={"Content-Type": "text/event-stream"})])
    model = client(api)
    assert "an event of the stream is not JSON: {half" in str(await failure(model, stream=True))


async def test_a_service_that_cannot_stream_is_understood(client: Any) -> None:
    body = {"choices": [{"message": {"content": "all", "tool_calls": [{"id": "c", "function": {"name": "t"}}]}}]}
    model = client(RecordingApi([body]))
    (piece,) = await pieces(model)
    assert piece.content == "all"
    assert piece.tool_calls[0].name == "t"


async def test_silence_is_a_timeout(client: Any) -> None:
    model = client(ScriptedModel([Reply(text="late", delay_s=60)]), silence_s=0.1)
    error = await failure(model)
    assert "did not answer within 0.1 s" in str(error)
    assert (error.retryable, error.status) == (True, 0)


async def test_cancelling_closes_the_stream(client: Any) -> None:
    script = ScriptedModel([Reply(pieces=["x"] * 1000, piece_delay_s=0.02)])
    model = client(script)
    began = asyncio.Event()

    async def read() -> None:
        async for _ in model.stream(REQUEST):
            began.set()

    task = asyncio.create_task(read())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(script.requests[0].wait_disconnected, 15.0)


async def test_tool_calls_come_in_fragments(client: Any) -> None:
    model = client(ScriptedModel([calls("stock", sku="a long enough argument")]))
    got = await pieces(model)
    fragments = [call for piece in got for call in piece.tool_calls]
    assert len(fragments) > 2
    assert {call.index for call in fragments} == {0}


def test_the_endpoint_is_the_host_and_nothing_else() -> None:
    def endpoint(url: str) -> str:
        return OpenAIModel(None, url, ApiKey(), "m", lambda: 0).endpoint  # type: ignore[arg-type]

    assert endpoint("https://user:pw@api.example.com/v1?key=x") == "api.example.com"
    assert endpoint("http://127.0.0.1:80/v1") == "127.0.0.1:80"


def events(*bodies: bytes) -> RecordingApi:
    """Give an application that answers with these bytes as an event stream."""
    return RecordingApi([Answer(body=b"".join(bodies), headers={"Content-Type": "text/event-stream"})])


END = b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'


async def test_an_event_without_data_is_passed_over(client: Any) -> None:
    got = await pieces(client(events(b"data: \n\n", b"data:\n\n", END)))
    assert [piece.content for piece in got] == ["x"]


async def test_an_event_named_error_is_an_error(client: Any) -> None:
    error = await failure(client(events(b'event: error\ndata: {"message":"overheated"}\n\n')), stream=True)
    assert str(error) == "error from the model: overheated"


@pytest.mark.parametrize("kind", ["text/html", "application/x-ndjson"])
async def test_a_page_in_place_of_a_stream_is_told_and_not_asked_for_again(client: Any, kind: str) -> None:
    api = RecordingApi([Answer(body="<html>log in", headers={"Content-Type": kind})])
    error = await failure(client(api), stream=True)
    assert f"is no event stream ({kind})" in str(error)
    assert not error.retryable


@pytest.mark.parametrize("status", [200, 401])
async def test_a_long_error_is_cut_after_the_key_was_masked(client: Any, status: int) -> None:
    told = "x" * 488 + SECRET + "y" * 100
    error = await failure(client(ScriptedModel([Reply(status=status, body={"error": {"message": told}})])))
    assert SECRET[:6] not in str(error)
    assert len(str(error)) < 510
