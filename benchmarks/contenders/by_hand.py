"""The same exchanges by httpx itself: the floor."""

from __future__ import annotations

import json
from typing import Any

import httpx

TOOL = {
    "type": "function",
    "function": {
        "name": "ping",
        "description": "Give the text back.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}


class Contender:
    """A loop of ten lines."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/chat/completions"
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=2000)
        self._client = httpx.AsyncClient(timeout=60, limits=limits)

    async def reply(self) -> str:
        return await self._run("reply")

    async def tool(self) -> str:
        return await self._run("tool")

    async def _run(self, model: str) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "How many bolts?"}]
        while True:
            body = {"model": model, "messages": messages, "tools": [TOOL]}
            answer = await self._client.post(self._url, content=json.dumps(body))
            message = json.loads(answer.content)["choices"][0]["message"]
            if not message.get("tool_calls"):
                return message["content"]
            messages.append(message)
            for call in message["tool_calls"]:
                text = json.loads(call["function"]["arguments"])["text"]
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})

    async def stream(self, model: str, each: Any) -> None:
        body = {"model": model, "messages": [{"role": "user", "content": "How many bolts?"}], "stream": True}
        async with self._client.stream("POST", self._url, content=json.dumps(body)) as answer:
            rest = b""
            async for chunk in answer.aiter_bytes():
                *events, rest = (rest + chunk).split(b"\n\n")
                for event in events:
                    data = event.removeprefix(b"data: ")
                    if data == b"[DONE]":
                        continue
                    text = json.loads(data)["choices"][0]["delta"].get("content")
                    if text:
                        each(text)
