"""`ai/reason`: ask the model what to do next."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final, Literal

from catenary import FAILURE, STREAM
from catenary.component import Component, Config, Example, option, register
from catenary.expr import Prompt, Template
from catenary_components.ai.logbook import write_decision
from catenary_components.ai.messages import object_or_text, user_message
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.phases._final_text import PROMPT, FinalTextReader
from catenary_components.ai.phases._runaway import CONTENT_LOOP
from catenary_components.ai.phases._scope import LoopBroken, compaction_of, setup_of, state_of
from catenary_components.ai.phases._telling import show
from catenary_components.ai.phases._turn import Turn, ask
from catenary_components.ai.phases.relations import AGAIN, ANSWER, LIMIT, NO_CALLS, STOPPED, SUMMARIZE, TOOL_CALLS
from catenary_components.ai.state import AgentState, FinishReason, TooManyDecisions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary import Message, Relation
    from catenary.component import Context, Emission
    from catenary.jsontext import Json
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.models.types import Reply
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.structured import StructuredOutput

_logger = logging.getLogger(__name__)

EMPTY_REPLY: Final = "Your last reply had no text and asked for no tool. Give your answer, or ask for a tool."
NO_TEXT: Final = "Your last reply had no text, and no tool can be used here. Give your answer."
NO_CALL: Final = "You are to use a tool here: ask for at least one of them."


class ReasonConfig(Config):
    """Settings of one `ai/reason` node."""

    tools: Literal["agent", "auto", "required", "none"] = option(
        "agent",
        help="Whether the model may, must or must not ask for a tool; `agent` for what the agent says.",
    )
    prompt: Annotated[Template, Prompt] = option(
        "",
        help="Said as the user after the conversation, in this model call only: a template, of the incoming message.",
        examples=["A reviewer says of your answer: ${data}\nAnswer again."],
    )
    output: Literal["text", "thinking"] = option(
        "text", help="`thinking` has the model answer with its reasoning and its text apart, as a JSON object."
    )
    candidate: bool = option(
        False,
        help="True keeps a text without calls from those who listen: another node of the loop makes the answer of it.",
    )


@register("ai/reason", category="ai", since="0.1", label="Reason")
class Reason(Component[ReasonConfig]):
    """Ask the model with the conversation so far and all tools of the agent.

    A reply that calls tools is a turn with tools, whatever its finish reason says and wherever in the stream the calls
    came. The agent's last model call leaves by `Limit` when it still asks for tools; they are not run then.

    What comes next is decided in this order: `Stopped`; `Limit` when no round or model call is left; `Summarize` when
    the conversation is too long to be sent, or proves to be when it is (if that relation is connected); then the model
    is asked. An answer that is there is never thrown away: it leaves by `Answer`, or by `NoCalls` when the model was to
    ask for a tool; that text is no part of the conversation, and the model is told what was wanted, but in a node that
    itself says `tools: required` the text is accepted. A reply that says nothing leaves by `Again` as often as the
    agent's `emptyReplies` says. Calls leave by `Limit` when five times as many model calls were made as rounds are
    allowed, or none is left to read the results; else by `ToolCalls`, with the metadata `calls`: a list of objects with
    `id`, `name` and `arguments` (the text itself when it is not JSON).
    """

    relations = (TOOL_CALLS, ANSWER, AGAIN, NO_CALLS, SUMMARIZE, LIMIT, STOPPED, STREAM, FAILURE)
    onward = (ANSWER,)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)
    retries = True

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Make one model call."""
        state, setup = state_of(ctx), setup_of(ctx)
        emission = await self._reason(ctx, msg, state, setup)
        write_decision(ctx, state, setup, emission[0] if isinstance(emission, tuple) else emission)
        if emission is AGAIN or emission is NO_CALLS or emission is SUMMARIZE:
            state.decisions -= 1  # no progress of the loop: limits of their own hold for these
        return emission

    async def _reason(self, ctx: Context, msg: Message, state: AgentState, setup: AgentSetup) -> Emission:
        decided = _before(ctx, state, setup)
        if decided is not None:
            return decided
        if any(call.state == "allowed" for call in state.pending) and ctx.is_connected(TOOL_CALLS):
            return TOOL_CALLS, msg.put_all({"calls": _shown(state.pending)})
        choice = setup.loop.tool_policy if self.config.tools == "agent" else self.config.tools
        turn = self._turn(setup, choice, self.config.prompt.render(msg, ctx))
        try:
            reply = await ask(ctx, msg, setup, state, turn)
        except ModelError as error:
            way_on = _way_on(ctx, state, setup, error)
            if way_on is None:
                raise
            state.steps -= 1  # the call counts when it is made again
            return way_on
        if setup.hooks is not None and setup.hooks.goes_back(ctx):
            return AGAIN
        if setup.structured is not None and not state.stop:
            settled = await self._settle(ctx, msg, state, setup, setup.structured, reply)
            if settled is not None:
                return settled
        relation = self._after(ctx, state, setup, reply, choice)
        return (relation, msg.put_all({"calls": _shown(reply.tool_calls)})) if relation is TOOL_CALLS else relation

    async def _settle(
        self,
        ctx: Context,
        msg: Message,
        state: AgentState,
        setup: AgentSetup,
        structured: StructuredOutput,
        reply: Reply,
    ) -> Relation | None:
        """Look whether a reply is the answer that was asked for, and show it if so."""
        settled = structured.settled(state, reply, is_last=setup.is_used_up(state))
        if not settled:
            return None if settled is None else AGAIN
        state.finish_reason = FinishReason.STRUCTURED_OUTPUT
        await show(ctx, msg, setup, state, state.answer)
        return ANSWER

    def _turn(self, setup: AgentSetup, choice: str, prompt: str) -> Turn:
        is_candidate = self.config.candidate or setup.loop.verify != "off" or setup.structured is not None
        turn = Turn(choice != "none", choice, prompt, is_candidate=is_candidate)
        if self.config.output == "text" or setup.structured is not None:
            return turn
        prompt = f"{turn.prompt}\n\n{PROMPT}" if turn.prompt else PROMPT
        return replace(turn, prompt=prompt, reader=FinalTextReader())

    def _after(self, ctx: Context, state: AgentState, setup: AgentSetup, reply: Reply, choice: str) -> Relation:
        """Decide what comes next after a reply."""
        if state.stop:
            state.finish_reason = FinishReason.STOPPED
            return STOPPED
        if not reply.tool_calls:
            return self._without_calls(ctx, state, setup, reply, choice)
        if setup.loop.max_step and state.steps >= setup.loop.max_step:
            return LIMIT
        if setup.loop.max_rounds and state.steps >= 5 * setup.loop.max_rounds:
            return LIMIT
        return TOOL_CALLS

    def _without_calls(self, ctx: Context, state: AgentState, setup: AgentSetup, reply: Reply, choice: str) -> Relation:
        is_last = setup.is_used_up(state)
        if choice == "required":
            _logger.warning("the model did not ask for a tool, though it was to", extra={"node": ctx.node_id})
            if self.config.tools == "required":
                state.finish_reason = _reason_of(state, reply)
            elif not is_last:
                _take_back(state, reply)
                _remind(ctx, state, NO_CALL, "no_calls")
            return NO_CALLS
        state.finish_reason = _reason_of(state, reply)
        if reply.content.strip() or is_last or state.reminders >= setup.loop.empty_replies:
            return ANSWER
        state.reminders += 1
        _remind(ctx, state, NO_TEXT if choice == "none" else EMPTY_REPLY, "empty_response")
        return AGAIN


