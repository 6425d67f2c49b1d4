"""One visit of an agent: its loop is run until there is an answer, or a question that somebody has to answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from catenary import FAILURE, STREAM, Relation
from catenary.component import answer_of
from catenary.relation import NodeFailure
from catenary_components.ai import calling
from catenary_components.ai.budget import BudgetExceeded, budget_of, timed
from catenary_components.ai.compaction import Compactor
from catenary_components.ai.estimate import tokens_of_tools
from catenary_components.ai.phases._scope import LoopBroken
from catenary_components.ai.phases.relations import ONWARD
from catenary_components.ai.runtime_context import RuntimeContext, runtime_context
from catenary_components.ai.sessions.slot import Slot
from catenary_components.ai.setup import AgentSetup
from catenary_components.ai.state import AgentState, SessionModel
from catenary_components.ai.structured import structured_output

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context, End
    from catenary_components.ai.agent import AgentConfig
    from catenary_components.ai.budget import Budget
    from catenary_components.ai.hooks.roster import Hooks
    from catenary_components.ai.hooks.running import HookRun
    from catenary_components.ai.models.service import ModelService
    from catenary_components.ai.named_chain import NamedChain
    from catenary_components.ai.pausing import Pausing
    from catenary_components.ai.permission.gate import Gate
    from catenary_components.ai.tools.tool import Toolbox


@dataclass(frozen=True, slots=True)
class AgentParts:
    """What an `ai/agent` node opens once, for all its visits."""

    config: AgentConfig
    models: ModelService
    toolbox: Toolbox
    hooks: Hooks | None
    gate: Gate | None
    topology: NamedChain


class Visit:
    """Runs the loop of an agent for one message.

    Args:
        ctx: The context of the agent's node.
        msg: The message.
        parts: What the node has opened.
        state: The record of the agent, with what is said to it.
        choice: The model of this visit.
        pausing: Its pauses.
        streams: Whether pieces go out as they come.

    Attributes:
        has_looped: Whether the loop was begun; a hook may answer in its place.
    """

    def __init__(
        self,
        ctx: Context,
        msg: Message,
        parts: AgentParts,
        state: AgentState,
        choice: SessionModel,
        pausing: Pausing,
        *,
        streams: bool,
    ) -> None:
        self._ctx = ctx
        self._msg = msg
        self._parts = parts
        self._state = state
        self._choice = choice
        self._pausing = pausing
        self._streams = streams
        self.has_looped = False

    async def run(self) -> Message | Relation:
        """Run the loop. Returns: the message it ended with, or the relation by which the agent leaves when it asks."""
        state, pausing = self._state, self._pausing
        while True:
            answer = await self._once()
            if not state.finish_reason.is_pause:
                calling.keep_what_was_answered(state, answer)
                return answer
            relation = await pausing.ask(state)
            if relation is not None:
                return relation

    async def _once(self) -> Message:
        """Run the loop up to its end, and give the message it ended with."""
        ctx, state, parts = self._ctx, self._state, self._parts
        budget = budget_of(ctx, parts.config.budget, state.spent)
        context = runtime_context(ctx.scope, state.session_id, state.user_id)
        hooks = parts.hooks.begin(state, context, self._pausing.slot) if parts.hooks else None
        setup = self._setup(budget, hooks)
        each = hooks.listening(self._pass_on) if hooks else self._pass_on
        own = {AgentState: state, AgentSetup: setup, SessionModel: self._choice, Slot: self._pausing.slot}
        values = {**own, RuntimeContext: context}

        async def loop(msg: Message) -> Message:
            self.has_looped = True
            async with timed(budget, ctx) as limits:
                chain = parts.topology.chain
                return _result(await ctx.run_chain(chain, msg, each=each, scope={**values, **limits}))

        try:
            return await hooks.agent(ctx, self._msg, setup, loop) if hooks else await loop(self._msg)
        except BudgetExceeded as error:
            if parts.config.on_limit == "fail":
                raise
            return calling.answer_without_budget(self._msg, state, error)

    def _setup(self, budget: Budget | None, hooks: HookRun | None) -> AgentSetup:
        parts, config = self._parts, self._parts.config
        model = parts.models.get(self._choice)
        return AgentSetup(
            model=model if budget is None else budget.model(model),
            toolbox=parts.toolbox,
            streams=self._streams,
            loop=config,
            tools=config,
            gate=parts.gate,
            keep=self._pausing.keep,
            expect=partial(self._ctx.chain.engine.pauses.coming.expect, self._ctx),
            approval_timeout_s=config.approval_timeout / 1000,
            compaction=self._compactor(),
            budget=budget,
            hooks=hooks,
            structured=structured_output(config.params, config, parts.models.spec.profile),
            provider=parts.models.provider_of(self._choice),
            metadata=self._msg.metadata,
        )

    def _compactor(self) -> Compactor | None:
        options, parts = self._parts.config.compaction_options, self._parts
        if options is None:
            return None
        tools = tokens_of_tools(parts.toolbox.specs(self._state))
        return Compactor(options, parts.models.window(self._choice), tools)

    async def _pass_on(self, end: End) -> None:
        if end.relation == STREAM:
            await self._ctx.emit(STREAM, end.message)


def _result(ends: list[End]) -> Message:
    """Give the message of the branch that ended last. Raises: the error of a branch that failed."""
    failed = next((end for end in ends if end.relation == FAILURE), None)
    if failed is not None:
        raise failed.error or NodeFailure(failed.reason)
    end = answer_of(ends)
    if end is None:
        raise LoopBroken("the agent ended without an answer")
    if any(end.relation is relation for relation in ONWARD):
        raise LoopBroken(
            f"the loop of the agent ended at its node {end.node_id!r} by {str(end.relation)!r}, which leads nowhere",
            hint=f"connect {str(end.relation)!r} of {end.node_id!r}. {getattr(end.relation, 'help', '')}",
        )
    return end.message
