"""An endpoint without any connection: tests put messages into it by hand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Engine, Message
from catenary.component import option
from catenary.endpoints import Endpoint, EndpointConfig, Exchange
from catenary.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from catenary.component import Context
    from catenary.endpoints import Router
    from catenary.jsontext import Json


class ProbeConfig(EndpointConfig):
    """Settings of a `probe`."""

    server: str = option("probe:1", help="Where it listens.", ref="primary")
    password: str = option("", help="A secret.", secret=True)


class Probe(Endpoint[ProbeConfig, object]):
    """Notes what becomes of it."""

    fails: list[Exception] = []  # noqa: RUF012 - what the next attempts to start raise, of all instances
    made: list[Probe] = []  # noqa: RUF012

    def __init__(self, config: ProbeConfig) -> None:
        super().__init__(config)
        self.life: list[str] = []
        Probe.made.append(self)

    def id_of(self, params: tuple[Json, ...], path: str) -> str:
        return f"{params[0]}:{path}" if params else path

    def check_router(self, router: Router) -> Iterable[str]:
        return ["the path 'bad' is bad"] if router.path == "bad" else []

    async def start(self) -> None:
        if Probe.fails:
            raise Probe.fails.pop(0)
        self.life.append("start")

    async def stop(self) -> None:
        self.life.append("stop")

    def routed(self) -> None:
        self.life.append("routed")

    def connect(self, ctx: Context) -> object:
        return f"lent by {ctx.node_id}"

    async def send(
        self, router: str, data: Json | bytes = "{}", *, message: Message | None = None, **parts: Any
    ) -> Exchange:
        """Take in one message as a peer would have sent it."""
        exchange = Exchange(message or Message(data), **parts)
        await self.handle(self.routers[router], exchange)
        return exchange


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    Probe.fails.clear()
    Probe.made.clear()


@pytest.fixture
def registry() -> Registry:
    """All components, and `probe`."""
    registry = Registry()
    registry.register("endpoint/probe", category="endpoint", aliases=("probing",))(Probe)
    return registry


@pytest.fixture
def engine(registry: Registry) -> Engine:
    """An engine that knows `probe`."""
    return Engine(registry=registry)


def router(at: str = "/x", /, **to: Json) -> dict[str, Json]:
    """Give a router that waits and answers with the data, unless told otherwise."""
    return {"from": {"path": at}, "to": {"wait": True, "processors": ["responseToBody"], **to}}


def chain(
    nodes: dict[str, dict[str, Json]] | None = None,
    routers: list[dict[str, Json]] | None = None,
    connections: Iterable[tuple[str, str, str]] = (),
    *,
    id: str = "c",  # noqa: A002
    **endpoint: Json,
) -> dict[str, Json]:
    """Give a chain with one endpoint `e`: by default one node that puts `x` into the data."""
    nodes = nodes or {
        "a": {"type": "jsTransform", "configuration": {"jsScript": "msg.x = 1; return {msg, metadata, msgType}"}}
    }
    return {
        "ruleChain": {"id": id},
        "metadata": {
            "nodes": [{"id": name, **node} for name, node in nodes.items()],
            "connections": [{"fromId": a, "type": by, "toId": b} for a, by, b in connections],
            "endpoints": [
                {"id": "e", "type": "probe", "routers": [router()] if routers is None else routers, **endpoint}
            ],
        },
    }


def probe(engine: Engine, chain_id: str = "c", endpoint_id: str = "e") -> Any:
    """Give an endpoint that runs."""
    found = engine.endpoints.find(chain_id, endpoint_id)
    assert found is not None
    return found


async def turns() -> None:
    """Let everything that can go on without time go on."""
    for _ in range(50):
        await asyncio.sleep(0)
