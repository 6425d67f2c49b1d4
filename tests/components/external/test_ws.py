"""`ws` nodes: what is sent to servers and to clients of an endpoint, and what goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.components.endpoint.ws_chains import client, door, talking, until, ws_chain
from tests.engine.runtime.stepping import stepped
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from catenary import ChainInvalid, Engine, Message, Outcome
from catenary_components._pushing import while_taken
from catenary_components.endpoint import endpoint_app
from catenary_components.endpoint.serving import HttpServer


def sending(chain_id: str = "out", **configuration: Any) -> dict[str, Any]:
    """Write a chain of one `ws` node."""
    return {
        "ruleChain": {"id": chain_id},
        "metadata": {"nodes": [{"id": "s", "type": "ws", "configuration": configuration}]},
    }


class Server:
    """A server that keeps what it is sent."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.connections: list[ServerConnection] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/feed?token=hidden"

    async def take(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        async for message in connection:
            self.got.append(message)


@asynccontextmanager
async def server(**options: Any) -> AsyncGenerator[Server]:
    made = Server()
    async with serve(made.take, "127.0.0.1", 0, **options) as running:
        made.port = next(iter(running.sockets)).getsockname()[1]
        yield made


async def send(
    engine: Engine, data: Any = "hello", data_type: str = "TEXT", chain: str = "out", **metadata: Any
) -> Outcome:
    return await engine.run(chain, Message(data, "t", data_type, metadata))


async def hung_up(writer: asyncio.StreamWriter) -> None:
    """Close a connection, and wait until it is."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def error_of(outcome: Outcome) -> str:
    assert outcome.ends[0].relation == "Failure"
    return str(outcome.ends[0].error)


@pytest.mark.parametrize(
    ("settings", "data", "data_type", "sent"),
    [
        ({}, "hello", "TEXT", "hello"),
        ({}, '{"a": 1}', "JSON", '{"a": 1}'),
        ({}, b"\x01\xff", "BINARY", b"\x01\xff"),
        ({"messageType": "binary"}, "hi", "TEXT", b"hi"),
    ],
)
async def test_data_is_sent_as_it_is_and_the_message_goes_on(
    settings: Any, data: Any, data_type: str, sent: Any
) -> None:
    async with server() as peer, talking(sending(server=peer.url, **settings)) as engine:
        outcome = await send(engine, data, data_type, key="v")
        assert outcome.ok and outcome.message is not None
        assert (outcome.message.data, outcome.message.metadata["key"]) == (data, "v")
        await until(lambda: peer.got == [sent])


async def test_one_connection_serves_all_messages_and_is_closed_with_the_engine() -> None:
    async with server() as peer:
        async with talking(sending(server=peer.url)) as engine:
            assert not peer.connections  # nothing is connected before the first message
            for number in range(5):
                assert (await send(engine, str(number))).ok
            await until(lambda: peer.got == list("01234"))
            assert len(peer.connections) == 1
        await until(lambda: peer.connections[0].close_code == 1000)


async def test_headers_and_subprotocol_are_sent() -> None:
    async with server(subprotocols=["v1"]) as peer:
        source = sending(server=peer.url, headers={"Authorization": "Bearer k"}, subprotocol="v1")
        async with talking(source) as engine:
            assert (await send(engine)).ok
            (connection,) = peer.connections
            assert connection.request is not None
            assert connection.request.headers["Authorization"] == "Bearer k"
            assert connection.subprotocol == "v1"


async def test_nodes_share_a_connection() -> None:
    async with server() as peer:
        source = sending(server=peer.url)
        source["metadata"]["nodes"].append({"id": "b", "type": "ws", "configuration": {"server": "ref://s"}})
        source["metadata"]["connections"] = [{"fromId": "s", "type": "Success", "toId": "b"}]
        async with talking(source) as engine:
            assert (await send(engine)).ok
            await until(lambda: peer.got == ["hello", "hello"])
            assert len(peer.connections) == 1


async def test_what_the_server_sends_is_thrown_away() -> None:
    async with server() as peer, talking(sending(server=peer.url)) as engine:
        assert (await send(engine)).ok
        for _ in range(100):
            await peer.connections[0].send("x" * 10_000)
        await (await peer.connections[0].ping())  # answered, although much was sent before
        assert (await send(engine)).ok


async def test_a_server_that_is_down_is_a_failure_and_not_asked_again_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    async with talking(sending(server=f"ws://127.0.0.1:{port}/x?token=hidden")) as engine:
        first = error_of(await send(engine))
        assert first == f"no connection to 127.0.0.1:{port}: nothing listens there"
        async with serve(Server().take, "127.0.0.1", port):
            assert error_of(await send(engine)) == first


@pytest.mark.parametrize("heartbeat", [0, 60])
async def test_a_connection_that_the_server_closed_is_made_again_by_the_next_message(heartbeat: int) -> None:
    async with server() as peer, talking(sending(server=peer.url, heartbeatInterval=heartbeat)) as engine:
        assert (await send(engine, "1")).ok
        await until(lambda: peer.got == ["1"])
        peer.connections[0].transport.abort()  # killed
        await until(lambda: engine.chains["out"].compiled.by_id["s"].component.shared.status.state != "connected")
        assert (await send(engine, "2")).ok
        await until(lambda: peer.got == ["1", "2"])


async def test_with_a_heartbeat_a_broken_connection_is_made_again_in_the_background() -> None:
    async with server() as peer, talking(sending(server=peer.url)) as engine:
        assert (await send(engine, "1")).ok
        await peer.connections[0].close()
        await until(lambda: len(peer.connections) == 2)


async def test_a_server_that_answers_no_ping_is_given_up() -> None:
    async with talking() as engine:
        accepted: list[Any] = []

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            from websockets.http11 import Request
            from websockets.server import ServerProtocol

            wire = ServerProtocol()
            wire.receive_data(await reader.readuntil(b"\r\n\r\n"))
            (request,) = wire.events_received()
            assert isinstance(request, Request)
            wire.send_response(wire.accept(request))
            writer.write(b"".join(wire.data_to_send()))
            accepted.append(writer)  # and is silent from then on

        silent = await asyncio.start_server(take, "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        engine.load(sending(server=f"ws://127.0.0.1:{port}", heartbeatInterval=0.2))
        assert (await send(engine)).ok
        await until(lambda: len(accepted) >= 2)
        await engine.close()
        for writer in accepted:
            await hung_up(writer)
        silent.close()


@asynccontextmanager
async def slow_server() -> AsyncGenerator[str]:
    """Run a server that takes 128 KiB, and then nothing."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from websockets.http11 import Request
        from websockets.server import ServerProtocol

        taking.append(asyncio.current_task())
        wire = ServerProtocol()
        wire.receive_data(await reader.readuntil(b"\r\n\r\n"))
        (request,) = wire.events_received()
        assert isinstance(request, Request)
        wire.send_response(wire.accept(request))
        writer.write(b"".join(wire.data_to_send()))
        with contextlib.suppress(OSError):
            await reader.read(131072)
            await over.wait()
        await hung_up(writer)

    over, taking = asyncio.Event(), list[Any]()
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # a large one tells of room seldom
    made = await asyncio.start_server(take, sock=listening)
    try:
        yield f"ws://127.0.0.1:{made.sockets[0].getsockname()[1]}"
    finally:
        over.set()
        made.close()
        await asyncio.gather(*taking)


async def test_a_server_that_takes_nothing_is_a_failure_within_the_write_timeout() -> None:
    async with slow_server() as url, talking(sending(server=url, writeTimeout=0.3)) as engine:
        assert "took nothing within 0.3 s" in error_of(await send(engine, "x" * 16_000_000))


class Taken:
    """A transport whose peer takes a byte in a second, and some of them never."""

    def __init__(self, size: int, never: int) -> None:
        self._size, self._never = size, never

    def get_write_buffer_size(self) -> int:
        return max(self._size - int(asyncio.get_running_loop().time()), self._never)


def test_a_server_that_is_slow_but_takes_what_it_gets_may_take_long() -> None:
    async def sent(transport: Any) -> float:
        try:
            async with while_taken(transport, 5):
                while transport.get_write_buffer_size():  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(1)
        except TimeoutError:
            return -asyncio.get_running_loop().time()
        return asyncio.get_running_loop().time()

    assert stepped(sent(Taken(100, 0))) == 100
    assert -58 < stepped(sent(Taken(100, 50))) < -50


async def test_a_text_that_is_no_unicode_is_sent_as_far_as_it_is_and_the_connection_stays() -> None:
    async with server() as peer, talking(sending(server=peer.url)) as engine:
        assert (await send(engine, "a\ud800")).ok
        assert (await send(engine, "b")).ok
        await until(lambda: peer.got == ["a?", "b"])
        assert len(peer.connections) == 1


async def test_a_name_that_does_not_resolve_is_a_failure() -> None:
    async with talking(sending(server="ws://no.such.host.invalid/x?token=hidden")) as engine:
        error = error_of(await send(engine))
        assert error == "no connection to no.such.host.invalid:80: no such host"


async def test_a_handshake_that_takes_too_long_is_a_failure() -> None:
    taking: list[Any] = []  # nobody, when it was given up before it was there

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taking.append(asyncio.current_task())
        with contextlib.suppress(OSError):
            await reader.read()
        await hung_up(writer)

    silent = await asyncio.start_server(take, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    async with talking(sending(server=f"ws://127.0.0.1:{port}", connectTimeout="0.2")) as engine:
        assert error_of(await send(engine)) == f"no connection to 127.0.0.1:{port} within 0.2 s"
    silent.close()
    await asyncio.sleep(0.01)
    await asyncio.gather(*taking)


async def test_a_server_that_refuses_is_a_failure_with_its_status() -> None:
    def refuse(connection: ServerConnection, request: Any) -> Any:
        return connection.respond(401, "no")

    async with server(process_request=refuse) as peer, talking(sending(server=peer.url)) as engine:
        assert error_of(await send(engine)) == f"127.0.0.1:{peer.port} refused the connection: status 401"


async def test_a_redirect_is_not_followed() -> None:
    def redirect(connection: ServerConnection, request: Any) -> Any:
        answer = connection.respond(302, "")
        answer.headers["Location"] = "ws://169.254.169.254/"
        return answer

    async with server(process_request=redirect) as peer, talking(sending(server=peer.url)) as engine:
        assert "redirects to another address, which is not followed" in error_of(await send(engine))


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "metadata.google.internal", "[::ffff:169.254.1.1]"])
async def test_metadata_addresses_are_refused(host: str) -> None:
    async with talking(sending(server=f"ws://{host}/latest")) as engine:
        assert "link-local or metadata address" in error_of(await send(engine))


