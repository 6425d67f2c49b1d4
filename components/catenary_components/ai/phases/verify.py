"""`ai/verify`: have the model check its answer before anybody sees it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from catenary import FAILURE, STREAM, SUCCESS
from catenary.component import Component, Config, Example, register
from catenary_components.ai.budget import BudgetExceeded, not_numbered
from catenary_components.ai.evidence import seen_in, unproven, warning_about
from catenary_components.ai.messages import TextPart
from catenary_components.ai.models.types import ModelError, Reply
from catenary_components.ai.phases._scope import setup_of, state_of
from catenary_components.ai.phases._telling import show
from catenary_components.ai.phases._turn import Turn, ask
from catenary_components.ai.state import FinishReason

if TYPE_CHECKING:
    from catenary import Message, Relation
    from catenary.component import Context
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState

_ANSWERED: Final = (FinishReason.NORMAL, FinishReason.SUMMARIZED)


class VerifyConfig(Config):
    """An `ai/verify` node has no settings: the agent it belongs to has them."""


@register("ai/verify", category="ai", since="0.1", label="Verify")
class Verify(Component[VerifyConfig]):
    """Have the model check the answer in one more call, without tools; what it gives back is the answer.

    The answer that is checked is not shown to those who listen; when nothing comes back, it is shown after all. When
    the model fails at that, or a budget has nothing left for it, it is shown as well: `agent.unverified` tells why, and
    so does the metadata `verify_error`. The call has no part in `maxStep` and in `modelCalls` of a budget.
    When the model breaks off after part of what it gives back was shown, the agent fails.
    An agent whose `verify` is off passes through, and so does an answer that is empty, or is JSON.

    With `evidence` the answer is then searched for names of source files, and of classes written as code, that no
    result of a tool has shown: a warning about them is put behind it.
    """

    relations = (SUCCESS, STREAM, FAILURE)
    onward = (SUCCESS,)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)
    retries = True

    async def run(self, ctx: Context, msg: Message) -> Relation:
        """Check the answer."""
        state, setup = state_of(ctx), setup_of(ctx)
        if setup.structured is not None or not state.answer.strip():
            return SUCCESS
        if setup.loop.verify != "off":
            if state.stop:
                state.finish_reason = FinishReason.STOPPED
                return SUCCESS
            await _verify(ctx, msg, setup, state)
        if setup.loop.evidence != "off" and state.finish_reason in _ANSWERED:
            await _look_for_evidence(ctx, msg, setup, state)
        return SUCCESS


async def _verify(ctx: Context, msg: Message, setup: AgentSetup, state: AgentState) -> None:
    """Have the model check the answer, and take what it gives back."""
    candidate, reasoning, reason = state.answer, state.reasoning, state.service_reason
    turn = Turn(tools=False, prompt=setup.loop.verify_prompt + candidate, is_kept=False, purpose="verify")
    try:
        reply = await ask(ctx, msg, replace(setup, model=not_numbered(setup.model)), state, turn)
    except (ModelError, BudgetExceeded) as error:
        if isinstance(error, ModelError) and error.was_shown:
            raise
        state.unverified = str(error)
        ctx.notify("agent.unverified", error=state.unverified, kind=error.kind)
        reply = Reply()
    state.reasoning, state.service_reason = reasoning, reason
    if state.stop:
        state.finish_reason = FinishReason.STOPPED
    if reply.content.strip():
        _replace(state, reply.content)
    else:
        state.answer = candidate
        await show(ctx, msg, setup, state, candidate)


async def _look_for_evidence(ctx: Context, msg: Message, setup: AgentSetup, state: AgentState) -> None:
    """Put a warning behind an answer that names what no tool has shown."""
    names = unproven(state.answer, {*state.shown, *seen_in(state.messages)})
    if not names:
        return
    state.finish_reason = FinishReason.EVIDENCE_INSUFFICIENT
    ctx.notify("agent.unproven", names=list(names))
    warning = warning_about(names)
    await show(ctx, msg, setup, state, warning)
    state.answer += warning
    _replace(state, state.answer)


def _replace(state: AgentState, text: str) -> None:
    """Put another text in the place of the answer in the conversation."""
    last = state.messages[-1] if state.messages else None
    if last is not None and last.role == "assistant":
        others = (block for block in last.blocks if not isinstance(block, TextPart))
        state.messages[-1] = replace(last, blocks=(*others, TextPart(text)))
