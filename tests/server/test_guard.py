"""Who may call, by which name, with how much, and what is answered to those who may not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.server.kit import KEY, chain, greeting, http_endpoint, serving

from catenary_server import Keys, ServiceSettings

KEYED = ServiceSettings(keys=Keys([KEY, KEY + "2"]))
LOCAL = ServiceSettings(hosts=frozenset({"localhost", "127.0.0.1", "[::1]"}))
RUN = "/api/v1/chains/hello/run"


def with_endpoint(path: str = "/in", **configuration: Any) -> Any:
    return chain("e", ("n", "fork", {}), endpoints=[http_endpoint("POST", path, **configuration)])


@pytest.mark.parametrize(
    "headers",
    [{"authorization": f"Bearer {KEY}"}, {"authorization": f"bearer {KEY}2"}, {"x-api-key": KEY}],
)
async def test_each_key_opens_the_api(headers: Any) -> None:
    async with serving(greeting(), settings=KEYED) as site:
        assert (await site.client.get("/api/v1/chains", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": ""},
        {"x-api-key": KEY[:-1]},
        {"authorization": f"Basic {KEY}"},
        {"authorization": KEY},
        {"authorization": "Bearer"},
    ],
)
async def test_without_a_key_that_is_known_nothing_is_open_but_the_probes(headers: Any) -> None:
    async with serving(greeting(), settings=KEYED) as site:
        for path in ("/api/v1/chains", "/api/v1/components", "/metrics", "/openapi.json"):
            answer = await site.client.get(path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "server.no-key")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert (await site.client.post(RUN, json={}, headers=headers)).status_code == 401
        assert (await site.client.get("/healthz")).status_code == 200
        assert (await site.client.get("/readyz")).json() == {"status": "ready", "ready": True}
        assert site.app.service.traffic.refused == 5


async def test_endpoints_on_a_server_with_keys_need_one_unless_they_say_otherwise() -> None:
    async with serving(
        with_endpoint("/server"),
        {**with_endpoint("/own", apiKeys=["another-key"]), "ruleChain": {"id": "own"}},
        {**with_endpoint("/open", anonymous=True), "ruleChain": {"id": "open"}},
        settings=KEYED,
    ) as site:
        codes = {
            path: [
                (await site.client.post(path, json={}, headers={"x-api-key": key})).status_code
                for key in ("none", KEY, "another-key")
            ]
            for path in ("/server", "/own", "/open")
        }
        document = (await site.client.get("/openapi.json", headers={"x-api-key": KEY})).json()
    assert codes == {"/server": [401, 200, 401], "/own": [401, 401, 200], "/open": [200, 200, 200]}
    assert [bool(document["paths"][path]["post"].get("security")) for path in codes] == [True, True, False]


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:9090", "LOCALHOST"])
async def test_a_server_without_keys_is_called_by_its_own_names(host: str) -> None:
    async with serving(greeting(), settings=LOCAL) as site:
        assert (await site.client.get("/api/v1/chains", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9090", "127.0.0.1.evil.example", "[::2]:9090", ""])
async def test_a_name_that_somebody_made_lead_here_is_refused(host: str) -> None:
    async with serving(greeting(), settings=LOCAL) as site:
        answer = await site.client.get("/api/v1/chains", headers={"host": host})
        assert (answer.status_code, answer.json()["code"]) == (403, "server.host")
        assert (await site.client.get("/healthz", headers={"host": host})).status_code == 200


async def test_pages_of_other_sites_change_nothing() -> None:
    async with serving(greeting(), settings=LOCAL) as site:
        own = {"origin": site.url}
        foreign = {"origin": "https://evil.example", "content-type": "text/plain"}
        assert (await site.client.post(RUN, content='{"data": {"name": "x"}}', headers=foreign)).status_code == 403
        assert (await site.client.post(RUN, json={"data": {"name": "x"}}, headers=own)).status_code == 200


async def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not() -> None:
    async with serving(greeting(), settings=ServiceSettings(max_body_bytes=1000)) as site:
        body = b'{"data": "' + b"x" * 2000 + b'"}'

        async def pieces() -> AsyncIterator[bytes]:
            for start in range(0, len(body), 100):
                yield body[start : start + 100]
                await asyncio.sleep(0)

        told = await site.client.post(RUN, content=body)
        untold = await site.client.post(RUN, content=pieces())
        assert [told.status_code, untold.status_code] == [413, 413]
        assert told.json()["code"] == "request.too-large"
        assert (await site.client.post(RUN, json={"data": {"name": "x"}})).status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b" ", "request.body"),
        (b"{", "request.body"),
        (b"[]", "request.body"),
        (b'{"dtaa": 1}', "request.body"),
        (b'{"data": NaN}', "request.body"),
        (b"\xff\xfe", "request.body"),
        (b'{"timeout": 0}', "request.body"),
        (b'{"timeout": "long"}', "request.body"),
        (b'{"start": []}', "request.body"),
        (b'{"data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "request.body"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_body_that_is_none_is_400_with_what_is_wrong(body: bytes, code: str) -> None:
    async with serving(greeting()) as site:
        answer = await site.client.post(RUN, content=body)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert answer.json()["hint"]


@pytest.mark.parametrize("media", ["text/html", "multipart/form-data", "application/xml"])
async def test_a_body_of_another_kind_is_415(media: str) -> None:
    async with serving(greeting()) as site:
        answer = await site.client.post(RUN, content="{}", headers={"content-type": media})
    assert (answer.status_code, answer.json()["code"]) == (415, "request.media")


async def test_what_curl_sends_by_itself_is_taken_for_json() -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    async with serving(greeting()) as site:
        answer = await site.client.post(RUN, content='{"data": {"name": "x"}}', headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/api/v1/chains/", "/api/v1/../../etc/passwd", "/%00", "//"])
async def test_unknown_paths_are_404_in_the_form_of_all_errors(path: str) -> None:
    async with serving() as site:
        answer = await site.client.get(path)
    assert (answer.status_code, set(answer.json())) == (404, {"code", "message", "hint", "problems"})


async def test_an_unknown_method_is_405_with_those_that_there_are() -> None:
    async with serving() as site:
        answer = await site.client.request("PATCH", "/api/v1/chains/x")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, PUT")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("disconect=detach", "there is no query parameter 'disconect'"),
        ("wait=maybe", "wait must be of type boolean, not string"),
        ("disconnect=stay", 'disconnect must be one of "cancel", "detach"'),
        ("wait=true&wait=false", "the query parameter 'wait' is there twice"),
    ],
)
async def test_a_query_that_is_not_known_is_refused(query: str, message: str) -> None:
    async with serving(greeting()) as site:
        answer = await site.client.post(f"{RUN}?{query}", json={})
    assert (answer.status_code, answer.json()["message"]) == (400, message)


async def test_a_path_does_not_get_into_headers_or_lines_of_its_own() -> None:
    async with serving() as site:
        answer = await site.client.get("/api/v1/chains/x%0d%0aset-cookie:%20a=b")
    assert answer.status_code == 404
    assert "set-cookie" not in answer.headers


async def test_what_goes_wrong_here_is_told_with_a_number_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("the secret detail")

    monkeypatch.setattr("catenary_server.api.connections.shared_rows", broken)
    async with serving() as site:
        answer = await site.client.get("/api/v1/shared")
    number = answer.json()["hint"].split()[3]
    assert (answer.status_code, "secret detail" in answer.text) == (500, False)
    (record,) = [one for one in caplog.records if one.exc_info]
    assert record.incident == number  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ({"timeout": "5 parsecs"}, "a text such as `500ms`"),
        ({"dataType": "XML"}, "TEXT for a text, else JSON"),
        ({"dta": 1}, "the body may have: data, dataType, "),
        ([1], "the body may have: data, dataType, "),
    ],
)
async def test_the_hint_about_a_body_says_what_the_key_in_question_may_be(body: Any, hint: str) -> None:
    async with serving(greeting()) as site:
        answer = await site.client.post(RUN, json=body)
    assert answer.status_code == 400
    assert hint in answer.json()["hint"]


@pytest.mark.parametrize("path", ["/api/v1/chains", "/api/v1/chains/:any", "/healthz"])
async def test_a_route_that_the_api_would_answer_is_refused_and_told(path: str) -> None:
    async with serving(with_endpoint(path)) as site:
        await site.engine.endpoints.settled()
        (row,) = (await site.client.get("/api/v1/endpoints")).json()["endpoints"]
        ready = await site.client.get("/readyz")
    assert row["state"] == "reconnecting"
    assert f"POST {path} is a path of the API of this server, and router 'POST:{path}'" in row["error"]
    assert ready.status_code == 503


async def test_a_route_for_all_paths_gets_those_that_the_api_does_not_have() -> None:
    async with serving(with_endpoint("/*rest")) as site:
        assert (await site.client.post("/api/v2/things", content="x")).text == "x"
        assert (await site.client.post("/healthz", content="x")).status_code == 405


async def test_a_page_may_read_that_an_endpoint_needs_a_key_of_the_server() -> None:
    page = {"origin": "https://shop.example"}
    async with serving(with_endpoint("/in", allowCors=True), settings=KEYED) as site:
        refused = await site.client.post("/in", content="x", headers=page)
        asked = await site.client.options("/in", headers={**page, "access-control-request-method": "POST"})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "*")
    assert (asked.status_code, asked.headers["access-control-allow-methods"]) == (204, "POST")


async def test_a_page_may_read_that_nothing_is_there() -> None:
    page = {"origin": "https://page.example"}
    question = {**page, "access-control-request-method": "POST", "access-control-request-headers": "x-a"}
    async with serving(with_endpoint("/in", allowCors=True)) as site:
        missing = await site.client.post("/out", headers=page)
        asked = await site.client.options("/out", headers=question)
        plain = await site.client.options("/out")
    assert (missing.status_code, missing.json()["code"]) == (404, "request.not-found")
    assert missing.headers["access-control-allow-origin"] == "*"
    assert (asked.status_code, asked.headers["access-control-allow-methods"], asked.content) == (204, "POST", b"")
    assert plain.status_code == 404
