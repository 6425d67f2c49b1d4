"""LangGraph's prebuilt agent, with the OpenAI client of langchain."""

from __future__ import annotations

import warnings
from typing import Any

import httpx
from langchain_openai import ChatOpenAI

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langgraph.prebuilt import create_react_agent


def ping(text: str) -> str:
    """Give the text back."""
    return text


class Contender:
    """One agent for each model."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None))
        self._agents: dict[str, Any] = {}

    def _agent(self, name: str) -> Any:
        if name not in self._agents:
            model = ChatOpenAI(model=name, base_url=self._url, api_key="none", stream_usage=True)  # type: ignore[arg-type]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._agents[name] = create_react_agent(model, [ping])
        return self._agents[name]

    async def reply(self) -> str:
        return await self._run("reply")

    async def tool(self) -> str:
        return await self._run("tool")

    async def _run(self, model: str) -> str:
        state = await self._agent(model).ainvoke({"messages": [("user", "How many bolts?")]})
        return state["messages"][-1].content

    async def stream(self, model: str, each: Any) -> None:
        asked = {"messages": [("user", "How many bolts?")]}
        async for message, _ in self._agent(model).astream(asked, stream_mode="messages"):
            if message.content:
                each(message.content)
