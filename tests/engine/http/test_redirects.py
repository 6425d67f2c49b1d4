"""What goes along with a redirect, and what servers are shown of each other's answers."""

from __future__ import annotations

import pytest

from catenary.http import HttpOptions
from catenary.testing import Answer, RecordingApi, mock, serve

SECRETS = {"Authorization": "Bearer s3cret", "X-API-Key": "s3cret", "api_key": "s3cret", "Cookie": "id=s3cret"}
PLAIN = {"accept": "text/x", "accept-language": "de", "content-type": "text/y", "user-agent": "mine"}


def leading_to(place, status=302):
    """A site whose first answer leads to a place, an address or what gives one, and whose others are `ok`."""

    def answer(_):
        return Answer(status=status, headers={"Location": place() if callable(place) else place})

    return RecordingApi([answer])


@pytest.fixture
def called(clients):
    """Call an address, and follow where it leads."""

    async def called(url, headers, **options):
        client = clients.client(HttpOptions(follow_redirects=True, **options))
        return await client.request("POST", url, headers=headers, content="body")

    return called


@pytest.mark.parametrize(("status", "body"), [(301, ""), (302, ""), (303, ""), (307, "body"), (308, "body")])
async def test_another_server_is_told_no_secret_and_what_is_wanted(called, api, server, status, body):
    with serve(leading_to(f"{server.url}/there", status)) as first:
        await called(first.url, {**SECRETS, **PLAIN})
    (there,) = api.requests
    assert "s3cret" not in str(there.headers)
    assert {name: there.headers[name] for name in PLAIN} == PLAIN
    assert there.headers["host"] == f"127.0.0.1:{server.port}"
    assert there.text == body


async def test_the_same_port_of_another_host_is_another_server(called):
    site = leading_to(lambda: f"http://localhost:{server.port}/")
    with serve(site) as server:
        await called(server.url, SECRETS)
    assert "s3cret" in str(site.requests[0].headers)
    assert "s3cret" not in str(site.requests[1].headers)


async def test_what_was_left_behind_does_not_come_back(called):
    site = leading_to(lambda: there.url)
    with serve(leading_to(lambda: f"{server.url}/again")) as there, serve(site) as server:
        await called(server.url, SECRETS)
    assert site.requests[1].path == "/again"
    assert "s3cret" not in str(site.requests[1].headers)


async def test_the_same_server_is_told_all(called):
    site = leading_to("/there")
    with serve(site) as server:
        await called(server.url, SECRETS)
    there = site.requests[1].headers
    assert {name: there[name.lower()] for name in SECRETS} == SECRETS


async def test_headers_that_are_named_go_along(called, api, server):
    with serve(leading_to(f"{server.url}/there")) as first:
        await called(first.url, SECRETS, redirect_headers=(" AUTHORIZATION", "cookie", "Host", "Content-Length"))
    headers = api.requests[0].headers
    assert (headers["authorization"], headers["cookie"]) == (SECRETS["Authorization"], SECRETS["Cookie"])
    assert "x-api-key" not in headers
    assert headers["host"] == f"127.0.0.1:{server.port}"
    assert api.requests[0].method == "GET"
    assert api.requests[0].text == ""


async def test_a_login_in_the_address_stays_with_its_server(called, api, server):
    with serve(leading_to(f"{server.url}/there")) as first:
        await called(f"http://me:s3cret@127.0.0.1:{first.port}/", {})
    assert "authorization" not in api.requests[0].headers


async def test_a_mock_that_redirects_gives_no_secrets_away(called, api, server):
    with mock("a", leading_to(server.url)) as url:
        await called(url, SECRETS)
    assert "s3cret" not in str(api.requests[0].headers)


async def test_cookies_of_an_answer_are_sent_with_no_other_call(clients):
    api = RecordingApi(default=Answer(headers={"Set-Cookie": "session=ann; Path=/"}))
    with serve(api) as server:
        client = clients.client()
        await client.request("GET", server.url)
        await client.request("GET", server.url)
        await client.request("GET", server.url, headers={"Cookie": "session=bob"})
    assert [request.headers.get("cookie") for request in api.requests] == [None, None, "session=bob"]
