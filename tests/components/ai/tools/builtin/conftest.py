"""Built-in tools in a folder of their own, called as an agent calls them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest

from catenary.expr import Environment
from catenary.http import HttpClients
from catenary.jsontext import dumps
from catenary.runtime.scope import Scope
from catenary.testing import FakeClock
from catenary_components.ai.messages import ToolCall
from catenary_components.ai.setup import AgentSetup
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.batch import prepare, run_batch
from catenary_components.ai.tools.builtin import make
from catenary_components.ai.tools.builtin.base import Workplace
from catenary_components.ai.tools.tool import Toolbox

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.tools.tool import Tool


@dataclass
class Visit:
    """What a tool sees of the visit in which it is called."""

    scope: Scope
    events: list[tuple[str, dict[str, Json]]] = field(default_factory=list)

    def notify(self, type: str, **data: Json) -> None:  # noqa: A002 - as the context has it
        self.events.append((type, data))


class Shop:
    """Makes built-in tools that may use one folder, and calls them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FakeClock(auto=True)
        self.http = HttpClients()
        self.state = AgentState()
        self.visit = Visit(Scope([self.state]))
        self.workplace = Workplace(Environment(roots=(folder,)), self.http, self.clock)
        self.tools: dict[str, Tool] = {}
        self.made: list[Tool] = []

    def make(self, name: str, **config: Json) -> Tool:
        """Make a tool anew."""
        tool = make(name, config, self.workplace)
        assert tool is not None
        self.tools[name] = tool
        self.made.append(tool)
        return tool

    async def call(self, name: str, /, **arguments: Json) -> str:
        """Call a tool as an agent does; one that was not made has no settings."""
        tool = self.tools.get(name) or self.make(name)
        call = ToolCall("1", name, dumps(arguments))
        setup = AgentSetup(cast("Any", None), Toolbox([tool]))
        prepared = prepare(setup, AgentState(), call)

        async def tell(place: int, result: object) -> None: ...

        return (await run_batch(cast("Context", self.visit), setup, [prepared], tell))[0].text

    def write(self, path: str, content: str | bytes) -> Path:
        """Put a file into the folder."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def text(self, path: str) -> str:
        """Give what a file of the folder holds."""
        return (self.folder / path).read_bytes().decode()


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncGenerator[Shop]:
    folder = tmp_path / "work"
    folder.mkdir()
    made = Shop(folder)
    yield made
    for tool in made.made:
        await cast("Any", tool.work).close()
    await made.http.close()
