"""An `ai/agent` node."""

from __future__ import annotations

from typing import Any

from catenary import Engine, Message


def ping(text: str) -> str:
    """Give the text back."""
    return text


class Contender:
    """An engine with a chain of one agent."""

    def __init__(self, url: str) -> None:
        self._engine = Engine()
        self._engine.tool(ping)
        agent = {"url": url, "key": "none", "model": "reply", "tools": ["ping"]}
        node = {"id": "agent", "type": "ai/agent", "configuration": agent}
        self._engine.load({"ruleChain": {"id": "agent"}, "metadata": {"nodes": [node]}})

    async def reply(self) -> str:
        return await self._run("reply")

    async def tool(self) -> str:
        return await self._run("tool")

    async def _run(self, model: str) -> str:
        message = Message("How many bolts?", data_type="TEXT", metadata={"session_model": model})
        outcome = await self._engine.run("agent", message)
        assert outcome.ok, outcome.error
        return outcome.message.text

    async def stream(self, model: str, each: Any) -> None:
        metadata = {"session_model": model, "stream": "true"}

        def told(_place: Any, message: Message, _error: Any, _relation: Any) -> None:
            if message.metadata.get("chunk") == "true":
                each(message.text)

        message = Message("How many bolts?", data_type="TEXT", metadata=metadata)
        outcome = await self._engine.run("agent", message, on_end=told)
        assert outcome.ok, outcome.error
