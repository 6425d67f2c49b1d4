"""`ai/reason`: ask the model what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, STREAM, Relation
from catenary.component import Component, Config, Example, register
from catenary_components.ai.phases._turn import ask
from catenary_components.ai.state import AgentSetup, AgentState

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context

TOOL_CALLS = Relation("ToolCalls", help="The model asks for tools.")
ANSWER = Relation("Answer", help="The model has given its answer.")
LIMIT = Relation("Limit", help="The model asks for tools, but no model call is left to read their results.")


class ReasonConfig(Config):
    """An `ai/reason` node has no settings: the agent it belongs to has them."""


@register("ai/reason", category="ai", since="0.1", label="Reason")
class Reason(Component[ReasonConfig]):
    """Ask the model with the conversation so far and all tools of the agent.

    A reply that calls tools is a turn with tools, whatever its finish reason says and wherever in the stream the calls
    came. The agent's last model call leaves by `Limit` when it still asks for tools; they are not run then.
    """

    relations = (TOOL_CALLS, ANSWER, LIMIT, STREAM, FAILURE)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)
    retries = True

    async def run(self, ctx: Context, msg: Message) -> Relation:
        """Make one model call."""
        state, setup = ctx.scope[AgentState], ctx.scope[AgentSetup]
        if state.steps >= setup.max_step:
            return LIMIT
        reply = await ask(ctx, msg, setup, state, with_tools=True)
        if not reply.tool_calls:
            return ANSWER
        return LIMIT if state.steps >= setup.max_step else TOOL_CALLS
