"""`ai/answer`: give the answer of an agent as a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, SUCCESS
from catenary.component import Component, Config, Example, register
from catenary_components.ai.state import AgentState

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context, Emission


class AnswerConfig(Config):
    """An `ai/answer` node has no settings: the agent it belongs to has them."""


@register("ai/answer", category="ai", since="0.1", label="Answer")
class Answer(Component[AnswerConfig]):
    """Send on the answer as text. What comes after this node may still look at it, change it or refuse it."""

    relations = (SUCCESS, FAILURE)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)

    def run(self, ctx: Context, msg: Message) -> Emission:
        """Make the message."""
        return SUCCESS, msg.with_data(ctx.scope[AgentState].answer, "TEXT")
