"""Clients against real servers on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import threading
import time

import pytest

from catenary.errors import ConfigError, ConnectFailed, EngineError, Refused, TooSlow
from catenary.http import HttpClients, HttpOptions, proxy_address, sse_events
from catenary.testing import Answer, RecordingApi, serve

SECRET = "s3cret"


def wait_until(condition, timeout_s=12.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return bool(condition())


async def test_a_request_carries_method_headers_and_body(clients, api, server):
    answer = await clients.client().request("post", f"{server.url}/a?b=1", headers={"X-Name": "Grüße"}, content="hé")
    request = api.requests[0]
    assert (request.method, request.path, request.query, request.text) == ("POST", "/a", {"b": "1"}, "hé")
    assert request.headers["x-name"] == "Grüße"
    assert request.headers["user-agent"] == "catenary"
    assert (answer.status, answer.reason, answer.text, answer.is_success) == (200, "OK", "ok", True)


async def test_a_header_may_come_twice(clients, api, server):
    await clients.client().request("GET", server.url, headers=[("X-A", "1"), ("X-A", "2")])
    assert api.requests[0].headers["x-a"] == "1, 2"


async def test_an_answer_with_an_error_status_is_returned():
    api = RecordingApi([Answer(status=418, body={"a": 1})])
    with serve(api) as server:
        clients = HttpClients()
        answer = await clients.client().request("GET", server.url)
        await clients.close()
    assert (answer.status, answer.json(), answer.is_success) == (418, {"a": 1}, False)


async def test_connections_are_used_again(clients):
    peers: set[object] = set()

    async def app(scope, receive, send):
        peers.add(tuple(scope["client"]))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    with serve(app) as server:
        client = clients.client()
        for _ in range(3):
            await client.request("GET", server.url)
    assert len(peers) == 1


# Answers


async def test_an_answer_that_is_no_json_says_what_it_was():
    with serve(RecordingApi(default="<html>")) as server:
        clients = HttpClients()
        answer = await clients.client().request("GET", server.url)
        await clients.close()
    with pytest.raises(Refused, match=r"127\.0\.0\.1:\d+ is not JSON \(text/plain, 6 bytes\)"):
        answer.json()


async def test_text_is_read_by_its_charset():
    bodies = [
        Answer(body="é".encode("latin-1"), headers={"Content-Type": "text/plain; charset=latin-1"}),
        Answer(body="é".encode(), headers={"Content-Type": "text/plain; charset=martian"}),
        Answer(body=b"\xff", headers={"Content-Type": "text/plain"}),
    ]
    with serve(RecordingApi(bodies)) as server:
        clients = HttpClients()
        client = clients.client()
        texts = [(await client.request("GET", server.url)).text for _ in bodies]
        await clients.close()
    assert texts == ["é", "é", "\ufffd"]


async def test_an_answer_is_read_once_and_kept(clients, server):
    async with clients.client().stream("GET", server.url) as answer:
        with pytest.raises(RuntimeError, match="not read yet"):
            _ = answer.content
        assert await answer.read() == await answer.read() == b"ok"


async def test_the_start_of_a_long_answer_is_enough(clients):
    with serve(RecordingApi(default="x" * 100_000)) as server:
        async with clients.client().stream("GET", server.url) as answer:
            assert await answer.read_start(10) == b"x" * 10


async def test_a_larger_answer_than_allowed_is_refused(clients):
    bomb = Answer(body=gzip.compress(bytes(1_000_000)), headers={"Content-Encoding": "gzip"})
    with serve(RecordingApi(default=bomb)) as server:
        client = clients.client(HttpOptions(max_response_bytes=1000))
        with pytest.raises(Refused, match="larger than 1000 bytes"):
            await client.request("GET", server.url)


async def test_a_wrong_compression_is_told(clients):
    wrong = Answer(body=b"not gzip", headers={"Content-Encoding": "gzip"})
    with (
        serve(RecordingApi(default=wrong)) as server,
        pytest.raises(Refused, match="not compressed the way it says"),
    ):
        await clients.client().request("GET", server.url)


async def test_a_stream_comes_piece_by_piece(clients):
    pieces = Answer(pieces=["data: a\n\n", "data: b\n\n"], piece_delay_s=0.05)
    with serve(RecordingApi(default=pieces)) as server:
        async with clients.client().stream("GET", server.url) as answer:
            assert [event.data async for event in sse_events(answer)] == ["a", "b"]


async def test_leaving_the_block_breaks_the_answer_off(clients):
    api = RecordingApi(default=Answer(pieces=["x"] * 10_000, piece_delay_s=0.02))
    with serve(api) as server:
        async with clients.client().stream("GET", server.url) as answer:
            await anext(aiter(answer))
        assert await asyncio.to_thread(api.requests[0].gone.wait, 12)


async def test_cancelling_breaks_the_call_off(clients):
    api = RecordingApi(default=Answer(delay_s=30))
    with serve(api) as server:
        calling = asyncio.create_task(clients.client().request("GET", server.url))
        assert await asyncio.to_thread(wait_until, lambda: api.requests)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert await asyncio.to_thread(api.requests[0].gone.wait, 12)


# Redirects


async def test_redirects_are_followed_when_asked_for(clients):
    def app(request):
        return "there" if request.path == "/b" else Answer(status=302, headers={"Location": "/b"})

    with serve(RecordingApi(default=app)) as server:
        followed = await clients.client(HttpOptions(follow_redirects=True)).request("GET", f"{server.url}/a")
        not_followed = await clients.client().request("GET", f"{server.url}/a")
    assert (followed.text, not_followed.status) == ("there", 302)


async def test_endless_redirects_are_refused(clients):
    with serve(RecordingApi(default=Answer(status=302, headers={"Location": "/"}))) as server:
        client = clients.client(HttpOptions(follow_redirects=True, max_redirects=3))
        with pytest.raises(Refused, match="redirects more than 3 times"):
            await client.request("GET", server.url)


async def test_a_redirect_to_a_metadata_address_is_refused(clients):
    there = Answer(status=302, headers={"Location": "http://169.254.169.254/latest"})
    with (
        serve(RecordingApi(default=there)) as server,
        pytest.raises(Refused, match=r"169\.254\.169\.254:80 is a link-local or metadata"),
    ):
        await clients.client(HttpOptions(follow_redirects=True)).request("GET", server.url)


# Refusals


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("", "no scheme"),
        ("ftp://a.test/", "begins with ftp:"),
        ("http://", "names no host"),
        ("http://a.test/\r\nX: y", "line break"),
        ("http://me:s3cret/x@a.test/", "cannot be read"),
        ("http://a.test:99999/", "port 99999"),
        ("http://a.test/\ud800", "cannot be read"),
        ("http://2852039166/", r"\(169\.254\.169\.254\) is a link-local"),
        ("http://169.254.169.254/", "link-local"),
        ("http://[fe80::1]/", "link-local"),
    ],
)
async def test_an_address_that_cannot_be_called_is_refused(clients, url, text):
    with pytest.raises(Refused, match=text) as caught:
        await clients.client().request("GET", url)
    assert SECRET not in str(caught.value)


async def test_a_method_that_is_none_is_refused(clients, server):
    with pytest.raises(Refused, match="cannot be sent"):
        await clients.client().request("A\r\nX: y", server.url)


async def test_headers_that_frame_the_body_are_worked_out(clients, server, api):
    headers = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
    await clients.client().request("POST", server.url, headers=headers, content="abcd")
    assert (api.requests[0].text, api.requests[0].headers["content-length"]) == ("abcd", "4")


async def test_half_a_character_is_sent_as_a_question_mark(clients, server, api):
    await clients.client().request("POST", server.url, content="a\ud800")
    assert api.requests[0].text == "a?"


@pytest.mark.parametrize(
    ("name", "value"), [("X-A", "a\r\nX-B: c"), ("X-A", "a\nb"), ("X-A", "a\0"), ("X A", "b"), ("", "b"), ("É", "b")]
)
async def test_a_header_that_could_be_two_is_refused(clients, server, api, name, value):
    with pytest.raises(Refused, match="header") as caught:
        await clients.client().request("GET", server.url, headers={name: value})
    assert "X-B" not in str(caught.value)
    assert not api.requests


async def test_a_name_that_leads_to_a_refused_address_is_refused(monkeypatch, server, api):
    clients = HttpClients()
    refused = clients.guard.check_address

    def check(address, *, host, port):
        refused("169.254.1.1" if address == "127.0.0.1" and host != address else address, host=host, port=port)

    monkeypatch.setattr(clients.guard, "check_address", check)
    with pytest.raises(Refused, match=r"localhost:\d+ \(169\.254\.1\.1\)"):
        await clients.client().request("GET", f"http://localhost:{server.port}/")
    await clients.close()
    assert not api.requests


async def test_only_hosts_on_the_list_are_called(server):
    clients = HttpClients(allowed_hosts=["127.0.0.1"])
    assert (await clients.client().request("GET", server.url)).status == 200
    with pytest.raises(Refused, match="localhost:80 is not one of the allowed hosts"):
        await clients.client().request("GET", "http://localhost/")
    await clients.close()


# Trouble with the connection


async def test_nobody_listening_is_told_with_host_and_port(clients, free_port):
    with pytest.raises(ConnectFailed, match=rf"127\.0\.0\.1:{free_port}: nothing listens there") as caught:
        await clients.client().request("GET", f"http://user:{SECRET}@127.0.0.1:{free_port}/{SECRET}?k={SECRET}")
    assert SECRET not in str(caught.value)
    assert caught.value.retryable


async def test_an_unknown_host_is_told(clients, monkeypatch):
    async def no_such_host(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", no_such_host)
    with pytest.raises(ConnectFailed, match=r"nowhere\.invalid:80: no such host"):
        await clients.client().request("GET", "http://nowhere.invalid/")


async def test_other_trouble_is_told_in_the_words_of_the_system(clients, monkeypatch):
    async def no_network(*args, **kwargs):
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", no_network)
    with pytest.raises(ConnectFailed, match=r"a\.test:80: Network is unreachable"):
        await clients.client().request("GET", "http://a.test/")


async def test_a_request_that_nobody_takes_is_told(clients):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        client = clients.client(HttpOptions(read_timeout_s=0.2))
        with pytest.raises(TooSlow, match=r"did not take the request within 0\.2 s"):
            await client.request("POST", f"http://127.0.0.1:{deaf.getsockname()[1]}/", content=bytes(20_000_000))


async def test_a_connection_that_breaks_is_told(clients):
    with (
        serve(RecordingApi(default=Answer(drop=True))) as server,
        pytest.raises(ConnectFailed, match=r"127\.0\.0\.1:\d+ broke off the connection") as caught,
    ):
        await clients.client().request("GET", server.url)
    assert caught.value.retryable


async def test_an_answer_that_breaks_off_is_told(clients):
    with serve(RecordingApi(default=Answer(pieces=["a"], drop=True))) as server:
        async with clients.client().stream("GET", server.url) as answer:
            with pytest.raises(ConnectFailed, match="broke off the connection"):
                await answer.read()


async def test_an_answer_that_is_no_http_is_told(clients):
    def talk(listening):
        connection, _ = listening.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"SSH-2.0 hello\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=talk, args=(listening,))
        thread.start()
        with pytest.raises(ConnectFailed, match="broke off"):
            await clients.client().request("GET", f"http://127.0.0.1:{listening.getsockname()[1]}/")
        thread.join()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (HttpOptions(read_timeout_s=0.1), "did not answer within 0.1 s"),
        (HttpOptions(total_timeout_s=0.1), "took longer than 0.1 s"),
    ],
)
async def test_a_slow_answer_is_told(clients, options, text):
    with serve(RecordingApi(default=Answer(delay_s=30))) as server, pytest.raises(TooSlow, match=text) as caught:
        await clients.client(options).request("GET", server.url)
    assert caught.value.retryable


async def test_silence_in_the_middle_of_a_stream_is_told(clients, jump):
    with serve(RecordingApi(default=Answer(pieces=["a", "b"], piece_delay_s=60))) as server:
        async with clients.client(HttpOptions(read_timeout_s=30)).stream("GET", server.url) as answer:
            assert await anext(answer) == b"a"
            reading = asyncio.ensure_future(answer.read())
            await asyncio.sleep(0)
            jump(31)
            with pytest.raises(TooSlow, match="did not answer within 30 s"):
                await reading


@pytest.mark.parametrize("is_lifted", [True, False])
async def test_a_stream_may_outlast_the_total_time_when_that_is_lifted(clients, jump, is_lifted):
    slow = Answer(pieces=["a"] * 5, piece_delay_s=0.1)
    told = contextlib.nullcontext() if is_lifted else pytest.raises(TooSlow, match="took longer than 30 s")
    with serve(RecordingApi(default=slow)) as server, told:
        async with clients.client(HttpOptions(total_timeout_s=30)).stream("GET", server.url) as answer:
            if is_lifted:
                answer.lift_total_timeout()
            jump(31)
            assert await answer.read() == b"aaaaa"


async def test_a_timeout_of_the_caller_stays_his(clients, server):
    with pytest.raises(TimeoutError, match="mine"):
        async with clients.client(HttpOptions(total_timeout_s=5)).stream("GET", server.url):
            raise TimeoutError("mine")


async def test_waiting_for_a_free_connection_ends(clients):
    with serve(RecordingApi(default=Answer(delay_s=30))) as server:
        client = clients.client(HttpOptions(max_connections=1, read_timeout_s=0.3))
        calls = [client.request("GET", server.url) for _ in range(2)]
        first, second = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(first, TooSlow)
    assert "all 1 are in use" in str(second)


async def test_a_connection_that_is_not_taken_is_told(clients):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        with pytest.raises(TooSlow, match=rf"no connection to 127\.0\.0\.1:{port} within 0\.2 s"):
            await clients.client(HttpOptions(connect_timeout_s=0.2)).request("GET", f"http://127.0.0.1:{port}/")
        for one in waiting:
            one.close()


# TLS


async def test_a_certificate_that_nobody_signed_is_not_trusted(clients, api, certificate):
    with (
        serve(api, tls=certificate) as server,
        pytest.raises(ConnectFailed, match=r"certificate of 127\.0\.0\.1:\d+ is not trusted: self") as caught,
    ):
        await clients.client().request("GET", server.url)
    assert not caught.value.retryable
    assert "ca_file" in caught.value.hint


async def test_a_certificate_may_be_trusted_by_name(clients, api, certificate):
    with serve(api, tls=certificate) as server:
        client = clients.client(HttpOptions(ca_file=str(certificate[0])))
        assert (await client.request("GET", server.url)).text == "ok"


async def test_the_check_of_certificates_may_be_switched_off(clients, api, certificate):
    with serve(api, tls=certificate) as server:
        assert (await clients.client(HttpOptions(verify=False)).request("GET", server.url)).text == "ok"


async def test_a_certificate_for_another_host_is_not_trusted(clients, api, certificate):
    with serve(api, tls=certificate) as server:
        client = clients.client(HttpOptions(ca_file=str(certificate[0])))
        with pytest.raises(ConnectFailed, match=r"not trusted: .*localhost"):
            await client.request("GET", f"https://localhost:{server.port}/")


async def test_tls_to_a_server_without_it_is_told(clients, server):
    with pytest.raises(ConnectFailed, match=r"no TLS connection to 127\.0\.0\.1:\d+"):
        await clients.client().request("GET", f"https://127.0.0.1:{server.port}/")


def test_certificates_that_cannot_be_read_are_told(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.pem"):
        HttpClients().client(HttpOptions(ca_file=str(tmp_path / "none.pem")))


# Proxies


async def test_a_proxy_gets_the_whole_address(clients, api, server):
    client = clients.client(
        HttpOptions(proxy=proxy_address("http", "127.0.0.1", server.port, user="me", password="p:@"))
    )
    await client.request("GET", "http://example.test/x")
    assert api.requests[0].headers["host"] == "example.test"
    assert api.requests[0].headers["proxy-authorization"].startswith("Basic ")


async def test_a_proxy_that_refuses_is_told(clients):
    with (
        serve(RecordingApi(default=Answer(status=403))) as server,
        pytest.raises(ConnectFailed, match=r"did not let a connection to example\.test:443 through"),
    ):
        await clients.client(HttpOptions(proxy=server.url)).request("GET", "https://example.test/")


async def test_the_guard_holds_for_proxies_too(clients, api, server):
    with pytest.raises(Refused, match="link-local"):
        await clients.client(HttpOptions(proxy=server.url)).request("GET", "http://169.254.169.254/")
    assert not api.requests


async def test_the_proxy_of_the_system_is_taken_but_for_excepted_hosts(clients, api, server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    client = clients.client(HttpOptions(use_system_proxy=True))
    await client.request("GET", "http://example.test/x")
    await client.request("GET", f"{server.url}/direct")
    assert [request.headers["host"] for request in api.requests] == ["example.test", f"127.0.0.1:{server.port}"]


async def test_the_proxy_of_the_system_is_left_alone_unless_asked_for(clients, api, server, monkeypatch, free_port):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port}")
    await clients.client().request("GET", server.url)
    assert len(api.requests) == 1


@pytest.mark.parametrize("proxy", ["localhost:3128", "ftp://a.test"])
def test_an_address_of_no_proxy_is_refused(proxy):
    with pytest.raises(ConfigError, match="proxy"):
        HttpOptions(proxy=proxy)


async def test_a_proxy_with_a_broken_address_is_refused(clients):
    with pytest.raises(ConfigError, match="cannot be used"):
        await clients.client(HttpOptions(proxy="http://a.test:port")).request("GET", "http://b.test/")


async def test_a_missing_package_for_socks_is_named(clients, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "socksio", None)
    with pytest.raises(ConfigError, match="socksio") as caught:
        await clients.client(HttpOptions(proxy="socks5://127.0.0.1:1080")).request("GET", "http://b.test/")
    assert "pip install" in caught.value.hint


def test_an_address_of_a_proxy_may_hold_any_password():
    assert proxy_address("http", "::1", 0, user="a@b", password="c/d") == "http://a%40b:c%2Fd@[::1]"


# Life


async def test_a_closed_client_says_so(clients, server):
    client = clients.client()
    await client.request("GET", server.url)
    await client.close()
    await client.close()
    with pytest.raises(EngineError, match="closed"):
        await client.request("GET", server.url)


async def test_closed_clients_make_no_new_one():
    clients = HttpClients()
    await clients.close()
    with pytest.raises(EngineError, match="closed"):
        clients.client()


async def test_released_clients_stay_usable(clients, server):
    client = clients.client()
    await client.request("GET", server.url)
    await clients.release()
    assert (await client.request("GET", server.url)).status == 200


def test_one_client_serves_loops_one_after_another(api, server):
    clients = HttpClients()
    client = clients.client()
    for _ in range(3):
        assert asyncio.run(client.request("GET", server.url)).text == "ok"
    clients.close_sync()
    assert len(api.requests) == 3


def test_connections_of_an_idle_loop_are_closed_from_outside(server):
    clients = HttpClients()
    with asyncio.Runner() as runner:
        runner.run(clients.client().request("GET", server.url))
        clients.close_sync()


def test_connections_of_an_idle_loop_are_closed_from_another_loop(server):
    clients = HttpClients()
    with asyncio.Runner() as runner:
        runner.run(clients.client().request("GET", server.url))
        closing = threading.Thread(target=asyncio.run, args=(clients.close(),))
        closing.start()
        closing.join()


@pytest.mark.parametrize("close", [lambda clients: clients.close_sync(), lambda clients: asyncio.run(clients.close())])
def test_connections_of_a_running_loop_are_closed_from_another_thread(server, close):
    clients = HttpClients()
    client = clients.client()
    called, closed = threading.Event(), threading.Event()

    async def main():
        await client.request("GET", server.url)
        called.set()
        await asyncio.to_thread(closed.wait, 15)

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    assert called.wait(15)
    close(clients)
    assert not client._opened
    closed.set()
    thread.join()


async def test_closing_without_await_on_a_loop_with_connections_is_an_error(clients, server):
    await clients.client().request("GET", server.url)
    with pytest.raises(EngineError, match=r"await close\(\)"):
        clients.close_sync()


async def test_closing_without_await_is_fine_when_nothing_is_open():
    clients = HttpClients()
    clients.client()
    clients.close_sync()
