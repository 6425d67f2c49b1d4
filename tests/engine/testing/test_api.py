"""The HTTP API that records."""

from __future__ import annotations

import pytest

from catenary.errors import ConnectFailed
from catenary.testing import Answer, RecordingApi


async def test_answers_come_in_order_and_then_the_default(client, serving):
    api = RecordingApi([{"n": 1}, Answer(status=201, headers={"X-A": "b"})], default="else")
    with serving(api) as url:
        answers = [await client.request("GET", url) for _ in range(3)]
    assert answers[0].json() == {"n": 1}
    assert (answers[1].status, answers[1].headers["x-a"], answers[1].text) == (201, "b", "")
    assert (answers[2].text, answers[2].media_type) == ("else", "text/plain")


async def test_requests_are_recorded(client, serving):
    api = RecordingApi(default=b"raw")
    with serving(api) as url:
        answer = await client.request("POST", f"{url}/a/b?q=1&q=2&e=", headers={"X-A": "b"}, content='{"n":1}')
    request = api.requests[0]
    assert (request.method, request.path, request.query) == ("POST", "/a/b", {"q": "2", "e": ""})
    assert (request.headers["x-a"], request.json, request.text) == ("b", {"n": 1}, '{"n":1}')
    assert answer.content == b"raw"


async def test_a_function_answers_by_the_request(client, serving):
    with serving(RecordingApi(default=lambda request: request.path)) as url:
        assert (await client.request("GET", f"{url}/a")).text == "/a"


@pytest.mark.parametrize("answer", [Answer(drop=True), Answer(pieces=["a", "b"], drop=True)])
async def test_a_connection_may_break(client, serving, answer):
    with (
        serving(RecordingApi(default=answer)) as url,
        pytest.raises(ConnectFailed),
    ):
        await client.request("GET", url)
