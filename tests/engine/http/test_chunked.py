"""Event streams that are read from their connections, past the layers of the HTTP library."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary.errors import ConnectFailed, Refused, TooSlow
from catenary.http import HttpClients, HttpOptions, sse_events
from catenary.http.chunked import Chunks, Malformed

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b"data: hello\n\n"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def chunk(data: bytes, extension: bytes = b"") -> bytes:
    return b"%x%s\r\n%s\r\n" % (len(data), extension, data)


@asynccontextmanager
async def answering(talk: Talk, context: ssl.SSLContext | None = None) -> AsyncGenerator[str]:
    """Answer connections on a free port for the length of a block."""
    made: set[asyncio.Task[None] | None] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.add(asyncio.current_task())
        try:
            await talk(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", ssl=context) as server:
        yield f"http{'s' if context else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    for task in made:
        if task is not None:
            task.cancel()
    await asyncio.gather(*filter(None, made), return_exceptions=True)


def sending(*pieces: bytes, pause_s: float = 0.0) -> Talk:
    """Answer every request on a connection with these bytes."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause_s)
            if b"0\r\n" not in pieces[-1]:
                return

    return talk


async def texts(clients: HttpClients, url: str, method: str = "GET", **options: float) -> list[str]:
    client = clients.client(HttpOptions(**options))  # type: ignore[arg-type]
    async with client.stream(method, url) as answer:
        return [event.data async for event in sse_events(answer)]


@settings(max_examples=times(200))
@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=40), st.sampled_from([b"", b";a=1", b" ", b' ;name="v"']))),
    st.sampled_from([b"\r\n", b"X-A: 1\r\n\r\n"]),
    st.lists(st.integers(0, 400)),
    st.binary(max_size=5),
)
def test_chunks_are_found_wherever_the_pieces_are_cut(
    chunks: list[tuple[bytes, bytes]], trailer: bytes, places: list[int], behind: bytes
) -> None:
    raw = b"".join(chunk(data, extension) for data, extension in chunks) + b"0\r\n" + trailer
    cuts = [0, *sorted({min(place, len(raw)) for place in places}), len(raw)]
    pieces = [raw[start:end] for start, end in pairwise(cuts)]
    pieces[-1] += behind
    reader = Chunks()
    assert b"".join(b"".join(reader.feed(piece)) for piece in pieces) == b"".join(data for data, _ in chunks)
    assert reader.is_over
    assert reader.rest == behind


@given(st.lists(st.binary(min_size=1, max_size=9), min_size=1), st.data())
def test_a_body_that_breaks_off_is_not_over(chunks: list[bytes], data: st.DataObject) -> None:
    raw = b"".join(map(chunk, chunks)) + b"0\r\n\r\n"
    reader = Chunks()
    reader.feed(raw[: data.draw(st.integers(0, len(raw) - 1))])
    assert not reader.is_over


@pytest.mark.parametrize(
    "raw",
    [b"\r\n", b"-1\r\n", b"+1\r\n", b"0x1\r\n", b"1_0\r\n", b"g\r\n", b"3\r\nabcd\r\n", b" 3\r\n", b"f" * 17 + b"\r\n",
     b"1" * 20_000],
)  # fmt: skip
def test_what_is_no_chunk_is_told(raw: bytes) -> None:
    with pytest.raises(Malformed):
        Chunks().feed(raw)


async def test_events_come_as_they_are_sent_and_the_connection_is_used_again(clients: HttpClients) -> None:
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await sending(HEAD, chunk(EVENT), chunk(EVENT) + b"0\r\n\r\n")(reader, writer)

    async with answering(talk) as url:
        client = clients.client()
        for _ in range(3):
            async with client.stream("GET", url) as answer:
                assert [event.data async for event in sse_events(answer)] == ["hello", "hello"]
        await client.close()
    assert connections == 1


async def test_an_event_comes_before_the_next_is_sent(clients: HttpClients) -> None:
    seen = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + chunk(EVENT))
        await seen.wait()
        writer.write(chunk(EVENT) + b"0\r\n\r\n")

    async with answering(talk) as url, clients.client().stream("GET", url) as answer:
        events = sse_events(answer)
        assert (await anext(events)).data == "hello"
        seen.set()
        assert len([event async for event in events]) == 1


