"""An agent with two Python functions as tools. The model is scripted, so the example needs no key and no network.

    python examples/agent_with_tools.py

For a real service, leave `ScriptedModel` out and give its address, key and model as properties.
"""

from __future__ import annotations

from typing import Any

from catenary import Engine, Message
from catenary.events import Event, NodeEvent
from catenary.testing import ScriptedModel, calls, serve

CHAIN: dict[str, Any] = {
    "ruleChain": {"id": "planner"},
    "metadata": {
        "nodes": [
            {
                "id": "planner",
                "type": "ai/agent",
                "configuration": {
                    "url": "${global.url}",
                    "key": "${global.key}",
                    "model": "${global.model}",
                    "systemPrompt": "You plan trips. Look up the weather and the trains before you answer.",
                    "tools": ["weather", "trains"],
                    "maxStep": 6,
                },
            }
        ]
    },
}

SCRIPT = [
    calls("weather", city="Bergen"),
    calls("trains", start="Oslo", to="Bergen"),
    "Take the 08:25 from Oslo, and an umbrella: it rains in Bergen.",
]


def weather(city: str) -> dict[str, str]:
    """Give the weather of a city.

    Args:
        city: The name of the city.
    """
    return {"city": city, "sky": "rain"}


async def trains(start: str, to: str) -> list[str]:
    """List the trains between two cities.

    Args:
        start: Where the journey begins.
        to: Where it ends.
    """
    return [f"08:25 {start} - {to}", f"14:03 {start} - {to}"]


def tell(event: Event) -> None:
    """Print which tools the agent uses."""
    if isinstance(event, NodeEvent) and event.name == "tool.start":
        print("uses", event.data["toolName"])


def main() -> None:
    """Ask the agent one question."""
    with (
        serve(ScriptedModel(SCRIPT)) as server,
        Engine({"url": f"{server.url}/v1", "key": "none", "model": "scripted"}) as engine,
    ):
        engine.tool(weather)
        engine.tool(trains)
        engine.subscribe(tell)
        chain = engine.load(CHAIN)
        outcome = chain.run_sync(Message("How do I get from Oslo to Bergen?", data_type="TEXT")).raise_for_error()
        print(outcome.message.text)
        print(outcome.message.metadata["steps"], "steps,", outcome.message.metadata["tool_calls"], "calls of tools")


if __name__ == "__main__":
    main()
