"""One call of an agent, as somebody outside has it in hand: who looks at its state, and who stops it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from catenary.message import JSON
from catenary_components.ai.budget import BudgetExceeded
from catenary_components.ai.messages import TextPart, ThinkingPart, assistant_message, object_or_text, user_message
from catenary_components.ai.state import (
    AgentState,
    FinishReason,
    MaxStepsReached,
    SameRounds,
    StopFlag,
    TooManyDecisions,
)
from catenary_components.ai.status import AgentStatus, report

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context

_OWN_LIMITS: Final = {
    MaxStepsReached: FinishReason.MAX_ITERATIONS,
    TooManyDecisions: FinishReason.MAX_ITERATIONS,
    SameRounds: FinishReason.REPEATED,
    BudgetExceeded: FinishReason.BUDGET_EXCEEDED,
}


class AgentCall:
    """Lay one into the scope of a run to see the agent that runs in it, and to stop it with all agents that it calls.

    Attributes:
        stop: Set it to have them stop.
        state: The state of the agent that began last, when no other agent called it.
    """

    __slots__ = ("state", "stop")

    def __init__(self) -> None:
        self.stop = StopFlag()
        self.state: AgentState | None = None


def begin(ctx: Context, state: AgentState) -> None:
    """Tell those outside that an agent begins."""
    call = ctx.scope.get(AgentCall)
    if call is not None:
        state.stop = StopFlag(call.stop)
        if AgentState not in ctx.scope:
            call.state = state
    report(ctx, state, AgentStatus.RUNNING)


def conclude(ctx: Context, state: AgentState) -> None:
    """Bring a conversation in order when its loop is over.

    After an interruption each open call has a result, and what whoever interrupted had to say is said. When a hook has
    stopped the agent, open calls stay open.
    """
    if state.stop and not state.finish_reason.is_pause and not state.stop.leaves_calls:
        state.answer_calls([interrupted(call.name) for call in state.pending])
        if state.stop.message and AgentState not in ctx.scope:
            state.messages.append(user_message(state.stop.message))
    is_paused = state.finish_reason.is_pause
    report(ctx, state, AgentStatus.WAITING_USER_INPUT if is_paused else AgentStatus.DONE)
    if not is_paused:
        report(ctx, state, AgentStatus.IDLE)


def fail(ctx: Context, state: AgentState, error: BaseException) -> None:
    """Tell those outside that an agent has failed, and why it came to its end."""
    limit = next((reason for kind, reason in _OWN_LIMITS.items() if isinstance(error, kind)), None)
    state.finish_reason = limit or FinishReason.ERROR_FALLBACK
    report(ctx, state, AgentStatus.FAILED if limit else AgentStatus.ERROR)


def cut_off(ctx: Context, state: AgentState) -> None:
    """Tell those outside that an agent was cancelled: it waits for work again."""
    report(ctx, state, AgentStatus.IDLE)


def answer_without_budget(msg: Message, state: AgentState, error: BudgetExceeded) -> Message:
    """Give the answer of an agent that has used up its budget: what it said last, or that there is nothing."""
    state.answer_calls([f"Tool execution cancelled because {error}"] * len(state.pending))
    state.finish_reason = FinishReason.BUDGET_EXCEEDED
    if not state.answer.strip():
        state.answer = f"There is no answer: {error}"
        state.messages.append(assistant_message(state.answer))
    return msg.with_data(state.answer, "TEXT")


def keep_what_was_answered(state: AgentState, answer: Message) -> None:
    """Put the answer that is given into the conversation, when nodes behind `ai/answer` or hooks have changed it.

    An answer that is empty, and calls that are open, leave the conversation as it is.
    """
    text = answer.text
    if not text.strip() or state.pending or _is_same(state.answer, answer):
        return
    last = state.messages[-1] if state.messages else None
    if last is None or last.role != "assistant":
        state.messages.append(assistant_message(text))
    else:
        thoughts = [block for block in last.blocks if isinstance(block, ThinkingPart)]
        state.messages[-1] = replace(last, blocks=(*thoughts, TextPart(text)))
    state.answer = text


def _is_same(text: str, answer: Message) -> bool:
    return text == answer.text or (answer.data_type == JSON and object_or_text(text) == answer.value)


def interrupted(tool: str) -> str:
    """Give what the model is told of a call that was not run."""
    return f"[ERROR] Tool execution was interrupted before it could run. Tool: {tool}"
