"""The agent of agentscope; it wants an environment of its own, for it needs older packages."""

from __future__ import annotations

from typing import Any

from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.event import TextBlockDeltaEvent
from agentscope.message import TextBlock, UserMsg
from agentscope.model import OpenAIChatModel
from agentscope.permission import PermissionContext, PermissionMode
from agentscope.state import AgentState
from agentscope.tool import FunctionTool, ToolChunk, Toolkit


def ping(text: str) -> ToolChunk:
    """Give the text back."""
    return ToolChunk(content=[TextBlock(text=text)])


class Contender:
    """An agent for each run, for it keeps its conversation; model and tools are made once."""

    def __init__(self, url: str) -> None:
        self._credential = OpenAICredential(api_key="none", base_url=url)  # type: ignore[arg-type]
        self._models: dict[tuple[str, bool], OpenAIChatModel] = {}
        self._tools = Toolkit(tools=[FunctionTool(ping)])

    def _agent(self, name: str, *, stream: bool) -> Any:
        key = (name, stream)
        if key not in self._models:
            self._models[key] = OpenAIChatModel(self._credential, name, stream=stream)
        state = AgentState(permission_context=PermissionContext(mode=PermissionMode.BYPASS))
        return Agent("bench", "", self._models[key], self._tools, state=state)

    async def reply(self) -> str:
        return await self._run("reply")

    async def tool(self) -> str:
        return await self._run("tool")

    async def _run(self, model: str) -> str:
        answer = await self._agent(model, stream=False).reply(UserMsg("user", "How many bolts?"))
        return answer.get_text_content()

    async def stream(self, model: str, each: Any) -> None:
        agent = self._agent(model, stream=True)
        async for event in agent.reply_stream(UserMsg("user", "How many bolts?")):
            if isinstance(event, TextBlockDeltaEvent):
                each(event.delta)
