"""`ai/begin`: where an agent's loop begins, or goes on after a pause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE
from catenary.component import Component, Config, Example, register
from catenary_components.ai.phases._scope import state_of
from catenary_components.ai.phases.relations import ACT, REASON

if TYPE_CHECKING:
    from catenary import Message, Relation
    from catenary.component import Context


class BeginConfig(Config):
    """An `ai/begin` node has no settings: the agent it belongs to has them."""


@register("ai/begin", category="ai", since="0.1", label="Begin")
class Begin(Component[BeginConfig]):
    """Begin with the model, or with the tools that a paused run left waiting."""

    relations = (REASON, ACT, FAILURE)
    onward = (REASON,)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)

    def run(self, ctx: Context, msg: Message) -> Relation:  # noqa: ARG002 - the message goes on unchanged
        """Look for calls without a result."""
        return ACT if state_of(ctx).pending else REASON
