"""What tests of components share: one node, or a small chain, run by a real engine."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import count
from typing import Any

import pytest

import catenary_components
from catenary import Chain, End, Engine, Message

assert catenary_components.__doc__  # importing it promises the components, installed or not


@pytest.fixture
def engine() -> Generator[Engine]:
    made = Engine({"limit": "50"})
    yield made
    made.close_sync()


Load = Callable[..., Chain]
Send = Callable[..., End]


@pytest.fixture
def load(engine: Engine) -> Load:
    """Load a chain: nodes as `"id:type"` or `("id:type", configuration)`, connections as `"from relation to"`."""
    numbers = count(1)

    def load(nodes: list[Any], connections: str = "", **head: Any) -> Chain:
        written = [(node, {}) if isinstance(node, str) else node for node in nodes]
        ways = [way.split() for way in connections.split(",") if way.strip()]
        return engine.load(
            {
                "ruleChain": {"id": f"chain{next(numbers)}", **head},
                "metadata": {
                    "nodes": [
                        {"id": name.split(":", 1)[0], "type": name.split(":", 1)[1], "configuration": configuration}
                        for name, configuration in written
                    ],
                    "connections": [{"fromId": a, "type": relation, "toId": b} for a, relation, b in ways],
                },
            }
        )

    return load


@pytest.fixture
def send(load: Load) -> Send:
    """Send one message to one node with these settings; gives the only end."""

    def send(node_type: str, configuration: dict[str, Any], data: Any = "{}", **message: Any) -> End:
        sent = data if isinstance(data, Message) else Message(data, **message)
        (end,) = load([(f"node:{node_type}", configuration)]).run_sync(sent).ends
        return end

    return send
