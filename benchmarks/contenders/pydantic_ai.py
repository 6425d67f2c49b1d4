"""The agent of pydantic-ai."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def ping(text: str) -> str:
    """Give the text back."""
    return text


class Contender:
    """One agent for each model."""

    def __init__(self, url: str) -> None:
        self._provider = OpenAIProvider(base_url=url, api_key="none")
        self._agents: dict[str, Any] = {}

    def _agent(self, name: str) -> Any:
        if name not in self._agents:
            self._agents[name] = Agent(OpenAIChatModel(name, provider=self._provider), tools=[ping])
        return self._agents[name]

    async def reply(self) -> str:
        return await self._run("reply")

    async def tool(self) -> str:
        return await self._run("tool")

    async def _run(self, model: str) -> str:
        return (await self._agent(model).run("How many bolts?")).output

    async def stream(self, model: str, each: Any) -> None:
        async with self._agent(model).run_stream("How many bolts?") as result:
            async for text in result.stream_text(delta=True, debounce_by=None):
                each(text)
