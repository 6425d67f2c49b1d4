"""`ai/answer`: give the answer of an agent as a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary import FAILURE, STREAM, SUCCESS
from catenary.component import Component, Config, Example, register
from catenary_components.ai.phases._scope import setup_of, state_of
from catenary_components.ai.phases._telling import show
from catenary_components.ai.state import FinishReason

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context, Emission


_ENDED: Final = (FinishReason.STOPPED, FinishReason.ALL_TOOLS_DENIED)


class AnswerConfig(Config):
    """An `ai/answer` node has no settings: the agent it belongs to has them."""


@register("ai/answer", category="ai", since="0.1", label="Answer")
class Answer(Component[AnswerConfig]):
    """Send on the answer as text, or as JSON when that was asked for and it is.

    What comes after this node may still look at it, change it or refuse it. When nothing does, an answer that was kept
    from those who listen so far (`candidate` of `ai/reason`) is shown to them here.
    """

    relations = (SUCCESS, STREAM, FAILURE)
    waits = False
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Make the message."""
        state, setup = state_of(ctx), setup_of(ctx)
        structured = setup.structured
        if state.is_unshown and structured is None and not ctx.is_connected(SUCCESS):
            await show(ctx, msg, setup, state, state.answer)
        if structured is None or state.stop or state.finish_reason in _ENDED:
            return SUCCESS, msg.with_data(state.answer, "TEXT")
        return SUCCESS, msg.with_data(structured.final(state), "JSON")
