"""What an agent answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import CatenaryError
from catenary_components.ai.messages import assistant_message

if TYPE_CHECKING:
    from catenary import Outcome
    from catenary.jsontext import Json
    from catenary_components.ai.messages import ChatMessage, ToolCall, Usage
    from catenary_components.ai.state import AgentState, FinishReason


@dataclass(frozen=True, slots=True)
class AgentReply:
    """What an agent answers.

    Attributes:
        message: The answer as a message of the conversation.
        finish_reason: Why the agent came to its end.
        session: The session it answered in; empty without one.
        state: The record of the agent, as it was then.
        outcome: What its chain came to.
    """

    message: ChatMessage
    finish_reason: FinishReason
    session: str
    state: AgentState
    outcome: Outcome

    @property
    def text(self) -> str:
        """The text of the answer: of an interrupted call as far as it had come, of a paused one what was said first."""
        return self.message.text

    @property
    def value(self) -> Json:
        """The answer as a value, when the agent was asked for JSON; else its text."""
        message = self.outcome.message
        return message.value if message.data_type == "JSON" and not self.finish_reason.is_pause else self.text

    @property
    def thinking(self) -> str:
        """What the model thought before it answered."""
        return self.message.thinking

    @property
    def usage(self) -> Usage:
        """The tokens of all model calls."""
        return self.state.usage

    @property
    def cost(self) -> float | None:
        """What they cost in US dollars; `None` when no price is known."""
        return self.state.cost

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls of tools that wait for somebody; see `Agent.resume`."""
        return self.state.pending

    @property
    def question(self) -> dict[str, Any]:
        """What is asked, when the agent waits: `kind`, `expires`, and `toolCalls` with `suggestedRules`; else empty."""
        return cast("dict[str, Any]", self.outcome.message.value) if self.finish_reason.is_pause else {}

    def __str__(self) -> str:
        return self.text


def answer_in(state: AgentState, text: str) -> ChatMessage:
    """Give the message of an answer: the one in the conversation that has the text, or one made of it."""
    said = next((message for message in reversed(state.messages) if message.role == "assistant"), None)
    if said is not None and (said.text == text or not text):
        return said
    return assistant_message(text, thinking=state.reasoning)


def raise_failure(outcome: Outcome) -> None:
    """Raise why a run failed: the agent's own error, if it is one of those that say what to do."""
    error = outcome.error
    if error is None:
        return
    cause = error.__cause__
    raise cause if isinstance(cause, CatenaryError) else error