async def test_a_host_that_is_not_allowed_is_refused() -> None:
    async with talking(sending(server="ws://127.0.0.1:9/x"), engine=Engine(allowed_hosts=["example.com"])) as engine:
        assert "is not one of the allowed hosts" in error_of(await send(engine))


@pytest.mark.parametrize(
    "configuration",
    [
        {"server": "http://127.0.0.1"},
        {"server": "ws://"},
        {"server": "ws://127.0.0.1:99999"},
        {"server": "ws://127.0.0.1/#x"},
        {"server": "ws://a..b/"},
        {"server": "ws://127.0.0.1", "messageType": "morse"},
        {"server": "ws://127.0.0.1", "headers": {"a": "b\r\nc: d"}},
        {"server": "ws://127.0.0.1", "connectTimeout": -1},
        {},
    ],
)
def test_settings_that_cannot_work_are_told_at_load(configuration: dict[str, Any]) -> None:
    with Engine() as engine, pytest.raises(ChainInvalid):
        engine.load(sending(**configuration))


# Clients of an endpoint


def pushing(target: str = "", **configuration: Any) -> dict[str, Any]:
    """Write a chain with an endpoint, and a node that sends to its clients; the endpoint's messages go nowhere."""
    settings = {"server": "ref://door", **({"target": target} if target else {})}
    nodes = [{"id": "s", "type": "ws", "configuration": settings}]
    routers = [{"from": {"path": "/ws/:device"}, "to": {"path": "component:comment"}}]
    return ws_chain(nodes, routers, sessionKey="${metadata.device}", **configuration)


