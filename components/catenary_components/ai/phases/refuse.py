"""`ai/refuse`: tell the model that the tools it asked for are not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from catenary import FAILURE, SUCCESS
from catenary.component import Component, Config, Example, option, register
from catenary.expr import Prompt, Template
from catenary_components.ai.phases._scope import state_of
from catenary_components.ai.tools.execute import CallResult

if TYPE_CHECKING:
    from catenary import Message, Relation
    from catenary.component import Context


class RefuseConfig(Config):
    """Settings of one `ai/refuse` node."""

    text: Annotated[Template, Prompt] = option(
        "Permission denied by rules", help="What the model is told as the result of each call."
    )


@register("ai/refuse", category="ai", since="0.1", label="Refuse")
class Refuse(Component[RefuseConfig]):
    """Refuse all pending tool calls: each gets a result that says so, and none is run.

    It stands where `ai/act` would, behind a node of yours that looks at the calls: they are in the metadata `calls` of
    the message that leaves `ai/reason` by `ToolCalls`.
    """

    relations = (SUCCESS, FAILURE)
    onward = (SUCCESS,)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)

    def run(self, ctx: Context, msg: Message) -> Relation:
        """Refuse the calls."""
        state = state_of(ctx)
        text = self.config.text.render(msg, ctx)
        state.results = tuple(CallResult(call, text, text, state="denied") for call in state.pending)
        return SUCCESS
