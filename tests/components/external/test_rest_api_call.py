"""`restApiCall`, through the engine, against real servers on loopback."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.stepping import stepped
from tests.programs import eventually

from catenary import ChainInvalid, ConnectFailed, Engine, Message, Refused, TooSlow
from catenary.testing import Answer, RecordingApi, mock, serve
from catenary_components.external.rest_api_call import RestApiCallConfig

SECRET = "s3cret"
PATIENT = {"readTimeoutMs": 15_000}


def chain_with(**configuration):
    node = {"id": "a", "type": "restApiCall", "configuration": configuration}
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}


@pytest.fixture
def api():
    return RecordingApi()


@pytest.fixture
def server(api):
    with serve(api) as server:
        yield server


@pytest.fixture
def call(send, server):
    """Send one message through a node that calls the API of this test."""

    def call(data="{}", path="/", /, metadata=None, data_type="JSON", **configuration):
        settings = {**PATIENT, "url": server.url + path, **configuration}
        return send("restApiCall", settings, data, metadata=metadata, data_type=data_type, type="T")

    return call


@pytest.fixture
def answering(api):
    """Say what the API answers."""

    def answering(*answers):
        api._answers.extend(answers)

    return answering


# The request


def test_the_data_is_posted_as_it_is(call, api):
    call('{"t": 1}')
    request = api.requests[0]
    assert (request.method, request.text) == ("POST", '{"t": 1}')
    assert request.headers["content-type"] == "application/json"


def test_bytes_are_posted_as_they_are(call, api):
    call(b"\x00\xff", data_type="BINARY", body="  ")
    assert api.requests[0].body == b"\x00\xff"


@pytest.mark.parametrize("name", ["url", "restEndpointUrlPattern", "RESTENDPOINTURLPATTERN"])
def test_the_address_has_two_names(send, server, api, name):
    assert send("restApiCall", {**PATIENT, name: f"{server.url}/x"}).relation == "Success"
    assert api.requests[0].path == "/x"


@pytest.mark.parametrize(
    ("configuration", "method"),
    [
        ({"method": "put"}, "PUT"),
        ({"requestMethod": " Delete "}, "DELETE"),
        ({"requestMethod": ""}, "GET"),
        ({}, "POST"),
    ],
)
def test_the_method_is_written_in_capitals(call, api, configuration, method):
    call(**configuration)
    assert api.requests[0].method == method


def test_address_headers_and_body_are_templates(call, api):
    call(
        {"id": 7, "name": "Grüße"},
        "/devices/${msg.id}?kind=${metadata.kind}",
        metadata={"kind": "a", "header": "X-Kind"},
        headers={"${metadata.header}": "k-${metadata.kind}", "X-Name": "${msg.name}"},
        body='{"n": "${msg.name}", "t": "${msgType}"}',
    )
    request = api.requests[0]
    assert (request.path, request.query) == ("/devices/7", {"kind": "a"})
    assert (request.headers["x-kind"], request.headers["x-name"]) == ("k-a", "Grüße")
    assert request.json == {"n": "Grüße", "t": "T"}


def test_given_headers_replace_the_default_ones(call, api):
    call(headers={"X-A": "1"})
    assert "content-type" not in api.requests[0].headers


def test_a_body_that_turns_out_blank_is_sent_blank(call, api):
    call({"a": 1}, body="${msg.none}")
    assert api.requests[0].body == b""


def test_a_body_is_sent_with_get_unless_switched_off(call, api):
    call("x", method="GET")
    call("x", method="GET", withoutRequestBody=True)
    assert [request.text for request in api.requests] == ["x", ""]


def test_connections_are_kept_between_messages(load):
    peers = set()

    async def app(scope, receive, send):
        peers.add(tuple(scope["client"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    with serve(app) as server:
        chain = load([("a:restApiCall", {**PATIENT, "url": server.url})])
        for _ in range(3):
            assert chain.run_sync(Message()).ok
    assert len(peers) == 1


# The answer


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_200_to_299_is_success(call, answering, status):
    answering(Answer(status=status))
    end = call()
    assert end.relation == "Success"
    assert end.message.metadata["statusCode"] == str(status)


def test_the_answer_becomes_the_data_and_all_else_stays(call, answering):
    answering("it is done")
    end = call("{}", metadata={"k": "v"}, data_type="TEXT")
    message = end.message
    assert (message.data, message.data_type, message.type) == ("it is done", "TEXT", "T")
    assert message.metadata == {"k": "v", "status": "200 OK", "statusCode": "200"}


def test_the_answer_to_bytes_is_bytes(call, answering):
    answering(Answer(body=b"\x00\xff"))
    assert call(b"x", data_type="BINARY").message.data == b"\x00\xff"


def test_headers_of_the_answer_are_put_into_the_metadata_when_asked_for(call, answering):
    answer = {"headers": {"ETag": '"7"', "Link": "<b>; rel=next", "X-Other": "x"}}
    wanted = {"responseHeaders": {"etag": "etag", "nextPage": "LINK", "none": "X-None"}}
    answering(Answer(**answer), Answer(status=409, **answer), Answer(**answer))
    for _ in range(2):
        metadata = call(**wanted).message.metadata
        assert (metadata["etag"], metadata["nextPage"]) == ('"7"', "<b>; rel=next")
        assert "none" not in metadata
    assert "etag" not in call().message.metadata


@pytest.mark.parametrize(("status", "line"), [(404, "404 Not Found"), (500, "500 Internal Server Error")])
def test_another_status_is_failure(call, answering, status, line):
    answering(Answer(status=status, body="it went wrong"))
    end = call('{"t":1}')
    metadata = end.message.metadata
    assert (end.relation, str(end.error), end.message.data) == ("Failure", "it went wrong", '{"t":1}')
    assert (metadata["status"], metadata["statusCode"]) == (line, str(status))
    assert metadata["errorBody"] == metadata["errorMsg"] == "it went wrong"


def test_a_blank_error_page_is_told_by_its_status(call, answering):
    answering(Answer(status=503))
    end = call()
    assert (str(end.error), end.message.metadata["errorBody"]) == ("503 Service Unavailable", "")
    assert end.error.retryable


def test_a_refusal_is_not_worth_another_try(call, answering):
    answering(Answer(status=400))
    assert not call().error.retryable


def test_a_long_error_page_is_cut(call, answering):
    answering(Answer(status=500, body="x" * 200_000))
    assert len(call().message.metadata["errorBody"]) == 64 * 1024


def test_a_retry_of_the_node_tries_again(engine, server, api, answering):
    answering(Answer(status=503), "fine")
    node = {"id": "a", "type": "restApiCall", "configuration": {**PATIENT, "url": server.url}}
    policy = {"maxRetries": 1, "delay": "1ms"}
    chain = engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [{**node, "retry": policy}]}})
    assert chain.run_sync(Message("x")).message.data == "fine"
    assert len(api.requests) == 2


def test_redirects_are_followed(call, api, answering):
    answering(Answer(status=302, headers={"Location": "/there"}), "found")
    assert call().message.data == "found"
    assert (api.requests[1].method, api.requests[1].path) == ("GET", "/there")


def test_a_redirect_to_another_server_takes_named_headers_along_only(call, api, server, answering):
    answering(Answer(status=307, headers={"Location": f"http://localhost:{server.port}/there"}), "found")
    headers = {"X-API-Key": SECRET, "X-Request-Id": "7", "Content-Type": "text/x"}
    assert call(headers=headers, redirectHeaders=["x-request-id"]).message.data == "found"
    there = api.requests[1].headers
    assert SECRET not in str(there)
    assert (there["x-request-id"], there["content-type"]) == ("7", "text/x")


def test_an_answer_that_is_too_large_is_refused(call, answering):
    answering("x" * 100)
    end = call(maxResponseBytes=99)
    assert isinstance(end.error, Refused)
    assert "larger than 99 bytes" in end.message.metadata["errorBody"]


# No answer


def test_nobody_listening_is_told_with_host_and_port_and_no_secret(send, free_port):
    settings = {
        **PATIENT,
        "url": f"http://me:{SECRET}@127.0.0.1:{free_port}/?key={SECRET}",
        "headers": {"X-Key": SECRET},
    }
    end = send("restApiCall", settings)
    assert isinstance(end.error, ConnectFailed)
    assert end.message.metadata["errorBody"] == f"no connection to 127.0.0.1:{free_port}: nothing listens there"
    assert "status" not in end.message.metadata


def test_a_slow_answer_is_told(call, answering):
    answering(Answer(delay_s=30))
    end = call(readTimeoutMs=50)
    assert isinstance(end.error, TooSlow)
    assert "took longer than 0.05 s" in str(end.error)


def test_no_limit_of_time_is_none(call, answering):
    answering(Answer(delay_s=0.05))
    assert call(readTimeoutMs=0).relation == "Success"


def test_a_connection_that_breaks_is_told(call, answering):
    answering(Answer(drop=True))
    assert "broke off the connection" in str(call().error)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"url": "${msg.none}"}, "no scheme"),
        ({"url": "file:///etc/passwd"}, "begins with file:"),
        ({"url": "http://169.254.169.254/"}, "link-local"),
        ({"url": "http://a.test/${msg.evil}"}, "line break"),
        ({"url": "http://a.test/", "headers": {"X-A": "${msg.evil}"}}, "value of header 'X-A' has a line break"),
        ({"url": "http://a.test/", "headers": {"${msg.evil}": "a"}}, "is no name of a header"),
    ],
)
def test_a_request_that_must_not_be_sent_is_refused(send, settings, text):
    end = send("restApiCall", settings, {"evil": "a\r\nX-B: c"})
    assert end.relation == "Failure"
    assert text in str(end.error)
    assert text in end.message.metadata["errorBody"]


def test_only_allowed_hosts_are_called(server):
    with Engine(allowed_hosts=["example.test"]) as engine:
        chain = engine.load(chain_with(**PATIENT, url=server.url))
        assert "not one of the allowed hosts" in str(chain.run_sync(Message()).error)


async def test_cancelling_the_run_closes_the_call(api, answering, server):
    answering(Answer(delay_s=30))
    async with Engine() as engine:
        engine.load(chain_with(url=server.url, readTimeoutMs=0))
        running = asyncio.create_task(engine.run("c", Message("x")))
        await eventually(lambda: bool(api.requests))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await asyncio.to_thread(api.requests[0].gone.wait, 15)


# TLS and proxies


def test_certificates_are_checked(send, api, certificate):
    with serve(api, tls=certificate) as server:
        end = send("restApiCall", {**PATIENT, "url": server.url})
    assert f"the certificate of 127.0.0.1:{server.port} is not trusted" in str(end.error)
    assert api.requests == []


@pytest.mark.parametrize("trust", ["insecureSkipVerify", "caFile"])
def test_a_certificate_may_be_trusted(send, api, certificate, trust):
    with serve(api, tls=certificate) as server:
        settings = {**PATIENT, "url": server.url, trust: True if trust == "insecureSkipVerify" else str(certificate[0])}
        assert send("restApiCall", settings).message.data == "ok"


def test_a_proxy_is_asked(send, api, server):
    proxy = {"proxyHost": "127.0.0.1", "proxyPort": server.port, "proxyUser": "me", "proxyPassword": SECRET}
    assert (
        send("restApiCall", {**PATIENT, "url": "http://example.test/", "enableProxy": True, **proxy}).message.data
        == "ok"
    )
    assert api.requests[0].headers["host"] == "example.test"
    assert api.requests[0].headers["proxy-authorization"].startswith("Basic ")


def test_a_proxy_that_is_not_enabled_is_not_asked(call, api, free_port):
    call(proxyHost="127.0.0.1", proxyPort=free_port)
    assert len(api.requests) == 1


def test_the_proxy_of_the_system_is_asked_when_wanted(send, api, server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url)
    settings = {**PATIENT, "url": "http://example.test/", "enableProxy": True, "useSystemProxyProperties": True}
    assert send("restApiCall", settings).message.data == "ok"


def test_settings_become_options_of_the_client():
    options = RestApiCallConfig.model_validate({"url": "x", "rest_endpoint_url_pattern": "x"}).http_options
    assert (options.total_timeout_s, options.max_connections, options.verify, options.follow_redirects) == (
        2.0,
        2000,
        True,
        True,
    )
    unlimited = {"rest_endpoint_url_pattern": "x", "readTimeoutMs": 0, "maxParallelRequestsCount": 0}
    options = RestApiCallConfig.model_validate(unlimited).http_options
    assert (options.total_timeout_s, options.read_timeout_s, options.max_connections) == (None, None, None)


# Settings


@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {"url": " "},
        {"url": "http://a.test/", "headers": {"X-A": "${(}"}},
        {"url": "http://a.test/", "headers": {"${(}": "a"}},
        {"url": "http://a.test/", "readTimeoutMs": -1},
        {"url": "http://a.test/", "method": "GET /"},
        {"url": "http://a.test/", "caFile": "none.pem"},
        {"url": "http://a.test/", "enableProxy": True, "proxyScheme": "ftp", "proxyHost": "p"},
    ],
)
def test_wrong_settings_are_told_when_the_chain_is_loaded(send, configuration):
    with pytest.raises(ChainInvalid, match="node"):
        send("restApiCall", configuration)


# Event streams


EVENT_STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


def test_an_event_stream_leaves_line_by_line_and_then_whole(load, server, answering):
    pieces = [": hello\nevent: note\nda", "ta: Gr", "üße\n\nid: 7\r\ndata:  two \n\nno colon\n:\n", "data: [DONE]\n\n"]
    answering(Answer(pieces=pieces, headers=EVENT_STREAM))
    ends = load([("a:restApiCall", {**PATIENT, "url": server.url})]).run_sync(Message("x")).ends
    assert [(end.relation, end.message.data, end.message.metadata.get("eventType")) for end in ends] == [
        ("Stream", "note", "event"),
        ("Stream", "Grüße", "data"),
        ("Stream", "7", "id"),
        ("Stream", "two", "data"),
        ("Stream", "[DONE]", "data"),
        ("Success", "Grüße\ntwo\n[DONE]", None),
    ]
    assert ends[-1].message.metadata["stream_completed"] == "true"
    assert {end.message.metadata["statusCode"] for end in ends} == {"200"}


@pytest.mark.parametrize("kind", ["text/plain", ""])
def test_a_stream_that_was_asked_for_need_not_say_that_it_is_one(load, server, answering, kind):
    answering(*[Answer(pieces=["data: a\n\n"], headers={"Content-Type": kind})] * 2)
    asking = {**PATIENT, "url": server.url, "headers": {"accept": "text/event-stream; q=1"}}
    ends = load([("a:restApiCall", asking)]).run_sync(Message("x")).ends
    assert [end.relation for end in ends] == ["Stream", "Success"]
    ends = load([("a:restApiCall", {**PATIENT, "url": server.url})]).run_sync(Message("x")).ends
    assert [(end.relation, end.message.data) for end in ends] == [("Success", "data: a\n\n")]


def test_json_is_json_whatever_was_asked_for(call, answering):
    answering(Answer(body={"a": 1}))
    end = call(headers={"Accept": "text/event-stream"})
    assert (end.relation, end.message.data) == ("Success", '{"a":1}')


def test_an_event_stream_may_take_longer_than_a_call(load):
    slow = Answer(pieces=["data: a\n\n"] * 4, piece_delay_s=100, headers=EVENT_STREAM)
    with mock("slow-stream", RecordingApi(default=slow)) as url:
        chain = load([("a:restApiCall", {"url": url, "readTimeoutMs": 250_000})])
        assert stepped(chain.run(Message("x"))).message.data == "a\na\na\na"


def test_an_event_stream_that_breaks_is_a_failure(load, server, answering):
    answering(Answer(pieces=["data: a\n\n"], drop=True, headers=EVENT_STREAM))
    ends = load([("a:restApiCall", {**PATIENT, "url": server.url})]).run_sync(Message("x")).ends
    assert [end.relation for end in ends] == ["Stream", "Failure"]
    assert "broke off" in ends[-1].message.metadata["errorBody"]


def test_an_event_stream_with_an_error_status_is_a_failure(call, answering):
    answering(Answer(status=500, body="data: no\n\n", headers=EVENT_STREAM))
    assert call().relation == "Failure"


def test_lines_go_on_in_order_one_after_the_other(engine, load, server, answering):
    seen = []

    @engine.function("slow")
    async def slow(ctx, msg):
        await asyncio.sleep(0.02 if msg.data == "1" else 0)
        seen.append(msg.data)

    answering(Answer(pieces=["data: 1\ndata: 2\ndata: 3\n"], headers=EVENT_STREAM))
    nodes = [("a:restApiCall", {**PATIENT, "url": server.url}), ("f:functions", {"functionName": "slow"})]
    load(nodes, "a Stream f").run_sync(Message("x"))
    assert seen == ["1", "2", "3"]
