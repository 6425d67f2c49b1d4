"""Time in which the event loop stood still is nobody's fault."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from tests.components.endpoint.ws_chains import client, door, script, talking, until, ws_chain
from tests.engine.runtime.stepping import stepped

from catenary import ResourceError
from catenary_components._pushing import while_taken
from catenary_components.endpoint.listening import Listeners
from catenary_components.endpoint.routing import RouteTable

ECHO = [script("echo", "return {msg, metadata, msgType}")]


def test_a_peer_is_not_given_up_for_what_it_did_not_take_while_the_event_loop_stood_still() -> None:
    class Full(asyncio.WriteTransport):
        def get_write_buffer_size(self) -> int:
            return 10

    async def send() -> None:
        loop: Any = asyncio.get_running_loop()
        async with while_taken(Full(), 5):
            loop.now += 100
            await asyncio.sleep(2)

    stepped(send())


def stand_still() -> None:
    time.sleep(0.5)


async def test_who_could_not_answer_a_ping_while_the_event_loop_stood_still_is_not_cut_off() -> None:
    async with talking(ws_chain(ECHO, heartbeat=0.1)) as engine, client(engine) as ws:
        await until(lambda: len(door(engine).sessions))
        (session,) = door(engine).sessions
        connection = session._send.__self__
        for _ in range(3):
            await until(lambda: not connection._is_silent)
            connection._ping.cancel()
            connection._send_ping()
            stand_still()
        await until(lambda: not connection._is_silent)
        await ws.send("1")
        assert await ws.recv() == "1"


async def test_who_speaks_while_the_event_loop_stands_still_was_not_silent_for_too_long() -> None:
    async with talking(ws_chain(ECHO, idleTimeout=0.3)) as engine, client(engine) as ws:
        for number in range(3):
            stand_still()
            await ws.send(str(number))
            assert await ws.recv() == str(number)


def test_who_borrows_waits_also_while_many_others_lend() -> None:
    async def wait() -> None:
        listeners, table = Listeners(), RouteTable()
        borrowing = asyncio.create_task(listeners.borrow("me", ("", "mine")))
        for number in range(100):
            await asyncio.sleep(0)
            listeners.lend("other", ("", str(number)), RouteTable(), None)
        await asyncio.sleep(1)
        listeners.lend("owner", ("", "mine"), table, None)
        assert await borrowing == (table, None)

    stepped(wait())


def test_who_borrows_what_nobody_lends_is_told() -> None:
    async def wait() -> None:
        with pytest.raises(ResourceError, match="node resource not found"):
            await Listeners().borrow("me", ("", "mine"))

    stepped(wait())
