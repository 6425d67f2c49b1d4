"""A model for the first steps: it answers here and at once, without a key, and knows how to ask for a tool."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from catenary.jsontext import Json
    from catenary.testing import ModelRequest, Reply

NAME: Final = "chat"
MODEL: Final = f"mock:{NAME}"

_SUM: Final = re.compile(r"[-+*/(). \d]*\d\s*[-+*/]\s*[-+*/(). \d]*\d\)?")
_GREETINGS: Final = {"hi", "hello", "hey", "good morning", "good evening"}


def answering() -> AbstractContextManager[str]:
    """Let the model answer the address `mock://chat` of this process for the length of a block."""
    from catenary.testing import ScriptedModel, mock

    return mock(NAME, ScriptedModel(default=_answer, model=NAME))


def _answer(request: ModelRequest) -> Json | Reply:
    """Answer as far as a few rules go."""
    messages = request.messages
    last: Any = messages[-1] if messages else {}
    text = str(last.get("content") or "")
    if last.get("role") == "tool":
        return f"The tool says: {text}"
    call = _call(text, request.tools)
    if call is not None:
        return call
    if text.strip().lower().rstrip("!.") in _GREETINGS:
        return "Hello! I am a mock model: nothing you write leaves this machine, and I know very little."
    said = sum(1 for message in messages if message["role"] == "user")
    return (
        f"I am a mock model and only repeat what I hear. This is number {said} of what you have said: {text}\n"
        "Ask me for the time or a sum when I have the tools, or name a real model with --model or /model."
    )


def _call(text: str, tools: list[str]) -> Reply | None:
    from catenary.testing import calls

    found = _SUM.search(text)
    if found and "calculator" in tools:
        return calls("calculator", expression=found.group().strip())
    if "datetime" in tools and re.search(r"\b(time|date|day|clock)\b", text, re.IGNORECASE):
        return calls("datetime")
    named = next((tool for tool in tools if re.search(rf"\b{re.escape(tool)}\b", text)), None)
    return calls(named) if named else None
