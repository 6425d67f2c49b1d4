"""`restApiCall` and a real nginx: killed, frozen and back, with TLS, with streams, and when its own server is gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.peers.nginx import Nginx

from catenary import ConnectFailed, Engine, Message, TooSlow
from catenary.testing import Answer, RecordingApi, serve


def chain_of(**configuration):
    node = {"id": "a", "type": "restApiCall", "configuration": {"readTimeoutMs": 15_000, **configuration}}
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}


@pytest.fixture
def api():
    return RecordingApi()


@pytest.fixture
def nginx(api, nginx_before: Callable[..., Nginx]):
    """An nginx before the API of this test."""
    with serve(api) as server:
        yield nginx_before(server.url)


async def test_a_server_that_is_killed_and_started_again_is_called_again(nginx):
    async with Engine() as engine:
        chain = engine.load(chain_of(url=nginx.url))
        assert (await chain.run(Message("x"))).message.data == "ok"
        nginx.kill()
        assert isinstance((await chain.run(Message("x"))).ends[0].error, ConnectFailed)
        nginx.start()
        assert (await chain.run(Message("x"))).message.data == "ok"


async def test_a_server_that_freezes_is_given_up_and_called_again(nginx):
    async with Engine() as engine:
        chain = engine.load(chain_of(url=nginx.url, readTimeoutMs=500))
        nginx.freeze()
        assert isinstance((await chain.run(Message("x"))).ends[0].error, TooSlow)
        nginx.thaw()
        chain = engine.reload(chain_of(url=nginx.url))
        assert (await chain.run(Message("x"))).ok


async def test_tls_of_a_real_server_is_checked(nginx):
    async with Engine() as engine:
        outcome = await engine.load(chain_of(url=nginx.tls_url)).run(Message("x"))
        assert "is not trusted" in str(outcome.error)
        trusting = engine.reload(chain_of(url=nginx.tls_url, caFile=str(nginx.certificate)))
        assert (await trusting.run(Message("x"))).ok


async def test_a_gateway_without_its_server_is_tried_again(nginx_before, free_port, api):
    nginx = nginx_before(f"http://127.0.0.1:{free_port}")
    async with Engine() as engine:
        chain = engine.load(chain_of(url=nginx.url))
        outcome = await chain.run(Message("x"))
        assert outcome.ends[0].message.metadata["statusCode"] == "502"
        again = engine.reload(chain_of(url=nginx.url, maxRetries=8, retryIntervalMs=50))
        with serve(api, port=free_port):
            assert (await again.run(Message("x"))).ok


async def test_an_event_stream_comes_through_a_proxy_line_by_line(nginx, api):
    api._answers.append(Answer(pieces=["data: a\n\n", "data: b\n\n"], headers={"Content-Type": "text/event-stream"}))
    async with Engine() as engine:
        ends = (await engine.load(chain_of(url=nginx.url)).run(Message("x"))).ends
    assert [(end.relation, end.message.data) for end in ends] == [
        ("Stream", "a"),
        ("Stream", "b"),
        ("Success", "a\nb"),
    ]


async def test_big_bodies_go_through_a_proxy(nginx, api):
    async with Engine() as engine:
        assert (await engine.load(chain_of(url=nginx.url)).run(Message("x" * 5_000_000))).ok
    assert len(api.requests[0].body) == 5_000_000
