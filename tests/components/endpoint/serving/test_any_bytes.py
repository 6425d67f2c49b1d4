"""Whatever comes, and in whatever pieces: the server answers or closes, and lives on."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times
from tests.components.endpoint.serving.test_connection import GET, bodies, connected, said, serving

from catenary_components.endpoint.serving import Limits

PIECES = st.sampled_from(
    [
        b"GET /a HTTP/1.1\r\n",
        b"POST /b HTTP/1.1\r\n",
        b"Host: x\r\n",
        b"Content-Length: 2\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"Connection: upgrade\r\nUpgrade: websocket\r\n",
        b"Upgrade: h2c\r\nConnection: upgrade\r\n",
        b"Expect: 100-continue\r\n",
        b"\r\n",
        b"hi",
        b"2\r\nhi\r\n",
        b"0\r\n\r\n",
        b"\x00",
        b"\xff" * 10,
    ]
)


@settings(max_examples=times(60))
@given(st.lists(st.one_of(PIECES, st.binary(max_size=20)), max_size=12))
def test_the_server_survives_any_bytes(pieces: list[bytes]) -> None:
    failures: list[Any] = []

    async def send() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
        async with serving(limits=Limits(read_timeout_s=0.5)) as (server, port):
            async with connected(port) as (_, writer):
                for piece in pieces:
                    writer.write(piece)
                    await asyncio.sleep(0)
                answered = await said(port, GET, until_closed=False)
            assert bodies(answered) == [b"GET /a  "]
            async with asyncio.timeout(15):
                while server.connections:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)

    asyncio.run(send())
    assert not failures
