"""Answers in pieces, and clients that go away."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from tests.components.endpoint.serving_chains import address_of, chain, router, served

from catenary import STREAM, SUCCESS, Component, Config, Engine, register

PIECES = {"id": "pieces", "type": "httpTestPieces"}
HOLDS = {"id": "holds", "type": "httpTestHolds"}


@register("httpTestPieces", category="test")
class Pieces(Component[Config]):
    """Emit the words of the data, then the whole."""

    relations = (SUCCESS, STREAM)

    async def run(self, ctx: Any, msg: Any) -> Any:
        for word in msg.text.split():
            await ctx.emit(STREAM, msg.with_data(word, "TEXT"))
        if "bad" in msg.text:
            raise ValueError("it went bad")
        return SUCCESS, msg


@register("httpTestHolds", category="test")
class Holds(Component[Config]):
    """Wait until it is told to go on; tells what became of it."""

    begun: asyncio.Event
    goes_on: asyncio.Event
    ended: list[str]

    async def run(self, ctx: Any, msg: Any) -> Any:
        self.begun.set()
        try:
            await self.goes_on.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("finished")
        return SUCCESS


@pytest.fixture
def holding() -> type[Holds]:
    """The component, with nothing happened yet."""
    Holds.begun, Holds.goes_on, Holds.ended = asyncio.Event(), asyncio.Event(), []
    return Holds


async def events(client: httpx.AsyncClient, text: str, **headers: str) -> httpx.Response:
    return await client.post("/", content=text, headers=headers)


STREAMING = chain([router("POST", "/")], [PIECES])


@pytest.mark.parametrize("accept", ["*/*", "text/event-stream", "application/json, text/*;q=0.5"])
async def test_a_chain_that_emits_stream_is_answered_as_an_event_stream(accept: str) -> None:
    async with served(STREAMING) as client:
        answer = await events(client, "one two", accept=accept)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.text == "data: one\n\ndata: two\n\nevent: answer\ndata: one two\n\n"


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream;q=0, */*", "text/plain"])
async def test_a_client_that_takes_no_event_stream_gets_the_answer_alone(accept: str) -> None:
    async with served(STREAMING) as client:
        answer = await events(client, "one two", accept=accept)
    assert (answer.text, answer.status_code) == ("one two", 200)
    assert "event-stream" not in answer.headers.get("content-type", "")


async def test_without_pieces_the_answer_is_an_ordinary_one() -> None:
    async with served(STREAMING) as client:
        answer = await events(client, "")
    assert (answer.text, answer.headers.get("content-type")) == ("", "text/plain; charset=utf-8")


async def test_a_failure_behind_pieces_is_the_last_event() -> None:
    async with served(STREAMING) as client:
        answer = await events(client, "so bad")
    assert answer.text.startswith("data: so\n\ndata: bad\n\nevent: failure\ndata: ")
    assert "it went bad" in answer.text


async def test_a_failure_before_the_first_piece_has_its_status() -> None:
    node = {"id": "bad", "type": "jsFilter", "configuration": {"jsScript": "throw new Error('no')"}}
    async with served(chain([router("POST", "/")], [node])) as client:
        answer = await events(client, "x", accept="text/event-stream")
    assert answer.status_code == 400


async def test_a_quiet_event_stream_shows_that_it_is_alive(holding: type[Holds]) -> None:
    given = chain([router("POST", "/")], [HOLDS], heartbeat=0.02)
    async with served(given) as client, client.stream("POST", "/", headers={"accept": "text/event-stream"}) as answer:
        lines = answer.aiter_lines()
        assert [await anext(lines), await anext(lines)] == [":", ""]
        holding.goes_on.set()
        rest = [line async for line in lines]
    assert rest[-3:] == ["event: answer", "data: ", ""]


async def test_text_with_line_breaks_is_one_event() -> None:
    node = {
        "id": "t",
        "type": "jsTransform",
        "configuration": {"jsScript": "return {msg: 'a\\nevent: answer\\n\\nb', metadata, msgType, dataType: 'TEXT'}"},
    }
    async with served(chain([router("POST", "/")], [node])) as client:
        answer = await events(client, "x", accept="text/event-stream")
    assert answer.text == "event: answer\ndata: a\ndata: event: answer\ndata: \ndata: b\n\n"


async def go_away(client: httpx.AsyncClient, holding: type[Holds]) -> None:
    """Ask, and leave once the chain has begun."""
    asking = asyncio.create_task(client.post("/", content="x"))
    await holding.begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_client_that_goes_away_cancels_the_run_that_it_waits_for(holding: type[Holds]) -> None:
    async with served(chain([router("POST", "/")], [HOLDS])) as client:
        await go_away(client, holding)
        async with asyncio.timeout(15):
            while not holding.ended:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert holding.ended == ["cancelled"]


async def test_a_run_may_go_on_without_its_client(holding: type[Holds]) -> None:
    async with served(chain([router("POST", "/")], [HOLDS], onDisconnect="detach")) as client:
        await go_away(client, holding)
        holding.goes_on.set()
        async with asyncio.timeout(15):
            while not holding.ended:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert holding.ended == ["finished"]


async def test_what_nobody_waits_for_goes_on_without_its_client(holding: type[Holds]) -> None:
    async with served(chain([router("POST", "/", {"wait": False})], [HOLDS])) as client:
        assert (await client.post("/", content="x")).status_code == 200
        await client.aclose()
        await holding.begun.wait()
        holding.goes_on.set()
    assert holding.ended == ["finished"]


async def test_closing_the_engine_finishes_what_is_in_hand(holding: type[Holds]) -> None:
    engine = Engine()
    async with served(chain([router("POST", "/")], [HOLDS]), engine=engine) as client:
        asking = asyncio.create_task(client.post("/", content="x"))
        await holding.begun.wait()
        closing = asyncio.create_task(engine.close(grace_s=15))
        with pytest.raises(httpx.TransportError):  # refused, or cut off when it had not been taken up yet
            async with httpx.AsyncClient(base_url=address_of(engine)) as other:
                while True:
                    await other.post("/", content="y")
        holding.goes_on.set()
        answer = await asking
        await closing
    assert (answer.status_code, answer.text, answer.headers["connection"]) == (200, "x", "close")


async def test_more_than_is_allowed_at_once_is_503(holding: type[Holds]) -> None:
    async with served(chain([router("POST", "/")], [HOLDS], maxInFlight=1)) as client:
        asking = asyncio.create_task(client.post("/", content="x"))
        await holding.begun.wait()
        refused = await client.post("/", content="y")
        holding.goes_on.set()
        answer = await asking
    assert (refused.status_code, answer.status_code) == (503, 200)


@register("httpTestFlood", category="test")
class Flood(Component[Config]):
    """Emit pieces of 64 KiB without end."""

    relations = (SUCCESS, STREAM)
    sent = 0
    ended: list[str]

    async def run(self, ctx: Any, msg: Any) -> Any:
        try:
            while True:
                await ctx.emit(STREAM, msg.with_data("x" * 65536, "TEXT"))
                Flood.sent += 1
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise


async def test_a_chain_waits_for_a_client_that_reads_slowly_and_ends_when_it_never_reads() -> None:
    Flood.sent, Flood.ended = 0, []
    engine = Engine()
    engine.load(chain([router("POST", "/")], [{"id": "flood", "type": "httpTestFlood"}], writeTimeout=0.5))
    async with engine:
        reader, writer = await asyncio.open_connection(*address_of(engine).removeprefix("http://").split(":"))
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        async with asyncio.timeout(15):
            while not Flood.ended:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        writer.close()
    assert Flood.ended == ["cancelled"]
    assert 0 < Flood.sent < 500  # what the sockets hold
