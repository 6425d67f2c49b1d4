"""`endpoint/http`: its names, its routers, targets by metadata, and which of several ends is the answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.components.endpoint.serving_chains import ANY_PORT, address_of, chain, router, served

from catenary import ChainInvalid, Engine
from catenary_components.endpoint.http import HttpConfig


def script(node_id: str, text: str) -> dict[str, Any]:
    return {"id": node_id, "type": "jsTransform", "configuration": {"jsScript": text}}


@pytest.mark.parametrize("name", ["http", "rest", "endpoint/http", "endpoint/rest"])
async def test_it_goes_by_its_short_and_its_long_names(name: str) -> None:
    given = chain([router("GET", "/a")])
    given["metadata"]["endpoints"][0]["type"] = name
    async with served(given) as client:
        assert (await client.get("/a")).status_code == 200


async def test_the_first_of_the_params_is_the_method_in_any_case_of_letters() -> None:
    async with served(chain([{**router("", "/a"), "params": ["pOsT", "GET"]}])) as client:
        assert (await client.post("/a")).status_code == 200
        assert (await client.get("/a")).status_code == 405


async def test_a_target_is_chosen_by_the_path() -> None:
    going = router("GET", "/go/:chainId", {"path": "chain:${chainId}"})
    other = {"ruleChain": {"id": "other"}, "metadata": {"nodes": [script("n", "return {msg: {from: 'other'}}")]}}
    async with served(chain([going]), other) as client:
        assert (await client.get("/go/other")).json() == {"from": "other"}
        missing = await client.get("/go/nope")
    assert (missing.status_code, missing.text) == (400, "chainId=nope not found error")


@pytest.mark.parametrize(
    ("policy", "answer"), [({"answer": "first"}, "fast"), ({"answer": "last"}, "slow"), ({}, "slow")]
)
async def test_one_of_several_ends_is_the_answer(policy: dict[str, str], answer: str) -> None:
    async with served(_forked(policy)) as client:
        assert (await client.get("/")).json() == {"by": answer}


async def test_all_of_several_ends_are_a_list_when_that_is_asked_for() -> None:
    async with served(_forked({"answer": "list"})) as client:
        answer = await client.get("/")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == [{"by": "fast"}, {"by": "slow"}]


def _forked(policy: dict[str, str]) -> dict[str, Any]:
    nodes = [
        {"id": "both", "type": "fork", "configuration": {}},
        {"id": "wait", "type": "delay", "configuration": {"delayMs": "30"}},
        script("fast", "return {msg: {by: 'fast'}}"),
        script("slow", "return {msg: {by: 'slow'}}"),
    ]
    return chain([router("GET", "/", dict(policy))], nodes, "both Success fast, both Success wait, wait Success slow")


async def test_an_endpoint_of_no_chain_gets_and_loses_routers_while_it_serves() -> None:
    engine = Engine()
    engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [script("n", "return {msg: {n: 1}}")]}})
    async with engine:
        alone = {"id": "alone", "type": "http", "configuration": {"server": ANY_PORT}, "routers": []}
        engine.endpoints.add(alone)
        await engine.endpoints.settled()
        async with httpx.AsyncClient(base_url=address_of(engine, "", "alone"), timeout=15) as client:
            assert (await client.get("/a")).status_code == 404
            name = engine.endpoints.add_router("alone", router("get", "/a", {"path": "c"}))
            assert name == "GET:/a"
            assert (await client.get("/a")).json() == {"n": 1}
            engine.endpoints.replace_router("alone", name, router("PUT", "/b", {"path": "c"}, id=name))
            assert (await client.get("/a")).status_code == 404
            assert (await client.put("/b")).json() == {"n": 1}
            engine.endpoints.remove_router("alone", name)
            assert (await client.put("/b")).status_code == 404


def test_routers_that_take_in_the_same_are_told_at_load() -> None:
    same = [
        router("GET", "/a/:id", id="one"),
        router("GET", "/a/{name}", id="two"),
        router("POST", "/a/:id"),
        router("GET", "/a/*rest"),
        router("GET", "/a/:id", id="one"),
        router("GET", "nowhere", id="x"),
        router("GET", "nowhere", id="y"),
    ]
    problems = [(one.code, one.text.removeprefix("endpoint 'web' (http)")) for one in Engine().check(chain(same))]
    assert problems == [
        ("endpoint.router", ": the routers 'one' and 'two' take in the same"),
        ("endpoint.duplicate-router", ": two routers have the id 'one'"),
        ("endpoint.router", ", router 'x': the path 'nowhere' must begin with '/'"),
        ("endpoint.router", ", router 'y': the path 'nowhere' must begin with '/'"),
    ]


def test_the_path_of_the_document_is_no_path_of_a_router() -> None:
    both = [router("GET", "/openapi.json"), router("POST", "/openapi.json")]
    (problem,) = Engine().check(chain(both, openapiPath="/openapi.json"))
    assert problem.text.endswith("router 'GET:/openapi.json': the path '/openapi.json' is that of openapiPath")


def test_a_router_that_takes_in_the_same_is_not_added() -> None:
    engine = Engine()
    engine.endpoints.add({"id": "alone", "type": "http", "routers": [router("GET", "/a", {"path": "c"}, id="one")]})
    with pytest.raises(ChainInvalid, match="the routers 'one' and 'GET:/a' take in the same"):
        engine.endpoints.add_router("alone", router("GET", "/a", {"path": "c"}))
    assert [given["id"] for given in engine.endpoints.get("alone").routers] == ["one"]


def test_a_server_that_is_none_is_told_at_load() -> None:
    def told(server: str) -> list[tuple[str, str]]:
        return [(one.code, one.text) for one in Engine().check(chain([router("GET", "/")], server=server))]

    assert told("ref://server") == []
    assert told("ref://echo") == [("chain.resource", "endpoint 'web' (http): not SharedNode id=echo")]
    assert told("ref://no") == [
        ("chain.unknown-resource", "endpoint 'web' (http): node resource not found id=no"),
    ]


def test_an_endpoint_without_settings_has_those_of_the_field() -> None:
    config = HttpConfig()
    assert (config.server, config.read_timeout, config.write_timeout, config.idle_timeout) == (":6333", 10, 10, 60)
    assert (config.allow_cors, config.disable_keepalive, config.tls) == (False, False, None)
