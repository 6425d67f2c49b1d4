"""What tests of `http` endpoints share: an engine that serves chains, and a client."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

import catenary_components.endpoint.http
from catenary import Engine

assert catenary_components.endpoint.http.__doc__  # importing it registers the component

ANY_PORT = "127.0.0.1:0"
BODY = {"processors": ["responseToBody"]}


def router(params: str, path: str, to: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    """Write a router that waits for its chain and answers with its data."""
    return {"params": [params], "from": {"path": path}, "to": {"wait": True, **BODY, **(to or {})}, **rest}


def chain(
    routers: list[dict[str, Any]],
    nodes: list[dict[str, Any]] | None = None,
    connections: str = "",
    *,
    chain_id: str = "api",
    **configuration: Any,
) -> dict[str, Any]:
    """Write a chain with one `http` endpoint `web`; connections as `"from relation to"`, separated by commas."""
    ways = [way.split() for way in connections.split(",") if way.strip()]
    return {
        "ruleChain": {"id": chain_id},
        "metadata": {
            "endpoints": [
                {
                    "id": "web",
                    "type": "http",
                    "configuration": {"server": ANY_PORT, **configuration},
                    "routers": routers,
                }
            ],
            "nodes": nodes or [echo()],
            "connections": [{"fromId": a, "type": relation, "toId": b} for a, relation, b in ways],
        },
    }


def echo() -> dict[str, Any]:
    """Write a node that shows what the message is."""
    script = "return {msg: {data: msg, metadata, msgType, dataType}, metadata, msgType, dataType: 'JSON'}"
    return {"id": "echo", "type": "jsTransform", "configuration": {"jsScript": script}}


def address_of(engine: Engine, chain_id: str = "api", endpoint_id: str = "web") -> str:
    """Give where an endpoint listens."""
    (address,) = [
        status.address
        for status in engine.endpoints.status()
        if (status.chain_id, status.id) == (chain_id, endpoint_id)
    ]
    return address


@asynccontextmanager
async def served(*chains: dict[str, Any], engine: Engine | None = None) -> AsyncGenerator[httpx.AsyncClient]:
    """Serve chains; gives a client of the first one's endpoint."""
    made = engine or Engine()
    for one in chains:
        made.load(one)
    async with made, httpx.AsyncClient(base_url=address_of(made, chains[0]["ruleChain"]["id"]), timeout=15) as client:
        yield client