def _before(ctx: Context, state: AgentState, setup: AgentSetup) -> Relation | None:
    """Decide what comes next without asking the model; `None` when it is to be asked."""
    state.decisions += 1
    if state.results:
        raise LoopBroken(
            "there are results of tools that nobody has put before the model",
            hint="let `Success` of `ai/act` and of `ai/refuse` lead to `ai/observe`, and that to `ai/reason`",
        )
    if state.stop:
        state.finish_reason = FinishReason.STOPPED
        return STOPPED
    if setup.max_decisions and state.decisions > setup.max_decisions:
        raise TooManyDecisions(state.decisions, setup.loop.max_rounds or setup.loop.max_step)
    if setup.is_used_up(state):
        return LIMIT
    compaction = compaction_of(ctx, setup)
    return SUMMARIZE if compaction is not None and compaction.is_due(state) else None


def _way_on(ctx: Context, state: AgentState, setup: AgentSetup, error: ModelError) -> Relation | None:
    """Decide how a call that failed can be made again: with a tool in place of a schema, or shorter; `None`: not."""
    if setup.structured is not None and setup.structured.falls_back(error):
        ctx.notify("structured.fallback", error=str(error))
        return AGAIN
    compaction = compaction_of(ctx, setup)
    return SUMMARIZE if compaction is not None and compaction.rescues(state, error) else None


def _reason_of(state: AgentState, reply: Reply) -> FinishReason:
    """Say how an agent ends whose answer is this reply."""
    if not reply.content.strip() or reply.finish_reason == CONTENT_LOOP:
        return FinishReason.INCOMPLETE
    return FinishReason.SUMMARIZED if state.compactions else FinishReason.NORMAL


def _take_back(state: AgentState, reply: Reply) -> None:
    """Take a reply that is not accepted out of the conversation."""
    if reply.content and state.messages[-1].role == "assistant":
        state.messages.pop()


def _shown(calls: Iterable[ToolCall]) -> list[Json]:
    """Give the calls as nodes between the phases see them."""
    return [{"id": call.id, "name": call.name, "arguments": object_or_text(call.arguments)} for call in calls]


def _remind(ctx: Context, state: AgentState, text: str, kind: str) -> None:
    ctx.notify("agent.reminder", kind=kind, text=text)
    message = user_message(text, name="system")
    state.messages.append(replace(message, metadata={"synthetic": True, "reminder": kind}))
