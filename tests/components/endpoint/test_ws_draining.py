"""`ws` endpoints that are stopped: all that they take in is run and answered before they say goodbye."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tests.components.endpoint.ws_chains import client, door, talking, until, ws_chain, ws_router
from websockets.exceptions import ConnectionClosed

from catenary import Component, Engine, Message
from catenary.component import Config
from catenary.testing import free_port

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

HOLD = [{"id": "hold", "type": "holdOfWs"}]


def holding_engine() -> tuple[Engine, list[str], asyncio.Event]:
    """Give an engine with a component that waits for an event, what it was given, and the event."""
    engine, begun, go_on = Engine(), list[str](), asyncio.Event()

    class Hold(Component[Config]):
        """Wait."""

        async def run(self, ctx: object, msg: Message, /) -> str:
            begun.append(msg.text)
            await go_on.wait()
            await asyncio.sleep(0)
            return "Success"

    engine.registry.register("holdOfWs", category="action")(Hold)
    return engine, begun, go_on


async def all_said(ws: ClientConnection) -> list[str]:
    """Give what still comes, until the goodbye."""
    said: list[str] = []
    with suppress(ConnectionClosed):
        async with asyncio.timeout(15):
            while True:
                said.append(str(await ws.recv()))
    return said


async def stopping(engine: Engine, source: dict[str, Any]) -> None:
    """Load the chain anew, and come back when the endpoint that talked takes no new clients."""
    talker = door(engine)
    engine.reload(source)
    await until(lambda: talker.is_stopping)


async def test_what_comes_while_others_are_in_hand_is_run_and_answered_before_the_goodbye() -> None:
    engine, begun, go_on = holding_engine()
    async with talking(ws_chain(HOLD), engine=engine), client(engine) as ws:
        await ws.send("1")
        await until(lambda: begun)
        (session,) = door(engine).sessions
        await stopping(engine, ws_chain(HOLD, heartbeat=7))
        await ws.send("2")
        await ws.send("3")
        await until(lambda: len(session._frames) == 2)
        go_on.set()
        assert await all_said(ws) == ["1", "2", "3"]
        assert (ws.close_code, ws.close_reason) == (1001, "the endpoint is being stopped")
        assert begun == ["1", "2", "3"]


async def test_a_client_that_says_ever_more_does_not_keep_an_endpoint_from_its_end() -> None:
    engine, begun, go_on = holding_engine()
    async with talking(ws_chain(HOLD, queueSize=4), engine=engine), client(engine) as ws:
        sent = 0

        async def talk() -> None:
            nonlocal sent
            with suppress(ConnectionClosed):
                while True:
                    await ws.send(str(sent))
                    sent += 1
                    await asyncio.sleep(0)

        talk_on = asyncio.create_task(talk())
        await until(lambda: begun)
        await stopping(engine, ws_chain(HOLD, queueSize=4, heartbeat=7))
        go_on.set()
        said = await all_said(ws)
        await talk_on
        assert ws.close_code == 1001
        assert said == begun == [str(number) for number in range(len(begun))]
        assert len(begun) < sent


async def test_what_waits_when_its_router_goes_is_run_and_answered() -> None:
    engine, begun, go_on = holding_engine()
    both = [ws_router("/a"), ws_router("/b")]
    async with talking(ws_chain(HOLD, both), engine=engine), client(engine, "/a") as ws:
        await ws.send("1")
        await ws.send("2")
        (session,) = door(engine).sessions
        await until(lambda: begun and len(session._frames) == 1)
        engine.reload(ws_chain(HOLD, both[1:]))
        await until(lambda: "/a" not in door(engine).routers)
        go_on.set()
        assert await all_said(ws) == ["1", "2"]
        assert (ws.close_code, begun) == (1001, ["1", "2"])


async def test_who_comes_while_others_are_told_to_go_is_let_in() -> None:
    engine, begun, go_on = holding_engine()
    server = f"127.0.0.1:{free_port()}"
    async with talking(ws_chain(HOLD, server=server), engine=engine), client(engine) as ws:
        await ws.send("1")
        await until(lambda: begun)
        await stopping(engine, ws_chain(HOLD, server=server, heartbeat=7))
        async with client(engine) as other:
            await other.send("2")
            await until(lambda: begun == ["1", "2"])
            go_on.set()
            assert (await all_said(ws), await other.recv()) == (["1"], "2")
            assert ws.close_code == 1001


async def test_who_is_still_connected_is_sent_to_until_the_goodbye() -> None:
    engine, begun, go_on = holding_engine()
    tell = {"id": "tell", "type": "ws", "configuration": {"server": "ref://door", "target": "d1"}}
    source = ws_chain([*HOLD, tell], [ws_router(processors=[])], "hold Success tell", sessionKey="${metadata.device}")
    async with talking(source, engine=engine), client(engine) as ws:
        await ws.send("1")
        await until(lambda: begun)
        source["metadata"]["endpoints"][0]["configuration"]["heartbeat"] = 7
        await stopping(engine, source)
        async with client(engine, "/ws/d2") as other:
            await until(lambda: len(door(engine).sessions) == 2)
            go_on.set()
            assert await all_said(ws) == ["1"]
            assert ws.close_code == 1001
            await engine.endpoints.settled()
            assert [session.is_of(door(engine)) for session in door(engine).sessions] == [True]
            await other.close()
