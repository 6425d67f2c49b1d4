"""A program of FastAPI that has chains in it: a route runs one, an endpoint of a chain is a route, and so is the API.

python examples/fastapi_service.py
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
from fastapi import FastAPI, HTTPException

from catenary import Engine
from catenary_server import create_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PRICE: dict[str, Any] = {
    "ruleChain": {"id": "price"},
    "metadata": {
        "nodes": [
            {"id": "known", "type": "exprFilter", "configuration": {"expr": "msg.item in global.prices"}},
            {"id": "sum", "type": "exprTransform", "configuration": {"expr": "msg.count * global.prices[msg.item]"}},
        ],
        "connections": [{"fromId": "known", "type": "True", "toId": "sum"}],
    },
}
HELLO: dict[str, Any] = {
    "ruleChain": {"id": "hello"},
    "metadata": {
        "endpoints": [
            {
                "id": "web",
                "type": "http",
                "configuration": {"server": "ref://server"},
                "routers": [
                    {
                        "params": ["GET"],
                        "from": {"path": "/hello/{name}"},
                        "to": {"wait": True, "processors": ["responseToBody"]},
                    }
                ],
            }
        ],
        "nodes": [
            {"id": "greet", "type": "exprTransform", "configuration": {"mapping": {"text": "'Hello ' + metadata.name"}}}
        ],
    },
}

engine = Engine({"prices": {"bolt": 3, "nut": 2}})
engine.load(PRICE)
engine.load(HELLO)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Open the engine with the program, and close it with it."""
    async with engine:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/orders")
async def order(order: dict[str, Any]) -> dict[str, Any]:
    """Say what an order costs: a route of the program that runs a chain."""
    outcome = await engine.run("price", order, timeout=2)
    if not outcome.ok or outcome.answer is None or outcome.answer.node_id != "sum":
        raise HTTPException(422, str(outcome.error or "we do not sell that"))
    return {"costs": outcome.message.value}


app.mount("/rules", create_app(engine))  # the API, and the endpoints of chains that say ref://server


async def main() -> None:
    """Call the program, as its clients do."""
    transport = httpx.ASGITransport(app=app)
    async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://program") as client:
        print((await client.post("/orders", json={"item": "bolt", "count": 4})).json())
        print((await client.post("/orders", json={"item": "tea", "count": 4})).json())
        print((await client.get("/rules/hello/Ann")).json())
        ran = await client.post("/rules/api/v1/chains/price/run", json={"data": {"item": "nut", "count": 5}})
        print(ran.json()["data"], ran.json()["status"])
        print([chain["id"] for chain in (await client.get("/rules/api/v1/chains")).json()["chains"]])


if __name__ == "__main__":
    asyncio.run(main())
