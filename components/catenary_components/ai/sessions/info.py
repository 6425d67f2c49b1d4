"""What a list of sessions tells of each: what it is about, how long it is, when something was said in it last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from catenary_components.ai.sessions.window import run_starts

if TYPE_CHECKING:
    from catenary.jsontext import Json
    from catenary_components.ai.state import AgentState

_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session in a list.

    Attributes:
        key: Its key.
        title: What it is about: its title, or else how its first run begins.
        model: The model that it has chosen; empty for the agent's own.
        messages: How many messages are kept of it.
        begun_ms: When the first of these was said, in milliseconds since 1970; 0 when there is none.
        last_ms: When the last one was.
        is_paused: Whether calls of tools wait for an answer.
        is_damaged: Whether its record cannot be read; then nothing else is known.
    """

    key: str
    title: str = ""
    model: str = ""
    messages: int = 0
    begun_ms: int = 0
    last_ms: int = 0
    is_paused: bool = False
    is_damaged: bool = False

    @classmethod
    def of(cls, key: str, state: AgentState) -> SessionInfo:
        """Give what is told of a session."""
        said = state.messages
        times = [message.time_ms for message in said]
        model = str(state.model.get("name", ""))
        title = state.title or _beginning(state)
        return cls(key, title, model, len(said), min(times, default=0), max(times, default=0), bool(state.pending))

    def to_json(self) -> dict[str, Json]:
        """Give it as JSON, with camelCase keys."""
        return {
            "key": self.key,
            "title": self.title,
            "model": self.model,
            "messages": self.messages,
            "begun": self.begun_ms,
            "last": self.last_ms,
            "paused": self.is_paused,
            "damaged": self.is_damaged,
        }


def _beginning(state: AgentState) -> str:
    starts = run_starts(state.messages)
    text = " ".join(state.messages[starts[0]].text.split()) if starts else ""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3].rstrip()}..."
