"""`ai/summarize`: make the conversation shorter."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from catenary import FAILURE, STREAM, SUCCESS
from catenary.component import Component, Config, Example, register
from catenary_components.ai.phases._scope import setup_of, state_of
from catenary_components.ai.phases.relations import STOPPED
from catenary_components.ai.state import FinishReason

if TYPE_CHECKING:
    from catenary import Message, Relation
    from catenary.component import Context


class SummarizeConfig(Config):
    """An `ai/summarize` node has no settings: the agent it belongs to has them."""


@register("ai/summarize", category="ai", since="0.1", label="Summarize")
class Summarize(Component[SummarizeConfig]):
    """Put a summary in the place of older messages, so that the conversation can be sent again.

    The next model call sees the summary. An agent without compaction goes on with its conversation as it is.
    """

    relations = (SUCCESS, STOPPED, STREAM, FAILURE)
    onward = (SUCCESS,)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)
    retries = True

    async def run(self, ctx: Context, msg: Message) -> Relation:
        """Make the conversation shorter."""
        state, setup = state_of(ctx), setup_of(ctx)
        if setup.compaction is not None and not state.stop:
            if setup.hooks is None:
                await setup.compaction.shorten(ctx, msg, setup, state)
            else:
                await setup.hooks.summarize(ctx, setup, partial(setup.compaction.shorten, ctx, msg, setup, state))
            state.observed.clear()
        if state.stop:
            state.finish_reason = FinishReason.STOPPED
            return STOPPED
        return SUCCESS
