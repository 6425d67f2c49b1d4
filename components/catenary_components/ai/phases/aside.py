"""A model call that is no part of the conversation, such as one for a summary: it is no step, and its tokens count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary_components.ai.messages import user_message
from catenary_components.ai.phases._turn import Turn, ask
from catenary_components.ai.state import AgentState

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context
    from catenary_components.ai.setup import AgentSetup


async def ask_aside(
    ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, *, prompt: str, text: str, purpose: str
) -> str:
    """Ask the model something of its own. Nobody who listens is shown what it says.

    Args:
        ctx: The context of the visit.
        msg: The message of the visit.
        setup: What the agent works with.
        state: Its record, of which only the tokens change.
        prompt: The system prompt of this call.
        text: What is said to the model.
        purpose: What hooks are told; see `Turn`.

    Returns: what the model says; nothing when the agent is asked to stop meanwhile.

    Raises:
        ModelError: When the model does not answer.
    """
    asked = AgentState(
        messages=[user_message(text)],
        system_prompt=prompt,
        session_id=state.session_id,
        user_id=state.user_id,
        steps=state.steps,
        stop=state.stop,
    )
    try:
        reply = await ask(ctx, msg, setup, asked, Turn(tools=False, is_hidden=True, is_kept=False, purpose=purpose))
    finally:
        last = state.last_usage
        for model, usage in asked.usage_by_model.items():
            state.add_usage(model, usage, asked.cost_by_model.get(model))
        state.last_usage = last
    return reply.content