@pytest.mark.parametrize("target", ["", "*", "${metadata.to}"])
async def test_all_clients_are_sent_to(target: str) -> None:
    async with talking(pushing(target)) as engine, client(engine, "/ws/a") as a, client(engine, "/ws/b") as b:
        await until(lambda: len(door(engine).sessions) == 2)
        assert (await send(engine, chain="talk", to="*")).ok
        assert [await a.recv(), await b.recv()] == ["hello", "hello"]


@pytest.mark.parametrize("server", ["ref://server", "ref://front"])
async def test_clients_on_the_server_of_another_are_sent_to(server: str) -> None:
    source = pushing("${metadata.to}", server=server)
    front = {"id": "front", "type": "http", "configuration": {"server": "127.0.0.1:0"}}
    source["metadata"]["endpoints"].append({**front, "routers": [{"params": ["GET"], "from": {"path": "/x"}}]})
    async with Engine() as engine:
        host = HttpServer(endpoint_app(engine))
        port = await host.open("127.0.0.1", 0)
        engine.load(source)
        await engine.endpoints.settled()
        if server == "ref://front":
            (port,) = [int(one.address.rpartition(":")[2]) for one in engine.endpoints.status() if one.id == "front"]
        async with connect(f"ws://127.0.0.1:{port}/ws/a", proxy=None) as one:
            await until(lambda: len(door(engine).sessions))
            outcome = await send(engine, chain="talk", to="a")
            assert outcome.ok, outcome.error
            assert await one.recv() == "hello"
        await engine.close(grace_s=0.2)
        await host.close(0.2)


