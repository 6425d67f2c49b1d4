"""`ai/observe`: put the results of the tools before the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE
from catenary.component import Component, Config, Example, register
from catenary_components.ai.evidence import names_in
from catenary_components.ai.logbook import write_decision
from catenary_components.ai.phases._scope import LoopBroken, compaction_of, setup_of, state_of
from catenary_components.ai.phases.relations import CONTINUE, DIRECT, LIMIT, STOPPED, SUMMARIZE
from catenary_components.ai.state import AgentState, FinishReason
from catenary_components.ai.tools.direct import direct_answer, told_to_model
from catenary_components.ai.tools.results import is_same_again, texts_for_model, with_notes

if TYPE_CHECKING:
    from catenary import Message, Relation
    from catenary.component import Context
    from catenary_components.ai.setup import AgentSetup


class ObserveConfig(Config):
    """An `ai/observe` node has no settings: the agent it belongs to has them."""


@register("ai/observe", category="ai", since="0.1", label="Observe")
class Observe(Component[ObserveConfig]):
    """Put the results of the tools into the conversation, each paired with its call; cut those that are too long.

    What comes next is decided in this order: `Direct` when a tool ran whose result is the answer, `Limit` when nothing
    but the same happens again, `Stopped`, `Limit` when no round or model call is left, `Summarize` when the results
    have become too many to read, else `Continue`.
    """

    relations = (CONTINUE, DIRECT, SUMMARIZE, LIMIT, STOPPED, FAILURE)
    onward = (CONTINUE,)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)

    def run(self, ctx: Context, msg: Message) -> Relation:  # noqa: ARG002 - the message goes on unchanged
        """Take in the results."""
        state, setup = state_of(ctx), setup_of(ctx)
        relation = self._observe(ctx, state, setup)
        write_decision(ctx, state, setup, relation)
        return relation

    def _observe(self, ctx: Context, state: AgentState, setup: AgentSetup) -> Relation:
        results = state.results
        if not results and state.pending and not state.stop:
            raise LoopBroken(
                "there are calls of tools and no results of them",
                hint="let `ToolCalls` of `ai/reason` lead to `ai/act` or `ai/refuse`, and those to `ai/observe`",
            )
        is_same = is_same_again(setup, state, results)
        if setup.loop.evidence != "off":
            state.shown = sorted({*state.shown, *(name for result in results for name in names_in(result.text))})
        told = [told_to_model(setup, result) for result in results]
        texts = texts_for_model(setup, state, told)
        state.rounds += 1
        state.take_results(told, with_notes(setup, state, texts))
        state.decisions += 1
        state.observed.append(sum(map(len, texts)))
        goes_back = setup.hooks is not None and setup.hooks.goes_back(ctx)
        answer = direct_answer(results)
        if answer is not None and not goes_back:
            state.answer = answer
            state.reasoning = ""
            state.finish_reason = FinishReason.RETURN_DIRECT
            return DIRECT
        if is_same:
            state.finish_reason = FinishReason.REPEATED
            return LIMIT
        return self._next(ctx, state, setup)

    @staticmethod
    def _next(ctx: Context, state: AgentState, setup: AgentSetup) -> Relation:
        if state.stop:
            state.finish_reason = FinishReason.STOPPED
            return STOPPED
        if setup.is_used_up(state):
            return LIMIT
        compaction = compaction_of(ctx, setup)
        return SUMMARIZE if compaction is not None and compaction.is_due(state) else CONTINUE
