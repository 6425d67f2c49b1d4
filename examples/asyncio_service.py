"""A service on asyncio: lines of JSON come in by TCP, each is answered by a chain; other work goes on meanwhile.

python examples/asyncio_service.py
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from catenary import Engine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from catenary import Chain

CHAIN: dict[str, Any] = {
    "ruleChain": {"id": "greet"},
    "metadata": {
        "nodes": [
            {"id": "wait", "type": "delay", "configuration": {"delayMs": "20"}},
            {"id": "answer", "type": "exprTransform", "configuration": {"mapping": {"text": "'Hello ' + msg.name"}}},
        ],
        "connections": [{"fromId": "wait", "type": "Success", "toId": "answer"}],
    },
}


async def lines_of(reader: asyncio.StreamReader) -> AsyncIterator[Any]:
    """Give the values that a client sends, one a line."""
    while line := await reader.readline():
        yield json.loads(line)


async def serve(chain: Chain, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a client, in the order of its lines; at most ten of them are under way."""
    async for outcome in chain.map(lines_of(reader), concurrency=10, on_error="collect"):
        answer = outcome.message.value if outcome.ok else {"error": str(outcome.error)}
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
    writer.close()


async def ask(port: int, names: list[Any]) -> list[Any]:
    """Send names to the service, and give its answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"".join(json.dumps({"name": name}).encode() + b"\n" for name in names))
    writer.write_eof()
    answers = [value async for value in lines_of(reader)]
    writer.close()
    return answers


async def main() -> None:
    """Serve two clients at once, and print what they get."""
    async with Engine() as engine:
        chain = engine.load(CHAIN)
        server = await asyncio.start_server(partial(serve, chain), "127.0.0.1")
        async with server:
            port = server.sockets[0].getsockname()[1]
            for answers in await asyncio.gather(ask(port, ["Ann", "Bob"]), ask(port, ["Cid", 4])):
                for answer in answers:
                    print(answer.get("text") or "error")


if __name__ == "__main__":
    asyncio.run(main())
