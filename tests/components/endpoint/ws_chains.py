"""What tests of WebSockets share: an engine with a `ws` endpoint, and clients of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

import catenary_components.endpoint.ws
from catenary import Engine

assert catenary_components.endpoint.ws.__doc__  # importing it registers the component

SHOW = "return {msg: {data: msg, metadata, msgType, dataType}, metadata, msgType, dataType: 'JSON'}"


def ws_router(path: str = "/ws/:device", /, **to: Any) -> dict[str, Any]:
    return {"from": {"path": path}, "to": {"processors": ["responseToBody"], **to}}


def script(node_id: str, source: str) -> dict[str, Any]:
    return {"id": node_id, "type": "jsTransform", "configuration": {"jsScript": source}}


def ws_chain(
    nodes: list[dict[str, Any]] | None = None,
    routers: list[dict[str, Any]] | None = None,
    connections: str = "",
    *,
    chain_id: str = "talk",
    **configuration: Any,
) -> dict[str, Any]:
    """Write a chain with one `ws` endpoint `door`; connections as `"from relation to"`, separated by commas."""
    ways = [way.split() for way in connections.split(",") if way.strip()]
    endpoint = {
        "id": "door",
        "type": "ws",
        "configuration": {"server": "127.0.0.1:0", **configuration},
        "routers": routers if routers is not None else [ws_router()],
    }
    return {
        "ruleChain": {"id": chain_id},
        "metadata": {
            "endpoints": [endpoint],
            "nodes": nodes or [script("show", SHOW)],
            "connections": [{"fromId": a, "type": relation, "toId": b} for a, relation, b in ways],
        },
    }


def door(engine: Engine, chain_id: str = "talk") -> Any:
    """Give the endpoint that runs."""
    return engine.endpoints.find(chain_id, "door")


@asynccontextmanager
async def talking(*chains: dict[str, Any], engine: Engine | None = None) -> AsyncGenerator[Engine]:
    """Run chains."""
    made = engine or Engine()
    async with made:
        for one in chains:
            made.load(one)
        await made.endpoints.settled()
        yield made


def client(engine: Engine, path: str = "/ws/d1", **options: Any) -> connect:
    """Call the endpoint."""
    return connect(door(engine).address + path, proxy=None, **options)


async def said(connection: ClientConnection) -> Any:
    """Give the next message, as JSON if it is a text."""
    async with asyncio.timeout(15):
        got = await connection.recv()
    return json.loads(got) if isinstance(got, str) else got


async def until(condition: Any) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(15):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.005)
