"""An agent in Python: asked, listened to, interrupted, and saved as a chain. The model is played: no key, no network.

    python examples/agent_in_python.py

For a real service, leave `mock` out and name a model such as `openai:gpt-4o`; its key is in `OPENAI_API_KEY`.
"""

from __future__ import annotations

import asyncio

from catenary.testing import Reply, ScriptedModel, calls, mock
from catenary_components.ai import Agent, tool

SCRIPT = [
    calls("weather", city="Bergen"),
    "It rains in Bergen: take an umbrella.",
    Reply(pieces=[f"{number} " for number in range(1, 100)], piece_delay_s=0.01),
    "As you like.",
]


@tool(read_only=True)
def weather(city: str) -> str:
    """Give the weather of a city.

    Args:
        city: The name of the city.
    """
    return f"rain in {city}"


async def main() -> None:
    """Talk to the agent."""
    async with Agent(
        "Planner",
        system_prompt="You plan trips. Look up the weather before you answer.",
        model="mock:planner",
        tools=[weather],
        budget={"model_calls": 20, "seconds": 60},
    ) as agent:
        async for event in agent.stream("What do I need in Bergen?", vocabulary="blocks"):
            if event.type == "TOOL_CALL_START":
                print("uses", event.data["toolCallName"])
            elif event.type == "TEXT_BLOCK_DELTA":
                print(event.data["delta"], end="")
        print()

        async for event in agent.stream("Count to a hundred.", vocabulary="blocks"):
            if event.type == "TEXT_BLOCK_DELTA" and event.data["delta"] == "5 ":
                agent.interrupt("Thank you, that will do.")
        print((await agent.call("Where were we?")).text)

        state = await agent.state()
        print(len(state.messages), "messages, the sixth one is the answer that was interrupted:")
        print(state.messages[5].text.split()[:5])
        print("as a chain it is", agent.chain()["ruleChain"])


if __name__ == "__main__":
    with mock("planner", ScriptedModel(SCRIPT)):
        asyncio.run(main())
