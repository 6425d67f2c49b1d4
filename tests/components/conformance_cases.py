"""How the standard components get by each of their relations, where their examples do not show it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
from tests.components.conformance_agents import AGENTS

from catenary import Endpoint, Engine, Message
from catenary.testing import Answer, FakeClock, RecordingApi, mock
from catenary.testing.conformance import About, Case


def chain(nodes: dict[str, dict[str, Any] | str], ways: str = "") -> dict[str, Any]:
    """Give a chain: nodes as type, or as `{"type", ...settings}`; ways as `"from relation to, ..."`."""
    placed: list[dict[str, Any]] = []
    for name, node in nodes.items():
        settings = {"type": node} if isinstance(node, str) else node
        rest = {key: value for key, value in settings.items() if key != "type"}
        placed.append({"id": name, "type": settings["type"], "configuration": rest})
    links = [way.split() for way in ways.split(",") if way.strip()]
    connections = [{"fromId": a, "type": by, "toId": b} for a, by, b in links]
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": placed, "connections": connections}}


def says(sent: Any) -> Callable[[Engine], object]:
    """Give what registers the function `f`, which sends a message by a relation, or by a list of them."""

    def answer(ctx: Any, msg: Message) -> Any:
        return [(relation, msg) for relation in sent] if isinstance(sent, list) else (sent, msg)

    return lambda engine: engine.function("f")(answer)


def fails(ctx: Any, msg: Message) -> Any:
    raise ValueError("broken")


@contextmanager
def properties(**given: Any) -> Iterator[dict[str, Any]]:
    yield given


@contextmanager
def api(answer: Answer | None = None) -> Iterator[dict[str, Any]]:
    recording = RecordingApi(default=answer or Answer(body={"ok": True}))
    with mock("conformance-api", recording) as url:
        yield {"url": url}


@contextmanager
def socket_server() -> Iterator[dict[str, Any]]:
    """A WebSocket server that takes everything in and says nothing."""
    from websockets.sync.server import serve

    with serve(lambda connection: [None for _ in connection], "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield {"url": f"ws://127.0.0.1:{server.socket.getsockname()[1]}"}
        finally:
            server.shutdown()
            thread.join()


def loop(kind: str, relation: Any, **settings: Any) -> Case:
    """Give a loop whose body leaves by a relation."""
    nodes: dict[str, Any] = {
        "n": {"type": kind, "do": "b", **settings},
        "b": {"type": "functions", "functionName": "f"},
    }
    left = relation[0] if isinstance(relation, list) else relation
    return Case(f"a body that leaves by {left}", chain=chain(nodes), inputs=[[1]], prepare=says(relation))


async def post(endpoint: Endpoint[Any, Any]) -> None:
    """Send two requests to an `http` endpoint."""
    async with httpx.AsyncClient(base_url=endpoint.address, timeout=15) as client:
        for body in ("one", "two"):
            answer = await client.post("/in/7", content=body)
            assert answer.text == body, answer.status_code


async def talk(endpoint: Endpoint[Any, Any]) -> None:
    """Send two frames to a `ws` endpoint."""
    from websockets.asyncio.client import connect

    async with connect(f"{endpoint.address}/in/7") as client:
        for frame in ("1", b"2"):
            await client.send(frame)
            assert await client.recv() == frame


async def wait_a_minute(endpoint: Endpoint[Any, Any]) -> None:
    """Let a minute pass for a `schedule` endpoint."""
    endpoint.engine.clock.advance(60)  # type: ignore[attr-defined]


ANSWERED = {"wait": True, "processors": ["responseToBody"]}
PATIENT = {"url": "${global.url}/x", "readTimeoutMs": 15_000}
F: dict[str, Any] = {"type": "functions", "functionName": "f"}
ABOUT: dict[str, About] = {
    **AGENTS,
    "endpoint/http": {
        "cases": [
            Case(
                "two requests",
                {"server": "127.0.0.1:0"},
                routers=[{"params": ["POST"], "from": {"path": "/in/:id"}, "to": ANSWERED}],
                drive=post,
                data=["one", "two"],
            )
        ]
    },
    "endpoint/ws": {
        "cases": [
            Case(
                "two frames",
                {"server": "127.0.0.1:0"},
                routers=[{"from": {"path": "/in/:id"}, "to": ANSWERED}],
                drive=talk,
                data=["1", b"2"],
            )
        ]
    },
    "endpoint/schedule": {
        "cases": [
            Case(
                "a minute that passes",
                routers=[{"from": {"path": "0 * * * * *"}, "params": ["tick", "TEXT"]}],
                clock=FakeClock,
                drive=wait_a_minute,
                data=["tick"],
            )
        ]
    },
    "for": {
        "cases": [loop("for", one, range="msg") for one in (["Stream", "Success"], "AwaitConfirm", "AwaitExternal")]
    },
    "while": {
        "cases": [
            loop("while", one, condition="metadata._loopIndex == '0'")
            for one in (["Stream", "Success"], "AwaitConfirm", "AwaitExternal")
        ]
    },
    "fetchNodeOutput": {
        "cases": [
            Case(
                "what came before",
                chain=chain({"a": "jsTransform", "n": {"type": "fetchNodeOutput", "nodeId": "a"}}, "a Success n"),
                leaves_by=["Success"],
            )
        ]
    },
    "functions": {"cases": [Case("a function", {"functionName": "f"}, leaves_by=["Success"], prepare=says("Success"))]},
    "exec": {
        "cases": [
            Case(
                "a program",
                {"cmd": "echo", "args": ["hi"], "replaceData": True},
                data=["hi\n"],
                leaves_by=["Success"],
                around=partial(properties, execNodeWhitelist="echo"),
            ),
            Case(
                "a program that takes long",
                {"cmd": "sleep", "args": ["0.3"]},
                leaves_by=["Success"],
                around=partial(properties, execNodeWhitelist="sleep"),
            ),
        ]
    },
    "groupAction": {
        "cases": [
            Case(
                "a group",
                chain=chain({"n": {"type": "groupAction", "nodeIds": "a,b"}, "a": F, "b": F}),
                prepare=says("Success"),
                leaves_by=["Success"],
            )
        ]
    },
    "groupFilter": {
        "cases": [
            Case(
                f"a group that says {one}",
                chain=chain({"n": {"type": "groupFilter", "nodeIds": "a"}, "a": F}),
                prepare=says(one),
                leaves_by=[one],
            )
            for one in ("True", "False")
        ]
    },
    "join": {
        "cases": [
            Case(
                "a branch that failed",
                chain=chain({"a": F, "n": "join"}, "a Failure n"),
                leaves_by=["Failure"],
                prepare=lambda engine: engine.function("f")(fails),
            )
        ]
    },
    "jsSwitch": {
        "cases": [
            Case(
                "a way that is not there",
                chain=chain({"n": {"type": "jsSwitch", "jsScript": "return ['x']"}, "d": "comment"}, "n Default d"),
            )
        ]
    },
    "msgTypeSwitch": {
        "cases": [Case("another type", chain=chain({"n": "msgTypeSwitch", "d": "comment"}, "n Default d"))]
    },
    "wait": {"cases": [Case("a time that is none", {"timeout": "${msg.t}"}, [{"t": "soon"}], leaves_by=["Failure"])]},
    "flow": {
        "cases": [
            Case(
                "a chain",
                {"targetId": "other"},
                leaves_by=["Success"],
                prepare=lambda engine: engine.load({**chain({"x": "comment"}), "ruleChain": {"id": "other"}}),
            )
        ]
    },
    "cacheDelete": {
        "cases": [Case("a key that cannot be made", {"keys": [{"key": "${1 / msg.n.m}"}]}, leaves_by=["Failure"])]
    },
    "dbClient": {
        "cases": [
            Case(
                "no such table",
                {"driverName": "sqlite", "dsn": ":memory:", "sql": "select * from nowhere"},
                leaves_by=["Failure"],
            )
        ]
    },
    "restApiCall": {
        "cases": [
            Case("an answer", PATIENT, leaves_by=["Success"], around=api),
            Case(
                "an error",
                PATIENT,
                leaves_by=["Failure"],
                around=partial(api, Answer(status=500, body="no")),
            ),
            Case(
                "a slow answer",
                PATIENT,
                leaves_by=["Success"],
                around=partial(api, Answer(delay_s=0.3)),
            ),
            Case(
                "a stream",
                PATIENT,
                around=partial(
                    api, Answer(headers={"Content-Type": "text/event-stream"}, pieces=["data: 1\n\n", "data: 2\n\n"])
                ),
            ),
        ]
    },
    "ws": {
        "cases": [
            Case("a frame", {"server": "${global.url}"}, leaves_by=["Success"], around=socket_server),
            Case("nobody there", {"server": "ws://127.0.0.1:9"}, leaves_by=["Failure"]),
        ]
    },
}
