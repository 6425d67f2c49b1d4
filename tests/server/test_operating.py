"""What operators and their tools ask for: probes, metrics, the document, components, connections."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.server.kit import Site, chain, greeting, http_endpoint, serving, slow
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from catenary import Engine
from catenary_server import create_app
from catenary_server.openapi import api_document


async def test_a_server_that_starts_or_stops_is_there_and_takes_nothing_in() -> None:
    async with serving(greeting()) as site:
        for state, code in {"starting": "server.starting", "draining": "server.stopping"}.items():
            site.app.service.state = state  # type: ignore[assignment]
            assert (await site.client.get("/healthz")).json() == {"status": "ok", "state": state}
            ready = await site.client.get("/readyz")
            assert (ready.status_code, ready.json()["status"]) == (503, state)
            refused = await site.run("hello", {"name": "x"})
            assert (refused.status_code, refused.json()["code"]) == (503, code)
            assert refused.headers["retry-after"] == "1"
            nowhere = await site.client.post("/of/an/endpoint")
            assert (nowhere.status_code, nowhere.json()["code"]) == (503, code)
            assert await _refusal_of_websocket(site, "/of/an/endpoint") == 503
        site.app.service.state = "ready"
        assert (await site.client.get("/readyz")).json()["status"] == "ready"
        assert (await site.client.post("/of/an/endpoint")).status_code == 404
        assert await _refusal_of_websocket(site, "/of/an/endpoint") == 404


async def _refusal_of_websocket(site: Site, path: str) -> int:
    with pytest.raises(InvalidStatus) as caught:
        async with connect(site.url.replace("http", "ws", 1) + path, proxy=None):
            pass
    return caught.value.response.status_code


async def test_a_server_with_an_endpoint_that_is_down_is_not_ready() -> None:
    async with serving() as site:
        port = site.url.rpartition(":")[2]
        endpoint = {**http_endpoint("GET", "/x"), "configuration": {"server": f"127.0.0.1:{port}"}}
        site.engine.load(chain("c", ("n", "fork", {}), endpoints=[endpoint]))
        await site.engine.endpoints.settled()
        answer = await site.client.get("/readyz")
        (row,) = (await site.client.get("/api/v1/endpoints")).json()["endpoints"]
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    (problem,) = answer.json()["problems"]
    assert problem.startswith("c/in: reconnecting: 127.0.0.1")
    assert (row["state"], row["routes"]) == ("reconnecting", ["GET /x"])


async def test_shared_resources_are_listed_and_one_that_is_down_keeps_the_server_from_being_ready() -> None:
    engine_with: Any = {
        "ruleChain": {"id": "shared"},
        "metadata": {"nodes": [_database("postgres://u:p@127.0.0.1:1/x")]},
    }
    use = ("n", "dbClient", {"driverName": "postgres", "dsn": "ref://db", "sql": "select 1"})
    async with serving() as site:
        site.engine.shared.load(engine_with)
        site.engine.load(chain("c", use))
        assert (await site.client.get("/readyz")).status_code == 200
        assert (await site.run("c", 1)).status_code == 422
        answer = await site.client.get("/readyz")
        (row,) = (await site.client.get("/api/v1/shared")).json()["shared"]
    assert answer.status_code == 503
    assert (row["id"], row["type"], row["state"]) == ("db", "dbClient", "disconnected")


def _database(dsn: str) -> Any:
    return {"id": "db", "type": "dbClient", "configuration": {"driverName": "postgres", "dsn": dsn, "sql": "select 1"}}


async def test_metrics_count_chains_nodes_and_requests() -> None:
    async with serving(greeting()) as site:
        for name in ("a", "b", 3):
            await site.run("hello", {"name": name})
        await site.client.get("/nothing/of/this/kind")
        answer = await site.client.get("/metrics")
    found = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert answer.headers["content-type"].startswith("text/plain")

    def value(name: str, **labels: str) -> float:
        return found[name, tuple(sorted(labels.items()))]

    assert value("catenary_chain_messages_total", chain="hello", status="completed") == 2
    assert value("catenary_chain_messages_total", chain="hello", status="failed") == 1
    assert value("catenary_node_visits_total", chain="hello", node="greet") == 3
    assert value("catenary_node_failures_total", chain="hello", node="greet") == 1
    assert value("catenary_node_visit_seconds_count", chain="hello", node="greet") == 3
    assert value("catenary_chain_message_seconds_bucket", chain="hello", le="+Inf") == 3
    route = "/api/v1/chains/{chainId}/run"
    assert value("catenary_http_requests_total", method="POST", route=route, status="200") == 2
    assert value("catenary_http_requests_total", method="(any)", route="(endpoints)", status="404") == 1
    assert value("catenary_http_requests_in_flight") == 1
    assert value("process_resident_memory_bytes") > 1e6
    assert "/nothing/of/this/kind" not in answer.text


async def test_buckets_never_fall_and_end_with_all() -> None:
    async with serving(greeting(), slow(delay_ms=3)) as site:
        for _ in range(3):
            await site.run("slow", 1)
        text = (await site.client.get("/metrics")).text
    for family in text_string_to_metric_families(text):
        by_labels: dict[Any, list[float]] = {}
        for sample in family.samples:
            if sample.name.endswith("_bucket"):
                labels = tuple(item for item in sample.labels.items() if item[0] != "le")
                by_labels.setdefault(labels, []).append(sample.value)
        assert all(counts == sorted(counts) for counts in by_labels.values())


async def test_metrics_come_as_openmetrics_when_that_is_asked_for() -> None:
    async with serving(greeting()) as site:
        headers = {"accept": "application/openmetrics-text; version=1.0.0"}
        answer = await site.client.get("/metrics", headers=headers)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


async def test_an_engine_that_counts_nothing_has_metrics_of_the_server_alone() -> None:
    engine = Engine()
    app = create_app(engine)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/metrics", "query_string": b"", "headers": [(b"host", b"x")]}
    await app(scope, _nothing, send)
    await engine.close()
    assert b"catenary_chains 0.0" in sent[1]["body"]
    assert b"catenary_node_visits" not in sent[1]["body"]


async def _nothing() -> Any:
    await asyncio.Event().wait()


async def test_the_document_has_all_operations_and_the_routes_of_endpoints() -> None:
    endpoint = http_endpoint("POST", "/orders/{id}")
    async with serving(chain("c", ("n", "fork", {}), endpoints=[endpoint])) as site:
        document = (await site.client.get("/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    assert "post" in document["paths"]["/orders/{id}"]
    assert set(api_document()["paths"]) <= set(document["paths"])
    assert document["servers"] == [{"url": "/"}]


def test_operations_have_names_of_their_own_and_say_what_they_do() -> None:
    document = api_document()
    operations = [one for path in document["paths"].values() for one in path.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    assert all(one["summary"] and one["tags"][0] in {tag["name"] for tag in document["tags"]} for one in operations)


async def test_components_are_listed_with_forms_and_each_has_a_schema() -> None:
    async with serving() as site:
        found = (await site.client.get("/api/v1/components")).json()["components"]
        filters = (await site.client.get("/api/v1/components", params={"category": "filter"})).json()["components"]
        one = (await site.client.get("/api/v1/components/ai~agent")).json()
        none = await site.client.get("/api/v1/components/exprFiltr")
        schema = (await site.client.get("/api/v1/schema")).json()
    assert {"exprFilter", "ai/agent", "endpoint/http"} <= {form["type"] for form in found}
    assert {form["category"] for form in filters} == {"filter"}
    assert (one["type"], one["schema"]["type"]) == ("ai/agent", "object")
    assert (none.status_code, none.json()["hint"]) == (404, "did you mean 'exprFilter'?")
    assert "metadata" in schema["properties"]


@pytest.mark.parametrize("path", ["/api/v1/chains", "/healthz"])
async def test_answers_are_not_kept_by_anybody(path: str) -> None:
    async with serving(greeting()) as site:
        assert (await site.client.get(path)).headers["cache-control"] == "no-store"


async def test_it_is_mounted_below_a_path_of_another_program() -> None:
    engine = Engine()
    engine.load(greeting())
    app = create_app(engine)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/rules/openapi.json",
        "root_path": "/rules",
        "query_string": b"",
        "headers": [(b"host", b"x")],
    }
    await app(scope, _nothing, send)
    await engine.close()
    assert sent[0]["status"] == 200
    assert b'"servers":[{"url":"/rules"}]' in sent[1]["body"]


async def test_a_program_that_does_not_enter_the_engine_is_told_that_no_endpoint_is_started() -> None:
    engine = Engine()
    engine.load(chain("c", ("n", "fork", {}), endpoints=[http_endpoint("GET", "/x")]))
    transport = httpx.ASGITransport(app=create_app(engine))
    async with httpx.AsyncClient(transport=transport, base_url="http://program") as client:
        before = await client.get("/readyz")
        async with engine:
            inside = await client.get("/readyz")
    assert (before.status_code, inside.status_code) == (503, 200)
    assert before.json()["problems"][0].startswith("the endpoints are not started, as the engine is not entered")


async def test_routes_of_other_addresses_are_in_the_document_with_their_server() -> None:
    elsewhere = {**http_endpoint("GET", "/elsewhere"), "configuration": {"server": "127.0.0.1:0"}}
    async with serving(chain("c", ("n", "fork", {}), endpoints=[elsewhere])) as site:
        document = (await site.client.get("/openapi.json")).json()
        (row,) = site.engine.endpoints.status()
    assert document["paths"]["/elsewhere"]["get"]["servers"] == [{"url": row.address}]


async def test_what_can_be_got_can_be_asked_for_its_head() -> None:
    async with serving() as site:
        answer = await site.client.head("/healthz")
    assert (answer.status_code, answer.content, int(answer.headers["content-length"]) > 10) == (200, b"", True)


async def test_keys_of_endpoints_are_declared_in_the_document_of_a_server_without_any() -> None:
    async with serving(chain("c", endpoints=[http_endpoint("GET", "/mine", apiKeys=["key-of-an-endpoint"])])) as site:
        document = (await site.client.get("/openapi.json")).json()
    named = {name for one in document["paths"]["/mine"]["get"]["security"] for name in one}
    assert named == set(document["components"]["securitySchemes"])
