"""Applications that answer inside this process."""

from __future__ import annotations

import asyncio

import pytest

from catenary.errors import ConnectFailed, TooSlow
from catenary.http import HttpOptions
from catenary.testing import Answer, RecordingApi, mock


async def test_a_mock_answers_like_a_server(clients, api):
    with mock("Api", api) as url:
        answer = await clients.client().request("PUT", f"{url}/a/b?c=d", headers={"X-A": "1"}, content="body")
    request = api.requests[0]
    assert (request.method, request.path, request.query, request.text) == ("PUT", "/a/b", {"c": "d"}, "body")
    assert request.headers["x-a"] == "1"
    assert (answer.status, answer.text, answer.place) == (200, "ok", "mock://api")


async def test_an_unknown_mock_is_told_with_those_there_are(clients, api):
    with mock("here", api), pytest.raises(ConnectFailed, match=r"mock://there; registered: mock://here"):
        await clients.client().request("GET", "mock://there/")
    with pytest.raises(ConnectFailed, match="registered: none"):
        await clients.client().request("GET", "mock://here/")


async def test_a_broken_connection_is_the_same_as_over_a_socket(clients):
    with mock("api", RecordingApi([Answer(drop=True), Answer(pieces=["a"] * 40, drop=True)])) as url:
        client = clients.client()
        for _ in range(2):
            with pytest.raises(ConnectFailed, match="mock://api broke off"):
                await client.request("GET", url)


async def test_an_application_with_a_bug_is_a_broken_connection(clients):
    async def app(scope, receive, send):
        raise RuntimeError("bug")

    with mock("api", app) as url, pytest.raises(ConnectFailed, match="did not finish"):
        await clients.client().request("GET", url)


async def test_a_slow_mock_is_told(clients):
    with (
        mock("api", RecordingApi(default=Answer(delay_s=30))) as url,
        pytest.raises(TooSlow, match="mock://api did not answer"),
    ):
        await clients.client(HttpOptions(read_timeout_s=0.05)).request("GET", url)


async def test_an_application_that_ignores_the_disconnect_is_stopped(clients):
    stopped = asyncio.Event()

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while True:
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
        finally:
            stopped.set()

    with mock("api", app) as url:
        async with clients.client().stream("GET", url) as answer:
            assert await anext(aiter(answer)) == b"x"
        assert stopped.is_set()


async def test_a_disconnect_reaches_the_application(clients):
    api = RecordingApi(default=Answer(pieces=["x"] * 100, piece_delay_s=0.02))
    with mock("api", api) as url:
        async with clients.client().stream("GET", url) as answer:
            await anext(aiter(answer))
    assert api.requests[0].disconnected
