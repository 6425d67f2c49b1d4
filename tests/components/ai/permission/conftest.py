"""Agents that ask: what they were told, and what is said to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from catenary import Outcome


class Desk:
    """An agent with a tool `send` that is asked about, and somebody who answers."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench
        self.sent: list[str] = []

        def send(to: str) -> str:
            """Send a letter."""
            self.sent.append(to)
            return f"sent to {to}"

        bench.engine.tool(send)

    async def ask(self, *replies: Any, **options: Any) -> Outcome:
        """Have the agent ask; it wants what `replies` say, and says `done` at last."""
        settings = {"tools": ["send"], "permission": "default", **options}
        self.bench.load(*replies, "done", **settings)
        return await self.bench.say()

    async def answer(self, paused: Outcome, *answers: Any, **parts: Any) -> Outcome:
        """Answer what was asked."""
        return await self.bench.engine.answer(paused.run_id, "agent", data=list(answers), **parts)

    @property
    def told(self) -> dict[str, str]:
        """What the model was told last of its calls."""
        return {one["tool_call_id"]: one["content"] for one in self.bench.last if one["role"] == "tool"}


@pytest.fixture
def desk(bench: Any) -> Desk:
    return Desk(bench)
