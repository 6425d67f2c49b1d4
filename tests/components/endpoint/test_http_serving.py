"""Endpoints in service: shared listeners, reloads under load, ports in use, servers of others, proxies."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from contextlib import ExitStack, closing
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from tests.components.endpoint.serving_chains import address_of, chain, router, served

from catenary import Engine
from catenary.testing import free_port
from catenary_components.endpoint import endpoint_app
from catenary_components.endpoint.listening import listeners_of
from catenary_components.endpoint.openapi import document


def at(port: int) -> str:
    return f"127.0.0.1:{port}"


def named(text: str) -> list[dict[str, Any]]:
    script = f"return {{msg: {text!r}, metadata, msgType, dataType: 'TEXT'}}"
    return [{"id": "n", "type": "jsTransform", "configuration": {"jsScript": script}}]


async def until_closed(client: httpx.AsyncClient) -> None:
    """Wait until nobody listens; a listener is there for a moment without endpoints."""
    with pytest.raises(httpx.TransportError):
        async with asyncio.timeout(15):
            while True:
                await client.get("/")
                await asyncio.sleep(0.01)


# Sharing


async def test_endpoints_of_one_address_share_a_listener_that_closes_with_the_last() -> None:
    server = at(free_port())
    engine = Engine()
    for name in ("a", "b"):
        engine.load(chain([router("GET", f"/{name}")], named(name), chain_id=name, server=server))
    async with engine, httpx.AsyncClient(base_url=f"http://{server}", timeout=15) as client:
        before = [(await client.get(path)).text for path in ("/a", "/b")]
        assert len(list(listeners_of(engine))) == 1
        engine.remove("a")
        await engine.endpoints.settled()
        after = [(await client.get(path)).status_code for path in ("/a", "/b")]
        engine.remove("b")
        await engine.endpoints.settled()
        await until_closed(client)
        assert not list(listeners_of(engine))
    assert (before, after) == (["a", "b"], [404, 200])


async def test_the_second_endpoint_with_the_same_route_is_refused_and_both_are_named() -> None:
    server = at(free_port())
    engine = Engine()
    engine.load(chain([router("GET", "/same")], named("a"), chain_id="a", server=server))
    engine.load(chain([router("GET", "/same")], named("b"), chain_id="b", server=server))
    async with engine, httpx.AsyncClient(base_url=f"http://{server}", timeout=15) as client:
        (refused,) = [status for status in engine.endpoints.status() if status.state == "reconnecting"]
        kept = "b" if refused.chain_id == "a" else "a"
        answer = await client.get("/same")
    assert answer.text == kept
    for name in ("a", "b"):
        assert f"router 'GET:/same' of endpoint 'web' in chain '{name}'" in refused.error


async def test_endpoints_of_one_address_have_one_certificate() -> None:
    server = at(free_port())
    engine = Engine()
    engine.load(chain([router("GET", "/a")], chain_id="a", server=server))
    engine.load(chain([router("GET", "/b")], chain_id="b", server=server, certFile="other.pem"))
    async with engine:
        (refused,) = [status for status in engine.endpoints.status() if status.state == "reconnecting"]
    assert "certificate" in refused.error


async def test_an_endpoint_may_use_the_listener_of_another_one_of_its_chain() -> None:
    given = chain([router("GET", "/a")])
    borrower = {
        "id": "more",
        "type": "http",
        "configuration": {"server": "ref://web"},
        "routers": [router("GET", "/b")],
    }
    given["metadata"]["endpoints"].insert(0, borrower)
    async with served(given) as client:
        answers = [(await client.get(path)).status_code for path in ("/a", "/b", "/c")]
    assert answers == [200, 200, 404]


# Ports


async def test_all_ports_in_use_are_told_and_taken_when_they_are_free(caplog: pytest.LogCaptureFixture) -> None:
    ports = [free_port(), free_port()]
    engine = Engine()
    for port in ports:
        engine.load(chain([router("GET", "/")], chain_id=str(port), server=at(port)))
    with ExitStack() as taken:
        for port in ports:
            blocker = taken.enter_context(closing(socket.create_server(("127.0.0.1", port))))
            blocker.listen()
        await engine.__aenter__()
        statuses = engine.endpoints.status()
    assert [(status.state, status.error) for status in statuses] == [
        ("reconnecting", f"127.0.0.1:{port} is in use by another program; stop it, or choose another port")
        for port in ports
    ]
    async with asyncio.timeout(15), httpx.AsyncClient(timeout=15) as client:
        while any(status.state != "connected" for status in engine.endpoints.status()):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        assert [(await client.get(f"http://{at(port)}/")).status_code for port in ports] == [200, 200]
    await engine.close()
    assert "Traceback" not in caplog.text


# Reloads


async def test_reloading_under_load_fails_no_request() -> None:
    engine = Engine()
    statuses: list[tuple[int, str]] = []
    is_over = asyncio.Event()

    async def ask(client: httpx.AsyncClient) -> None:
        while not is_over.is_set():
            answer = await client.post("/in", content="x")
            statuses.append((answer.status_code, answer.text))

    async with served(chain([router("POST", "/in")], named("0")), engine=engine) as client:
        asking = [asyncio.create_task(ask(client)) for _ in range(8)]
        for number in range(1, 20):
            engine.reload(chain([router("POST", "/in"), router("GET", f"/{number}")], named(str(number))))
            seen = len(statuses)
            while len(statuses) < seen + 20:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            assert (await client.get(f"/{number}")).status_code == 200
        is_over.set()
        await asyncio.gather(*asking)
    assert {status for status, _ in statuses} == {200}
    assert {text for _, text in statuses} == {str(number) for number in range(1, 20)}


async def test_an_endpoint_that_changes_under_load_fails_no_request() -> None:
    engine = Engine()
    server = at(free_port())
    statuses: list[int] = []
    is_over = asyncio.Event()

    async def ask() -> None:
        async with httpx.AsyncClient(base_url=f"http://{server}", timeout=15) as client:
            while not is_over.is_set():
                statuses.append((await client.post("/in", content="x")).status_code)

    async def ask_anew() -> None:
        while not is_over.is_set():
            async with httpx.AsyncClient(base_url=f"http://{server}", timeout=15) as client:
                statuses.append((await client.post("/in", content="x")).status_code)

    async with served(chain([router("POST", "/in")], server=server), engine=engine):
        asking = [asyncio.create_task(one()) for one in (ask, ask, ask, ask_anew)]
        for seconds in range(1, 10):
            engine.reload(chain([router("POST", "/in")], server=server, idleTimeout=seconds))
            await engine.endpoints.settled()
        is_over.set()
        await asyncio.gather(*asking)
    assert set(statuses) == {200}


async def test_a_changed_address_is_served_after_a_reload_and_the_other_one_is_not() -> None:
    ports = [free_port(), free_port()]
    engine = Engine()
    async with served(chain([router("GET", "/")], server=at(ports[0])), engine=engine) as client:
        engine.reload(chain([router("GET", "/")], server=at(ports[1])))
        await engine.endpoints.settled()
        assert address_of(engine) == f"http://{at(ports[1])}"
        assert (await client.get(f"http://{at(ports[1])}/")).status_code == 200
        await until_closed(client)


# Servers of others


async def test_a_program_mounts_the_endpoints_beside_its_own_routes() -> None:
    engine = Engine()
    engine.load(chain([router("POST", "/a/:id")], server="ref://server"))

    async def own(request: Any) -> PlainTextResponse:
        return PlainTextResponse("own")

    app = Starlette(routes=[Route("/own", own), Mount("/chains", endpoint_app(engine))])
    transport = httpx.ASGITransport(app=app)
    async with engine, httpx.AsyncClient(transport=transport, base_url="http://program", timeout=15) as client:
        theirs = await client.get("/own")
        ours = await client.post("/chains/a/x%2Fy?q=1", content="x")
        unknown = await client.get("/chains/b")
    assert (theirs.text, unknown.status_code) == ("own", 404)
    message = ours.json()
    assert (message["metadata"]["id"], message["metadata"]["q"]) == ("x/y", "1")
    assert message["msgType"] == "/chains/a/x%2Fy?q=1"


async def test_without_a_server_of_the_program_the_status_says_what_to_do() -> None:
    engine = Engine()
    engine.load(chain([router("GET", "/")], server="ref://server"))
    async with engine:
        (status,) = engine.endpoints.status()
    assert "the program has no server" in status.error


def test_a_fallback_answers_what_no_endpoint_is_for() -> None:
    async def other(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("other")(scope, receive, send)

    async def ask() -> str:
        engine = Engine()
        transport = httpx.ASGITransport(app=endpoint_app(engine, other))
        async with engine, httpx.AsyncClient(transport=transport, base_url="http://program", timeout=15) as client:
            return (await client.get("/x")).text

    assert asyncio.run(ask()) == "other"


# OpenAPI


async def test_the_routes_describe_themselves() -> None:
    info = {"summary": "Take a reading", "schema": {"type": "object"}, "responseSchema": {"type": "string"}}
    given = chain(
        [router("POST", "/devices/:id", additionalInfo=info), router("GET", "/q")],
        openapiPath="/openapi.json",
        apiKeys=["k"],
    )
    async with served(given) as client:
        told = (await client.get("/openapi.json")).json()
    assert (told["openapi"], list(told["paths"])) == ("3.1.0", ["/devices/{id}", "/q"])
    operation = told["paths"]["/devices/{id}"]["post"]
    assert operation["summary"] == "Take a reading"
    assert operation["operationId"] == "api.web.POST:/devices/:id"
    assert operation["parameters"] == [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    assert operation["requestBody"] == {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
    assert operation["responses"]["200"]["content"]["application/json"] == {"schema": {"type": "string"}}
    assert operation["security"] == [{"bearer": []}, {"apiKey": []}]
    assert set(told["components"]["securitySchemes"]) == {"bearer", "apiKey"}


async def test_the_document_says_where_the_chain_chooses_the_status() -> None:
    chooses = router("GET", "/a", {"processors": ["metadataToStatus", "responseToBody"]})
    async with served(chain([chooses, router("GET", "/b")], openapiPath="/openapi.json")) as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
    assert "`statusCode`" in paths["/a"]["get"]["responses"]["default"]["description"]
    assert "default" not in paths["/b"]["get"]["responses"]


async def test_the_document_of_a_table_without_keys_has_no_schemes() -> None:
    engine = Engine()
    engine.load(chain([router("GET", "/q")]))
    async with engine:
        (listener,) = listeners_of(engine)
        told = document(listener.routes)
    assert "components" not in told
    assert list(told["paths"]["/q"]) == ["get"]


# A proxy in front


@pytest.mark.timeout(60)  # much goes through, and a server is started
async def test_behind_nginx_requests_uploads_and_event_streams_get_through(nginx_before: Any) -> None:
    engine = Engine()
    engine.load(chain([router("POST", "/in/:id")], maxBodyBytes=50_000_000, readTimeout=0))
    async with engine:
        proxy = await asyncio.to_thread(nginx_before, address_of(engine))
        trust = ssl.create_default_context(cafile=proxy.certificate)
        async with httpx.AsyncClient(verify=trust, timeout=15) as client:
            for url in (proxy.url, proxy.tls_url):
                answers = await asyncio.gather(*[client.post(f"{url}/in/{n}?q={n}", content="x") for n in range(50)])
                assert [answer.json()["metadata"]["id"] for answer in answers] == [str(n) for n in range(50)]
                upload = await client.post(f"{url}/in/0", content=b"x" * 20_000_000)
                assert len(upload.json()["data"]) == 20_000_000
            stream = await client.post(f"{proxy.url}/in/0", content="x", headers={"accept": "text/event-stream"})
    assert stream.text.startswith("event: answer\n")


def test_a_healthy_life_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def live() -> None:
        async with served(chain([router("GET", "/")])) as client:
            await client.get("/")
            await client.get("/none")

    with caplog.at_level(logging.INFO):
        asyncio.run(live())
    assert [record for record in caplog.records if record.name.startswith(("catenary", "uvicorn"))] == []


# What is lent


async def test_a_listener_that_never_comes_is_told() -> None:
    engine = Engine()
    engine.load(chain([router("GET", "/")], server="ref://nobody"))
    async with engine:
        (status,) = engine.endpoints.status()
    hint = "ref:// names another endpoint of the chain, or `server`; is that one running?"
    assert status.error == f"node resource not found id=nobody; {hint}"


async def test_a_certificate_may_change_in_a_reload(tmp_path: Any) -> None:
    server = at(free_port())
    engine = Engine()
    async with served(chain([router("GET", "/")], server=server), engine=engine) as client:
        assert (await client.get("/")).status_code == 200
        engine.reload(chain([router("GET", "/")], server=server, certFile=str(tmp_path / "none.pem")))
        await engine.endpoints.settled()
        (status,) = engine.endpoints.status()
        assert "cannot be used" in status.error
        engine.reload(chain([router("GET", "/")], server=server))
        await engine.endpoints.settled()
        assert (await client.get("/")).status_code == 200


async def test_the_widest_of_the_limits_count_while_their_endpoints_are_there() -> None:
    server = at(free_port())
    engine = Engine()
    engine.load(chain([router("GET", "/a")], chain_id="a", server=server, readTimeout=1, idleTimeout=0))
    engine.load(chain([router("GET", "/b")], chain_id="b", server=server, readTimeout=20, disableKeepalive=True))
    async with engine:
        (listener,) = listeners_of(engine)
        assert listener.limits.read_timeout_s == 20
        assert listener.limits.idle_timeout_s == 0
        assert listener.limits.keep_alive
        engine.remove("b")
        await engine.endpoints.settled()
        assert listener.limits.read_timeout_s == 1


async def test_requests_during_a_restart_wait_only_for_a_moment() -> None:
    server = at(free_port())
    engine = Engine()
    engine.load(chain([router("GET", "/")], chain_id="other", server=server))
    async with served(chain([router("GET", "/gone")], server=server), engine=engine) as client:
        engine.remove("api")
        await engine.endpoints.settled()
        assert (await client.get("/gone")).status_code == 404
        assert (await client.get("/")).status_code == 200


async def test_an_engine_that_closes_right_after_a_chain_is_gone_leaves_no_listener() -> None:
    engine = Engine()
    async with served(chain([router("GET", "/")]), engine=engine) as client:
        listeners = listeners_of(engine)
        engine.remove("api")
        await engine.endpoints.settled()
        assert len(list(listeners)) == 1
        await engine.close()
        assert not list(listeners)
        with pytest.raises(httpx.TransportError):
            await client.get("/")


async def test_who_borrows_a_listener_that_others_reach_says_who_may_call() -> None:
    given = chain([router("GET", "/a")], server="0.0.0.0:0", apiKeys=["k"])
    borrower = {"id": "more", "type": "http", "configuration": {"server": "ref://web"}}
    given["metadata"]["endpoints"].append({**borrower, "routers": [router("GET", "/b")]})
    engine = Engine()
    engine.load(given)
    async with engine:
        states = {status.id: status for status in engine.endpoints.status()}
        (listener,) = listeners_of(engine)
        assert [route.path for route in listener.routes.routes] == ["/a"]
    assert states["web"].state == "connected"
    assert "other machines can connect" in states["more"].error


async def test_the_server_of_the_program_may_be_borrowed_by_way_of_another_endpoint() -> None:
    given = chain([router("GET", "/a")], server="ref://server")
    borrower = {"id": "more", "type": "http", "configuration": {"server": "ref://web"}}
    given["metadata"]["endpoints"].append({**borrower, "routers": [router("GET", "/b")]})
    engine = Engine()
    engine.load(given)
    transport = httpx.ASGITransport(app=endpoint_app(engine))
    async with engine, httpx.AsyncClient(transport=transport, base_url="http://program", timeout=15) as client:
        assert [(await client.get(path)).status_code for path in ("/a", "/b")] == [200, 200]
