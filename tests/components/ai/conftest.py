"""An agent in a real engine, asking a scripted model over a real socket."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Engine, Message
from catenary.http.asgi import BREAK_OFF
from catenary.testing import FakeClock, ScriptedModel, serve

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from catenary import Outcome
    from catenary.http import AsgiApp
    from catenary.jsontext import Json


@dataclass
class Bench:
    """An engine with one agent, whose model answers from a script."""

    engine: Engine
    model: ScriptedModel
    clock: FakeClock
    url: str

    def load(self, *replies: Any, connections: list[Json] | None = None, nodes: list[Json] = [], **config: Any) -> None:  # noqa: B006
        """Load the chain `c` with the node `agent` and add replies to the script."""
        self.model.add(*replies)
        settings = {"url": f"{self.url}/v1", "key": "sk-1234567890abcdef", "model": "m", **config}
        agent = {"id": "agent", "type": "ai/agent", "name": "Clerk", "configuration": settings}
        metadata = {"nodes": [agent, *nodes], "connections": connections or []}
        self.engine.load({"ruleChain": {"id": "c", "name": "C"}, "metadata": metadata})

    async def say(self, data: Json = "hi", data_type: str = "TEXT", **metadata: str) -> Outcome:
        """Run one message."""
        return await self.engine.run("c", Message(data, data_type=data_type, metadata=metadata))

    @property
    def last(self) -> list[dict[str, Json]]:
        """The messages of the last request."""
        return self.model.requests[-1].messages


class Outlets:
    """An application on a real port that stays the same for all tests; below it, each test has an address of its own.

    So a request that one test has sent and given up is never answered by what the next one has plugged in.
    """

    def __init__(self) -> None:
        self.url = ""
        self._open: dict[str, Outlet] = {}
        self._numbers = count(1)

    @contextmanager
    def one(self) -> Generator[Outlet]:
        """Give a test its address."""
        number = str(next(self._numbers))
        made = self._open[number] = Outlet(f"{self.url}/{number}")
        yield made
        del self._open[number]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        _, number, path = scope["path"].split("/", 2)
        outlet = self._open.get(number)
        if outlet is None:
            return BREAK_OFF
        assert outlet.app is not None
        return await outlet.app({**scope, "path": f"/{path}"}, receive, send)


@dataclass
class Outlet:
    """An address, and what answers there."""

    url: str
    app: AsgiApp | None = None


@pytest.fixture(scope="session")
def outlets() -> Generator[Outlets]:
    made = Outlets()
    with serve(made) as server:
        made.url = server.url
        yield made


@pytest.fixture
def outlet(outlets: Outlets) -> Generator[Outlet]:
    with outlets.one() as made:
        yield made


@pytest.fixture
async def bench(outlet: Outlet) -> AsyncGenerator[Bench]:
    model, clock = ScriptedModel(), FakeClock(auto=True)
    outlet.app = model
    async with Engine({"site": "Hull"}, clock=clock) as engine:
        yield Bench(engine, model, clock, outlet.url)
