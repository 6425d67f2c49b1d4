"""`ws` endpoints: what becomes of messages, what is answered, in which order, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from tests.components.endpoint.ws_chains import client, door, said, script, talking, until, ws_chain, ws_router
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK, InvalidStatus

from catenary import ChainInvalid, Component, Engine, Message
from catenary.component import Config

ECHO = [script("echo", "return {msg, metadata, msgType}")]


def waiting_engine() -> tuple[Engine, dict[str, Any]]:
    """Give an engine with a component `gate` that waits until the data is in the set of what may pass."""
    engine = Engine()
    seen: dict[str, Any] = {"begun": [], "done": [], "cancelled": [], "open": asyncio.Event()}

    class Gate(Component[Config]):
        """Wait."""

        async def run(self, ctx: object, msg: Message, /) -> str:
            seen["begun"].append(msg.text)
            try:
                if msg.text != "2":
                    await seen["open"].wait()
            except asyncio.CancelledError:
                seen["cancelled"].append(msg.text)
                raise
            seen["done"].append(msg.text)
            return "Success"

    engine.registry.register("gateOfWs", category="action")(Gate)
    return engine, seen


GATE = [{"id": "gate", "type": "gateOfWs"}]


@pytest.mark.parametrize("kind", ["ws", "websocket", "endpoint/ws", "endpoint/websocket"])
async def test_it_has_its_names(kind: str) -> None:
    source = ws_chain()
    source["metadata"]["endpoints"][0]["type"] = kind
    async with talking(source) as engine:
        assert door(engine).address.startswith("ws://127.0.0.1:")


async def test_a_text_is_json_with_variables_query_and_kind() -> None:
    async with talking(ws_chain()) as engine, client(engine, "/ws/d%207?x=1&y=2&y=3") as ws:
        await ws.send('{"a": 1}')
        assert await said(ws) == {
            "data": {"a": 1},
            "dataType": "JSON",
            "msgType": "/ws/d%207?x=1&y=2&y=3",
            "metadata": {
                "device": "d 7",
                "x": "1",
                "y": '["2","3"]',
                "messageType": "1",
                "_triggerSource": "endpoint",
            },
        }


async def test_bytes_are_binary() -> None:
    async with talking(ws_chain()) as engine, client(engine) as ws:
        await ws.send(b"\x01\x02")
        got = await said(ws)
        assert (got["data"], got["dataType"], got["metadata"]["messageType"]) == ([1, 2], "BINARY", "2")


async def test_a_text_that_is_no_json_comes_as_it_is() -> None:
    async with talking(ws_chain()) as engine, client(engine) as ws:
        await ws.send("{oops")
        got = await said(ws)
        assert (got["data"], got["dataType"]) == ("{oops", "JSON")


async def test_binary_messages_are_answered_as_bytes() -> None:
    async with (
        talking(ws_chain([script("b", "return {msg: [104, 105], metadata, msgType, dataType: 'BINARY'}")])) as (engine),
        client(engine) as ws,
    ):
        await ws.send("{}")
        assert await said(ws) == b"hi"


async def test_without_processors_nothing_is_answered() -> None:
    routers = [ws_router("/quiet", processors=[]), ws_router("/loud")]
    async with talking(ws_chain(routers=routers)) as engine, client(engine, "/quiet") as quiet:
        async with client(engine, "/loud") as loud:
            await quiet.send("1")
            await loud.send("2")
            assert (await said(loud))["data"] == 2
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await quiet.recv()


async def test_each_end_is_an_answer() -> None:
    nodes = [
        script("a", "return {msg, metadata, msgType}"),
        script("b", "return {msg: 'b', metadata, msgType}"),
        script("c", "return {msg: 'c', metadata, msgType}"),
    ]
    async with talking(ws_chain(nodes, None, "a Success b, a Success c")) as engine, client(engine) as ws:
        await ws.send("1")
        assert {await ws.recv(), await ws.recv()} == {"b", "c"}


async def test_a_failure_is_answered_by_its_text() -> None:
    async with talking(ws_chain([script("bad", "throw new Error('no such luck')")])) as engine, client(engine) as ws:
        await ws.send("1")
        assert "no such luck" in str(await ws.recv())


async def test_an_unknown_chain_is_told() -> None:
    async with (
        talking(ws_chain(routers=[ws_router("/x", path="chain:${to}")])) as engine,
        client(engine, "/x?to=nowhere") as ws,
    ):
        await ws.send("1")
        assert await ws.recv() == "chainId=nowhere not found error"


@pytest.mark.parametrize("wait", [True, False])
async def test_messages_of_a_connection_keep_their_order(wait: bool) -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE, [ws_router(wait=wait)]), engine=engine), client(engine) as ws:
        for text in "1234":
            await ws.send(text)
        await until(lambda: seen["begun"])
        seen["open"].set()
        assert [await ws.recv() for _ in range(4)] == ["1", "2", "3", "4"]
        assert seen["begun"] == seen["done"] == ["1", "2", "3", "4"]


async def test_connections_do_not_wait_for_each_other() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE), engine=engine), client(engine) as slow, client(engine) as quick:
        await slow.send("1")
        await until(lambda: seen["begun"])
        await quick.send("2")
        assert await quick.recv() == "2"
        seen["open"].set()


async def test_without_order_a_message_overtakes_another() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE, ordered=False), engine=engine), client(engine) as ws:
        await ws.send("1")
        await ws.send("2")
        assert await ws.recv() == "2"
        seen["open"].set()
        assert await ws.recv() == "1"


async def test_a_client_waits_when_its_queue_is_full() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE, queueSize=2, heartbeat=0), engine=engine), client(engine) as ws:
        big = '"' + "x" * 1_000_000 + '"'
        sending = asyncio.create_task(_send_many(ws, big, 30))
        await until(lambda: seen["begun"])
        done, _ = await asyncio.wait([sending], timeout=0.2)
        assert not done and len(seen["begun"]) == 1
        seen["open"].set()
        for _ in range(30):
            assert await ws.recv() == big
        await sending


async def _send_many(ws: Any, text: str, count: int) -> None:
    for _ in range(count):
        await ws.send(text)


async def test_beyond_max_in_flight_a_message_is_refused() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE, maxInFlight=1), engine=engine), client(engine) as first, client(engine) as other:
        await first.send("1")
        await until(lambda: seen["begun"])
        await other.send("2")
        assert "as many messages in hand as it takes" in str(await other.recv())
        seen["open"].set()


async def test_what_a_gone_client_sent_is_run_to_its_end() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE), engine=engine):
        async with client(engine) as ws:
            await ws.send("1")
            await ws.send("3")
        await until(lambda: not len(door(engine).sessions))
        seen["open"].set()
        await until(lambda: seen["done"] == ["1", "3"])


async def test_what_a_gone_client_sent_is_cancelled_when_asked_for() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE, onDisconnect="cancel"), engine=engine):
        async with client(engine) as ws:
            await ws.send("1")
            await until(lambda: seen["begun"])
            ws.transport.abort()  # killed in the middle of a call
        await until(lambda: seen["cancelled"] == ["1"])


async def test_a_gone_client_cancels_although_more_waits_than_is_taken() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE, onDisconnect="cancel", queueSize=1), engine=engine):
        async with client(engine) as ws:
            for text in "123":
                await ws.send(text)
            await until(lambda: seen["begun"])
            ws.transport.abort()
        await until(lambda: seen["cancelled"] == ["1"])
        await until(lambda: not len(door(engine).sessions))
    assert seen["begun"] == ["1"]


async def test_a_client_that_is_cut_off_does_not_wait_for_room_and_all_that_it_said_is_run() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE, queueSize=1), engine=engine), client(engine) as ws:
        for text in "12":
            await ws.send(text)
        await until(lambda: seen["begun"])
        (session,) = door(engine).sessions
        await until(lambda: session._room._waiters)
        session._leave(1013, "the client takes too long")
        with pytest.raises(ConnectionClosed):
            await ws.recv()
        assert ws.close_code == 1013
        seen["open"].set()
        await until(lambda: seen["done"] == ["1", "2"])


async def test_a_processor_that_stops_a_message_may_answer() -> None:
    def stop(router: Any, exchange: Any) -> bool:
        exchange.answer.body = "no"
        return False

    engine = Engine()
    engine.endpoints.processors.add("stopIt", stop)
    source = ws_chain(ECHO)
    source["metadata"]["endpoints"][0]["processors"] = ["stopIt"]
    async with talking(source, engine=engine), client(engine) as ws:
        await ws.send("1")
        assert await ws.recv() == "no"


async def test_headers_of_the_handshake_are_there_for_processors() -> None:
    source = ws_chain()
    source["metadata"]["endpoints"][0]["routers"][0]["from"]["processors"] = ["headersToMetadata"]
    async with talking(source) as engine, client(engine, additional_headers={"x-shop": "7"}) as ws:
        await ws.send("1")
        assert (await said(ws))["metadata"]["X-Shop"] == "7"


async def test_a_path_that_nobody_has_is_not_found() -> None:
    async with talking(ws_chain()) as engine:
        with pytest.raises(InvalidStatus) as caught:
            async with client(engine, "/nowhere"):
                pass
        assert caught.value.response.status_code == 404


def test_a_path_that_no_client_can_ask_for_is_told_at_load() -> None:
    with Engine() as engine, pytest.raises(ChainInvalid) as caught:
        engine.load(ws_chain(routers=[ws_router("nowhere")]))
    assert "must begin with '/'" in str(caught.value.problems)


def test_routers_with_one_path_are_told_at_load() -> None:
    (problem,) = Engine().check(ws_chain(routers=[{**ws_router("/a/:x"), "id": "b"}, ws_router("/a/{y}")]))
    assert problem.text == "endpoint 'door' (ws): the routers 'b' and '/a/{y}' take in the same"


async def test_a_reload_keeps_connections_and_runs_the_present_version() -> None:
    async with talking(ws_chain([script("v", "return {msg: 'one', metadata, msgType}")])) as engine:
        ws = await client(engine)
        await ws.send("1")
        assert await ws.recv() == "one"
        engine.reload(ws_chain([script("v", "return {msg: 'two', metadata, msgType}")]))
        await engine.endpoints.settled()
        await ws.send("1")
        assert await ws.recv() == "two"
        await ws.close()


async def test_a_reload_without_the_router_says_goodbye() -> None:
    async with talking(ws_chain(ECHO, [ws_router("/a"), ws_router("/b")])) as engine:
        going, staying = await client(engine, "/a"), await client(engine, "/b")
        engine.reload(ws_chain(ECHO, [ws_router("/b")]))
        with pytest.raises(ConnectionClosed):
            await going.recv()
        assert going.close_code == 1001
        await staying.send("1")
        assert await staying.recv() == "1"
        await staying.close()


async def test_closing_finishes_what_is_in_hand_and_says_goodbye() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE), engine=engine), client(engine) as ws:
        await ws.send("1")
        await until(lambda: seen["begun"])
        closing = asyncio.create_task(engine.close())
        await asyncio.wait([closing], timeout=0.05)
        assert not closing.done()
        seen["open"].set()
        assert await ws.recv() == "1"
        with pytest.raises(ConnectionClosedOK):
            await ws.recv()
        assert ws.close_code == 1001
        await closing


async def test_closing_does_not_wait_longer_than_it_may() -> None:
    engine, seen = waiting_engine()
    async with talking(ws_chain(GATE), engine=engine), client(engine) as ws:
        await ws.send("1")
        await until(lambda: seen["begun"])
        async with asyncio.timeout(15):
            await engine.close(grace_s=0.1)
        assert seen["cancelled"] == ["1"]
        with contextlib.suppress(ConnectionClosed):
            await ws.recv()
        assert ws.close_code in {1001, 1006}
