"""`endpoint/http`: what becomes of a request, and what of an answer."""

from __future__ import annotations

import hmac
from typing import Any

import pytest
from tests.components.endpoint.serving_chains import chain, router, served


async def seen(given: dict[str, Any], method: str, path: str, **request: Any) -> Any:
    """Send one request; gives the message that the chain saw."""
    async with served(given) as client:
        answer = await client.request(method, path, **request)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def test_path_variables_of_all_kinds_are_metadata() -> None:
    given = chain([router("GET", "/a/:id/{part}/*rest")])
    message = await seen(given, "GET", "/a/7/door/x/y%2Fz?unit=C")
    assert {key: message["metadata"][key] for key in ("id", "part", "rest", "unit")} == {
        "id": "7",
        "part": "door",
        "rest": "/x/y/z",
        "unit": "C",
    }


async def test_repeated_query_names_are_a_json_list_in_the_metadata() -> None:
    message = await seen(chain([router("GET", "/q")]), "GET", "/q?a=1&b=2&a=3&c=")
    assert {key: message["metadata"][key] for key in "abc"} == {"a": '["1","3"]', "b": "2", "c": ""}


async def test_the_type_is_the_address_as_it_was_sent_with_its_query() -> None:
    assert (await seen(chain([router("POST", "/a/:x")]), "POST", "/a/b%20c?q=1%2B1"))["msgType"] == "/a/b%20c?q=1%2B1"


async def test_the_data_of_get_is_the_query_as_lists() -> None:
    message = await seen(chain([router("GET", "/q")]), "GET", "/q?k=v&k=w&n=1")
    assert (message["data"], message["dataType"]) == ({"k": ["v", "w"], "n": ["1"]}, "JSON")


async def test_the_data_of_get_without_query_is_an_empty_object() -> None:
    assert (await seen(chain([router("GET", "/q")]), "GET", "/q"))["data"] == {}


async def test_a_body_is_json_by_its_content_type_and_else_text() -> None:
    given = chain([router("POST", "/")])
    json = await seen(given, "POST", "/", content=b'{"a":1}', headers={"content-type": "application/json; v=1"})
    loud = await seen(given, "POST", "/", content=b'{"a":1}', headers={"content-type": "Application/JSON"})
    text = await seen(given, "POST", "/", content=b'{"a":1}', headers={"content-type": "application/xml"})
    assert (json["data"], json["dataType"]) == ({"a": 1}, "JSON")
    assert (loud["data"], loud["dataType"]) == ({"a": 1}, "JSON")
    assert (text["data"], text["dataType"]) == ('{"a":1}', "TEXT")


async def test_messages_say_that_an_endpoint_sent_them() -> None:
    message = await seen(chain([router("POST", "/")]), "POST", "/?_triggerSource=me")
    assert message["metadata"]["_triggerSource"] == "endpoint"


async def test_headers_are_metadata_only_when_asked_for() -> None:
    plain = router("GET", "/a")
    asked = router("GET", "/b")
    asked["from"]["processors"] = ["headersToMetadata"]
    async with served(chain([plain, asked])) as client:
        without = (await client.get("/a", headers={"x-abc-def": "1"})).json()["metadata"]
        metadata = (await client.get("/b", headers={"x-abc-def": "1"})).json()["metadata"]
    assert "X-Abc-Def" not in without
    assert metadata["X-Abc-Def"] == "1"


async def test_without_wait_the_answer_is_empty_at_once() -> None:
    async with served(chain([router("POST", "/", {"wait": False})])) as client:
        answer = await client.post("/", content=b"x")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_an_empty_text_that_is_the_answer_says_that_it_is_text() -> None:
    node = {"id": "pass", "type": "fork"}
    async with served(chain([router("POST", "/")], [node])) as client:
        answer = await client.post("/", content=b"", headers={"content-type": "text/plain"})
    assert (answer.content, answer.headers["content-type"]) == (b"", "text/plain; charset=utf-8")