@pytest.mark.parametrize("pieces", [
    (HEAD[:-1], HEAD[-1:] + chunk(EVENT) + b"0\r\n\r\n"),
    (b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + HEAD, chunk(EVENT) + b"0\r\n\r\n"),
    (b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + HEAD + chunk(EVENT) + b"0\r\n\r\n",),
    tuple(bytes([byte]) for byte in HEAD + chunk(EVENT) + b"0\r\nX-A: 1\r\n\r\n"),
])  # fmt: skip
async def test_the_head_may_come_in_any_pieces(clients: HttpClients, pieces: tuple[bytes, ...]) -> None:
    async with answering(sending(*pieces)) as url:
        assert await texts(clients, url) == ["hello"]


async def test_events_come_by_tls_and_the_connection_is_used_again(
    clients: HttpClients, certificate: tuple[Path, Path]
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await sending(HEAD + chunk(EVENT), chunk(EVENT * 10_000), b"0\r\n\r\n")(reader, writer)

    async with answering(talk, context) as url:
        client = clients.client(HttpOptions(ca_file=str(certificate[0])))
        for _ in range(2):
            async with client.stream("GET", url) as answer:
                assert [event.data async for event in sse_events(answer)] == ["hello"] * 10_001
        await client.close()
    assert connections == 1


async def test_a_stream_that_breaks_off_is_told(clients: HttpClients) -> None:
    async with answering(sending(HEAD + chunk(EVENT) + b"ff\r\ndata")) as url:
        with pytest.raises(ConnectFailed, match=r"broke off the connection: .*incomplete chunked read"):
            await texts(clients, url)


async def test_a_chunk_that_is_none_is_told(clients: HttpClients) -> None:
    async with answering(sending(HEAD + chunk(EVENT) + b"no chunk\r\n")) as url:
        with pytest.raises(ConnectFailed, match="a chunk does not say its size"):
            await texts(clients, url)


async def test_a_silence_that_is_too_long_is_told(clients: HttpClients) -> None:
    async with answering(sending(HEAD + chunk(EVENT), chunk(EVENT), pause_s=60)) as url:
        with pytest.raises(TooSlow, match=r"did not answer within 0\.1 s"):
            await texts(clients, url, read_timeout_s=0.1)


async def test_steady_pieces_may_last_longer_than_the_longest_silence(
    clients: HttpClients, jump: Callable[[float], None]
) -> None:
    seen = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        for _ in range(8):
            writer.write(chunk(EVENT))
            await seen.wait()
            seen.clear()
            jump(15)
            for _ in range(5):  # in which who waits too long would be told
                await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    got: list[str] = []
    client = clients.client(HttpOptions(read_timeout_s=30))
    async with answering(talk) as url, client.stream("GET", url) as answer:
        async for event in sse_events(answer):
            got.append(event.data)
            asyncio.get_running_loop().call_soon(seen.set)  # by when the next one is waited for
    assert got == ["hello"] * 8


async def test_a_stream_larger_than_allowed_is_refused(clients: HttpClients) -> None:
    async with answering(sending(HEAD + chunk(EVENT) * 20 + b"0\r\n\r\n")) as url:
        with pytest.raises(Refused, match="larger than 100 bytes"):
            await texts(clients, url, max_response_bytes=100)


async def test_the_answer_to_head_has_no_body(clients: HttpClients) -> None:
    async with answering(sending(HEAD, b"0\r\n")) as url:
        assert await texts(clients, url, method="HEAD") == []


async def test_what_is_sent_behind_the_end_is_no_answer_to_the_next_request(clients: HttpClients) -> None:
    behind = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    async with answering(sending(HEAD + chunk(EVENT) + b"0\r\n\r\n" + behind)) as url:
        client = clients.client()
        for _ in range(2):
            async with client.stream("GET", url) as answer:
                assert [event.data async for event in sse_events(answer)] == ["hello"]


async def test_leaving_a_stream_ends_its_connection(clients: HttpClients) -> None:
    is_over = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + chunk(EVENT))
        await reader.read()
        is_over.set()

    async with answering(talk) as url:
        async with clients.client().stream("GET", url) as answer:
            await anext(sse_events(answer))
        await asyncio.wait_for(is_over.wait(), 15)
