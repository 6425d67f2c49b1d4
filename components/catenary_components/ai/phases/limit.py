"""`ai/limit`: what happens when an agent may not go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, STREAM, SUCCESS, fail
from catenary.component import Component, Config, Example, option, register
from catenary_components.ai.messages import assistant_message
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.phases._scope import setup_of, state_of
from catenary_components.ai.phases._turn import Turn, ask
from catenary_components.ai.state import AgentState, FinishReason, MaxStepsReached, SameRounds

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context, Emission
    from catenary.errors import CatenaryError
    from catenary_components.ai.setup import AgentSetup

_PROMPT = (
    "No more tools can be used. Answer now, in the language of the user, with what is known. Be honest about what is "
    "missing, and say what could be done next."
)


class LimitConfig(Config):
    """Settings of one `ai/limit` node."""

    prompt: str = option(_PROMPT, help="Said as the user in the last model call, which has no tools.")


@register("ai/limit", category="ai", since="0.1", label="Limit")
class Limit(Component[LimitConfig]):
    """End an agent that is at its limit, as its `onLimit` says: fail, or ask once more without tools.

    Calls that are still pending then get a result that says they were not run, so that the conversation is whole. When
    that last model call fails, the answer says so.
    """

    relations = (SUCCESS, STREAM, FAILURE)
    onward = (SUCCESS,)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)
    retries = True

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Fail, or get a last answer."""
        state, setup = state_of(ctx), setup_of(ctx)
        if state.stop:
            state.finish_reason = FinishReason.STOPPED
            return SUCCESS
        kind = _kind(state, setup)
        limit = setup.loop.max_step if kind == "maxStep" else setup.loop.max_rounds or setup.loop.max_step
        if ctx.error is None:
            ctx.notify("agent.limit", kind=kind, limit=limit, rounds=state.rounds, steps=state.steps)
        if setup.loop.on_limit == "fail":
            return fail(ctx.error or _reached(state, setup, kind), msg)
        note = f"Tool execution cancelled because maximum iterations limit ({limit}) was reached"
        state.answer_calls([note] * len(state.pending))
        if state.finish_reason is not FinishReason.REPEATED:
            state.finish_reason = FinishReason.MAX_ITERATIONS
        await self._answer(ctx, msg, limit)
        return SUCCESS

    async def _answer(self, ctx: Context, msg: Message, limit: int) -> None:
        """Have the model answer once more, without tools; say so where it does not."""
        state, setup = state_of(ctx), setup_of(ctx)
        is_candidate = setup.loop.verify != "off" or setup.structured is not None
        turn = Turn(tools=False, prompt=self.config.prompt, is_candidate=is_candidate, purpose="limit")
        try:
            reply = await ask(ctx, msg, setup, state, turn)
            if state.stop:
                state.finish_reason = FinishReason.STOPPED
            elif setup.structured is not None:
                setup.structured.settled(state, reply, is_last=True)
            elif not reply.content.strip():
                self._say(state, f"Maximum iterations ({limit}) reached, and the model gave no answer.")
        except ModelError as error:
            self._say(state, f"Maximum iterations ({limit}) reached. Error generating summary: {error}")

    @staticmethod
    def _say(state: AgentState, text: str) -> None:
        """Answer in the place of the model."""
        state.answer, state.is_unshown = text, True
        state.messages.append(assistant_message(text))


def _kind(state: AgentState, setup: AgentSetup) -> str:
    """Say which limit it is, by the name of its option."""
    if state.finish_reason is FinishReason.REPEATED:
        return "sameRounds"
    steps = setup.loop.max_step
    is_at_rounds = bool(setup.loop.max_rounds) and state.rounds >= setup.loop.max_rounds
    return "maxStep" if not is_at_rounds and steps and state.steps >= steps else "maxRounds"


def _reached(state: AgentState, setup: AgentSetup, kind: str) -> CatenaryError:
    if kind == "sameRounds":
        return SameRounds(setup.loop.same_rounds)
    if kind == "maxStep":
        return MaxStepsReached(state, kind, f"{state.steps} of {setup.loop.max_step} model calls are made")
    done = f"{state.rounds} of {setup.loop.max_rounds} rounds of tools are over, after {state.steps} model calls"
    return MaxStepsReached(state, kind, done)