@pytest.mark.parametrize("body", [b'{"b":  1,"a":"\\u00fc" }\n', '{"x":"ü"}'.encode(), b"  []"])
async def test_a_body_is_signed_as_it_was_sent(body: bytes) -> None:
    formula = "isSigned(data, metadata['X-Hub-Signature-256'], 'key')"
    nodes = [{"id": "n", "type": "exprTransform", "configuration": {"expr": formula}}]
    source = chain([router("POST", "/hook")], nodes)
    source["metadata"]["endpoints"][0]["processors"] = ["headersToMetadata"]
    right = "sha256=" + hmac.new(b"key", body, "sha256").hexdigest()
    async with served(source) as client:
        for signature, told in ((right, "true"), (right[:-1], "false"), ("", "false")):
            headers = {"content-type": "application/json", "x-hub-signature-256": signature}
            assert (await client.post("/hook", content=body, headers=headers)).text == told


async def test_without_processors_the_answer_is_empty() -> None:
    async with served(chain([router("POST", "/", {"processors": []})])) as client:
        answer = await client.post("/", content=b"x")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_a_chain_that_fails_is_400_with_the_text() -> None:
    node = {"id": "bad", "type": "jsFilter", "configuration": {"jsScript": "throw new Error('too hot')"}}
    async with served(chain([router("POST", "/")], [node])) as client:
        answer = await client.post("/", content=b"x")
    assert answer.status_code == 400
    assert "too hot" in answer.text


async def test_an_unknown_chain_is_400() -> None:
    async with served(chain([router("GET", "/", {"path": "chain:nope"})])) as client:
        answer = await client.get("/")
    assert (answer.status_code, answer.text) == (400, "chainId=nope not found error")


async def test_the_content_type_follows_the_data() -> None:
    async with served(chain([router("GET", "/", {})])) as client:
        answer = await client.get("/")
    assert answer.headers["content-type"] == "application/json"


async def test_unknown_paths_are_404_and_wrong_methods_405_with_what_is_allowed() -> None:
    async with served(chain([router("GET", "/a"), router("POST", "/a"), router("GET", "/b/:x")])) as client:
        unknown = await client.get("/c")
        wrong = await client.delete("/a")
        variable = await client.put("/b/1")
    assert unknown.status_code == 404
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
    assert (variable.status_code, variable.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


async def test_head_is_get_without_its_body_and_options_tell_the_methods() -> None:
    async with served(chain([router("GET", "/a")])) as client:
        whole = await client.get("/a")
        head = await client.head("/a")
        options = await client.options("/a")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == whole.headers["content-length"]
    assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")


def statusful(status: str, *, fails: bool = False) -> dict[str, Any]:
    """Write a chain with the router `/` that sets the metadata `statusCode`."""
    nodes = [
        {
            "id": "set",
            "type": "jsTransform",
            "configuration": {
                "jsScript": f"metadata.statusCode = {status}; "
                "metadata.Location = '/elsewhere'; return {msg, metadata}"
            },
        },
        {"id": "end", "type": "jsFilter", "configuration": {"jsScript": "throw new Error('gone')"}},
    ]
    to = {"processors": ["metadataToStatus", "metadataToHeaders", "responseToBody"]}
    return chain([router("GET", "/", to)], nodes if fails else nodes[:1], "set Success end" if fails else "")


@pytest.mark.parametrize("status", ["201", "'404'", "302", "599"])
async def test_a_chain_chooses_its_status_and_its_headers(status: str) -> None:
    async with served(statusful(status)) as client:
        answer = await client.get("/")
    assert answer.status_code == int(status.strip("'"))
    assert (answer.text, answer.headers["location"]) == ("{}", "/elsewhere")


@pytest.mark.parametrize("status", [204, 205, 304])
async def test_a_status_that_has_no_body_is_sent_without_the_data_and_the_connection_lives_on(status: int) -> None:
    async with served(statusful(str(status))) as client:
        answers = [await client.get("/") for _ in range(2)]
    assert [(one.status_code, one.content) for one in answers] == [(status, b"")] * 2


async def test_a_chain_that_fails_chooses_what_kind_of_failure_it_is() -> None:
    async with served(statusful("410", fails=True)) as client:
        answer = await client.get("/")
    assert answer.status_code == 410
    assert "gone" in answer.text


async def test_a_status_of_the_query_does_not_count() -> None:
    async with served(chain([router("GET", "/", {"processors": ["metadataToStatus", "responseToBody"]})])) as client:
        answer = await client.get("/?statusCode=500")
    assert answer.status_code == 200