async def test_one_client_is_sent_to_by_its_key() -> None:
    async with talking(pushing("${metadata.to}")) as engine, client(engine, "/ws/a") as a, client(engine, "/ws/b") as b:
        await until(lambda: len(door(engine).sessions) == 2)
        assert (await send(engine, "to b", chain="talk", to="b")).ok
        assert (await send(engine, b"\x01", "BINARY", chain="talk", to="a")).ok
        assert [await a.recv(), await b.recv()] == [b"\x01", "to b"]


async def test_a_target_that_gives_nothing_is_no_broadcast() -> None:
    async with talking(pushing("${metadata.to}")) as engine, client(engine, "/ws/a") as a:
        await until(lambda: len(door(engine).sessions))
        assert error_of(await send(engine, chain="talk")) == "target '${metadata.to}' gives nothing"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await a.recv()


@pytest.mark.parametrize(("target", "told"), [("nobody", "nobody"), ("", "*"), ("*", "*")])
async def test_that_nobody_is_there_is_a_failure(target: str, told: str) -> None:
    async with talking(pushing(target)) as engine:
        assert error_of(await send(engine, chain="talk")) == f"no session matched target={told}"


async def test_a_run_of_another_thread_reaches_clients() -> None:
    async with talking(pushing()) as engine, client(engine, "/ws/a") as a:
        await until(lambda: len(door(engine).sessions))
        outcome = await asyncio.to_thread(engine.get("talk").run_sync, Message("hello", "t", "TEXT"))
        assert outcome.ok
        assert await a.recv() == "hello"


def test_an_endpoint_of_another_kind_is_incompatible() -> None:
    source = pushing()
    source["metadata"]["endpoints"][0]["type"] = "http"
    source["metadata"]["endpoints"][0]["configuration"] = {"server": "127.0.0.1:0"}
    source["metadata"]["endpoints"][0]["routers"][0]["params"] = ["GET"]
    with Engine() as engine, pytest.raises(ChainInvalid, match="node resource id=door is incompatible"):
        engine.load(source)


async def test_what_is_not_there_is_a_failure() -> None:
    async with talking(sending(server="ref://nowhere")) as engine:
        assert error_of(await send(engine)) == "node resource not found id=nowhere"


async def test_certificates_are_checked_unless_told_otherwise(tmp_path: Any) -> None:
    openssl = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    made = await asyncio.create_subprocess_exec(
        "openssl", *openssl, "-keyout", key, "-out", certificate, stderr=asyncio.subprocess.DEVNULL
    )
    assert await made.wait() == 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    async with server(ssl=context) as peer:
        url = f"wss://127.0.0.1:{peer.port}/x"
        checked, unchecked = sending(server=url), sending("lax", server=url, insecureSkipVerify=True)
        async with talking(checked, unchecked) as engine:
            assert f"the certificate of 127.0.0.1:{peer.port} is not trusted" in error_of(await send(engine))
            assert (await send(engine, chain="lax")).ok
