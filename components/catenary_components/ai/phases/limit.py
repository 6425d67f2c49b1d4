"""`ai/limit`: what happens when an agent may not go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, STREAM, SUCCESS, fail
from catenary.component import Component, Config, Example, register
from catenary_components.ai.phases._turn import ask
from catenary_components.ai.state import AgentSetup, AgentState, MaxStepsReached

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context, Emission


class LimitConfig(Config):
    """An `ai/limit` node has no settings: the agent it belongs to has them."""


@register("ai/limit", category="ai", since="0.1", label="Limit")
class Limit(Component[LimitConfig]):
    """End an agent that is at its limit, as its `onLimit` says: fail, or ask once more without tools.

    Calls that are still pending then get a result that says they were not run, so that the conversation is whole.
    """

    relations = (SUCCESS, STREAM, FAILURE)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)
    retries = True

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Fail, or get a last answer."""
        state, setup = ctx.scope[AgentState], ctx.scope[AgentSetup]
        if setup.on_limit == "fail":
            return fail(ctx.error or MaxStepsReached(state, setup.max_step), msg)
        note = f"Not run: the agent has used its {setup.max_step} steps. Answer with what you know."
        state.answer_calls([note] * len(state.pending))
        await ask(ctx, msg, setup, state, with_tools=False)
        state.pending = ()
        return SUCCESS
