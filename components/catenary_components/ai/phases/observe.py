"""`ai/observe`: put the results of the tools before the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, Relation
from catenary.component import Component, Config, Example, register
from catenary_components.ai.state import AgentSetup, AgentState

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context

CONTINUE = Relation("Continue", help="The model is to be asked again.")
DIRECT = Relation("Direct", help="A tool ran whose result is the answer.")
LIMIT = Relation("Limit", help="No model call is left.")


class ObserveConfig(Config):
    """An `ai/observe` node has no settings: the agent it belongs to has them."""


@register("ai/observe", category="ai", since="0.1", label="Observe")
class Observe(Component[ObserveConfig]):
    """Put the results of the tools into the conversation, each paired with its call; cut those that are too long."""

    relations = (CONTINUE, DIRECT, LIMIT, FAILURE)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)

    def run(self, ctx: Context, msg: Message) -> Relation:  # noqa: ARG002 - the message goes on unchanged
        """Take in the results."""
        state, setup = ctx.scope[AgentState], ctx.scope[AgentSetup]
        results = state.results
        state.answer_calls([result.text_for_model(setup.max_tool_output_length) for result in results])
        direct = [result.text for result in results if result.is_direct]
        if direct:
            state.answer = "\n".join(direct)
            state.reasoning = ""
            return DIRECT
        return LIMIT if state.steps >= setup.max_step else CONTINUE
