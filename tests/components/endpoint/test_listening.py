"""The listener: one server on one address, for HTTP and WebSockets."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from catenary import EngineError, ResourceError
from catenary_components.endpoint.address import Address
from catenary_components.endpoint.listening import Listener
from catenary_components.endpoint.routing import WEBSOCKET, Route

ANY_PORT = Address("127.0.0.1", 0)


async def echo(scope: Any, receive: Any, send: Any, variables: dict[str, str]) -> None:
    """Answer with the body and the variables of the path."""
    body = b""
    more = True
    while more:
        event = await receive()
        body += event["body"]
        more = event["more_body"]
    text = " ".join(f"{name}={value}" for name, value in variables.items()).encode() + body
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": text})


async def talk(scope: Any, receive: Any, send: Any, variables: dict[str, str]) -> None:
    """Say once what is said."""
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})
    said = await receive()
    await send({"type": "websocket.send", "text": said["text"] + variables["room"]})
    await send({"type": "websocket.close"})


async def test_one_listener_answers_http_and_websockets() -> None:
    listener = Listener(ANY_PORT)
    await listener.open()
    listener.routes.replace("me", [Route("POST", "/a/:id", echo), Route(WEBSOCKET, "/talk/{room}", talk)])
    async with httpx.AsyncClient(base_url=listener.url, timeout=15) as client:
        answer = await client.post("/a/7", content=b"!")
    async with connect(f"ws://{listener.address}/talk/red", proxy=None) as socket:
        await socket.send("hall ")
        said = await socket.recv()
    await listener.close()
    assert (answer.status_code, answer.text, said) == (200, "id=7!", "hall red")


async def test_a_port_in_use_is_told_with_its_address() -> None:
    first = Listener(ANY_PORT)
    await first.open()
    with pytest.raises(ResourceError, match=f"127.0.0.1:{first.address.port} is in use by another program"):
        await Listener(first.address).open()
    await first.close()


def test_the_second_of_two_routes_is_refused_with_both_named() -> None:
    listener = Listener(ANY_PORT)
    listener.routes.replace("one", [Route("GET", "/a/:id", echo, name="router 'x'")])
    with pytest.raises(EngineError, match=r"GET /a/\{key\} is there twice: router 'x' has it, and router 'y' wants it"):
        listener.routes.replace("two", [Route("GET", "/a/{key}", echo, name="router 'y'")])
    assert [route.name for route in listener.routes.routes] == ["router 'x'"]
